// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/tensortype.h"

#include <cstddef>
#include <cstdint>

// What kernels get to see of memory on the device. Plain values, passed to kernels as they are.

namespace tokenloupe::cuda {

/// Rows of float32 activations in device memory, row r at data + r · stride.
struct DeviceRows
{
    float *data = nullptr;
    std::int32_t rows = 0;
    std::int32_t columns = 0;
    std::int64_t stride = 0; ///< floats from row to row
};

/// Activations rounded to 15 bits, as the `fast` precision does on the CPU: value = scale of its row ·
/// (128 · high + low), low in [-64, 63]. Row r of each plane begins at r · columns; columns are a multiple
/// of 32.
struct QuantizedRows
{
    std::int8_t *high = nullptr;  ///< (rows × columns)
    std::int8_t *low = nullptr;   ///< (rows × columns)
    float *scales = nullptr;      ///< (rows)
    std::int32_t *sums = nullptr; ///< (rows × columns / 16): sum of the codes of sixteen columns
    std::int32_t rows = 0;
    std::int32_t columns = 0;
};

/// A weight matrix in device memory, in the planes of its type (see weightlayout.h).
struct DeviceWeight
{
    const std::byte *data = nullptr;
    TensorType type = TensorType::F32;
    std::int64_t rows = 0;    ///< outputs
    std::int64_t columns = 0; ///< inputs
};

/// What changes from one forward pass to the next, read by kernels from device memory: so a captured graph
/// stays true.
struct StepState
{
    std::int32_t firstPosition = 0; ///< of the batch's first token in its sequence
    std::int32_t tokens = 0;        ///< of the batch
};

/// Element types of the cache; the block types share a scale (and an offset) among 32 values of a head, as
/// in kernels/formats/blocks.h.
enum class KvElement : std::uint8_t { F32, F16, BF16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0 };

/// Keys and values of one layer. The row of a head at a position:
/// plane + table[position / blockTokens] · blockStride + head · headStride + position % blockTokens ·
/// rowBytes
/// Planes and strides of F32, F16 and BF16 are multiples of 16 bytes, those of the block types of 2.
struct KvLayerView
{
    std::byte *keys = nullptr;
    std::byte *values = nullptr;
    const std::int32_t *table = nullptr; ///< block numbers, in device memory; -1: left behind by a window
    std::int64_t keyBlockStride = 0;     ///< bytes
    std::int64_t valueBlockStride = 0;
    std::int32_t keyHeadStride = 0; ///< bytes
    std::int32_t valueHeadStride = 0;
    std::int32_t keyRowBytes = 0;
    std::int32_t valueRowBytes = 0;
    std::int32_t blockTokens = 0;
    std::int32_t kvHeads = 0;
    std::int32_t keySize = 0; ///< numbers of one head
    std::int32_t valueSize = 0;
    KvElement keyType = KvElement::F16;
    KvElement valueType = KvElement::F16;
};

} // namespace tokenloupe::cuda
