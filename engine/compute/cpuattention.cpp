// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/attentioncall.h"
#include "engine/compute/cpubackend.h"
#include "engine/compute/shapecheck.h"

#include <algorithm>

namespace tokenloupe {

namespace {

Status checkAttention(Activations queries, const KvView &view, const AttentionParams &params,
                      Activations output)
{
    const KvShape &shape = view.shape();
    const auto layers = static_cast<std::int64_t>(shape.layers.size());
    if (params.layer.value() >= layers)
        return wrongShape("attend", "layers", layers, std::int64_t(params.layer.value()) + 1);
    const KvLayerShape &layer = shape.layers[params.layer.value()];
    if (layer.heads == 0)
        return wrongShape("attend", "KV heads of at least", 0, 1);
    if (params.heads == 0 || params.heads % layer.heads != 0)
        return wrongShape("attend", "query heads, a multiple of the KV heads", params.heads, layer.heads);
    if (queries.rows < 1 || queries.rows != output.rows)
        return wrongShape("attend", "output rows", output.rows, queries.rows);
    if (queries.columns != std::int64_t(params.heads) * layer.keySize)
        return wrongShape("attend", "query columns", queries.columns,
                          std::int64_t(params.heads) * layer.keySize);
    if (output.columns != std::int64_t(params.heads) * layer.valueSize)
        return wrongShape("attend", "output columns", output.columns,
                          std::int64_t(params.heads) * layer.valueSize);
    if (std::int64_t(params.firstPosition) + queries.rows > view.tokens())
        return wrongShape("attend", "tokens in the cache", view.tokens(),
                          std::int64_t(params.firstPosition) + queries.rows);
    if (!params.slopes.empty() && params.slopes.size() != params.heads)
        return wrongShape("attend", "slopes", static_cast<std::int64_t>(params.slopes.size()), params.heads);
    if (params.window && *params.window == 0)
        return wrongShape("attend", "window of at least", 0, 1);
    const std::uint32_t seen = params.window && *params.window <= params.firstPosition
                                   ? params.firstPosition + 1 - *params.window
                                   : 0;
    if (seen < view.firstHeld(params.layer))
        return wrongShape("attend", "first position that the cache still holds", view.firstHeld(params.layer),
                          seen);
    if (view.keyPhase() == KeyPhase::Rotated)
        return {};
    if (params.keyRotation.headSize != layer.keySize)
        return wrongShape("attend", "size of heads to rotate", params.keyRotation.headSize, layer.keySize);
    return checkRotation("attend", params.keyRotation);
}

} // namespace

Status CpuBackend::attend(Activations queries, const KvView &view, const AttentionParams &params,
                          Activations output)
{
    if (Status good = checkAttention(queries, view, params, output); !good)
        return good;
    const RopeParams &rope = params.keyRotation;
    RotaryTable &keyRotary = m_keyRotary.of(rope.inverseFrequencies, rope.magnitude);
    if (view.keyPhase() == KeyPhase::Unrotated)
        keyRotary.cover(std::int64_t(params.firstPosition) + queries.rows, view.contextTokens(),
                        rope.inverseFrequencies, rope.magnitude);
    AttentionCall call(queries, view, params, keyRotary, output, m_kernels);
    call.balance(m_pool->threads(), m_attentionShared);
    const std::size_t scratchFloats = call.scratchFloats();
    m_attentionScratch.resize(
        std::max(m_attentionScratch.size(), scratchFloats * static_cast<std::size_t>(m_pool->threads())));
    for (std::uint32_t turn = 0; turn < call.turns(); ++turn) {
        share(call.pieces(), call.pieceCost(), [&](int worker, std::int64_t begin, std::int64_t end) {
            float *scratch = m_attentionScratch.data() + static_cast<std::size_t>(worker) * scratchFloats;
            for (std::int64_t piece = begin; piece < end; ++piece)
                call.run(turn, piece, scratch);
        });
        share(call.merges(), call.mergeCost(), [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                call.merge(turn, i);
        });
    }
    return {};
}

Status CpuBackend::storeKv(Activations keys, Activations values, LayerIndex layer,
                           std::uint32_t firstPosition, const KvView &view)
{
    const KvShape &shape = view.shape();
    const auto layers = static_cast<std::int64_t>(shape.layers.size());
    if (layer.value() >= layers)
        return wrongShape("store keys and values", "layers", layers, std::int64_t(layer.value()) + 1);
    const std::uint32_t heads = shape.layers[layer.value()].heads;
    if (heads == 0)
        return wrongShape("store keys and values", "KV heads of at least", 0, 1);
    const std::uint32_t keySize = shape.layers[layer.value()].keySize;
    const std::uint32_t valueSize = shape.layers[layer.value()].valueSize;
    if (keys.rows != values.rows)
        return wrongShape("store keys and values", "rows", values.rows, keys.rows);
    if (keys.columns != std::int64_t(heads) * keySize)
        return wrongShape("store keys and values", "key columns", keys.columns,
                          std::int64_t(heads) * keySize);
    if (values.columns != std::int64_t(heads) * valueSize)
        return wrongShape("store keys and values", "value columns", values.columns,
                          std::int64_t(heads) * valueSize);
    if (std::int64_t(firstPosition) + keys.rows > view.tokens())
        return wrongShape("store keys and values", "tokens in the cache", view.tokens(),
                          std::int64_t(firstPosition) + keys.rows);

    if (firstPosition < view.firstHeld(layer))
        return wrongShape("store keys and values", "first position that the cache still holds",
                          view.firstHeld(layer), firstPosition);

    const TensorType keyType = tensorTypeOf(shape.keyType);
    const TensorType valueType = tensorTypeOf(shape.valueType);
    share(keys.rows, keys.columns + values.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            const std::uint32_t position = firstPosition + static_cast<std::uint32_t>(row);
            for (std::uint32_t head = 0; head < heads; ++head) {
                m_kernels.quantizeRow(keyType, keys.data + row * keys.columns + std::int64_t(head) * keySize,
                                      keySize, view.keys(layer, head, position).data);
                m_kernels.quantizeRow(valueType,
                                      values.data + row * values.columns + std::int64_t(head) * valueSize,
                                      valueSize, view.values(layer, head, position).data);
            }
        }
    });
    return {};
}

} // namespace tokenloupe
