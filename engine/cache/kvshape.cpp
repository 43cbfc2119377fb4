// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvshape.h"

#include "engine/base/checkedmath.h"

#include <algorithm>

namespace tokenloupe {

std::uint64_t KvShape::keyBytesPerToken(std::uint32_t layer) const
{
    return (CheckedSize(layers[layer].heads) * kvRowBytes(keyType, layers[layer].keySize)).value();
}

std::uint64_t KvShape::valueBytesPerToken(std::uint32_t layer) const
{
    return (CheckedSize(layers[layer].heads) * kvRowBytes(valueType, layers[layer].valueSize)).value();
}

std::uint64_t KvShape::bytesPerToken(std::uint32_t layer) const
{
    return (CheckedSize(keyBytesPerToken(layer)) + CheckedSize(valueBytesPerToken(layer))).value();
}

std::uint64_t KvShape::bytesPerToken() const
{
    CheckedSize sum;
    for (std::uint32_t layer = 0; layer < layers.size(); ++layer)
        sum += CheckedSize(bytesPerToken(layer));
    return sum.value();
}

std::vector<KvLayerGroup> KvShape::groups() const
{
    std::vector<KvLayerGroup> groups;
    for (std::uint32_t layer = 0; layer < layers.size(); ++layer) {
        if (layers[layer].heads == 0)
            continue;
        const std::uint32_t window = layers[layer].window;
        const std::uint32_t memory = memoryOf(layer);
        auto group = std::find_if(groups.begin(), groups.end(), [=](const KvLayerGroup &known) {
            return known.window == window && known.memory == memory;
        });
        if (group == groups.end())
            group = groups.insert(groups.end(), KvLayerGroup{window, {}, memory});
        group->layers.push_back(layer);
    }
    return groups;
}

} // namespace tokenloupe
