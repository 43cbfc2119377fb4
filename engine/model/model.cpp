// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"

#include "engine/base/utf8.h"
#include "engine/model/ggufcontainer.h"
#include "engine/model/modelloader.h"
#include "engine/model/quantizedweights.h"

#include <algorithm>

namespace tokenloupe {

Weight rowsOf(const Weight &weight, std::int64_t first, std::int64_t count)
{
    const TensorTypeTraits &traits = traitsOf(weight.type);
    const auto rowBytes = static_cast<std::size_t>(weight.columns / traits.blockValues * traits.blockBytes);
    return {weight.type, count, weight.columns,
            weight.data.subspan(static_cast<std::size_t>(first) * rowBytes,
                                static_cast<std::size_t>(count) * rowBytes)};
}

Weight valuesOf(const Weight &vector, std::int64_t first, std::int64_t count)
{
    const std::size_t size = traitsOf(vector.type).blockBytes;
    return {
        vector.type, 1, count,
        vector.data.subspan(static_cast<std::size_t>(first) * size, static_cast<std::size_t>(count) * size)};
}

std::vector<const Weight *> LayerWeights::all() const
{
    return {&attentionNorm,
            &attentionNormBias,
            &query,
            &key,
            &value,
            &output,
            &queryBias,
            &keyBias,
            &valueBias,
            &outputBias,
            &queryNorm,
            &keyNorm,
            &queryNormBias,
            &keyNormBias,
            &attentionPostNorm,
            &attentionPostNormBias,
            &feedForwardNorm,
            &feedForwardNormBias,
            &gate,
            &up,
            &down,
            &gateBias,
            &upBias,
            &downBias,
            &router,
            &feedForwardPostNorm,
            &feedForwardPostNormBias};
}

Result<std::shared_ptr<const Model>> Model::load(const std::filesystem::path &path, Progress *progress,
                                                 std::stop_token stop, const ModelLoadOptions &options)
{
    auto container = openModelContainer(path);
    if (!container)
        return tl::unexpected(container.error());
    return fromContainer(std::move(*container), path, progress, std::move(stop), options);
}

Result<std::shared_ptr<const Model>> Model::fromContainer(std::shared_ptr<const ModelContainer> container,
                                                          std::filesystem::path path, Progress *progress,
                                                          std::stop_token stop,
                                                          const ModelLoadOptions &options)
{
    return ModelLoader(std::move(container), std::move(path), options).load(progress, stop);
}

Result<std::shared_ptr<const Model>> Model::fromFile(std::shared_ptr<const GgufFile> file,
                                                     std::filesystem::path path, Progress *progress,
                                                     std::stop_token stop, const ModelLoadOptions &options)
{
    return fromContainer(std::make_shared<const GgufContainer>(std::move(file)), std::move(path), progress,
                         std::move(stop), options);
}

std::string Model::mainType() const
{
    const auto most = std::max_element(m_typeBytes.begin(), m_typeBytes.end(),
                                       [](const auto &a, const auto &b) { return a.second < b.second; });
    return traitsOf(most == m_typeBytes.end() ? TensorType::F32 : most->first).name;
}

void Model::releasePages(std::span<const std::byte> rows) const
{
    if (m_quantized && m_quantized->contains(rows))
        m_quantized->release(rows);
    else
        m_container->releasePages(rows);
}

Status Model::restorePages(std::span<const std::byte> rows, WorkerPool &pool) const
{
    return m_quantized && m_quantized->contains(rows) ? m_quantized->restore(rows, pool) : Status();
}

Result<std::shared_ptr<const void>> Model::keepInPlace(const ModelPart &part, WorkerPool &pool,
                                                       Progress *progress, const std::stop_token &stop) const
{
    if (!m_quantized)
        return nullptr;
    std::vector<std::span<const std::byte>> kept;
    if (part == ModelPart()) {
        kept.push_back(m_quantized->memory());
    } else {
        const auto keep = [&](const Weight &weight) {
            if (weight.isPresent() && m_quantized->contains(weight.data))
                kept.push_back(weight.data);
        };
        for (const LayerWeights &layer : layersOf(m_weights, part))
            layer.forEach(keep);
        if (part.hasEnds) {
            keep(m_weights.tokenEmbedding);
            keep(m_weights.outputHead);
        }
    }
    return m_quantized->hold(std::move(kept), pool, progress, stop);
}

std::uint64_t Model::weightsBytes(const ModelPart &part) const
{
    const auto bytesOf = [](std::span<const LayerWeights> layers) {
        std::uint64_t bytes = 0;
        for (const LayerWeights &layer : layers)
            layer.forEach([&bytes](const Weight &weight) { bytes += weight.data.size(); });
        return bytes;
    };
    const std::uint64_t inside = bytesOf(layersOf(m_weights, part));
    return part.hasEnds ? m_weightsBytes - bytesOf(m_weights.layers) + inside : inside;
}

std::span<const LayerWeights> layersOf(const ModelWeights &weights, const ModelPart &part)
{
    const std::span<const LayerWeights> all = weights.layers;
    const std::size_t end = std::min<std::size_t>(part.endLayer, all.size());
    const std::size_t first = std::min<std::size_t>(part.firstLayer, end);
    return all.subspan(first, end - first);
}

} // namespace tokenloupe
