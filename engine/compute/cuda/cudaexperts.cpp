// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudabackend.h"
#include "engine/compute/expertcheck.h"

#include <array>

namespace tokenloupe {

namespace {

constexpr std::uint64_t alignment = 256;
constexpr std::uint64_t routeParts = 3; ///< see CudaBackend::needs()

} // namespace

Status CudaBackend::experts(Activations input, Activations router, const ExpertParams &params,
                            Activations output)
{
    if (Status good = checkExperts(input, router, params, output); !good)
        return good;
    if (Status started = m_deferred.flush(); !started)
        return started;
    // For each expert that a token takes: its number, its weight, and where many go together, its place.
    const std::uint64_t pairs = static_cast<std::uint64_t>(input.rows) * params.used;
    const std::uint64_t part = (pairs * sizeof(float) + alignment - 1) / alignment * alignment;
    const Result<std::byte *> memory = reserve(m_routes, routeParts * part);
    if (!memory)
        return tl::unexpected(memory.error());
    auto *chosen = reinterpret_cast<std::int32_t *>(*memory);
    auto *weights = reinterpret_cast<float *>(*memory + part);
    auto *order = reinterpret_cast<std::int32_t *>(*memory + 2 * part);

    const auto weighting = params.weighting == ExpertWeighting::OfAll ? cuda::RouteWeighting::OfAll
                                                                      : cuda::RouteWeighting::OfChosen;
    const auto used = static_cast<std::int32_t>(params.used);
    const auto count = static_cast<std::int32_t>(params.experts.size());
    m_queue->count(Operation::Product);
    const cudaError_t routed =
        cuda::routeTokens(rowsOf(router), used, weighting, chosen, weights, m_queue->stream());
    if (Status good = start(routed, "choose experts"); !good)
        return good;
    const bool isGrouped = input.rows > cuda::largestDecodeRows && count <= cuda::mostGroupedExperts;
    if (isGrouped) {
        const cudaError_t grouped =
            cuda::groupPairs(chosen, static_cast<std::int32_t>(pairs), count, order, m_queue->stream());
        if (Status good = start(grouped, "group experts"); !good)
            return good;
    }
    if (Status done = multiplyExperts(input, params, {chosen, isGrouped ? order : nullptr, used, false});
        !done)
        return done;
    return start(cuda::combineExperts(rowsOf(params.rows), weights, used, rowsOf(output), m_queue->stream()),
                 "join experts");
}

/// Gate and up of each token's experts, the activation, and down into the rows.
Status CudaBackend::multiplyExperts(Activations input, const ExpertParams &params, cuda::ExpertPairs pairs)
{
    using Matrix = DeviceWeights::ExpertMatrix;
    const Result<cuda::DeviceExperts> gate = m_weights->experts(params.experts, Matrix::Gate);
    if (!gate)
        return tl::unexpected(gate.error());
    const Result<cuda::DeviceExperts> up = m_weights->experts(params.experts, Matrix::Up);
    if (!up)
        return tl::unexpected(up.error());
    const Result<cuda::DeviceExperts> down = m_weights->experts(params.experts, Matrix::Down);
    if (!down)
        return tl::unexpected(down.error());
    const std::array<cuda::ExpertProduct, 3> products = {
        {{*gate, rowsOf(params.gate)}, {*up, rowsOf(params.up)}, {*down, rowsOf(params.rows)}}};
    const auto multiply = [&](std::size_t first, std::int32_t count, Activations from) -> Status {
        const cuda::ExpertProduct *some = &products[first];
        if (!isRounded(some->experts.type, from.columns)) {
            if (Status started = m_deferred.flush(); !started)
                return started;
            m_queue->count(Operation::Product);
            return start(cuda::multiplyExpertsExact(some, count, pairs, rowsOf(from), m_queue->stream()),
                         "multiply experts");
        }
        const Result<cuda::QuantizedRows> planes = quantize(rowsOf(from));
        if (!planes)
            return tl::unexpected(planes.error());
        m_queue->count(Operation::Product);
        return start(cuda::multiplyExpertsQuantized(some, count, pairs, *planes, m_queue->stream()),
                     "multiply experts");
    };
    const bool areAlike = gate->type == up->type;
    if (Status done = multiply(0, areAlike ? 2 : 1, input); !done)
        return done;
    if (Status done = areAlike ? Status() : multiply(1, 1, input); !done)
        return done;
    if (Status done = activate(params.activation, params.gate, params.up, params.gate); !done)
        return done;
    pairs.hasOwnInput = true;
    return multiply(2, 1, params.gate);
}

} // namespace tokenloupe
