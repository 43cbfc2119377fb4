// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/fastkernels.h"
#include "tests/kernels/cuda/devicerows.h"

#include <cmath>
#include <cstring>

namespace tokenloupe::test {

/// Rows of 15 bits in device memory, and what they have to be.
class DevicePlanes
{
public:
    DevicePlanes(int rows, int columns)
        : m_rows(rows)
        , m_columns(columns)
        , m_high(std::size_t(rows * columns))
        , m_low(std::size_t(rows * columns))
        , m_scales(std::size_t(rows))
        , m_sums(std::size_t(rows * columns / 16))
    {}

    cuda::QuantizedRows view() const
    {
        return {m_high.data(), m_low.data(), m_scales.data(), m_sums.data(), m_rows, m_columns};
    }
    std::vector<float> scales() const { return m_scales.read(); }
    std::vector<std::int8_t> high() const { return m_high.read(); }

    /// Whether they are what the CPU makes of these rows, bit for bit.
    bool areOf(const std::vector<float> &values) const
    {
        const std::vector<std::int8_t> high = m_high.read();
        const std::vector<std::int8_t> low = m_low.read();
        const std::vector<float> scales = m_scales.read();
        const std::vector<std::int32_t> sums = m_sums.read();
        std::vector<std::byte> packed(std::size_t(activationRowBytes(m_columns)));
        for (int row = 0; row < m_rows; ++row) {
            const int begin = row * m_columns;
            fastKernels().quantizeRow(values.data() + begin, m_columns, packed.data());
            ActivationRow head;
            std::memcpy(&head, packed.data(), sizeof head);
            if (std::memcmp(&head.scale, &scales[std::size_t(row)], sizeof(float)) != 0)
                return false;
            for (int column = 0; column < m_columns; ++column) {
                ActivationBlock block;
                std::memcpy(&block, packed.data() + sizeof head + std::size_t(column / 32) * sizeof block,
                            sizeof block);
                const auto place = std::size_t(begin + column);
                if (high[place] != block.high[column % 32] || low[place] != block.low[column % 32] ||
                    sums[place / 16] != block.halfSum[column % 32 / 16])
                    return false;
            }
        }
        return true;
    }

private:
    int m_rows;
    int m_columns;
    DeviceValues<std::int8_t> m_high;
    DeviceValues<std::int8_t> m_low;
    DeviceValues<float> m_scales;
    DeviceValues<std::int32_t> m_sums;
};

} // namespace tokenloupe::test
