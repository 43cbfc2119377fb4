// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/experts.h"
#include "kernels/cuda/launch.h"

// One block: counts the pairs of each expert, adds up where each one's begin, and deals them out. Which pair
// of an expert comes first is left to chance, as each is computed by itself.

namespace tokenloupe::cuda {

namespace {

constexpr std::int32_t groupThreads = 1024;

struct GroupBlock
{
    std::int32_t sums[groupThreads];
    std::int32_t places[mostGroupedExperts]; ///< pairs of an expert, then where its next one goes
};

__global__ void __launch_bounds__(groupThreads)
    groupKernel(const std::int32_t *chosen, std::int32_t pairs, std::int32_t experts, std::int32_t *order)
{
    followPrevious();
    auto &block = sharedMemory<GroupBlock>();
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    for (std::int32_t expert = thread; expert < experts; expert += groupThreads)
        block.places[expert] = 0;
    __syncthreads();
    for (std::int32_t pair = thread; pair < pairs; pair += groupThreads)
        atomicAdd(&block.places[chosen[pair]], 1);
    __syncthreads();

    // A thread adds up a few neighbouring experts; what lies in front of them comes from the other threads.
    const std::int32_t each = (experts + groupThreads - 1) / groupThreads;
    const std::int32_t begin = min(thread * each, experts);
    const std::int32_t end = min(begin + each, experts);
    std::int32_t sum = 0;
    for (std::int32_t expert = begin; expert < end; ++expert)
        sum += block.places[expert];
    block.sums[thread] = sum;
    __syncthreads();
    for (std::int32_t distance = 1; distance < groupThreads; distance *= 2) {
        const std::int32_t before = thread >= distance ? block.sums[thread - distance] : 0;
        __syncthreads();
        block.sums[thread] += before;
        __syncthreads();
    }
    std::int32_t place = block.sums[thread] - sum;
    for (std::int32_t expert = begin; expert < end; ++expert) {
        const std::int32_t count = block.places[expert];
        block.places[expert] = place;
        place += count;
    }
    __syncthreads();
    for (std::int32_t pair = thread; pair < pairs; pair += groupThreads)
        order[atomicAdd(&block.places[chosen[pair]], 1)] = pair;
}

} // namespace

cudaError_t groupPairs(const std::int32_t *chosen, std::int32_t pairs, std::int32_t experts,
                       std::int32_t *order, cudaStream_t stream)
{
    if (!chosen || !order || pairs < 1 || experts < 1 || experts > mostGroupedExperts)
        return cudaErrorInvalidValue;
    return launch(groupKernel, {dim3(1), dim3(groupThreads), sizeof(GroupBlock)}, stream, chosen, pairs,
                  experts, order);
}

} // namespace tokenloupe::cuda
