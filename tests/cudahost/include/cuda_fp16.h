// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// In tests this stands where CUDA's header of the same name is for the program.

#include "tests/cudahost/shortfloat.h"
#include "tests/cudahost/vectortypes.h"

// note: without CUDA's other name `half`, which variables have too.
using __half = cudahost::ShortFloat<cudahost::HalfFormat>;
using __half2 = cudahost::ShortFloatPair<cudahost::HalfFormat>;

inline __half __float2half(float value)
{
    return value;
}
inline __half __float2half_rn(float value)
{
    return value;
}
inline __half __double2half(double value)
{
    return value;
}
inline float __half2float(__half value)
{
    return value;
}
inline __half __int2half_rn(int value)
{
    return value;
}
inline int __half2int_rn(__half value)
{
    return __float2int_rn(value);
}
inline int __half2int_rz(__half value)
{
    return __float2int_rz(value);
}
inline unsigned short __half_as_ushort(__half value)
{
    return value.bits;
}
inline short __half_as_short(__half value)
{
    return static_cast<short>(value.bits);
}
inline __half __ushort_as_half(unsigned short bits)
{
    return __half::ofBits(bits);
}
inline __half __short_as_half(short bits)
{
    return __half::ofBits(static_cast<unsigned short>(bits));
}

inline __half2 __half2half2(__half value)
{
    return {value, value};
}
inline __half2 __halves2half2(__half low, __half high)
{
    return {low, high};
}
inline __half2 make_half2(__half low, __half high)
{
    return {low, high};
}
inline __half2 __float2half2_rn(float value)
{
    return {value, value};
}
inline __half2 __floats2half2_rn(float low, float high)
{
    return {low, high};
}
inline __half2 __float22half2_rn(float2 value)
{
    return {value.x, value.y};
}
inline float2 __half22float2(__half2 value)
{
    return {value.x, value.y};
}
inline __half __low2half(__half2 value)
{
    return value.x;
}
inline __half __high2half(__half2 value)
{
    return value.y;
}
inline __half2 __low2half2(__half2 value)
{
    return {value.x, value.x};
}
inline __half2 __high2half2(__half2 value)
{
    return {value.y, value.y};
}
inline __half2 __lows2half2(__half2 a, __half2 b)
{
    return {a.x, b.x};
}
inline __half2 __highs2half2(__half2 a, __half2 b)
{
    return {a.y, b.y};
}
