// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/kernels/kernelcases.h"

#include <QString>
#include <memory>
#include <string>
#include <vector>

namespace tokenloupe::test {

using cudahost::test::DeviceValues;

/// A random matrix, packed for the device and there.
class PackedMatrix
{
public:
    PackedMatrix(TensorType type, std::int64_t rows, std::int64_t columns, unsigned seed);

    cuda::DeviceWeight weight() const;
    /// What the file's bytes of a row mean.
    const std::vector<double> &row(std::int64_t row) const { return m_values[std::size_t(row)]; }

private:
    RandomMatrix m_file;
    std::vector<std::vector<double>> m_values;
    std::unique_ptr<DeviceValues<std::byte>> m_data;
};

/// Random numbers between -range and range.
std::vector<float> randomFloats(std::size_t count, float range, unsigned seed);

/// Rows of a vector that lies on the device, `stride` apart and `first` values behind its beginning.
cuda::DeviceRows deviceRows(const DeviceValues<float> &values, std::int32_t rows, std::int32_t columns,
                            std::int64_t stride = 0, std::int64_t first = 0);

/// Activations in 15 bits, made without the project's kernels.
class QuantizedCase
{
public:
    QuantizedCase(const std::vector<float> &values, std::int32_t rows, std::int32_t columns);

    cuda::QuantizedRows rows() const;
    /// What the codes of a row stand for.
    std::vector<double> row(std::int32_t row) const;

private:
    std::int32_t m_rows;
    std::int32_t m_columns;
    std::vector<int> m_codes;
    std::vector<float> m_scales;
    std::unique_ptr<DeviceValues<std::int8_t>> m_high;
    std::unique_ptr<DeviceValues<std::int8_t>> m_low;
    std::unique_ptr<DeviceValues<float>> m_deviceScales;
    std::unique_ptr<DeviceValues<std::int32_t>> m_sums;
};

/// Σ a · b, and Σ |a · b|: what rounding errors are measured against.
struct Dot
{
    double sum = 0;
    double magnitude = 0;
};
Dot dot(const std::vector<double> &a, const std::vector<double> &b);
std::vector<double> asDoubles(const std::vector<float> &values, std::size_t first, std::size_t count);

/// Where `got` is not exactly as `wanted`; empty when it is, everywhere.
QString firstDifference(const std::vector<float> &got, const std::vector<float> &wanted);

/// What the device complained about since the last call, in one text; empty when all is well.
std::string deviceFaults();

} // namespace tokenloupe::test
