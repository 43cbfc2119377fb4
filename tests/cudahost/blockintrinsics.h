// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/sourceplace.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

// What the threads of a block or a warp do together.

namespace cudahost {

int barrier(SourcePlace place);
int barrierCount(bool predicate, SourcePlace place);
int barrierAnd(bool predicate, SourcePlace place);
int barrierOr(bool predicate, SourcePlace place);

void warpBarrier(std::uint32_t mask, SourcePlace place);
std::uint32_t warpBallot(std::uint32_t mask, bool predicate, SourcePlace place);
std::uint32_t warpMatch(std::uint32_t mask, std::uint64_t value, SourcePlace place);

enum class ShuffleFrom : std::uint8_t { Lane, Above, Below, Partner };
std::uint64_t warpShuffle(std::uint32_t mask, std::uint64_t value, ShuffleFrom from, int number, int width,
                          SourcePlace place);

enum class WarpReduction : std::uint8_t { Add, Min, Max, MinSigned, MaxSigned, And, Or, Xor };
std::uint32_t warpReduce(std::uint32_t mask, std::uint32_t value, WarpReduction reduction, SourcePlace place);

template <class T>
T shuffle(unsigned int mask, T value, ShuffleFrom from, int number, int width, SourcePlace place)
{
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8),
                  "CUDA has no shuffle of this type");
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = warpShuffle(mask, bits, from, number, width, place);
    std::memcpy(static_cast<void *>(&value), &bits, sizeof(T));
    return value;
}

} // namespace cudahost

inline void __syncthreads(cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    cudahost::barrier(place);
}
inline int __syncthreads_count(int predicate, cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::barrierCount(predicate != 0, place);
}
inline int __syncthreads_and(int predicate, cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::barrierAnd(predicate != 0, place);
}
inline int __syncthreads_or(int predicate, cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::barrierOr(predicate != 0, place);
}
inline void __syncwarp(unsigned int mask = 0xFFFFFFFF,
                       cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    cudahost::warpBarrier(mask, place);
}

template <class T>
T __shfl_sync(unsigned int mask, T value, int lane, int width = 32,
              cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::shuffle(mask, value, cudahost::ShuffleFrom::Lane, lane, width, place);
}
template <class T>
T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32,
                   cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::shuffle(mask, value, cudahost::ShuffleFrom::Above, static_cast<int>(delta), width,
                             place);
}
template <class T>
T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32,
                 cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::shuffle(mask, value, cudahost::ShuffleFrom::Below, static_cast<int>(delta), width,
                             place);
}
template <class T>
T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32,
                  cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::shuffle(mask, value, cudahost::ShuffleFrom::Partner, lanes, width, place);
}

inline unsigned int __ballot_sync(unsigned int mask, int predicate,
                                  cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::warpBallot(mask, predicate != 0, place);
}
inline int __any_sync(unsigned int mask, int predicate,
                      cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::warpBallot(mask, predicate != 0, place) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned int mask, int predicate,
                      cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    return cudahost::warpBallot(mask, predicate != 0, place) == mask ? 1 : 0;
}
template <class T>
unsigned int __match_any_sync(unsigned int mask, T value,
                              cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA compares words of 4 or 8 bytes");
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return cudahost::warpMatch(mask, bits, place);
}
template <class T>
unsigned int __match_all_sync(unsigned int mask, T value, int *predicate,
                              cudahost::SourcePlace place = cudahost::SourcePlace::here())
{
    const unsigned int same = __match_any_sync(mask, value, place);
    *predicate = same == mask ? 1 : 0;
    return same == mask ? mask : 0;
}

// Of devices of compute capability 8.0 and up.
#define CUDAHOST_REDUCE(name, Type, reduction)                                                               \
    inline Type name(unsigned int mask, Type value,                                                          \
                     cudahost::SourcePlace place = cudahost::SourcePlace::here())                            \
    {                                                                                                        \
        return static_cast<Type>(cudahost::warpReduce(mask, static_cast<unsigned int>(value),                \
                                                      cudahost::WarpReduction::reduction, place));           \
    }
CUDAHOST_REDUCE(__reduce_add_sync, unsigned int, Add)
CUDAHOST_REDUCE(__reduce_add_sync, int, Add)
CUDAHOST_REDUCE(__reduce_min_sync, unsigned int, Min)
CUDAHOST_REDUCE(__reduce_min_sync, int, MinSigned)
CUDAHOST_REDUCE(__reduce_max_sync, unsigned int, Max)
CUDAHOST_REDUCE(__reduce_max_sync, int, MaxSigned)
CUDAHOST_REDUCE(__reduce_and_sync, unsigned int, And)
CUDAHOST_REDUCE(__reduce_or_sync, unsigned int, Or)
CUDAHOST_REDUCE(__reduce_xor_sync, unsigned int, Xor)
#undef CUDAHOST_REDUCE

// One thread runs at a time, so every write is seen by all at once.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
