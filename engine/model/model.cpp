// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"

#include "engine/model/modelloader.h"

#include <map>

namespace tokenloupe {

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
