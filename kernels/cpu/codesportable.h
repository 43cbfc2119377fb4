// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/vectorportable.h"

namespace tokenloupe::portable {

/// Small whole numbers, one in a byte, thirty-two at a time: how the block types pick their codes apart and
/// spread them over float lanes. The other sets offer the same functions and give the same bits.
struct Codes
{
    using Reg = Vector::Reg;
    struct Bytes
    {
        std::uint8_t lane[32];
    };

    static Bytes load(const void *p)
    {
        Bytes a;
        std::memcpy(a.lane, p, sizeof a.lane);
        return a;
    }
    /// Each byte shifted to the right (a negative `shift`: to the left), then cut down to `mask`. The mask
    /// must leave out what a shift of a wider word would bring in from the next byte.
    template <int shift>
    static Bytes moved(const Bytes &a, int mask)
    {
        return each([&](int i) {
            const unsigned byte = a.lane[i];
            return (shift >= 0 ? byte >> (shift & 7) : byte << (-shift & 7)) & unsigned(mask);
        });
    }
    static Bytes either(const Bytes &a, const Bytes &b)
    {
        return each([&](int i) { return unsigned(a.lane[i]) | b.lane[i]; });
    }
    static Bytes less(const Bytes &a, int n)
    {
        return each([&](int i) { return a.lane[i] - unsigned(n); });
    }
    /// levels[code] of codes below sixteen.
    static Bytes lookedUp(const Bytes &a, const std::int8_t (&levels)[16])
    {
        return each([&](int i) { return unsigned(levels[a.lane[i]]); });
    }

    /// code · d + m of unsigned codes, each half with its own d and m. The product must be exact.
    static void scaleAdd(const Bytes &a, const Reg &dLow, const Reg &mLow, const Reg &dHigh, const Reg &mHigh,
                         Reg &low, Reg &high)
    {
        for (int i = 0; i < 16; ++i) {
            low.lane[i] = float(a.lane[i]) * dLow.lane[i] + mLow.lane[i];
            high.lane[i] = float(a.lane[i + 16]) * dHigh.lane[i] + mHigh.lane[i];
        }
    }
    /// code · d of signed codes.
    static void scale(const Bytes &a, const Reg &dLow, const Reg &dHigh, Reg &low, Reg &high)
    {
        for (int i = 0; i < 16; ++i) {
            low.lane[i] = float(std::int8_t(a.lane[i])) * dLow.lane[i];
            high.lane[i] = float(std::int8_t(a.lane[i + 16])) * dHigh.lane[i];
        }
    }
    /// code · d + m of the low and of the high halves of sixteen bytes.
    static void nibbles(const void *q, const Reg &dLow, const Reg &mLow, const Reg &dHigh, const Reg &mHigh,
                        Reg &low, Reg &high)
    {
        const auto *bytes = static_cast<const std::uint8_t *>(q);
        for (int i = 0; i < 16; ++i) {
            low.lane[i] = float(bytes[i] & 15) * dLow.lane[i] + mLow.lane[i];
            high.lane[i] = float(bytes[i] >> 4) * dHigh.lane[i] + mHigh.lane[i];
        }
    }
    /// levels[code] · d of the low and of the high halves of sixteen bytes.
    static void levels(const void *q, const std::int8_t (&levels)[16], const Reg &d, Reg &low, Reg &high)
    {
        const auto *bytes = static_cast<const std::uint8_t *>(q);
        for (int i = 0; i < 16; ++i) {
            low.lane[i] = float(levels[bytes[i] & 15]) * d.lane[i];
            high.lane[i] = float(levels[bytes[i] >> 4]) * d.lane[i];
        }
    }
    /// code · d of sixteen signed bytes, given as two words, the first in the lowest bits.
    static Reg scaleWords(std::uint64_t first, std::uint64_t second, const Reg &d)
    {
        const std::uint64_t words[2] = {first, second};
        return Vector::signedBytes(words, d);
    }
    /// The binary16 at p.
    static float half(const void *p)
    {
        std::uint16_t bits = 0;
        std::memcpy(&bits, p, sizeof bits);
        return halfToFloat(bits);
    }

private:
    template <class Function>
    static Bytes each(Function function)
    {
        Bytes a;
        for (int i = 0; i < 32; ++i)
            a.lane[i] = std::uint8_t(function(i));
        return a;
    }
};

} // namespace tokenloupe::portable
