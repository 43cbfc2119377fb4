// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/estimate/modelshape.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Names that weights can be asked for in: plain types ("F16", "Q8_0", "Q4_0", "MXFP4", "FP8", "INT4", …) and
/// the mixtures that quantisers make ("Q4_K_M", "Q3_K_S", "IQ4_XS", …). "stored": as the file has them. Case
/// does not matter; '-' is read as '_'.
std::vector<std::string> weightTypeNames();

struct WeightClassBytes
{
    TensorClass tensorClass;
    std::uint64_t values = 0;
    std::uint64_t bytes = 0;
};

struct WeightPlan
{
    std::string type; ///< as named above
    std::vector<WeightClassBytes> classes;
    std::uint64_t bytes = 0;
    double activeBytes = 0.0; ///< that one token reads: bandwidth bound of decode
    double bitsPerWeight = 0.0;
    std::string how; ///< the arithmetic in words and numbers
};

/// Bytes of the weights as `type`. Norms and vectors stay float32 as quantisers leave them (in 16-bit types
/// of 16-bit files they are counted as 16-bit). "stored" of a shape without a file is F16. Mixtures follow
/// the rules of llama.cpp's quantiser, those of 4 bits and less as it makes them with an importance matrix;
/// the type that a file's layers are in gives the file's own bytes. FP8, INT8, INT4, NF4 and MXFP4 leave
/// embeddings and output head in 16 bits. Unknown names are InvalidArgument with the nearest ones.
Result<WeightPlan> planWeights(const ModelShape &shape, std::string_view type);

} // namespace tokenloupe
