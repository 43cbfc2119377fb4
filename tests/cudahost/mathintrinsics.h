// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <math.h>
#include <stdlib.h>
#include <type_traits>

// The device's maths functions that <math.h> has not. The fast ones are exact here: a test that needs their
// error bound for a device states it itself.

namespace cudahost {

template <class To, class From>
To bitsAs(From value)
{
    static_assert(sizeof(To) == sizeof(From));
    To result;
    std::memcpy(&result, &value, sizeof(To));
    return result;
}

/// Conversions of the device saturate, and a NaN becomes 0.
template <class Integer>
Integer saturatedInteger(double value)
{
    using Limits = std::numeric_limits<Integer>;
    if (std::isnan(value))
        return 0;
    // note: 2 to the power of the number's bits, which a double holds, while the largest 64-bit number it
    // does not.
    const double above = std::ldexp(1.0, Limits::digits);
    if (value >= above)
        return Limits::max();
    if (value <= static_cast<double>(Limits::min()))
        return Limits::min();
    return static_cast<Integer>(value);
}

inline void sineAndCosine(float x, float *sine, float *cosine)
{
    *sine = std::sin(x);
    *cosine = std::cos(x);
}

} // namespace cudahost

// note: macros, because the C library declares functions of these names that it does not have.
#define __expf(x) ::expf(x)
#define __exp10f(x) ::exp10f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __powf(x, y) ::powf(x, y)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)
#define __sincosf(x, sine, cosine) cudahost::sineAndCosine(x, sine, cosine)

inline float __fdividef(float x, float y)
{
    return x / y;
}
inline float fdividef(float x, float y)
{
    return x / y;
}
inline float __saturatef(float x)
{
    return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F;
}
inline float rsqrtf(float x)
{
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}
inline double rsqrt(double x)
{
    return 1.0 / std::sqrt(x);
}
inline float normcdff(float x)
{
    return 0.5F * std::erfc(-x * 0.70710678F);
}
inline void sincospif(float x, float *sine, float *cosine)
{
    const double angle = std::remainder(static_cast<double>(x), 2.0) * 3.14159265358979323846;
    *sine = static_cast<float>(std::sin(angle));
    *cosine = static_cast<float>(std::cos(angle));
}
inline float norm3df(float x, float y, float z)
{
    return std::hypot(x, y, z);
}

inline float __fadd_rn(float x, float y)
{
    return x + y;
}
inline float __fsub_rn(float x, float y)
{
    return x - y;
}
inline float __fmul_rn(float x, float y)
{
    return x * y;
}
inline float __fdiv_rn(float x, float y)
{
    return x / y;
}
inline float __fmaf_rn(float x, float y, float z)
{
    return std::fma(x, y, z);
}
inline float __fsqrt_rn(float x)
{
    return std::sqrt(x);
}
inline float __frsqrt_rn(float x)
{
    return rsqrtf(x);
}
inline float __frcp_rn(float x)
{
    return 1.0F / x;
}
inline double __dadd_rn(double x, double y)
{
    return x + y;
}
inline double __dmul_rn(double x, double y)
{
    return x * y;
}

inline int __float_as_int(float x)
{
    return cudahost::bitsAs<int>(x);
}
inline unsigned int __float_as_uint(float x)
{
    return cudahost::bitsAs<unsigned int>(x);
}
inline float __int_as_float(int x)
{
    return cudahost::bitsAs<float>(x);
}
inline float __uint_as_float(unsigned int x)
{
    return cudahost::bitsAs<float>(x);
}
inline long long __double_as_longlong(double x)
{
    return cudahost::bitsAs<long long>(x);
}
inline double __longlong_as_double(long long x)
{
    return cudahost::bitsAs<double>(x);
}

inline int __float2int_rn(float x)
{
    return cudahost::saturatedInteger<int>(std::nearbyint(x));
}
inline int __float2int_rz(float x)
{
    return cudahost::saturatedInteger<int>(std::trunc(x));
}
inline int __float2int_rd(float x)
{
    return cudahost::saturatedInteger<int>(std::floor(x));
}
inline int __float2int_ru(float x)
{
    return cudahost::saturatedInteger<int>(std::ceil(x));
}
inline unsigned int __float2uint_rn(float x)
{
    return cudahost::saturatedInteger<unsigned int>(std::nearbyint(x));
}
inline unsigned int __float2uint_rz(float x)
{
    return cudahost::saturatedInteger<unsigned int>(std::trunc(x));
}
inline long long __float2ll_rn(float x)
{
    return cudahost::saturatedInteger<long long>(std::nearbyint(x));
}
inline float __int2float_rn(int x)
{
    return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned int x)
{
    return static_cast<float>(x);
}
inline float __ll2float_rn(long long x)
{
    return static_cast<float>(x);
}
inline float __double2float_rn(double x)
{
    return static_cast<float>(x);
}

// CUDA's min and max take any two numbers; a NaN gives way to a number.
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> min(A a, B b)
{
    using Common = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<Common>)
        return std::fmin(static_cast<Common>(a), static_cast<Common>(b));
    else
        return static_cast<Common>(a) < static_cast<Common>(b) ? static_cast<Common>(a)
                                                               : static_cast<Common>(b);
}
template <class A, class B, class = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
constexpr std::common_type_t<A, B> max(A a, B b)
{
    using Common = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<Common>)
        return std::fmax(static_cast<Common>(a), static_cast<Common>(b));
    else
        return static_cast<Common>(a) > static_cast<Common>(b) ? static_cast<Common>(a)
                                                               : static_cast<Common>(b);
}
