// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Products of small matrices by a whole warp: (16 × 16) · (16 × 8), binary16 in, float32 sums.
//
// What thread t holds, with g = t / 4 and p = 2 · (t % 4); a word is two neighbours, the lower one in its
// lower half: A[0]: row g, columns p, p + 1      A[1]: row g + 8      A[2]: row g, columns p + 8, p + 9 A[3]:
// both B[0]: rows p, p + 1 of column g    B[1]: rows p + 8, p + 9 sums[0, 1]: row g, columns p, p + 1 sums[2,
// 3]: row g + 8

namespace tokenloupe::cuda {

struct TensorA
{
    std::uint32_t words[4];
};

struct TensorB
{
    std::uint32_t words[2];
};

/// The nearest halves of two numbers, in one word.
__device__ inline std::uint32_t packHalves(float low, float high)
{
    return std::uint32_t(__half_as_ushort(__float2half_rn(low))) |
           std::uint32_t(__half_as_ushort(__float2half_rn(high))) << 16;
}

/// What is beyond them becomes the largest; NaN stays.
__device__ inline float withinHalves(float value)
{
    const float limit = 65504.0F;
    return value > limit ? limit : value < -limit ? -limit : value;
}

#ifdef __CUDACC__

/// sums += A · B. Compute capability 8.0 and up.
__device__ __forceinline__ void addTensorProduct(float (&sums)[4], const TensorA &a, const TensorB &b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]),
          "r"(b.words[1]));
}

#else

/// The same by shuffles: each thread fetches the rows and columns that its sums need.
inline void addTensorProduct(float (&sums)[4], const TensorA &a, const TensorB &b)
{
    constexpr unsigned wholeWarp = 0xFFFFFFFFU;
    const int thread = static_cast<int>(threadIdx.x % 32);
    const auto half = [](std::uint32_t word, int i) {
        return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> 16 * i & 0xFFFFU)));
    };
    for (int k = 0; k < 16; k += 2) {
        const int pair = k % 8 / 2;
        const int part = k / 8;
        const int fromRow = thread / 4 * 4 + pair;
        const std::uint32_t upper = __shfl_sync(wholeWarp, a.words[2 * part], fromRow);
        const std::uint32_t lower = __shfl_sync(wholeWarp, a.words[2 * part + 1], fromRow);
        for (int c = 0; c < 2; ++c) {
            const int column = 2 * (thread % 4) + c;
            const std::uint32_t right = __shfl_sync(wholeWarp, b.words[part], column * 4 + pair);
            for (int i = 0; i < 2; ++i) {
                sums[c] += half(upper, i) * half(right, i);
                sums[2 + c] += half(lower, i) * half(right, i);
            }
        }
    }
}

#endif

} // namespace tokenloupe::cuda
