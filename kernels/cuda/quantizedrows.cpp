// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowops.h"

namespace tokenloupe::cuda {

namespace {

constexpr std::uint64_t alignment = 256; ///< of each plane
constexpr std::int64_t sumColumns = 16;  ///< columns with a sum of their own

struct PlaneBytes
{
    std::uint64_t codes;
    std::uint64_t scales;
    std::uint64_t sums;
};

std::uint64_t aligned(std::int64_t bytes)
{
    return (static_cast<std::uint64_t>(bytes) + alignment - 1) / alignment * alignment;
}

PlaneBytes planeBytes(std::int64_t rows, std::int64_t columns)
{
    return {aligned(rows * columns), aligned(rows * std::int64_t(sizeof(float))),
            aligned(rows * columns / sumColumns * std::int64_t(sizeof(std::int32_t)))};
}

} // namespace

std::uint64_t quantizedRowsBytes(std::int64_t rows, std::int64_t columns)
{
    const PlaneBytes bytes = planeBytes(rows, columns);
    return 2 * bytes.codes + bytes.scales + bytes.sums;
}

QuantizedRows quantizedRowsAt(std::byte *memory, std::int32_t rows, std::int32_t columns)
{
    const PlaneBytes bytes = planeBytes(rows, columns);
    QuantizedRows planes;
    planes.high = reinterpret_cast<std::int8_t *>(memory);
    planes.low = reinterpret_cast<std::int8_t *>(memory + bytes.codes);
    planes.scales = reinterpret_cast<float *>(memory + 2 * bytes.codes);
    planes.sums = reinterpret_cast<std::int32_t *>(memory + 2 * bytes.codes + bytes.scales);
    planes.rows = rows;
    planes.columns = columns;
    return planes;
}

} // namespace tokenloupe::cuda
