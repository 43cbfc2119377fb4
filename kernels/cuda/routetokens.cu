// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/experts.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/productsums.cuh"

#include <cfloat>

// A warp for each token. The experts are chosen one after the other as the best behind the last one in the
// order (larger logit first, then lower number), so that nothing has to be remembered but the last one.

namespace tokenloupe::cuda {

namespace {

struct Candidate
{
    float logit;
    std::int32_t expert; ///< or one past the last: none
};

/// Whether a comes before b. What is not a number counts as the lowest, so that every token gets its experts.
__device__ bool isBefore(Candidate a, Candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.expert < b.expert);
}

__device__ float orderedLogit(float logit)
{
    return logit == logit && logit > -FLT_MAX ? logit : -FLT_MAX;
}

__device__ float largestOfLanes(float value)
{
    for (int mask = warpLanes / 2; mask > 0; mask /= 2)
        value = fmaxf(value, __shfl_xor_sync(allLanes, value, mask));
    return value;
}

__device__ float sumOfLanes(float value)
{
    for (int mask = warpLanes / 2; mask > 0; mask /= 2)
        value += __shfl_xor_sync(allLanes, value, mask);
    return value;
}

/// The first candidate that comes after `last`, among all lanes.
__device__ Candidate nextAfter(const float *logits, std::int32_t experts, Candidate last, std::int32_t lane)
{
    Candidate best{-INFINITY, experts};
    for (std::int32_t expert = lane; expert < experts; expert += warpLanes) {
        const Candidate here{orderedLogit(logits[expert]), expert};
        if (isBefore(last, here) && isBefore(here, best))
            best = here;
    }
    for (int mask = warpLanes / 2; mask > 0; mask /= 2) {
        const Candidate other{__shfl_xor_sync(allLanes, best.logit, mask),
                              __shfl_xor_sync(allLanes, best.expert, mask)};
        if (isBefore(other, best))
            best = other;
    }
    return best;
}

__global__ void __launch_bounds__(productThreads)
    routeKernel(DeviceRows router, std::int32_t used, RouteWeighting weighting, std::int32_t *chosen,
                float *weights)
{
    followPrevious();
    const auto lane = static_cast<std::int32_t>(threadIdx.x) % warpLanes;
    const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * productWarps +
                               static_cast<std::int32_t>(threadIdx.x) / warpLanes;
    if (token >= router.rows)
        return;
    float *logits = router.data + token * router.stride;
    const std::int32_t experts = router.columns;

    Candidate last{INFINITY, -1};
    for (std::int32_t i = 0; i < used; ++i)
        last = nextAfter(logits, experts, last, lane);

    float largest = -INFINITY;
    for (std::int32_t expert = lane; expert < experts; expert += warpLanes)
        largest = fmaxf(largest, logits[expert]);
    largest = largestOfLanes(largest);
    float sum = 0.0F;
    float chosenSum = 0.0F;
    for (std::int32_t expert = lane; expert < experts; expert += warpLanes) {
        const float share = expf(logits[expert] - largest);
        sum += share;
        if (!isBefore(last, {orderedLogit(logits[expert]), expert}))
            chosenSum += share;
    }
    sum = sumOfLanes(sum);
    chosenSum = sumOfLanes(chosenSum);

    // In the order of the numbers: 32 experts at a time, each behind those of lower lanes.
    const float scale = 1.0F / sum;
    const float chosenScale = 1.0F / (weighting == RouteWeighting::OfChosen ? chosenSum : sum);
    std::int64_t place = token * used;
    for (std::int32_t first = 0; first < experts; first += warpLanes) {
        const std::int32_t expert = first + lane;
        const float logit = expert < experts ? logits[expert] : 0.0F;
        const bool isChosen = expert < experts && !isBefore(last, {orderedLogit(logit), expert});
        const float share = expf(logit - largest);
        const unsigned all = __ballot_sync(allLanes, isChosen);
        if (isChosen) {
            const std::int64_t mine = place + __popc(all & ((1U << lane) - 1U));
            chosen[mine] = expert;
            weights[mine] = share * chosenScale;
        }
        if (expert < experts)
            logits[expert] = share * scale;
        place += __popc(all);
    }
}

} // namespace

cudaError_t routeTokens(DeviceRows router, std::int32_t used, RouteWeighting weighting, std::int32_t *chosen,
                        float *weights, cudaStream_t stream)
{
    if (!router.data || router.rows < 1 || router.columns < 1 || used < 1 || used > router.columns ||
        (router.rows > 1 && router.stride < router.columns) || !chosen || !weights)
        return cudaErrorInvalidValue;
    LaunchShape shape;
    shape.grid = dim3(static_cast<unsigned>(ceilDivide(router.rows, productWarps)));
    shape.block = dim3(productThreads);
    return launch(routeKernel, shape, stream, router, used, weighting, chosen, weights);
}

} // namespace tokenloupe::cuda
