// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentioncheck.h"

#include "kernels/cuda/attentionplan.h"

namespace tokenloupe::cuda {

namespace {

constexpr std::int64_t widestRead = 16; // bytes

/// A plane of rows of `size` values, which a thread reads eight at a time.
bool isPlane(const std::byte *data, KvElement type, std::int32_t size, std::int32_t rowBytes,
             std::int32_t headStride, std::int64_t blockStride)
{
    const bool isBlocks = type >= KvElement::Q8_0;
    if (!data || type > KvElement::Q4_0 || size < 8 || size > largestAttentionHead ||
        size % (isBlocks ? 32 : 8) != 0)
        return false;
    const std::int64_t alignment = isBlocks ? 2 : widestRead;
    return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0 &&
           rowBytes > 0 && rowBytes % alignment == 0 && headStride >= rowBytes &&
           headStride % alignment == 0 && blockStride >= headStride && blockStride % alignment == 0;
}

} // namespace

bool areHeads(const DeviceRows &rows, std::int32_t heads, std::int32_t headSize)
{
    return rows.data && rows.rows >= 1 && heads >= 1 && headSize >= 1 &&
           rows.columns == std::int64_t(heads) * headSize && rows.stride >= rows.columns;
}

bool isRotary(const RotaryParams &rotary, std::int32_t headSize)
{
    return rotary.rotated >= 0 && rotary.rotated <= headSize && rotary.rotated % 2 == 0 &&
           (rotary.rotated == 0 || rotary.inverseFrequencies);
}

bool isLayerView(const KvLayerView &view)
{
    return view.table && view.blockTokens >= 1 && view.kvHeads >= 1 &&
           isPlane(view.keys, view.keyType, view.keySize, view.keyRowBytes, view.keyHeadStride,
                   view.keyBlockStride) &&
           isPlane(view.values, view.valueType, view.valueSize, view.valueRowBytes, view.valueHeadStride,
                   view.valueBlockStride);
}

bool isAttention(const DeviceRows &queries, const KvLayerView &view, const AttentionShape &shape,
                 const StepState *state)
{
    return state && isLayerView(view) && shape.heads >= 1 && shape.heads % view.kvHeads == 0 &&
           areHeads(queries, shape.heads, view.keySize) && shape.window >= 0 && shape.softCap >= 0.0F &&
           isRotary(shape.keyRotation, view.keySize) &&
           reinterpret_cast<std::uintptr_t>(queries.data) % widestRead == 0 && queries.stride % 4 == 0;
}

} // namespace tokenloupe::cuda
