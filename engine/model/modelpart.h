// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace tokenloupe {

/// What of a model one backend computes: layers that follow each other, and perhaps the model's ends.
struct ModelPart
{
    static constexpr std::uint32_t allLayers = std::numeric_limits<std::uint32_t>::max();

    std::uint32_t firstLayer = 0;
    std::uint32_t endLayer = allLayers; ///< behind the last one; allLayers: to the model's last
    bool hasEnds = true; ///< the token embedding with what is added to it, the last norm, the output head

    static ModelPart before(std::uint32_t layer) { return {0, layer, false}; }
    static ModelPart from(std::uint32_t layer) { return {layer, allLayers, true}; } ///< with the ends

    bool hasLayer(std::uint32_t layer) const { return layer >= firstLayer && layer < endLayer; }
    auto operator<=>(const ModelPart &) const = default;
};

} // namespace tokenloupe
