// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/superquantize.h"

// Weights that are stored in fewer bits for good: codes and scales are searched for, which takes some ten
// times as long as the plain rounding of quantizekernels.h.

namespace tokenloupe::kernel {

template <class V>
struct StoreWeights
{
    static void run(const float *x, BlockQ4_0 &block)
    {
        std::uint8_t codes[quantBlockValues];
        block.d = symmetric(x, 8.0F, codes);
        packNibbles<V>(codes, block.q);
    }
    static void run(const float *x, BlockQ5_0 &block)
    {
        std::uint8_t codes[quantBlockValues];
        block.d = symmetric(x, 16.0F, codes);
        packFifthBits<V>(codes, block.high);
        packNibbles<V>(codes, block.q);
    }
    static void run(const float *x, BlockQ4_K &block)
    {
        const OffsetBlock<V> searched(x, 15.0F);
        block.d = searched.d();
        block.dmin = searched.dmin();
        searched.writeScales(block.scales);
        for (int pair = 0; pair < 4; ++pair) {
            std::uint8_t low[32];
            std::uint8_t high[32];
            searched.codes(2 * pair, low);
            searched.codes(2 * pair + 1, high);
            for (int i = 0; i < 32; ++i)
                block.q[32 * pair + i] = std::uint8_t(low[i] | high[i] << 4);
        }
    }
    static void run(const float *x, BlockQ5_K &block)
    {
        const OffsetBlock<V> searched(x, 31.0F);
        block.d = searched.d();
        block.dmin = searched.dmin();
        searched.writeScales(block.scales);
        std::memset(block.high, 0, sizeof block.high);
        for (int pair = 0; pair < 4; ++pair) {
            std::uint8_t low[32];
            std::uint8_t high[32];
            searched.codes(2 * pair, low);
            searched.codes(2 * pair + 1, high);
            for (int i = 0; i < 32; ++i) {
                block.q[32 * pair + i] = std::uint8_t((low[i] & 15) | (high[i] & 15) << 4);
                const int fifth = (low[i] >> 4) | (high[i] >> 4) << 1;
                block.high[i] = std::uint8_t(block.high[i] | fifth << 2 * pair);
            }
        }
    }
    static void run(const float *x, BlockQ6_K &block)
    {
        const SignedBlock<V> searched(x);
        block.d = searched.d();
        std::memcpy(block.scales, searched.scales(), sizeof block.scales);
        std::uint8_t codes[superBlockValues];
        searched.codes(codes);
        for (int half = 0; half < 2; ++half) {
            for (int i = 0; i < 32; ++i) {
                const std::uint8_t *c = codes + 128 * half + i; // of piece 0; the others 32 further each
                block.q[64 * half + i] = std::uint8_t((c[0] & 15) | (c[64] & 15) << 4);
                block.q[64 * half + 32 + i] = std::uint8_t((c[32] & 15) | (c[96] & 15) << 4);
                block.high[32 * half + i] =
                    std::uint8_t((c[0] >> 4) | (c[32] >> 4) << 2 | (c[64] >> 4) << 4 | (c[96] >> 4) << 6);
            }
        }
    }

private:
    static std::uint16_t symmetric(const float *x, float middle, std::uint8_t *codes)
    {
        WeightRun<V, 2> weights;
        weights.load(x);
        const float wanted = symmetricScale(weights, middle, 6, 0.2F * middle / 8.0F);
        const std::uint16_t half = wanted == 0.0F ? std::uint16_t(0) : finiteHalf<V>(wanted);
        const float d = halfToFloat(half);
        weights.codes(0.0F, d == 0.0F ? 0.0F : 1.0F / d, -middle, middle - 1.0F, int(middle), codes);
        return half;
    }
};

template <class V, class Block, int values>
void storeBlocks(const float *x, std::int64_t n, std::byte *out)
{
    for (std::int64_t i = 0; i + values <= n; i += values, out += sizeof(Block)) {
        Block block;
        StoreWeights<V>::run(x + i, block);
        std::memcpy(out, &block, sizeof block);
    }
}

template <class V>
void quantizeWeights(TensorType type, const float *x, std::int64_t n, std::byte *out)
{
    switch (type) {
    case TensorType::Q4_0:
        return storeBlocks<V, BlockQ4_0, quantBlockValues>(x, n, out);
    case TensorType::Q5_0:
        return storeBlocks<V, BlockQ5_0, quantBlockValues>(x, n, out);
    case TensorType::Q4_K:
        return storeBlocks<V, BlockQ4_K, superBlockValues>(x, n, out);
    case TensorType::Q5_K:
        return storeBlocks<V, BlockQ5_K, superBlockValues>(x, n, out);
    case TensorType::Q6_K:
        return storeBlocks<V, BlockQ6_K, superBlockValues>(x, n, out);
    default: // coarse enough for a search only in the types above
        return quantizeRow<V>(type, x, n, out);
    }
}

} // namespace tokenloupe::kernel
