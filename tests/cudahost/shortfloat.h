// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/halfbits.h"
#include "tests/cudahost/mathintrinsics.h"

namespace cudahost {

/// What CUDA's types of 16 bits have in common. Arithmetic is float's, rounded once: the same numbers as the
/// device's. note: functions are friends, so that they take what converts to the type, as CUDA's do.
template <class Format>
struct ShortFloat
{
    ShortFloat() = default;
    ShortFloat(float value)
        : bits(Format::rounded(value))
    {}
    ShortFloat(double value)
        : bits(Format::rounded(floatForRounding(value)))
    {}
    ShortFloat(int value)
        : ShortFloat(static_cast<double>(value))
    {}
    ShortFloat(unsigned int value)
        : ShortFloat(static_cast<double>(value))
    {}
    operator float() const { return Format::value(bits); }
    static ShortFloat ofBits(unsigned int bits)
    {
        ShortFloat result;
        result.bits = static_cast<unsigned short>(bits);
        return result;
    }
    float value() const { return Format::value(bits); }

    friend ShortFloat operator+(ShortFloat a, ShortFloat b) { return a.value() + b.value(); }
    friend ShortFloat operator-(ShortFloat a, ShortFloat b) { return a.value() - b.value(); }
    friend ShortFloat operator*(ShortFloat a, ShortFloat b) { return a.value() * b.value(); }
    friend ShortFloat operator/(ShortFloat a, ShortFloat b) { return a.value() / b.value(); }
    friend ShortFloat operator-(ShortFloat a) { return ofBits(a.bits ^ 0x8000U); }
    friend ShortFloat &operator+=(ShortFloat &a, ShortFloat b) { return a = a + b; }
    friend ShortFloat &operator-=(ShortFloat &a, ShortFloat b) { return a = a - b; }
    friend ShortFloat &operator*=(ShortFloat &a, ShortFloat b) { return a = a * b; }
    friend ShortFloat &operator/=(ShortFloat &a, ShortFloat b) { return a = a / b; }
    friend bool operator==(ShortFloat a, ShortFloat b) { return a.value() == b.value(); }
    friend bool operator!=(ShortFloat a, ShortFloat b) { return a.value() != b.value(); }
    friend bool operator<(ShortFloat a, ShortFloat b) { return a.value() < b.value(); }
    friend bool operator<=(ShortFloat a, ShortFloat b) { return a.value() <= b.value(); }
    friend bool operator>(ShortFloat a, ShortFloat b) { return a.value() > b.value(); }
    friend bool operator>=(ShortFloat a, ShortFloat b) { return a.value() >= b.value(); }

    friend ShortFloat __hadd(ShortFloat a, ShortFloat b) { return a + b; }
    friend ShortFloat __hsub(ShortFloat a, ShortFloat b) { return a - b; }
    friend ShortFloat __hmul(ShortFloat a, ShortFloat b) { return a * b; }
    friend ShortFloat __hdiv(ShortFloat a, ShortFloat b) { return a / b; }
    friend ShortFloat __hneg(ShortFloat a) { return -a; }
    friend ShortFloat __habs(ShortFloat a) { return ofBits(a.bits & 0x7FFFU); }
    /// Rounded once: the product is exact in a double, and so is what its sum with a third number loses.
    friend ShortFloat __hfma(ShortFloat a, ShortFloat b, ShortFloat c)
    {
        const double product = static_cast<double>(a.value()) * static_cast<double>(b.value());
        const double addend = static_cast<double>(c.value());
        const double sum = product + addend;
        const double ofAddend = sum - product;
        const double rest = (product - (sum - ofAddend)) + (addend - ofAddend);
        return floatForRounding(sum, rest);
    }
    friend ShortFloat __hmax(ShortFloat a, ShortFloat b) { return std::fmax(a.value(), b.value()); }
    friend ShortFloat __hmin(ShortFloat a, ShortFloat b) { return std::fmin(a.value(), b.value()); }
    friend bool __hisnan(ShortFloat a) { return std::isnan(a.value()); }
    friend bool __hisinf(ShortFloat a) { return std::isinf(a.value()); }
    friend bool __heq(ShortFloat a, ShortFloat b) { return a == b; }
    friend bool __hne(ShortFloat a, ShortFloat b) { return a != b; }
    friend bool __hlt(ShortFloat a, ShortFloat b) { return a < b; }
    friend bool __hle(ShortFloat a, ShortFloat b) { return a <= b; }
    friend bool __hgt(ShortFloat a, ShortFloat b) { return a > b; }
    friend bool __hge(ShortFloat a, ShortFloat b) { return a >= b; }

    friend ShortFloat hexp(ShortFloat a) { return std::exp(a.value()); }
    friend ShortFloat hexp2(ShortFloat a) { return std::exp2(a.value()); }
    friend ShortFloat hlog(ShortFloat a) { return std::log(a.value()); }
    friend ShortFloat hlog2(ShortFloat a) { return std::log2(a.value()); }
    friend ShortFloat hsqrt(ShortFloat a) { return std::sqrt(a.value()); }
    friend ShortFloat hrsqrt(ShortFloat a) { return rsqrtf(a.value()); }
    friend ShortFloat hrcp(ShortFloat a) { return 1.0F / a.value(); }
    friend ShortFloat hsin(ShortFloat a) { return std::sin(a.value()); }
    friend ShortFloat hcos(ShortFloat a) { return std::cos(a.value()); }
    friend ShortFloat hfloor(ShortFloat a) { return std::floor(a.value()); }
    friend ShortFloat hceil(ShortFloat a) { return std::ceil(a.value()); }
    friend ShortFloat hrint(ShortFloat a) { return std::nearbyint(a.value()); }

    unsigned short bits;
};

/// Two of them in a word.
template <class Format>
struct alignas(4) ShortFloatPair
{
    using Single = ShortFloat<Format>;

    ShortFloatPair() = default;
    ShortFloatPair(Single low, Single high)
        : x(low)
        , y(high)
    {}

    friend ShortFloatPair operator+(ShortFloatPair a, ShortFloatPair b) { return {a.x + b.x, a.y + b.y}; }
    friend ShortFloatPair operator-(ShortFloatPair a, ShortFloatPair b) { return {a.x - b.x, a.y - b.y}; }
    friend ShortFloatPair operator*(ShortFloatPair a, ShortFloatPair b) { return {a.x * b.x, a.y * b.y}; }
    friend ShortFloatPair operator/(ShortFloatPair a, ShortFloatPair b) { return {a.x / b.x, a.y / b.y}; }
    friend ShortFloatPair operator-(ShortFloatPair a) { return {-a.x, -a.y}; }
    friend ShortFloatPair &operator+=(ShortFloatPair &a, ShortFloatPair b) { return a = a + b; }
    friend ShortFloatPair &operator-=(ShortFloatPair &a, ShortFloatPair b) { return a = a - b; }
    friend ShortFloatPair &operator*=(ShortFloatPair &a, ShortFloatPair b) { return a = a * b; }
    friend ShortFloatPair &operator/=(ShortFloatPair &a, ShortFloatPair b) { return a = a / b; }

    friend ShortFloatPair __hadd2(ShortFloatPair a, ShortFloatPair b) { return a + b; }
    friend ShortFloatPair __hsub2(ShortFloatPair a, ShortFloatPair b) { return a - b; }
    friend ShortFloatPair __hmul2(ShortFloatPair a, ShortFloatPair b) { return a * b; }
    friend ShortFloatPair __h2div(ShortFloatPair a, ShortFloatPair b) { return a / b; }
    friend ShortFloatPair __hneg2(ShortFloatPair a) { return -a; }
    friend ShortFloatPair __habs2(ShortFloatPair a) { return {__habs(a.x), __habs(a.y)}; }
    friend ShortFloatPair __hfma2(ShortFloatPair a, ShortFloatPair b, ShortFloatPair c)
    {
        return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
    }
    friend ShortFloatPair __hmax2(ShortFloatPair a, ShortFloatPair b)
    {
        return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
    }
    friend ShortFloatPair __hmin2(ShortFloatPair a, ShortFloatPair b)
    {
        return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
    }
    friend ShortFloatPair h2exp(ShortFloatPair a) { return {hexp(a.x), hexp(a.y)}; }
    friend ShortFloatPair h2exp2(ShortFloatPair a) { return {hexp2(a.x), hexp2(a.y)}; }
    friend ShortFloatPair h2log(ShortFloatPair a) { return {hlog(a.x), hlog(a.y)}; }
    friend ShortFloatPair h2sqrt(ShortFloatPair a) { return {hsqrt(a.x), hsqrt(a.y)}; }
    friend ShortFloatPair h2rsqrt(ShortFloatPair a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
    friend ShortFloatPair h2rcp(ShortFloatPair a) { return {hrcp(a.x), hrcp(a.y)}; }

    friend float __low2float(ShortFloatPair a) { return a.x.value(); }
    friend float __high2float(ShortFloatPair a) { return a.y.value(); }
    friend ShortFloatPair __lowhigh2highlow(ShortFloatPair a) { return {a.y, a.x}; }

    Single x, y;
};

struct HalfFormat
{
    static std::uint16_t rounded(float value) { return halfOfFloat(value); }
    static float value(std::uint16_t bits) { return floatOfHalf(bits); }
};

struct BfloatFormat
{
    static std::uint16_t rounded(float value) { return bfloatOfFloat(value); }
    static float value(std::uint16_t bits) { return floatOfBfloat(bits); }
};

} // namespace cudahost
