// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/blocks.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// The smallest machine that the kernel templates know: sixteen float32 lanes and what can be done with them,
// in plain loops that the compiler turns into what the processor has. The other sets offer the same
// functions, and what holds for this one holds for them (AVX2 and AVX-512 bit for bit).

namespace tokenloupe::portable {

struct Codes; // codesportable.h

struct Vector
{
    using Codes = portable::Codes;
    struct Reg
    {
        float lane[16];
    };
    using Group = Reg; ///< what one register holds, for the innermost loop of the matrix product
    struct DoubleReg
    {
        double lane[16];
    };

    static constexpr int groups = 1;     ///< Group is 16 / groups lanes
    static constexpr int decodeRows = 1; ///< rows of a matrix-vector product that are worked on together
    static constexpr int tileRows = 2;   ///< rows × tokens of the block of sums of a matrix-matrix product
    static constexpr int tileTokens = 1;
    static constexpr int scoreLanes = 1;     ///< queries that share a key while it is in a register
    static constexpr int valueLanes = 1;     ///< weighted sums that share a value, and how many times
    static constexpr int valueRegisters = 1; ///< sixteen columns of each
    static constexpr int tileKeys = 1; ///< times sixteen transposed keys × queries of the block of sums
    static constexpr int tileQueries = 1;

    static Reg zero() { return all(0.0F); }
    static Reg all(float value)
    {
        Reg a;
        for (float &lane : a.lane)
            lane = value;
        return a;
    }
    /// Sixteen floats from any address.
    static Reg load(const void *p)
    {
        Reg a;
        std::memcpy(a.lane, p, sizeof a.lane);
        return a;
    }
    static void store(float *p, const Reg &a) { std::memcpy(p, a.lane, sizeof a.lane); }
    /// The first n (less than 16) from memory, the others 0. Nothing behind them is read.
    static Reg loadPart(const void *p, int n)
    {
        Reg a = zero();
        std::memcpy(a.lane, p, std::size_t(n) * sizeof(float));
        return a;
    }
    static void storePart(float *p, const Reg &a, int n)
    {
        std::memcpy(p, a.lane, std::size_t(n) * sizeof(float));
    }

    static Group loadGroup(const float *p) { return load(p); }
    static void storeGroup(float *p, const Group &a) { store(p, a); }
    static Group multiplyAddGroup(const Group &a, const Group &b, const Group &c)
    {
        return multiplyAdd(a, b, c);
    }
    /// From here on `a` is in a register, not in the memory that it was loaded from.
    static void keep(Group &) {}

    static Reg add(const Reg &a, const Reg &b)
    {
        return each([&](int i) { return a.lane[i] + b.lane[i]; });
    }
    static Reg subtract(const Reg &a, const Reg &b)
    {
        return each([&](int i) { return a.lane[i] - b.lane[i]; });
    }
    static Reg multiply(const Reg &a, const Reg &b)
    {
        return each([&](int i) { return a.lane[i] * b.lane[i]; });
    }
    static Reg divide(const Reg &a, const Reg &b)
    {
        return each([&](int i) { return a.lane[i] / b.lane[i]; });
    }
    /// a · b + c, rounded once where the processor can do so.
    static Reg multiplyAdd(const Reg &a, const Reg &b, const Reg &c)
    {
#ifdef FP_FAST_FMAF
        return each([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
#else
        return each([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
#endif
    }
    /// The larger of the two; b where one is NaN.
    static Reg larger(const Reg &a, const Reg &b)
    {
        return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
    }
    /// The smaller of the two; b where one is NaN.
    static Reg smaller(const Reg &a, const Reg &b)
    {
        return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
    }
    /// a, but 0 in the lanes where x equals y.
    static Reg zeroWhereEqual(const Reg &a, const Reg &x, const Reg &y)
    {
        return each([&](int i) { return x.lane[i] == y.lane[i] ? 0.0F : a.lane[i]; });
    }
    /// a · 2^n, rounded once, for |a| near 1; `biased` is n + bias where bias is 1.5 · 2^23, so that n can be
    /// read off the bits.
    static Reg scaleByPower(const Reg &a, const Reg &biased, const Reg &bias)
    {
        return each([&](int i) {
            const std::uint32_t power = floatBits(biased.lane[i]) - floatBits(bias.lane[i]);
            const std::uint32_t half = std::uint32_t(std::int32_t(power) >> 1);
            return a.lane[i] * bitsToFloat((half + 127U) << 23) * bitsToFloat((power - half + 127U) << 23);
        });
    }

    /// The fixed tree: lanes l and l + 8, then l + 4, l + 2, l + 1.
    static float sum(const Reg &a)
    {
        float lane[16];
        std::memcpy(lane, a.lane, sizeof lane);
        for (int width = 8; width > 0; width /= 2) {
            for (int i = 0; i < width; ++i)
                lane[i] += lane[i + width];
        }
        return lane[0];
    }
    /// sum() of four.
    static void sumFour(const Reg *a, float *out)
    {
        for (int i = 0; i < 4; ++i)
            out[i] = sum(a[i]);
    }
    static float largest(const Reg &a)
    {
        float result = a.lane[0];
        for (const float lane : a.lane)
            result = lane > result ? lane : result;
        return result;
    }

    /// Value j of register i becomes value i of register j.
    static void transpose(Reg (&a)[16])
    {
        for (int i = 0; i < 16; ++i) {
            for (int j = 0; j < i; ++j) {
                const float value = a[i].lane[j];
                a[i].lane[j] = a[j].lane[i];
                a[j].lane[i] = value;
            }
        }
    }

    static DoubleReg zeroDouble()
    {
        return {};
    }
    static DoubleReg addDouble(DoubleReg sum, const Reg &a)
    {
        for (int i = 0; i < 16; ++i)
            sum.lane[i] += double(a.lane[i]);
        return sum;
    }
    /// The product of two floats is exact in double, so there is one rounding with or without a fused
    /// operation.
    static DoubleReg addProductDouble(DoubleReg sum, const Reg &a, const Reg &b)
    {
        for (int i = 0; i < 16; ++i)
            sum.lane[i] += double(a.lane[i]) * double(b.lane[i]);
        return sum;
    }
    static double sumDouble(DoubleReg a)
    {
        for (int width = 8; width > 0; width /= 2) {
            for (int i = 0; i < width; ++i)
                a.lane[i] += a.lane[i + width];
        }
        return a.lane[0];
    }

    static Reg loadHalf(const void *p)
    {
        return loadHalfPart(p, 16);
    }
    static Reg loadHalfPart(const void *p, int n)
    {
        const Words words = loadWords(p, n);
        return each([&](int i) { return halfToFloat(words.lane[i]); });
    }
    static void storeHalf(std::uint16_t *p, const Reg &a)
    {
        storeHalfPart(p, a, 16);
    }
    static void storeHalfPart(std::uint16_t *p, const Reg &a, int n)
    {
        for (int i = 0; i < n; ++i)
            p[i] = floatToHalf(a.lane[i]);
    }
    static Reg loadBfloat(const void *p)
    {
        return loadBfloatPart(p, 16);
    }
    static Reg loadBfloatPart(const void *p, int n)
    {
        const Words words = loadWords(p, n);
        return each([&](int i) { return bfloatToFloat(words.lane[i]); });
    }

    /// The weights d · q + m of sixteen bytes: of their low halves, of their high halves. d · q is exact.
    static void nibbles(const void *q, const Reg &d, const Reg &m, Reg &low, Reg &high)
    {
        const auto *bytes = static_cast<const std::uint8_t *>(q);
        low = each([&](int i) { return float(bytes[i] & 15) * d.lane[i] + m.lane[i]; });
        high = each([&](int i) { return float(bytes[i] >> 4) * d.lane[i] + m.lane[i]; });
    }
    /// The same with a fifth bit of each value from the 32 bits at `fifth`.
    static void fiveBits(const void *q, const void *fifth, const Reg &d, const Reg &m, Reg &low, Reg &high)
    {
        const auto *bytes = static_cast<const std::uint8_t *>(q);
        const auto *bits = static_cast<const std::uint8_t *>(fifth);
        const std::uint32_t lowBits = bits[0] | std::uint32_t(bits[1]) << 8;
        const std::uint32_t highBits = bits[2] | std::uint32_t(bits[3]) << 8;
        low = each([&](int i) {
            return float((bytes[i] & 15U) | ((lowBits >> i) & 1U) << 4) * d.lane[i] + m.lane[i];
        });
        high = each([&](int i) {
            return float((bytes[i] >> 4U) | ((highBits >> i) & 1U) << 4) * d.lane[i] + m.lane[i];
        });
    }
    /// The weights d · q of sixteen signed bytes.
    static Reg signedBytes(const void *q, const Reg &d)
    {
        const auto *bytes = static_cast<const std::int8_t *>(q);
        return each([&](int i) { return float(bytes[i]) * d.lane[i]; });
    }

private:
    struct Words
    {
        std::uint16_t lane[16];
    };
    static Words loadWords(const void *p, int n)
    {
        Words words = {};
        std::memcpy(words.lane, p, std::size_t(n) * sizeof(std::uint16_t));
        return words;
    }
    template <class Function>
    static Reg each(Function function)
    {
        Reg a;
        for (int i = 0; i < 16; ++i)
            a.lane[i] = function(i);
        return a;
    }
};

} // namespace tokenloupe::portable
