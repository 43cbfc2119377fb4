// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/modelshape.h"
#include "engine/model/weightmixtures.h"

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

/// Matrices that quantisers leave alone: so small or so decisive that coarse values are not worth it.
bool isNeverQuantized(std::string_view role);

/// What the rules of mixtures ask about a shape.
WeightContext weightContextOf(const ModelShape &shape);

} // namespace tokenloupe
