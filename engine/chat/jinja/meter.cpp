// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/meter.h"

#include "engine/chat/jinja/failure.h"

#include <algorithm>
#include <limits>

namespace tokenloupe::jinja {

void fail(std::string message)
{
    throw Failure{ErrorCode::TemplateError, std::move(message)};
}

void failRaised(std::string message)
{
    throw Failure{ErrorCode::TemplateRaised, std::move(message)};
}

Meter::Meter(const TemplateLimits &limits)
    : m_stepsLeft(limits.steps)
    , m_stepBound(limits.steps)
    , m_depthBound(std::min(limits.depth, mostDepth))
    // Ranges of input are 32-bit offsets.
    , m_outputBytes(std::min<std::size_t>(limits.outputBytes, std::numeric_limits<std::int32_t>::max()))
{}

void Meter::failItems(std::size_t count) const
{
    fail("a list of " + std::to_string(count) + " items exceeds the bound of " +
         std::to_string(m_outputBytes / bytesPerItem) + " items (output size)");
}

void Meter::failSteps() const
{
    fail("the template exceeds the bound of " + std::to_string(m_stepBound) + " steps");
}

void Meter::failDepth() const
{
    fail("the template exceeds the bound of " + std::to_string(m_depthBound) + " levels of nesting (depth)");
}

void Meter::failText(std::size_t bytes) const
{
    fail("a text of " + std::to_string(bytes) + " bytes exceeds the bound of " +
         std::to_string(m_outputBytes) + " bytes (output size)");
}

} // namespace tokenloupe::jinja
