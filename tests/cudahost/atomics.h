// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>

// One thread runs at a time and gives way only where it waits: plain operations are atomic.

namespace cudahost {

template <class T, class Change>
T exchangeWith(T *place, Change change)
{
    const T before = *place;
    *place = static_cast<T>(change(before));
    return before;
}

} // namespace cudahost

// note: a type per overload, as CUDA has them, so that what has no atomic on the device has none here.
#define CUDAHOST_ATOMIC(name, Type, expression)                                                              \
    inline Type name(Type *place, Type value)                                                                \
    {                                                                                                        \
        return cudahost::exchangeWith(place, [=]([[maybe_unused]] Type old) { return expression; });         \
    }
#define CUDAHOST_ATOMIC_ADD(Type) CUDAHOST_ATOMIC(atomicAdd, Type, old + value)
#define CUDAHOST_ATOMIC_EXCHANGE(Type) CUDAHOST_ATOMIC(atomicExch, Type, value)
#define CUDAHOST_ATOMIC_INTEGER(Type)                                                                        \
    CUDAHOST_ATOMIC(atomicMin, Type, std::min(old, value))                                                   \
    CUDAHOST_ATOMIC(atomicMax, Type, std::max(old, value))                                                   \
    CUDAHOST_ATOMIC(atomicAnd, Type, old &value)                                                             \
    CUDAHOST_ATOMIC(atomicOr, Type, old | value)                                                             \
    CUDAHOST_ATOMIC(atomicXor, Type, old ^ value)                                                            \
    inline Type atomicCAS(Type *place, Type expected, Type value)                                            \
    {                                                                                                        \
        return cudahost::exchangeWith(place, [=](Type old) { return old == expected ? value : old; });       \
    }

CUDAHOST_ATOMIC_ADD(int)
CUDAHOST_ATOMIC_ADD(unsigned int)
CUDAHOST_ATOMIC_ADD(unsigned long long)
CUDAHOST_ATOMIC_ADD(float)
CUDAHOST_ATOMIC_ADD(double)
CUDAHOST_ATOMIC(atomicSub, int, old - value)
CUDAHOST_ATOMIC(atomicSub, unsigned int, old - value)
CUDAHOST_ATOMIC_EXCHANGE(int)
CUDAHOST_ATOMIC_EXCHANGE(unsigned int)
CUDAHOST_ATOMIC_EXCHANGE(unsigned long long)
CUDAHOST_ATOMIC_EXCHANGE(float)
CUDAHOST_ATOMIC_INTEGER(int)
CUDAHOST_ATOMIC_INTEGER(unsigned int)
CUDAHOST_ATOMIC_INTEGER(unsigned long long)
CUDAHOST_ATOMIC(atomicMin, long long, std::min(old, value))
CUDAHOST_ATOMIC(atomicMax, long long, std::max(old, value))
CUDAHOST_ATOMIC(atomicInc, unsigned int, old >= value ? 0U : old + 1)
CUDAHOST_ATOMIC(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

#undef CUDAHOST_ATOMIC
#undef CUDAHOST_ATOMIC_ADD
#undef CUDAHOST_ATOMIC_EXCHANGE
#undef CUDAHOST_ATOMIC_INTEGER
