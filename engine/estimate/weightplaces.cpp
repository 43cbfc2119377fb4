// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/weightplaces.h"

#include "engine/estimate/estimatebuffers.h"

#include <algorithm>
#include <limits>

namespace tokenloupe {

std::uint64_t proportion(std::uint64_t a, std::uint64_t b, std::uint64_t c)
{
    if (c == 0)
        return 0;
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

WeightPlaces weightPlaces(const ModelShape &shape, const WeightPlan &weights)
{
    WeightPlaces places;
    places.layers.assign(shape.layers, 0);
    places.isTied = true;
    for (const WeightClassBytes &planned : weights.classes) {
        // Values of the class in each layer, and outside of them.
        std::vector<std::uint64_t> values(shape.layers, 0);
        std::uint64_t all = 0;
        for (const ShapeTensor &tensor : shape.tensors) {
            if (tensor.tensorClass != planned.tensorClass)
                continue;
            all += tensor.values();
            for (const std::uint32_t layer : tensor.layers) {
                if (layer < shape.layers)
                    values[layer] += tensor.rows * tensor.columns * (tensor.count / tensor.layers.size());
            }
        }
        if (planned.tensorClass == TensorClass::Output && planned.bytes > 0)
            places.isTied = false;
        std::uint64_t before = 0;
        std::uint64_t given = 0;
        for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
            before += values[layer];
            const std::uint64_t upTo = proportion(planned.bytes, std::min(before, all), all);
            places.layers[layer] += upTo - given;
            given = upTo;
        }
        const std::uint64_t outside = planned.bytes - given;
        (planned.tensorClass == TensorClass::Embedding ? places.embedding : places.output) += outside;
    }
    return places;
}

ModelConfig configOf(const ModelShape &shape)
{
    ModelConfig config;
    config.name = shape.name;
    config.architecture = shape.architecture;
    config.layers = shape.layers;
    config.embedding = shape.embedding;
    config.heads = std::max(1U, shape.heads); // shapes without attention: the plan wants a size
    config.headSize = std::max(1U, shape.headSize);
    config.valueHeadSize = std::max(1U, static_cast<std::uint32_t>(bufferShape(shape).valueHeadSize));
    config.feedForward =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(bufferShape(shape).feedForward, UINT32_MAX));
    config.vocabulary = shape.vocabulary;
    config.contextTrain = shape.contextTrain;
    config.ropeDimensions = shape.headSize;
    if (const auto spec = architectureSpec(shape.architecture))
        config.spec = **spec;
    for (const ShapeTensor &tensor : shape.tensors) {
        if (tensor.role == "ffn_down_exps" && shape.experts > 0 && tensor.columns <= UINT32_MAX) {
            config.experts = shape.experts;
            config.expertsUsed = shape.expertsUsed;
            config.expertFeedForward = static_cast<std::uint32_t>(tensor.columns);
        }
    }
    for (const KvLayerShape &layer : shape.kvLayers) {
        config.kvHeads.push_back(layer.heads);
        config.windows.push_back(layer.window);
    }
    return config;
}

} // namespace tokenloupe
