// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/modelshape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tokenloupe {

/// How a run of values is stored: `blockValues` neighbours of a row take `blockBytes`, a row that ends inside
/// a block takes the whole block, and each row may have a few bytes of its own.
struct StoredFormat
{
    std::string_view name;
    std::uint64_t blockValues = 1;
    double blockBytes = 0.0; ///< a multiple of 1/64, so sums stay exact
    std::uint64_t rowBytes = 0;

    double bitsPerValue() const { return 8.0 * blockBytes / static_cast<double>(blockValues); }
};

/// A format by name: GGUF's tensor types, and those of other containers. Null: no such format.
const StoredFormat *storedFormat(std::string_view name);

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
WeightContext weightContextOf(const ModelShape &shape);

/// The mixtures that quantisers of GGUF files make: a base type, and better ones where they matter most.
bool isMixture(std::string_view name);
std::vector<std::string_view> mixtureNames();
/// Type of a matrix of that many columns in a mixture, fallbacks for short rows included. The name is one of
/// storedFormat().
std::string_view mixtureType(std::string_view mixture, const WeightContext &context, const WeightPlace &place,
                             std::uint64_t columns);

} // namespace tokenloupe
