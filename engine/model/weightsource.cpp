// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/weightsource.h"

namespace tokenloupe {

bool isLayerName(std::string_view name, std::string_view start, std::uint32_t layers)
{
    if (!name.starts_with(start))
        return false;
    std::uint64_t layer = 0;
    std::size_t i = start.size();
    for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && layer < layers; ++i)
        layer = layer * 10 + static_cast<std::uint64_t>(name[i] - '0');
    return i > start.size() && i < name.size() && name[i] == '.' && layer < layers;
}

} // namespace tokenloupe
