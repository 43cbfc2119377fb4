// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"

#include <cuda_runtime.h>

// Feed-forward parts of which each token takes a few. Launchers check shapes (cudaErrorInvalidValue), start
// on the stream and never wait.

namespace tokenloupe::cuda {

/// One expert's matrices among many of the same type and shape.
struct DeviceExperts
{
    const std::byte *const *data = nullptr; ///< (experts) pointers, in device memory
    TensorType type = TensorType::F32;
    std::int32_t experts = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

enum class RouteWeighting : std::uint8_t { OfAll, OfChosen };

/// Router logits (tokens × experts) become probabilities in place. For each token the `used` largest logits
/// (of equal ones the lower number), in the order of their numbers: chosen[t · used + i], weights[…].
/// OfChosen: weights are softmax over the chosen logits alone; OfAll: their share of all.
cudaError_t routeTokens(DeviceRows router, std::int32_t used, RouteWeighting weighting, std::int32_t *chosen,
                        float *weights, cudaStream_t stream);

struct ExpertProduct
{
    DeviceExperts experts;
    DeviceRows output;
};

/// The pairs p = t · used + i of a token and one of its experts so that those of one expert come after each
/// other: order[place] = p, pairs of lower experts first. For launches of many pairs, whose blocks then find
/// the weights that they share in a cache. 1 ≤ experts ≤ mostGroupedExperts.
constexpr std::int32_t mostGroupedExperts = 8192;
cudaError_t groupPairs(const std::int32_t *chosen, std::int32_t pairs, std::int32_t experts,
                       std::int32_t *order, cudaStream_t stream);

/// Who computes what: output row p = expert chosen[p] times input row p / used, or, with an input row for
/// each pair, input row p.
struct ExpertPairs
{
    const std::int32_t *chosen = nullptr;
    const std::int32_t *order = nullptr; ///< in which pairs are computed (see groupPairs); null: as they come
    std::int32_t used = 0;               ///< experts of a token
    bool hasOwnInput = false;            ///< an input row for each pair, not for each token
};

/// For 1 to mostProducts matrices of each expert. Exact: see multiplyExact.
cudaError_t multiplyExpertsExact(const ExpertProduct *products, std::int32_t count, const ExpertPairs &pairs,
                                 DeviceRows input, cudaStream_t stream);

/// The same with rounded activations: see multiplyQuantized.
cudaError_t multiplyExpertsQuantized(const ExpertProduct *products, std::int32_t count,
                                     const ExpertPairs &pairs, const QuantizedRows &input,
                                     cudaStream_t stream);

/// output[t] = Σ_i weights[t · used + i] · rows[t · used + i]
cudaError_t combineExperts(DeviceRows rows, const float *weights, std::int32_t used, DeviceRows output,
                           cudaStream_t stream);

} // namespace tokenloupe::cuda
