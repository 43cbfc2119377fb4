// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"

#include "engine/base/utf8.h"
#include "engine/model/modelloader.h"

#include <algorithm>
#include <map>

namespace tokenloupe {

namespace {

/// Between two looks at the stop token and two steps of the progress.
constexpr std::size_t chunkBytes = 4U << 20;

} // namespace

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
    auto model = ModelLoader(std::move(file), std::move(path)).load();
    if (!model)
        return tl::unexpected(model.error());
    if (Status there = (*model)->bringIntoMemory(progress, stop); !there)
        return tl::unexpected(there.error());
    return model;
}

Result<std::shared_ptr<const Model>> Model::open(const std::filesystem::path &path)
{
    auto file = GgufFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    return ModelLoader(std::move(*file), path).load();
}

Status Model::bringIntoMemory(Progress *progress, const std::stop_token &stop) const
{
    const std::string operation = "load " + m_file->name();
    if (progress)
        progress->start(m_weightsBytes);
    for (const GgufTensor &tensor : m_file->tensors()) {
        for (std::size_t begin = 0; begin < tensor.data.size(); begin += chunkBytes) {
            if (stop.stop_requested())
                return makeError(ErrorCode::Cancelled, operation, "cancelled");
            const std::size_t size = std::min(chunkBytes, tensor.data.size() - begin);
            if (Status status = readAhead(tensor.data.subspan(begin, size)); !status)
                return makeError(status.error().code, operation,
                                 "tensor " + quotedForMessage(tensor.name) + ": " + status.error().message);
            if (progress)
                progress->advance(size);
        }
    }
    return {};
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
