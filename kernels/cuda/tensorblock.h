// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attentionplan.h"

// What a block of attendPrefill with tensor cores has in shared memory.

namespace tokenloupe::cuda {

constexpr std::int32_t mostTensorPositions = 64;

/// Behind it: queries, keys and values as binary16, see TensorPlaces.
struct alignas(16) TensorBlock
{
    std::int64_t keyPlaces[mostTensorPositions]; ///< bytes from the plane
    std::int64_t valuePlaces[mostTensorPositions];
    Lane lanes[prefillLanes];
};

/// Words of two halves. Strides are chosen so that the words that a warp reads at a time lie in 32 banks.
struct TensorPlaces
{
    std::uint32_t *queries = nullptr; ///< (lanes × keyStride): two neighbouring columns
    std::uint32_t *keys = nullptr;    ///< (positions × keyStride)
    std::uint32_t *values =
        nullptr; ///< (positions / 2 × valueStride): a column of two neighbouring positions
    std::int32_t keyStride = 0;
    std::int32_t valueStride = 0;
};

/// Columns are filled up with 0 to a multiple of 16.
__host__ __device__ constexpr std::int32_t tensorKeyStride(std::int32_t keySize)
{
    return (keySize + 15) / 16 * 8 + 4;
}

__host__ __device__ constexpr std::int32_t tensorValueStride(std::int32_t valueTiles)
{
    return 8 * valueTiles + 8;
}

constexpr std::size_t tensorSharedBytes(std::int32_t keySize, std::int32_t valueTiles, std::int32_t positions)
{
    const std::int32_t words =
        (prefillLanes + positions) * tensorKeyStride(keySize) + positions / 2 * tensorValueStride(valueTiles);
    return sizeof(TensorBlock) + sizeof(std::uint32_t) * static_cast<std::size_t>(words);
}

} // namespace tokenloupe::cuda
