// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/tensortype.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// One matrix (of a layer) that a rule chooses the type of.
struct WeightPlace
{
    std::string_view role;   ///< without ".weight"
    std::uint32_t index = 0; ///< among the layers that have such a tensor
    std::uint32_t among = 1; ///< how many have one
    std::uint32_t layer = 0; ///< of the model
};

/// What rules ask about the model.
struct WeightContext
{
    std::string architecture; ///< GGUF's name of it
    std::uint32_t layers = 0;
    std::uint64_t queriesPerKey = 1; ///< query heads that share one head of keys
    std::uint64_t experts = 0;
    bool hasOutput = true; ///< the output head is stored apart
    bool isLarge = false;  ///< 80 layers with grouped queries: quantisers know it as "70B"
};
/// The mixtures that quantisers of GGUF files make: a base type, and better ones where they matter most.
bool isMixture(std::string_view name);
std::vector<std::string_view> mixtureNames();
/// Type of a matrix of that many columns in a mixture, fallbacks for short rows included: the name of a
/// tensor type; F16 for rows that are no whole blocks of anything.
std::string_view mixtureType(std::string_view mixture, const WeightContext &context, const WeightPlace &place,
                             std::uint64_t columns);

} // namespace tokenloupe
