// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/chat/templatelimits.h"

#include <cstddef>

namespace tokenloupe::jinja {

/// Counts what one parse or rendering has used against its bounds and throws a Failure that names the bound.
class Meter
{
public:
    explicit Meter(const TemplateLimits &limits);

    void step(std::size_t count = 1)
    {
        if (count > m_stepsLeft)
            failSteps();
        m_stepsLeft -= count;
    }
    /// Bytes copied, scanned or compared.
    void work(std::size_t bytes) { step(bytes / bytesPerStep); }
    /// Before a string of that size is made.
    void checkText(std::size_t bytes) const
    {
        if (bytes > m_outputBytes)
            failText(bytes);
    }
    /// Before a list of that length is made; counts a step for each item.
    void checkItems(std::size_t count)
    {
        checkCount(count);
        step(count);
    }
    /// While a list grows.
    void checkCount(std::size_t count) const
    {
        if (count > m_outputBytes / bytesPerItem)
            failItems(count);
    }
    /// Nesting of a value that is about to be made.
    void checkNesting(std::size_t depth) const
    {
        if (depth > m_depthBound)
            failDepth();
    }
    std::size_t depthBound() const { return m_depthBound; }

    /// One level of nesting, for as long as it lives.
    class Level
    {
    public:
        explicit Level(Meter &meter)
            : m_meter(meter)
        {
            if (meter.m_depth >= meter.m_depthBound)
                meter.failDepth();
            ++meter.m_depth;
        }
        ~Level() { --m_meter.m_depth; }
        Level(const Level &) = delete;
        Level &operator=(const Level &) = delete;

    private:
        Meter &m_meter;
    };

private:
    static constexpr std::size_t bytesPerStep = 256;
    static constexpr std::size_t bytesPerItem = 32;
    /// Whatever the caller allows: the parser and the evaluator recurse on the machine's stack.
    static constexpr std::size_t mostDepth = 400;

    [[noreturn]] void failSteps() const;
    [[noreturn]] void failDepth() const;
    [[noreturn]] void failItems(std::size_t count) const;
    [[noreturn]] void failText(std::size_t bytes) const;

    std::size_t m_stepsLeft;
    std::size_t m_stepBound;
    std::size_t m_depthBound;
    std::size_t m_outputBytes;
    std::size_t m_depth = 0;
};

} // namespace tokenloupe::jinja
