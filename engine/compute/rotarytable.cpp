// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/rotarytable.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

bool RotaryTable::isOf(std::span<const float> inverseFrequencies, float magnitude) const
{
    return magnitude == m_magnitude && std::equal(m_frequencies.begin(), m_frequencies.end(),
                                                  inverseFrequencies.begin(), inverseFrequencies.end());
}

void RotaryTable::prepare(std::uint32_t firstPosition, std::int64_t rows,
                          std::span<const float> inverseFrequencies, float magnitude)
{
    if (isOf(inverseFrequencies, magnitude) && firstPosition == m_firstPosition && rows == m_rows)
        return;
    m_firstPosition = firstPosition;
    m_rows = rows;
    m_frequencies.assign(inverseFrequencies.begin(), inverseFrequencies.end());
    m_magnitude = magnitude;
    m_table.clear();
    addRows(rows);
}

void RotaryTable::cover(std::int64_t rows, std::int64_t most, std::span<const float> inverseFrequencies,
                        float magnitude)
{
    if (!isOf(inverseFrequencies, magnitude) || m_firstPosition != 0) {
        m_firstPosition = 0;
        m_rows = 0;
        m_frequencies.assign(inverseFrequencies.begin(), inverseFrequencies.end());
        m_magnitude = magnitude;
        m_table.clear();
    }
    if (rows <= m_rows)
        return;
    m_table.reserve(2 * static_cast<std::size_t>(std::max(rows, most)) * m_frequencies.size());
    addRows(rows);
    m_rows = rows;
}

void RotaryTable::addRows(std::int64_t end)
{
    const auto held = static_cast<std::int64_t>(m_table.size());
    std::int64_t row = m_frequencies.empty() ? end : held / (2 * pairs());
    m_table.resize(2 * static_cast<std::size_t>(end) * m_frequencies.size());
    float *out = m_table.data() + held;
    const auto magnitude = static_cast<double>(m_magnitude);
    for (; row < end; ++row) {
        const double position = static_cast<double>(m_firstPosition) + static_cast<double>(row);
        for (const float frequency : m_frequencies)
            *out++ = static_cast<float>(magnitude * std::cos(position * static_cast<double>(frequency)));
        for (const float frequency : m_frequencies)
            *out++ = static_cast<float>(magnitude * std::sin(position * static_cast<double>(frequency)));
    }
}

void RotaryTable::rotate(float *head, std::int64_t row, RotaryStyle style) const
{
    const float *cosine = cosines(row);
    const float *sine = sines(row);
    const std::int64_t firstStep = style == RotaryStyle::Interleaved ? 2 : 1;
    const std::int64_t partner = style == RotaryStyle::Interleaved ? 1 : pairs();
    for (std::int64_t pair = 0; pair < pairs(); ++pair) {
        float *a = head + pair * firstStep;
        float *b = a + partner;
        const float x = *a;
        const float y = *b;
        *a = x * cosine[pair] - y * sine[pair];
        *b = x * sine[pair] + y * cosine[pair];
    }
}

} // namespace tokenloupe
