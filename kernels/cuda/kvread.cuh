// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Values of the cache as float32. Rows of the plain types are aligned to 16 bytes; those of the block types
// to 2, so they are read in halves of words.

namespace tokenloupe::cuda {

constexpr std::int32_t kvBlockValues = 32; ///< of the block types

__host__ __device__ constexpr bool isBlockType(KvElement type)
{
    return type >= KvElement::Q8_0;
}

__host__ __device__ constexpr bool hasFifthBits(KvElement type)
{
    return type == KvElement::Q5_0 || type == KvElement::Q5_1;
}

__host__ __device__ constexpr bool hasOffset(KvElement type)
{
    return type == KvElement::Q4_1 || type == KvElement::Q5_1;
}

/// Bytes of a block, or of a value of the plain types.
__host__ __device__ constexpr std::int32_t kvUnitBytes(KvElement type)
{
    switch (type) {
    case KvElement::F32:
        return 4;
    case KvElement::F16:
    case KvElement::BF16:
        return 2;
    case KvElement::Q8_0:
        return 34;
    case KvElement::Q5_1:
        return 24;
    case KvElement::Q5_0:
        return 22;
    case KvElement::Q4_1:
        return 20;
    case KvElement::Q4_0:
        return 18;
    }
    return 0;
}

/// Bytes of a row of `values` values (whole blocks).
__host__ __device__ constexpr std::int32_t kvRowBytesOf(KvElement type, std::int32_t values)
{
    return (isBlockType(type) ? values / kvBlockValues : values) * kvUnitBytes(type);
}

__device__ inline float halfBitsToFloat(std::uint32_t bits)
{
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

__device__ inline std::uint32_t readTwoBytes(const std::byte *p)
{
    return *reinterpret_cast<const std::uint16_t *>(p);
}

/// Four bytes from an address that only two divide.
__device__ inline std::uint32_t readFourBytes(const std::byte *p)
{
    return readTwoBytes(p) | readTwoBytes(p + 2) << 16;
}

/// `count` (4 or 8) neighbouring values of a row as they are stored, the first a multiple of `count`. Reading
/// and converting are apart so that several reads can be under way before the first is waited for.
template <KvElement type, int count>
class KvPiece
{
public:
    __device__ void read(const std::byte *row, std::int32_t first)
    {
        if constexpr (type == KvElement::F32) {
#pragma unroll
            for (int i = 0; i < count / 4; ++i)
                readWords(row + 4 * first + 16 * i, 4 * i);
        } else if constexpr (!isBlockType(type) && count == 8) {
            readWords(row + 2 * first, 0);
        } else if constexpr (!isBlockType(type)) {
            const uint2 words = *reinterpret_cast<const uint2 *>(row + 2 * first);
            m_words[0] = words.x;
            m_words[1] = words.y;
        } else {
            readBlock(row + first / kvBlockValues * kvUnitBytes(type), first % kvBlockValues);
        }
    }

    __device__ void convert(float (&out)[count]) const
    {
        if constexpr (type == KvElement::F32) {
#pragma unroll
            for (int i = 0; i < count; ++i)
                out[i] = __uint_as_float(m_words[i]);
        } else if constexpr (type == KvElement::F16) {
#pragma unroll
            for (int i = 0; i < count; ++i)
                out[i] = halfBitsToFloat(m_words[i / 2] >> 16 * (i % 2) & 0xFFFFU);
        } else if constexpr (type == KvElement::BF16) {
#pragma unroll
            for (int i = 0; i < count; ++i)
                out[i] = __uint_as_float(i % 2 == 0 ? m_words[i / 2] << 16 : m_words[i / 2] & 0xFFFF0000U);
        } else {
            convertBlock(out);
        }
    }

private:
    __device__ void readWords(const std::byte *p, int at)
    {
        const uint4 words = *reinterpret_cast<const uint4 *>(p);
        m_words[at] = words.x;
        m_words[at + 1] = words.y;
        m_words[at + 2] = words.z;
        m_words[at + 3] = words.w;
    }

    __device__ void readBlock(const std::byte *block, std::int32_t first)
    {
        m_scale = readTwoBytes(block);
        const std::byte *p = block + 2;
        if constexpr (hasOffset(type)) {
            m_offset = readTwoBytes(p);
            p += 2;
        }
        if constexpr (hasFifthBits(type)) {
            m_high = readTwoBytes(p + first / 16 * 2) >> first % 16;
            p += 4;
        }
        p += type == KvElement::Q8_0 ? first : first % 16;
#pragma unroll
        for (int i = 0; i < count / 4; ++i)
            m_words[i] = readFourBytes(p + 4 * i);
        m_shift = type != KvElement::Q8_0 && first >= 16 ? 4 : 0;
    }

    __device__ void convertBlock(float (&out)[count]) const
    {
        const float scale = halfBitsToFloat(m_scale);
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if constexpr (type == KvElement::Q8_0) {
                const std::uint32_t code = m_words[i / 4] << (24 - 8 * (i % 4));
                out[i] = scale * static_cast<float>(static_cast<std::int32_t>(code) >> 24);
                continue;
            }
            std::uint32_t code = m_words[i / 4] >> (8 * (i % 4) + m_shift) & 15U;
            if constexpr (hasFifthBits(type))
                code |= (m_high >> i & 1U) << 4;
            if constexpr (hasOffset(type)) {
                out[i] = fmaf(scale, static_cast<float>(code), halfBitsToFloat(m_offset));
            } else {
                constexpr std::int32_t middle = hasFifthBits(type) ? 16 : 8;
                out[i] = scale * static_cast<float>(static_cast<std::int32_t>(code) - middle);
            }
        }
    }

    static constexpr int wordCount = type == KvElement::F32 ? count
                                     : isBlockType(type)    ? count / 4
                                                            : count / 2;
    std::uint32_t m_words[wordCount];
    std::uint32_t m_scale = 0;
    std::uint32_t m_offset = 0;
    std::uint32_t m_high = 0;
    std::int32_t m_shift = 0;
};

/// Calls visit.run<type>() for the type at run time.
template <class Visitor>
__device__ __forceinline__ void withKvType(KvElement type, Visitor &visit)
{
    switch (type) {
    case KvElement::F32:
        return visit.template run<KvElement::F32>();
    case KvElement::F16:
        return visit.template run<KvElement::F16>();
    case KvElement::BF16:
        return visit.template run<KvElement::BF16>();
    case KvElement::Q8_0:
        return visit.template run<KvElement::Q8_0>();
    case KvElement::Q5_1:
        return visit.template run<KvElement::Q5_1>();
    case KvElement::Q5_0:
        return visit.template run<KvElement::Q5_0>();
    case KvElement::Q4_1:
        return visit.template run<KvElement::Q4_1>();
    case KvElement::Q4_0:
        return visit.template run<KvElement::Q4_0>();
    }
}

struct ReadEight
{
    const std::byte *row;
    std::int32_t first;
    float (&out)[8];

    template <KvElement type>
    __device__ void run()
    {
        KvPiece<type, 8> piece;
        piece.read(row, first);
        piece.convert(out);
    }
};

/// Values [first, first + 8) of a row, first a multiple of 8: for where the type is not worth a template.
__device__ inline void readEight(KvElement type, const std::byte *row, std::int32_t first, float (&out)[8])
{
    ReadEight read{row, first, out};
    withKvType(type, read);
}

/// Bytes from the plane of keys (or values) to the first head's row at a position whose block is there.
__device__ inline std::int64_t kvPlace(const KvLayerView &view, std::int32_t position,
                                       std::int64_t blockStride, std::int32_t rowBytes)
{
    const std::int32_t block = position / view.blockTokens;
    return view.table[block] * blockStride + std::int64_t(position - block * view.blockTokens) * rowBytes;
}

__device__ inline const std::byte *keyRow(const KvLayerView &view, std::int32_t kvHead, std::int32_t position)
{
    return view.keys + kvPlace(view, position, view.keyBlockStride, view.keyRowBytes) +
           std::int64_t(kvHead) * view.keyHeadStride;
}

} // namespace tokenloupe::cuda
