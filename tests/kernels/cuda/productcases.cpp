// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/cuda/productcases.h"

#include "kernels/cuda/weightlayout.h"
#include "tests/cudahost/cudahost.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe::test {

PackedMatrix::PackedMatrix(TensorType type, std::int64_t rows, std::int64_t columns, unsigned seed)
    : m_file(type, rows, columns, seed)
{
    std::vector<std::byte> packed(std::size_t(cuda::deviceWeightBytes(type, rows, columns)));
    cuda::packDeviceRows(type, rows, columns, 0, rows, m_file.matrix().data, packed.data());
    m_data = std::make_unique<DeviceValues<std::byte>>(packed);
    for (std::int64_t row = 0; row < rows; ++row)
        m_values.push_back(m_file.referenceRow(row));
}

cuda::DeviceWeight PackedMatrix::weight() const
{
    const WeightMatrix matrix = m_file.matrix();
    return {m_data->data(), matrix.type, matrix.rows, matrix.columns};
}

std::vector<float> randomFloats(std::size_t count, float range, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-range, range);
    std::vector<float> values(count);
    for (float &value : values)
        value = uniform(random);
    return values;
}

cuda::DeviceRows deviceRows(const DeviceValues<float> &values, std::int32_t rows, std::int32_t columns,
                            std::int64_t stride, std::int64_t first)
{
    return {values.data() + first, rows, columns, stride == 0 ? columns : stride};
}

QuantizedCase::QuantizedCase(const std::vector<float> &values, std::int32_t rows, std::int32_t columns)
    : m_rows(rows)
    , m_columns(columns)
{
    std::vector<std::int8_t> high;
    std::vector<std::int8_t> low;
    std::vector<std::int32_t> sums(values.size() / 16);
    for (std::int32_t row = 0; row < rows; ++row) {
        const auto begin = values.begin() + std::ptrdiff_t(row) * columns;
        float largest = 0;
        std::for_each(begin, begin + columns, [&](float x) { largest = std::max(largest, std::abs(x)); });
        m_scales.push_back(largest / 16256);
        for (std::int32_t column = 0; column < columns; ++column) {
            const int code = int(std::lround(double(begin[column]) * 16256 / double(largest)));
            const int upper = (code + 64 + 128 * 128) / 128 - 128; // rounds down for negative ones too
            m_codes.push_back(code);
            high.push_back(std::int8_t(upper));
            low.push_back(std::int8_t(code - 128 * upper));
            sums[std::size_t(row * columns + column) / 16] += code;
        }
    }
    m_high = std::make_unique<DeviceValues<std::int8_t>>(high);
    m_low = std::make_unique<DeviceValues<std::int8_t>>(low);
    m_deviceScales = std::make_unique<DeviceValues<float>>(m_scales);
    m_sums = std::make_unique<DeviceValues<std::int32_t>>(sums);
}

cuda::QuantizedRows QuantizedCase::rows() const
{
    return {m_high->data(), m_low->data(), m_deviceScales->data(), m_sums->data(), m_rows, m_columns};
}

std::vector<double> QuantizedCase::row(std::int32_t row) const
{
    std::vector<double> values;
    for (std::int32_t column = 0; column < m_columns; ++column)
        values.push_back(double(m_scales[std::size_t(row)]) * m_codes[std::size_t(row * m_columns + column)]);
    return values;
}

Dot dot(const std::vector<double> &a, const std::vector<double> &b)
{
    Dot result;
    for (std::size_t i = 0; i < a.size(); ++i) {
        result.sum += a[i] * b[i];
        result.magnitude += std::abs(a[i] * b[i]);
    }
    return result;
}

std::vector<double> asDoubles(const std::vector<float> &values, std::size_t first, std::size_t count)
{
    return {values.begin() + std::ptrdiff_t(first), values.begin() + std::ptrdiff_t(first + count)};
}

QString firstDifference(const std::vector<float> &got, const std::vector<float> &wanted)
{
    if (got.size() != wanted.size())
        return QStringLiteral("%1 values instead of %2").arg(got.size()).arg(wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (!(got[i] == wanted[i]))
            return QStringLiteral("value %1: %2 instead of %3")
                .arg(i)
                .arg(double(got[i]), 0, 'g', 9)
                .arg(double(wanted[i]), 0, 'g', 9);
    }
    return {};
}

std::string deviceFaults()
{
    cudahost::checkMemory();
    std::string text;
    for (const std::string &fault : cudahost::takeFaults())
        text += fault + '\n';
    return text;
}

} // namespace tokenloupe::test
