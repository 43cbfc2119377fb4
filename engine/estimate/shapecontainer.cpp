// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/modelshape.h"
#include "engine/model/ggufcontainer.h"
#include "engine/model/hf/hfcontainer.h"
#include "engine/model/hf/safetensorsfile.h"

#include <map>
#include <set>

namespace tokenloupe {

namespace {

/// What a folder's tensors are stored as. A config says nothing about it that can be relied on.
struct StoredTypes
{
    std::string_view matrices, vectors; ///< the type that holds most bytes
    bool areMatricesAlike = true;
};

StoredTypes storedTypes(const ModelContainer &container)
{
    std::map<std::string_view, std::uint64_t> matrices;
    std::map<std::string_view, std::uint64_t> vectors;
    for (const ContainerTensor &tensor : container.tensors())
        (tensor.shape.size() > 1 ? matrices : vectors)[tensor.type] += tensor.bytes;
    const auto most = [](const auto &bytes) {
        std::string_view best;
        std::uint64_t largest = 0;
        for (const auto &[type, size] : bytes) {
            if (size > largest)
                best = type;
            largest = std::max(largest, size);
        }
        return best;
    };
    StoredTypes types{most(matrices), most(vectors), matrices.size() <= 1};
    if (types.vectors.empty())
        types.vectors = types.matrices;
    return types;
}

void addStoredBytes(const ModelContainer &container, ModelShape &shape)
{
    const StoredTypes types = storedTypes(container);
    const SafetensorsType *matrix = safetensorsType(types.matrices);
    const SafetensorsType *vector = safetensorsType(types.vectors);
    if (!matrix || !vector)
        return;
    for (ShapeTensor &tensor : shape.tensors)
        tensor.storedBytes = tensor.values() * (tensor.rows > 1 ? matrix->bits : vector->bits) / 8;
    shape.storedType = types.matrices;
    if (types.areMatricesAlike)
        shape.storedLayerType = types.matrices;
}

} // namespace

Result<ModelShape> shapeOfContainer(const ModelContainer &container)
{
    if (const GgufFile *file = ggufFileOf(container))
        return shapeOfGguf(*file);
    const HfContainer *folder = hfContainerOf(container);
    if (!folder)
        return makeError(ErrorCode::Unsupported, "read " + container.name(), "its shape is not known");
    auto shape = shapeOfJson(folder->json().dump(), container.name());
    if (shape)
        addStoredBytes(container, *shape);
    return shape;
}

} // namespace tokenloupe
