// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/attentioncheck.h"
#include "engine/compute/cuda/cudabackend.h"
#include "engine/compute/shapecheck.h"

namespace tokenloupe {

Status CudaBackend::storeKv(Activations keys, Activations values, LayerIndex layer,
                            std::uint32_t firstPosition, const KvView &view)
{
    if (Status good = checkStore(keys, values, layer, firstPosition, view); !good)
        return good;
    const Result<cuda::KvLayerView> places = viewOf(view, layer);
    if (!places)
        return tl::unexpected(places.error());
    const Result<const cuda::StepState *> state = stateOf(firstPosition, keys.rows);
    if (!state)
        return tl::unexpected(state.error());
    return m_deferred.store(rowsOf(keys), rowsOf(values), *places, *state);
}

Status CudaBackend::attend(Activations queries, const KvView &view, const AttentionParams &params,
                           Activations output)
{
    if (Status good = checkAttention(queries, view, params, output); !good)
        return good;
    if (Status started = m_deferred.flush(); !started)
        return started;
    const Result<cuda::KvLayerView> places = viewOf(view, params.layer);
    if (!places)
        return tl::unexpected(places.error());
    const Result<const cuda::StepState *> state = stateOf(params.firstPosition, queries.rows);
    if (!state)
        return tl::unexpected(state.error());

    cuda::AttentionShape shape;
    shape.heads = static_cast<std::int32_t>(params.heads);
    shape.scale = params.scale;
    shape.window = static_cast<std::int32_t>(params.window.value_or(0));
    shape.softCap = params.softCap;
    const std::int64_t end = std::int64_t(params.firstPosition) + queries.rows;
    shape.longestContext = longestContext(view, end);
    if (!params.slopes.empty()) {
        const Result<const float *> slopes = floatsOf(params.slopes);
        if (!slopes)
            return tl::unexpected(slopes.error());
        shape.slopes = *slopes;
    }
    if (view.keyPhase() == KeyPhase::Unrotated) {
        const Result<cuda::RotaryParams> rotary = rotaryOf(params.keyRotation);
        if (!rotary)
            return tl::unexpected(rotary.error());
        shape.keyRotation = *rotary;
    }
    const cuda::DeviceRows rows = rowsOf(queries);
    m_queue->count(Operation::Attention);
    if (Status done = attendWith(rows, *places, shape, *state, rowsOf(output)); !done)
        return done;
    if (!params.weights)
        return {};
    if (Status started = m_deferred.flush(); !started)
        return started;
    return start(cuda::attentionWeights(rows, *places, shape, *state, static_cast<std::int32_t>(end),
                                        params.weights, m_queue->stream()),
                 "attention weights");
}

Status CudaBackend::attendWith(cuda::DeviceRows queries, const cuda::KvLayerView &view,
                               const cuda::AttentionShape &shape, const cuda::StepState *state,
                               cuda::DeviceRows output)
{
    if (queries.rows > cuda::largestDecodeRows) {
        const bool usesTensorCores = m_precision == Precision::Fast && m_device.hasTensorCores();
        return start(cuda::attendPrefill(queries, view, shape, usesTensorCores ? 1 : 0, state, output,
                                         m_queue->stream()),
                     "attend");
    }
    const std::uint64_t bytes = cuda::attentionScratchBytes(shape, view, queries.rows);
    const Result<std::byte *> scratch = reserve(m_attention, bytes);
    if (!scratch)
        return tl::unexpected(scratch.error());
    // note: the cache is read at once: its blocks may be others before what waits is started.
    const cudaError_t started =
        cuda::attendStretches(queries, view, shape, state, *scratch, m_queue->stream());
    if (Status good = start(started, "attend"); !good)
        return good;
    return m_deferred.attend({queries, view, shape, state, *scratch, output});
}

} // namespace tokenloupe
