// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"

#include "engine/model/modelloader.h"

#include <map>

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

Result<std::shared_ptr<const Model>> Model::load(const std::filesystem::path &path, Progress *progress,
                                                 std::stop_token stop)
{
    auto file = GgufFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    return fromFile(std::move(*file), path, progress, std::move(stop));
}

Result<std::shared_ptr<const Model>> Model::fromFile(std::shared_ptr<const GgufFile> file,
                                                     std::filesystem::path path, Progress *progress,
                                                     std::stop_token stop)
{
    return ModelLoader(std::move(file), std::move(path)).load(progress, stop);
}

std::string Model::mainType() const
{
    std::map<TensorType, std::uint64_t> bytes;
    for (const GgufTensor &tensor : m_file->tensors())
        bytes[tensor.type] += tensor.bytes;
    TensorType most = TensorType::F32;
    for (const auto &[type, size] : bytes) {
        if (size > bytes[most])
            most = type;
    }
    return traitsOf(most).name;
}

} // namespace tokenloupe
