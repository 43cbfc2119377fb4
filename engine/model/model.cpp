// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"

#include "engine/model/ggufcontainer.h"
#include "engine/model/modelloader.h"

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
                                                 std::stop_token stop)
{
    auto container = openModelContainer(path);
    if (!container)
        return tl::unexpected(container.error());
    return fromContainer(std::move(*container), path, progress, std::move(stop));
}

Result<std::shared_ptr<const Model>> Model::fromContainer(std::shared_ptr<const ModelContainer> container,
                                                          std::filesystem::path path, Progress *progress,
                                                          std::stop_token stop)
{
    return ModelLoader(std::move(container), std::move(path)).load(progress, stop);
}

Result<std::shared_ptr<const Model>> Model::fromFile(std::shared_ptr<const GgufFile> file,
                                                     std::filesystem::path path, Progress *progress,
                                                     std::stop_token stop)
{
    return fromContainer(std::make_shared<const GgufContainer>(std::move(file)), std::move(path), progress,
                         std::move(stop));
}

} // namespace tokenloupe
