// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/packedformat.h"

namespace tokenloupe {

/// How a file's block becomes a part of a stripe, for the types whose blocks are kept as they are: as
/// four-byte words of 16 rows side by side, and a scale that is not among the words in front of the stripe.
struct WordShape
{
    std::int64_t blockValues = 0; ///< 0 for other types
    int fileBytes = 0;
    int words = 0;
    int wordsAt = 0; ///< in the file's block
    int scaleBytes = 0;
    int scaleAt = 0;

    std::int64_t stripeScaleBytes(std::int64_t blocks) const
    {
        return (blocks * scaleBytes * stripeRows + 63) / 64 * 64;
    }
    std::int64_t stripeBytes(std::int64_t blocks) const
    {
        return stripeScaleBytes(blocks) + blocks * words * 4 * stripeRows;
    }
};
WordShape wordShapeOf(TensorType type);

/// packStripes() and unpackRow() for those types.
void packWordStripes(const WordShape &shape, const WeightMatrix &w, std::int64_t begin, std::int64_t end,
                     std::byte *packed);
void unpackWordRow(const WordShape &shape, const PackedMatrix &w, std::int64_t row, std::byte *out);

} // namespace tokenloupe
