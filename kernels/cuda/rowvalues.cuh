// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/rowgeometry.h"
#include "kernels/cuda/twofloat.cuh"

// How a warp or a block goes over one row: four neighbouring columns a thread, 16-byte loads where the row
// allows them, kept in registers where they fit.

namespace tokenloupe::cuda {

struct Four
{
    float value[4];
};

/// Rows as kernels read and write them.
struct RowPlane
{
    float *data = nullptr; ///< null: not there
    std::int64_t stride = 0;
    bool isAligned = false; ///< every row begins at a multiple of 16 bytes
};

inline bool isAligned(const void *pointer, std::uintptr_t bytes)
{
    return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

inline RowPlane rowPlane(const DeviceRows &rows)
{
    return {rows.data, rows.stride, isAligned(rows.data, 16) && rows.stride % 4 == 0};
}

/// Columns column … column + 3 of a row; those behind its end are 0.
__device__ inline Four loadFour(const float *row, std::int64_t column, std::int64_t columns, bool isVector)
{
    if (isVector && column + 4 <= columns) {
        const float4 four = *reinterpret_cast<const float4 *>(row + column);
        return {{four.x, four.y, four.z, four.w}};
    }
    Four four;
    for (int k = 0; k < 4; ++k)
        four.value[k] = column + k < columns ? row[column + k] : 0.0F;
    return four;
}

__device__ inline void storeFour(float *row, std::int64_t column, std::int64_t columns, bool isVector,
                                 const Four &four)
{
    if (isVector && column + 4 <= columns) {
        *reinterpret_cast<float4 *>(row + column) =
            make_float4(four.value[0], four.value[1], four.value[2], four.value[3]);
        return;
    }
    for (int k = 0; k < 4; ++k) {
        if (column + k < columns)
            row[column + k] = four.value[k];
    }
}

/// The threads of one row: a warp.
struct WarpOfRow
{
    /// At or behind the last row where the last block has warps to spare.
    static __device__ std::int32_t row()
    {
        return static_cast<std::int32_t>(blockIdx.x * (blockDim.x / warpLanes) + threadIdx.x / warpLanes);
    }
    static __device__ std::int32_t thread() { return static_cast<std::int32_t>(threadIdx.x) % warpLanes; }
    static __device__ std::int32_t threads() { return warpLanes; }
    static __device__ TwoFloat sum(TwoFloat value, int) { return warpJoin(value, Add()); }
    static __device__ std::uint32_t largest(std::uint32_t value) { return warpJoin(value, Larger()); }
};

struct RowSlots
{
    TwoFloat sums[2][largestWarps];
    std::uint32_t largest[largestWarps];
};

/// The threads of one row: a block. Each use needs its own slots.
struct BlockOfRow
{
    static __device__ std::int32_t row() { return static_cast<std::int32_t>(blockIdx.x); }
    static __device__ std::int32_t thread() { return static_cast<std::int32_t>(threadIdx.x); }
    static __device__ std::int32_t threads() { return static_cast<std::int32_t>(blockDim.x); }
    static __device__ TwoFloat sum(TwoFloat value, int use)
    {
        return blockJoin(value, Add(), TwoFloat(), sharedMemory<RowSlots>().sums[use]);
    }
    static __device__ std::uint32_t largest(std::uint32_t value)
    {
        return blockJoin(value, Larger(), 0U, sharedMemory<RowSlots>().largest);
    }
};

/// A row's values in registers: read once, then replaced by what is computed from them. The functions that
/// are passed in get (column, four); all threads call them equally often, so that they may use shuffles.
template <class Threads, int fours>
class KeptRow
{
public:
    template <class Load>
    __device__ KeptRow(std::int32_t, Load load)
    {
        for (int i = 0; i < fours; ++i)
            m_values[i] = load(column(i));
    }

    /// The values as they were read.
    template <class Load, class Apply>
    __device__ void forEach(Load, Apply apply) const
    {
        for (int i = 0; i < fours; ++i)
            apply(column(i), m_values[i]);
    }
    /// From here on the values are result(column, four).
    template <class Result>
    __device__ void replace(Result result)
    {
        for (int i = 0; i < fours; ++i)
            m_values[i] = result(column(i), m_values[i]);
    }
    template <class Load, class Result, class Apply>
    __device__ void forEachResult(Load load, Result, Apply apply) const
    {
        forEach(load, apply);
    }

private:
    static __device__ std::int32_t column(int i) { return 4 * (Threads::thread() + i * Threads::threads()); }

    Four m_values[fours];
};

/// The same for rows that are too wide: they are read, and results computed, as often as they are asked for.
template <class Threads>
class KeptRow<Threads, 0>
{
public:
    template <class Load>
    __device__ KeptRow(std::int32_t columns, Load)
        : m_columns(columns)
    {}

    template <class Load, class Apply>
    __device__ void forEach(Load load, Apply apply) const
    {
        for (std::int32_t begin = 0; begin < m_columns; begin += 4 * Threads::threads()) {
            const std::int32_t column = begin + 4 * Threads::thread();
            apply(column, load(column));
        }
    }
    template <class Result>
    __device__ void replace(Result) const
    {}
    template <class Load, class Result, class Apply>
    __device__ void forEachResult(Load load, Result result, Apply apply) const
    {
        forEach(load, [&](std::int32_t column, const Four &four) { apply(column, result(column, four)); });
    }

private:
    std::int32_t m_columns;
};

} // namespace tokenloupe::cuda
