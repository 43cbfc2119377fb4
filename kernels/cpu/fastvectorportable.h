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

    struct Words
    {
        std::int16_t word[32];
    };

    static constexpr int wordTokens = 2;  ///< from so many on fastwords.h is faster
    static constexpr int tileStripes = 1; ///< stripes and tokens that are worked on together there
    static constexpr int tileTokens = 2;

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
    static Floats loadFloats(const void *p)
    {
        Floats a;
        std::memcpy(a.lane, p, sizeof a.lane);
        return a;
    }
    static void storeFloats(void *p, const Floats &a) { std::memcpy(p, a.lane, sizeof a.lane); }
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
    static Ints multiplyInts(const Ints &a, const Ints &b)
    {
        return ints([&](int i) { return a.lane[i] * b.lane[i]; });
    }
    static Ints bothInts(const Ints &a, int mask)
    {
        return ints([&](int i) { return a.lane[i] & mask; });
    }
    static Ints eitherInts(const Ints &a, const Ints &b)
    {
        return ints([&](int i) { return a.lane[i] | b.lane[i]; });
    }
    static Ints loadInts(const void *p)
    {
        Ints a;
        std::memcpy(a.lane, p, sizeof a.lane);
        return a;
    }
    /// Sixteen unsigned bytes.
    static Ints loadByteInts(const void *p)
    {
        std::uint8_t bytes[16];
        std::memcpy(bytes, p, sizeof bytes);
        return ints([&](int i) { return bytes[i]; });
    }
    /// The bits as float32.
    static Floats asFloats(const Ints &a)
    {
        return floats([&](int i) { return bitsToFloat(std::uint32_t(a.lane[i])); });
    }
    /// The binary16 number in the lower half of each lane.
    static Floats lowerHalves(const Ints &a)
    {
        return floats([&](int i) { return halfToFloat(std::uint16_t(a.lane[i])); });
    }
    template <int bits>
    static Ints shiftLeft(const Ints &a)
    {
        return ints([&](int i) { return std::int32_t(std::uint32_t(a.lane[i]) << bits); });
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

    /// The lower halves of the lanes, of every four in the order 0 2 1 3.
    static void storeShuffled(std::int16_t *p, const Ints &a)
    {
        for (int i = 0; i < 16; ++i)
            p[i] = std::int16_t(a.lane[i / 4 * 4 + i % 4 % 2 * 2 + i % 4 / 2]);
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
    /// `count` bits of each byte, the lowest of them bit `from`, moved so that it is bit `to`.
    template <int from, int count, int to>
    static Bytes bitField(const Bytes &a)
    {
        return bytes([&](int i) { return ((a.byte[i] >> from) & ((1 << count) - 1)) << to; });
    }
    /// a | bitField(b)
    template <int from, int count, int to>
    static Bytes withBitField(const Bytes &a, const Bytes &b)
    {
        return bytes([&](int i) { return a.byte[i] | ((b.byte[i] >> from) & ((1 << count) - 1)) << to; });
    }
    /// table[a] for bytes below 16.
    static Bytes lookUp(const std::uint8_t (&table)[16], const Bytes &a)
    {
        return bytes([&](int i) { return table[a.byte[i]]; });
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

    /// Bytes 0 and 2, or 1 and 3, of each lane as two words.
    static Words evenBytes(const Bytes &a)
    {
        return words([&](int i) { return a.byte[2 * i]; });
    }
    static Words oddBytes(const Bytes &a)
    {
        return words([&](int i) { return a.byte[2 * i + 1]; });
    }
    /// Both words of a lane are the lane's number.
    static Words twice(const Ints &a)
    {
        return words([&](int i) { return a.lane[i / 2]; });
    }
    static Words subtractWords(const Words &a, int value)
    {
        return words([&](int i) { return a.word[i] - value; });
    }
    static Words multiplyWords(const Words &a, const Words &b)
    {
        return words([&](int i) { return a.word[i] * b.word[i]; });
    }
    static Words loadWords(const void *p)
    {
        Words a;
        std::memcpy(a.word, p, sizeof a.word);
        return a;
    }
    static void storeWords(void *p, const Words &a) { std::memcpy(p, a.word, sizeof a.word); }
    /// The two words at p in all lanes.
    static Words twoWords(const void *p)
    {
        std::int16_t two[2];
        std::memcpy(two, p, sizeof two);
        return words([&](int i) { return two[i % 2]; });
    }
    /// sum[lane] += the products of the lane's two words
    static Ints dotWords(const Ints &sum, const Words &a, const Words &b)
    {
        return ints([&](int i) {
            return sum.lane[i] + a.word[2 * i] * b.word[2 * i] + a.word[2 * i + 1] * b.word[2 * i + 1];
        });
    }

private:
    template <class Function>
    static Words words(Function function)
    {
        Words a;
        for (int i = 0; i < 32; ++i)
            a.word[i] = std::int16_t(function(i));
        return a;
    }
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
