// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/rotarytable.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

void RotaryTable::prepare(std::uint32_t firstPosition, std::int64_t rows,
                          std::span<const float> inverseFrequencies)
{
    const bool sameFrequencies = std::equal(m_frequencies.begin(), m_frequencies.end(),
                                            inverseFrequencies.begin(), inverseFrequencies.end());
    if (sameFrequencies && firstPosition == m_firstPosition && rows == m_rows)
        return;
    m_firstPosition = firstPosition;
    m_rows = rows;
    m_frequencies.assign(inverseFrequencies.begin(), inverseFrequencies.end());
    m_table.resize(2 * static_cast<std::size_t>(rows) * inverseFrequencies.size());
    float *out = m_table.data();
    for (std::int64_t row = 0; row < rows; ++row) {
        const double position = static_cast<double>(firstPosition) + static_cast<double>(row);
        for (const float frequency : inverseFrequencies)
            *out++ = static_cast<float>(std::cos(position * static_cast<double>(frequency)));
        for (const float frequency : inverseFrequencies)
            *out++ = static_cast<float>(std::sin(position * static_cast<double>(frequency)));
    }
}

} // namespace tokenloupe
