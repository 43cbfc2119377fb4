// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/architecturespec.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// Sines and cosines of the positions of one batch, computed once for all layers, queries and keys.
/// Angles are formed in double: position · inverse frequency loses bits in float32 at long contexts.
class RotaryTable
{
public:
    /// Cheap when the positions and frequencies are those of the last call.
    void prepare(std::uint32_t firstPosition, std::int64_t rows, std::span<const float> inverseFrequencies,
                 float magnitude = 1.0F);

    /// Positions 0 … rows - 1; those that are there already are kept, so a growing sequence adds to them.
    /// `most` rows are made room for at once.
    void cover(std::int64_t rows, std::int64_t most, std::span<const float> inverseFrequencies,
               float magnitude = 1.0F);
    bool isOf(std::span<const float> inverseFrequencies, float magnitude) const;

    /// Turns the pairs of one head in place, to the position of row r.
    void rotate(float *head, std::int64_t row, RotaryStyle style) const;

    /// Of row r (position firstPosition + r): one for each frequency.
    const float *cosines(std::int64_t row) const { return m_table.data() + 2 * row * pairs(); }
    const float *sines(std::int64_t row) const { return cosines(row) + pairs(); }
    std::int64_t pairs() const { return static_cast<std::int64_t>(m_frequencies.size()); }

private:
    void addRows(std::int64_t end);

    std::uint32_t m_firstPosition = 0;
    std::int64_t m_rows = 0;
    std::vector<float> m_frequencies;
    float m_magnitude = 1.0F;
    std::vector<float> m_table; // (rows × 2 × pairs)
};

/// A table for each of the two rotations that a model's layers may alternate between (with and without a
/// window), so that a change of layer throws none away.
class RotaryTables
{
public:
    /// The one that was last used with these numbers, else the one that has not been used for longer.
    RotaryTable &of(std::span<const float> inverseFrequencies, float magnitude)
    {
        if (!m_tables[m_last].isOf(inverseFrequencies, magnitude))
            m_last = 1 - m_last;
        return m_tables[m_last];
    }

private:
    std::array<RotaryTable, 2> m_tables;
    std::size_t m_last = 0;
};

} // namespace tokenloupe
