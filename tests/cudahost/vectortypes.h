// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// CUDA's short vectors. Alignment is the device's, where a load of one is a single instruction.

// The names and members of CUDA's own types.
#define CUDAHOST_VECTORS(Name, Scalar, two, four)                                                            \
    struct Name##1                                                                                           \
    {                                                                                                        \
        Scalar x;                                                                                            \
    };                                                                                                       \
    struct alignas(two) Name##2                                                                              \
    {                                                                                                        \
        Scalar x, y;                                                                                         \
    };                                                                                                       \
    struct Name##3                                                                                           \
    {                                                                                                        \
        Scalar x, y, z;                                                                                      \
    };                                                                                                       \
    struct alignas(four) Name##4                                                                             \
    {                                                                                                        \
        Scalar x, y, z, w;                                                                                   \
    };                                                                                                       \
    constexpr Name##1 make_##Name##1(Scalar x)                                                               \
    {                                                                                                        \
        return {x};                                                                                          \
    }                                                                                                        \
    constexpr Name##2 make_##Name##2(Scalar x, Scalar y)                                                     \
    {                                                                                                        \
        return {x, y};                                                                                       \
    }                                                                                                        \
    constexpr Name##3 make_##Name##3(Scalar x, Scalar y, Scalar z)                                           \
    {                                                                                                        \
        return {x, y, z};                                                                                    \
    }                                                                                                        \
    constexpr Name##4 make_##Name##4(Scalar x, Scalar y, Scalar z, Scalar w)                                 \
    {                                                                                                        \
        return {x, y, z, w};                                                                                 \
    }

CUDAHOST_VECTORS(char, signed char, 2, 4)
CUDAHOST_VECTORS(uchar, unsigned char, 2, 4)
CUDAHOST_VECTORS(short, short, 4, 8)
CUDAHOST_VECTORS(ushort, unsigned short, 4, 8)
CUDAHOST_VECTORS(int, int, 8, 16)
CUDAHOST_VECTORS(uint, unsigned int, 8, 16)
CUDAHOST_VECTORS(long, long, 16, 16)
CUDAHOST_VECTORS(ulong, unsigned long, 16, 16)
CUDAHOST_VECTORS(longlong, long long, 16, 16)
CUDAHOST_VECTORS(ulonglong, unsigned long long, 16, 16)
CUDAHOST_VECTORS(float, float, 8, 16)
CUDAHOST_VECTORS(double, double, 16, 16)

#undef CUDAHOST_VECTORS

struct dim3
{
    unsigned int x = 1, y = 1, z = 1;

    constexpr dim3(unsigned int xx = 1, unsigned int yy = 1, unsigned int zz = 1)
        : x(xx)
        , y(yy)
        , z(zz)
    {}
    constexpr dim3(uint3 value)
        : x(value.x)
        , y(value.y)
        , z(value.z)
    {}
};
