// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <cuda_runtime.h>

// Sorting networks of one block over keys in shared memory. Counts are powers of two, given by their
// logarithms. Each function ends with a barrier.

namespace tokenloupe::cuda {

/// The larger of two keys goes to the front.
__device__ inline void order(std::uint64_t &front, std::uint64_t &back)
{
    const std::uint64_t a = front;
    const std::uint64_t b = back;
    if (a < b) {
        front = b;
        back = a;
    }
}

/// Runs that rise and then fall, or fall and then rise, become falling ones. Run r begins at r <<
/// spacingBits.
__device__ inline void straightenRuns(std::uint64_t *keys, unsigned runs, int lengthBits, int spacingBits)
{
    for (int bits = lengthBits - 1; bits >= 0; --bits) { // compares keys that lie 2^bits apart
        const unsigned pairs = runs << (lengthBits - 1);
        for (unsigned pair = threadIdx.x; pair < pairs; pair += blockDim.x) {
            const unsigned run = pair >> (lengthBits - 1);
            const unsigned inRun = pair & ((1U << (lengthBits - 1)) - 1U);
            const unsigned within = inRun & ((1U << bits) - 1U);
            std::uint64_t *front = keys + (run << spacingBits) + ((inRun >> bits) << (bits + 1)) + within;
            order(front[0], front[1U << bits]);
        }
        __syncthreads();
    }
}

/// Sorts neighbouring runs of 2^lengthBits among 2^countBits keys, each so that it falls.
__device__ inline void sortRuns(std::uint64_t *keys, int countBits, int lengthBits)
{
    for (int bits = 1; bits <= lengthBits; ++bits) { // from falling runs of half the length
        const unsigned half = 1U << (bits - 1);
        for (unsigned pair = threadIdx.x; pair < 1U << (countBits - 1); pair += blockDim.x) {
            std::uint64_t *run = keys + ((pair >> (bits - 1)) << bits);
            const unsigned within = pair & (half - 1U);
            order(run[within], run[2U * half - 1U - within]);
        }
        __syncthreads();
        // Now each half has its own keys, but not in order.
        if (bits > 1)
            straightenRuns(keys, 1U << (countBits - bits + 1), bits - 1, bits - 1);
    }
}

/// The 2^lengthBits largest of 2^countBits keys in falling runs of that length become the first run.
__device__ inline void keepLargest(std::uint64_t *keys, int countBits, int lengthBits)
{
    const unsigned length = 1U << lengthBits;
    for (int spacing = lengthBits; spacing < countBits; ++spacing) { // runs begin 2^spacing apart
        const unsigned runs = 1U << (countBits - spacing - 1);
        for (unsigned item = threadIdx.x; item < runs << lengthBits; item += blockDim.x) {
            std::uint64_t *first = keys + ((item >> lengthBits) << (spacing + 1));
            const std::uint64_t *second = first + (1U << spacing);
            const unsigned within = item & (length - 1U);
            const std::uint64_t other = second[length - 1U - within];
            if (first[within] < other)
                first[within] = other;
        }
        __syncthreads();
        straightenRuns(keys, runs, lengthBits, spacing + 1);
    }
}

} // namespace tokenloupe::cuda
