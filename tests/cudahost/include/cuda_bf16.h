// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// In tests this stands where CUDA's header of the same name is for the program.

#include "tests/cudahost/shortfloat.h"
#include "tests/cudahost/vectortypes.h"

using __nv_bfloat16 = cudahost::ShortFloat<cudahost::BfloatFormat>;
using __nv_bfloat162 = cudahost::ShortFloatPair<cudahost::BfloatFormat>;

inline __nv_bfloat16 __float2bfloat16(float value)
{
    return value;
}
inline __nv_bfloat16 __float2bfloat16_rn(float value)
{
    return value;
}
inline __nv_bfloat16 __double2bfloat16(double value)
{
    return value;
}
inline float __bfloat162float(__nv_bfloat16 value)
{
    return value;
}
inline __nv_bfloat16 __int2bfloat16_rn(int value)
{
    return value;
}
inline int __bfloat162int_rn(__nv_bfloat16 value)
{
    return __float2int_rn(value);
}
inline int __bfloat162int_rz(__nv_bfloat16 value)
{
    return __float2int_rz(value);
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value)
{
    return value.bits;
}
inline short __bfloat16_as_short(__nv_bfloat16 value)
{
    return static_cast<short>(value.bits);
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    return __nv_bfloat16::ofBits(bits);
}
inline __nv_bfloat16 __short_as_bfloat16(short bits)
{
    return __nv_bfloat16::ofBits(static_cast<unsigned short>(bits));
}

inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value)
{
    return {value, value};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high)
{
    return {low, high};
}
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high)
{
    return {low, high};
}
inline __nv_bfloat162 __float2bfloat162_rn(float value)
{
    return {value, value};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high)
{
    return {low, high};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 value)
{
    return {value.x, value.y};
}
inline float2 __bfloat1622float2(__nv_bfloat162 value)
{
    return {value.x, value.y};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value)
{
    return value.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value)
{
    return value.y;
}
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 value)
{
    return {value.x, value.x};
}
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 value)
{
    return {value.y, value.y};
}
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return {a.x, b.x};
}
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return {a.y, b.y};
}
