// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudabackend.h"
#include "engine/compute/expertcheck.h"

namespace tokenloupe {

namespace {

constexpr std::uint64_t alignment = 256;

} // namespace

Status CudaBackend::experts(Activations input, Activations router, const ExpertParams &params,
                            Activations output)
{
    if (Status good = checkExperts(input, router, params, output); !good)
        return good;
    if (Status started = m_deferred.flush(); !started)
        return started;
    // For each expert that a token takes: its number, and its weight.
    const std::uint64_t pairs = static_cast<std::uint64_t>(input.rows) * params.used;
    const std::uint64_t half = (pairs * sizeof(float) + alignment - 1) / alignment * alignment;
    const Result<std::byte *> memory = reserve(m_routes, 2 * half);
    if (!memory)
        return tl::unexpected(memory.error());
    auto *chosen = reinterpret_cast<std::int32_t *>(*memory);
    auto *weights = reinterpret_cast<float *>(*memory + half);

    const auto weighting = params.weighting == ExpertWeighting::OfAll ? cuda::RouteWeighting::OfAll
                                                                      : cuda::RouteWeighting::OfChosen;
    const auto used = static_cast<std::int32_t>(params.used);
    m_queue->count(Operation::Product);
    const cudaError_t routed =
        cuda::routeTokens(rowsOf(router), used, weighting, chosen, weights, m_queue->stream());
    if (Status good = start(routed, "choose experts"); !good)
        return good;
    if (Status done = multiplyExperts(input, params, chosen); !done)
        return done;
    return start(cuda::combineExperts(rowsOf(params.rows), weights, used, rowsOf(output), m_queue->stream()),
                 "join experts");
}

/// Gate and up of each token's experts, the activation, and down into the rows.
Status CudaBackend::multiplyExperts(Activations input, const ExpertParams &params, const std::int32_t *chosen)
{
    using Matrix = DeviceWeights::ExpertMatrix;
    enum class Input : std::int32_t { OneForEachToken = 0, OneForEachPair = 1 };
    const auto used = static_cast<std::int32_t>(params.used);
    const auto multiply = [&](Matrix which, Activations from, Input kind, Activations to) -> Status {
        const Result<cuda::DeviceExperts> matrices = m_weights->experts(params.experts, which);
        if (!matrices)
            return tl::unexpected(matrices.error());
        return start(cuda::multiplyExperts(*matrices, chosen, used, static_cast<std::int32_t>(kind),
                                           rowsOf(from), rowsOf(to), m_queue->stream()),
                     "multiply experts");
    };
    if (Status done = multiply(Matrix::Gate, input, Input::OneForEachToken, params.gate); !done)
        return done;
    if (Status done = multiply(Matrix::Up, input, Input::OneForEachToken, params.up); !done)
        return done;
    if (Status done = activate(params.activation, params.gate, params.up, params.gate); !done)
        return done;
    if (Status started = m_deferred.flush(); !started)
        return started;
    m_queue->count(Operation::Product);
    return multiply(Matrix::Down, params.gate, Input::OneForEachPair, params.rows);
}

} // namespace tokenloupe
