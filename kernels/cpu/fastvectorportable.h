// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/blocks.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// The smallest machine that the fast kernel templates know: sixteen lanes of float32, of int32, or of four
// bytes, in plain loops. The other sets offer the same functions and give the same bits.

namespace tokenloupe::portable {

struct FastVector
{
    struct Floats
    {
        float lane[16];
    };
    struct Ints
    {
        std::int32_t lane[16];
    };
    struct Bytes
    {
        std::uint8_t byte[64];
    };

    static constexpr int tokens = 2; ///< that the matrix product works on together

    static Floats zero() { return all(0.0F); }
    static Floats all(float value)
    {
        return floats([&](int) { return value; });
    }
    /// The float at p in all lanes.
    static Floats allFloats(const void *p)
    {
        float value = 0.0F;
        std::memcpy(&value, p, sizeof value);
        return all(value);
    }
    static Floats load(const float *p)
    {
        return floats([&](int i) { return p[i]; });
    }
    /// Sixteen binary16 numbers.
    static Floats loadHalf(const void *p)
    {
        std::uint16_t halves[16];
        std::memcpy(halves, p, sizeof halves);
        return floats([&](int i) { return halfToFloat(halves[i]); });
    }
    /// The first n lanes.
    static void storePart(float *p, const Floats &a, int n)
    {
        std::memcpy(p, a.lane, std::size_t(n) * sizeof(float));
    }
    static Floats multiply(const Floats &a, const Floats &b)
    {
        return floats([&](int i) { return a.lane[i] * b.lane[i]; });
    }
    /// a · b + c, rounded once.
    static Floats multiplyAdd(const Floats &a, const Floats &b, const Floats &c)
    {
        return floats([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
    }

    static Ints zeroInts() { return allOf(0); }
    static Ints allOf(int value)
    {
        return ints([&](int) { return value; });
    }
    static Ints allInts(const void *p)
    {
        std::int32_t value = 0;
        std::memcpy(&value, p, sizeof value);
        return allOf(value);
    }
    static Ints addInts(const Ints &a, const Ints &b)
    {
        return ints([&](int i) { return a.lane[i] + b.lane[i]; });
    }
    static Ints subtractInts(const Ints &a, const Ints &b)
    {
        return ints([&](int i) { return a.lane[i] - b.lane[i]; });
    }
    static Ints largerInts(const Ints &a, const Ints &b)
    {
        return ints([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
    }
    template <int bits>
    static Ints shiftLeft(const Ints &a)
    {
        return ints([&](int i) { return a.lane[i] * (1 << bits); });
    }
    /// Towards minus infinity.
    template <int bits>
    static Ints shiftRight(const Ints &a)
    {
        return ints([&](int i) { return a.lane[i] >> bits; });
    }
    static Floats toFloat(const Ints &a)
    {
        return floats([&](int i) { return float(a.lane[i]); });
    }
    /// To the nearest integer, halves to the even one; |a| is below 2^22.
    static Ints round(const Floats &a)
    {
        const float rounding = 12582912.0F; // 1.5 · 2^23: adding it leaves the integer in the lowest bits
        return ints([&](int i) {
            return std::int32_t(floatBits(a.lane[i] + rounding)) - std::int32_t(floatBits(rounding));
        });
    }
    /// The bits of |a|, which are in the order of the values; NaN is the largest.
    static Ints magnitudeBits(const Floats &a)
    {
        return ints([&](int i) { return std::int32_t(floatBits(a.lane[i]) & 0x7FFFFFFFU); });
    }
    static int sum(const Ints &a)
    {
        int total = 0;
        for (const std::int32_t lane : a.lane)
            total += lane;
        return total;
    }
    static int largest(const Ints &a)
    {
        int result = a.lane[0];
        for (const std::int32_t lane : a.lane)
            result = lane > result ? lane : result;
        return result;
    }
    /// The lowest byte of each lane.
    static void storeBytes(std::int8_t *p, const Ints &a)
    {
        for (int i = 0; i < 16; ++i)
            p[i] = std::int8_t(a.lane[i]);
    }

    static Bytes loadBytes(const void *p)
    {
        Bytes a;
        std::memcpy(a.byte, p, sizeof a.byte);
        return a;
    }
    static Bytes lowNibbles(const Bytes &a)
    {
        return bytes([&](int i) { return a.byte[i] & 15; });
    }
    static Bytes highNibbles(const Bytes &a)
    {
        return bytes([&](int i) { return a.byte[i] >> 4; });
    }
    /// Bit j of each byte of `fifth` becomes bit 4.
    template <int j>
    static Bytes withFifthBit(const Bytes &a, const Bytes &fifth)
    {
        return bytes([&](int i) { return a.byte[i] | ((fifth.byte[i] >> j) & 1) << 4; });
    }
    /// sum[lane] += Σ codes[4 · lane + k] · x[k], k = 0 … 3: unsigned codes of codeBits bits times the four
    /// signed bytes at `four`.
    template <int codeBits>
    static Ints dot(const Ints &sum, const Bytes &codes, const void *four)
    {
        std::int8_t x[4];
        std::memcpy(x, four, sizeof x);
        return ints([&](int i) {
            const std::uint8_t *c = codes.byte + 4 * i;
            return sum.lane[i] + c[0] * x[0] + c[1] * x[1] + c[2] * x[2] + c[3] * x[3];
        });
    }

private:
    template <class Function>
    static Floats floats(Function function)
    {
        Floats a;
        for (int i = 0; i < 16; ++i)
            a.lane[i] = function(i);
        return a;
    }
    template <class Function>
    static Ints ints(Function function)
    {
        Ints a;
        for (int i = 0; i < 16; ++i)
            a.lane[i] = function(i);
        return a;
    }
    template <class Function>
    static Bytes bytes(Function function)
    {
        Bytes a;
        for (int i = 0; i < 64; ++i)
            a.byte[i] = std::uint8_t(function(i));
        return a;
    }
};

} // namespace tokenloupe::portable
