// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/weightsource.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// How a folder's tensor differs from what the forward pass multiplies by.
enum class HfStorage : std::uint8_t {
    AsIs,
    Transposed,  ///< (inputs × outputs)
    GroupedRows, ///< queries, keys and values of one group of heads after those of the other
};

/// What a weight is called, without prefix, layer and ".weight". "{}" stands for an expert's number.
struct HfStem
{
    WeightRole role;
    std::string_view text;
    HfStorage storage = HfStorage::AsIs;
};

/// The names of the models that were written by one another's pattern.
struct HfNaming
{
    std::span<const std::string_view> prefixes; ///< of everything but the output head; the usual one first
    std::string_view layer;                     ///< behind the prefix: "layers."
    std::span<const HfStem> stems;              ///< several of one role: the first that is there
};

extern const HfNaming hfLlamaNames;
extern const HfNaming hfGpt2Names;
extern const HfNaming hfBloomNames;
extern const HfNaming hfMptNames;

/// A family's own names go before those of its pattern: all rows of a role, or none.
std::vector<HfStem> hfStemsOf(WeightRole role, std::span<const HfStem> own, const HfNaming &naming);

} // namespace tokenloupe
