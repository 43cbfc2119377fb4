// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudabackend.h"
#include "engine/compute/shapecheck.h"

#include <string>

// The operations on rows of activations.

namespace tokenloupe {

namespace {

cuda::RowActivation curveOf(Activation activation)
{
    switch (activation) {
    case Activation::SiluGated:
        return cuda::RowActivation::Silu;
    case Activation::GeluTanhGated:
    case Activation::GeluTanh:
        return cuda::RowActivation::GeluTanh;
    case Activation::Gelu:
        break;
    }
    return cuda::RowActivation::Gelu;
}

} // namespace

Status CudaBackend::embed(const Weight &table, std::span<const TokenId> ids, Activations output)
{
    if (Status good = checkWeight("embed", table, output.columns); !good)
        return good;
    if (output.rows != static_cast<std::int64_t>(ids.size()))
        return wrongShape("embed", "rows", output.rows, static_cast<std::int64_t>(ids.size()));
    for (const TokenId id : ids) {
        if (id.value() >= table.rows)
            return makeError(ErrorCode::InvalidArgument, "embed",
                             "token " + std::to_string(id.value()) + " is not one of " +
                                 std::to_string(table.rows));
    }
    if (Status started = m_deferred.flush(); !started)
        return started;
    const Result<cuda::DeviceWeight> weight = m_weights->matrix(table);
    if (!weight)
        return tl::unexpected(weight.error());
    const Result<const std::int32_t *> known = m_inputs.ids(ids);
    if (!known)
        return tl::unexpected(known.error());
    m_queue->count(Operation::Embedding);
    return start(cuda::gatherRows(*weight, *known, rowsOf(output), m_queue->stream()), "embed");
}

Status CudaBackend::addRows(const Weight &table, std::uint32_t first, Activations target)
{
    if (Status good = checkWeight("add rows", table, target.columns); !good)
        return good;
    if (std::int64_t(first) + target.rows > table.rows)
        return wrongShape("add rows", "rows", table.rows, std::int64_t(first) + target.rows);
    if (Status started = m_deferred.flush(); !started)
        return started;
    const Result<cuda::DeviceWeight> weight = m_weights->matrix(table);
    if (!weight)
        return tl::unexpected(weight.error());
    const Result<const cuda::StepState *> state = stateOf(first, target.rows);
    if (!state)
        return tl::unexpected(state.error());
    m_queue->count(Operation::Embedding);
    return start(cuda::addPositionRows(*weight, *state, rowsOf(target), m_queue->stream()), "add rows");
}

Status CudaBackend::norm(Activations input, const NormParams &params, Activations output)
{
    if (Status good = checkSame("norm", input, output); !good)
        return good;
    const Result<const float *> gain = vectorOf("norm", params.gain, input.columns);
    if (!gain)
        return tl::unexpected(gain.error());
    if (!*gain)
        return makeError(ErrorCode::InvalidArgument, "norm", "no gain");
    const Result<const float *> bias = vectorOf("norm", params.bias, input.columns);
    if (!bias)
        return tl::unexpected(bias.error());
    cuda::RowNormParams row;
    row.kind = params.kind == NormKind::Rms ? cuda::RowNorm::Rms : cuda::RowNorm::Layer;
    row.gain = *gain;
    row.bias = params.kind == NormKind::Layer ? *bias : nullptr;
    row.epsilon = params.epsilon;
    row.gainOffset = params.gainOffset;
    return m_deferred.norm(rowsOf(input), row, rowsOf(output));
}

Status CudaBackend::rope(Activations values, std::uint32_t firstPosition, const RopeParams &params)
{
    const std::int64_t headSize = params.headSize;
    if (headSize == 0 || values.columns % headSize != 0)
        return wrongShape("rotate", "width that is whole heads", values.columns, headSize);
    if (Status good = checkRotation("rotate", params); !good)
        return good;
    if (params.rotated == 0)
        return {};
    const Result<cuda::RotaryParams> rotary = rotaryOf(params);
    if (!rotary)
        return tl::unexpected(rotary.error());
    const Result<const cuda::StepState *> state = stateOf(firstPosition, values.rows);
    if (!state)
        return tl::unexpected(state.error());
    return m_deferred.rotate({rowsOf(values), static_cast<std::int32_t>(headSize), *rotary, *state});
}

Status CudaBackend::activate(Activation activation, Activations gate, Activations up, Activations output)
{
    const bool isGated = activation == Activation::SiluGated || activation == Activation::GeluTanhGated;
    if (Status good = checkSame("activation", gate, output); !good)
        return good;
    if (Status good = isGated ? checkSame("activation", gate, up) : Status(); !good)
        return good;
    return m_deferred.activate(curveOf(activation), rowsOf(gate), isGated ? rowsOf(up) : cuda::DeviceRows(),
                               rowsOf(output));
}

Status CudaBackend::scale(Activations values, float factor)
{
    if (Status started = m_deferred.flush(); !started)
        return started;
    m_queue->count(Operation::Embedding);
    return start(cuda::scaleRows(rowsOf(values), factor, m_queue->stream()), "scale");
}

Status CudaBackend::clamp(Activations values, float limit)
{
    if (Status started = m_deferred.flush(); !started)
        return started;
    m_queue->count(Operation::Norm);
    return start(cuda::clampRows(rowsOf(values), limit, m_queue->stream()), "clamp");
}

Status CudaBackend::softCap(Activations values, float cap)
{
    if (Status started = m_deferred.flush(); !started)
        return started;
    m_queue->count(Operation::Head);
    return start(cuda::softCapRows(rowsOf(values), cap, m_queue->stream()), "soft cap");
}

Status CudaBackend::add(Activations input, Activations target)
{
    if (Status good = checkSame("add", input, target); !good)
        return good;
    return m_deferred.add(rowsOf(input), rowsOf(target));
}

} // namespace tokenloupe
