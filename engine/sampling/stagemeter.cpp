// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/stagemeter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

}

StageMeter::StageMeter(std::span<const float> logits)
    : m_logits(logits.begin(), logits.end())
    , m_alive(logits.size())
{
    for (float &logit : m_logits) {
        if (std::isnan(logit))
            logit = minusInfinity;
    }
    m_sums = softmaxSums(m_logits);
}

StageMeasure StageMeter::measure(const Candidates &after)
{
    StageMeasure result;
    result.candidates = static_cast<std::uint32_t>(after.items.size());
    if (after.items.size() < m_alive) {
        double held = 0.0;
        for (const Candidate &item : after.items)
            held += m_sums.weightOf(m_logits[item.id.value()]);
        result.mass = std::min(1.0, held / m_sums.sumExp);
    }

    std::fill(m_logits.begin(), m_logits.end(), minusInfinity);
    for (const Candidate &item : after.items)
        m_logits[item.id.value()] = item.logit;
    m_alive = after.items.size();
    m_sums = softmaxSums(std::span<const Candidate>(after.items));
    result.entropyBits = m_sums.entropyBits();
    return result;
}

} // namespace tokenloupe
