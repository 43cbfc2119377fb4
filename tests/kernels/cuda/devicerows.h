// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "tests/cudahost/devicevalues.h"

#include <cstddef>
#include <random>
#include <vector>

namespace tokenloupe::test {

using cudahost::test::demand;
using cudahost::test::DeviceValues;

/// Rows in device memory, `padding` floats between one and the next.
class PaddedRows
{
public:
    PaddedRows(const std::vector<float> &values, int columns, int padding = 0, int offset = 0)
        : m_rows(int(values.size()) / columns)
        , m_columns(columns)
        , m_stride(columns + padding)
        , m_offset(offset)
        , m_memory(spread(values))
    {}
    PaddedRows(int rows, int columns, int padding = 0, int offset = 0)
        : PaddedRows(std::vector<float>(std::size_t(rows) * std::size_t(columns), unset), columns, padding,
                     offset)
    {}

    cuda::DeviceRows view() const { return {m_memory.data() + m_offset, m_rows, m_columns, m_stride}; }
    std::vector<float> read() const
    {
        const std::vector<float> all = m_memory.read();
        std::vector<float> values;
        for (int row = 0; row < m_rows; ++row) {
            const auto begin = all.begin() + m_offset + row * m_stride;
            values.insert(values.end(), begin, begin + m_columns);
        }
        return values;
    }
    /// Nothing was written between the rows.
    bool isPaddingIntact() const
    {
        const std::vector<float> all = m_memory.read();
        for (int i = 0; i < int(all.size()); ++i) {
            const int place = i - m_offset;
            const bool isValue = place >= 0 && place % m_stride < m_columns && place / m_stride < m_rows;
            if (!isValue && all[std::size_t(i)] != unset)
                return false;
        }
        return true;
    }

private:
    static constexpr float unset = -7654321.0F;

    std::vector<float> spread(const std::vector<float> &values) const
    {
        std::vector<float> all(std::size_t(m_offset + m_rows * m_stride), unset);
        for (int row = 0; row < m_rows; ++row) {
            for (int column = 0; column < m_columns; ++column)
                all[std::size_t(m_offset + row * m_stride + column)] =
                    values[std::size_t(row * m_columns + column)];
        }
        return all;
    }

    int m_rows;
    int m_columns;
    int m_stride;
    int m_offset;
    DeviceValues<float> m_memory;
};

/// Numbers of both signs, most of them below `size`.
inline std::vector<float> randomFloats(std::size_t count, float size, unsigned seed)
{
    std::mt19937 generator(seed);
    std::normal_distribution<float> distribution(0.0F, size / 2.0F);
    std::vector<float> values(count);
    for (float &value : values)
        value = distribution(generator);
    return values;
}

} // namespace tokenloupe::test
