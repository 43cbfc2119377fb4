// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/attentioncheck.h"

#include "engine/compute/shapecheck.h"

namespace tokenloupe {

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

Status checkStore(Activations keys, Activations values, LayerIndex layer, std::uint32_t firstPosition,
                  const KvView &view)
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
    return {};
}

} // namespace tokenloupe
