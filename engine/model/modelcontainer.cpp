// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/modelcontainer.h"

#include "engine/model/ggufcontainer.h"
#include "engine/model/hf/hfcontainer.h"

#include <algorithm>

namespace tokenloupe {

std::uint64_t ContainerTensor::elements() const
{
    std::uint64_t product = 1;
    for (const std::uint64_t extent : shape)
        product *= extent;
    return product;
}

const ContainerTensor *ModelContainer::tensor(std::string_view name) const
{
    const auto found =
        std::find_if(m_tensors.begin(), m_tensors.end(),
                     [name](const ContainerTensor &candidate) { return candidate.name == name; });
    return found == m_tensors.end() ? nullptr : &*found;
}

std::uint64_t ModelContainer::tensorBytes() const
{
    std::uint64_t sum = 0;
    for (const ContainerTensor &tensor : m_tensors)
        sum += tensor.bytes; // disjoint parts of files: no wrap-around
    return sum;
}

Result<std::shared_ptr<const ModelContainer>> openModelContainer(const std::filesystem::path &path)
{
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return HfContainer::open(path);
    auto file = GgufFile::openWhole(path);
    if (!file)
        return tl::unexpected(file.error());
    return std::make_shared<const GgufContainer>(std::move(*file));
}

} // namespace tokenloupe
