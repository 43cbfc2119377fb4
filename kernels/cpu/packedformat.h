// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cpu/cpukernels.h"

#include <cstddef>
#include <cstdint>

namespace tokenloupe {

/// A matrix laid out for wide integer products: stripes of 16 rows, so that one register holds the same
/// column of each of them. A stripe holds first its scales, block after block, then its codes, block after
/// block, each part on a 64-byte line:
///   scales of a block: 16 binary16 d, one for each row; then 16 m for the types that have one
///   codes of a block:  for Q5 the fifth bits (16 × 4 bytes), then 4 (Q8: 8) × 16 × 4 bytes: of each row in
///                      turn the same four bytes of the file's block
/// The types with blocks of 256 columns keep their words as they are, all scales but a last half word among
/// the codes.
/// It takes as many bytes as the file's form, but for the padding of the last stripe and of the scales.
struct PackedMatrix
{
    TensorType type = TensorType::F32; ///< of the file
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    const std::byte *data = nullptr; ///< on a 64-byte line
};

constexpr int stripeRows = 16;
constexpr std::int64_t stripesOf(std::int64_t rows)
{
    return (rows + stripeRows - 1) / stripeRows;
}

/// Whether the fast kernels multiply by matrices of this type.
bool isPackable(TensorType type);
/// Bytes of one stripe, of the whole matrix; `columns` is a multiple of the type's block.
std::int64_t packedStripeBytes(TensorType type, std::int64_t columns);
std::int64_t packedBytes(TensorType type, std::int64_t rows, std::int64_t columns);

/// Stripes [begin, end) of a matrix as the file holds it; `packed` is where the whole packed matrix starts.
/// Rows behind the last are filled up with zeros.
void packStripes(const WeightMatrix &w, std::int64_t begin, std::int64_t end, std::byte *packed);
/// One row back in the file's form: rowBytes of the type.
void unpackRow(const PackedMatrix &w, std::int64_t row, std::byte *out);

/// 32 activations as integers of 15 bits in two parts: value = 128 · high + low.
struct ActivationBlock
{
    std::int8_t low[32];     ///< -64 … 63
    std::int8_t high[32];    ///< -127 … 127
    std::int32_t halfSum[2]; ///< of values 0 … 15 and 16 … 31
    std::int32_t sum;
    float floatSum; ///< the same; exact
};

/// Heads a row of ActivationBlocks: the values are `scale` times the integers.
struct ActivationRow
{
    float scale;
    std::int32_t unused[3];
};

/// The same 32 values as one number each, of every four columns first the even, then the odd: 0 2 1 3.
struct ActivationWords
{
    std::int16_t value[32];
};

/// Sums of the values, exact.
struct ActivationSums
{
    float half[2]; ///< of values 0 … 15 and 16 … 31
    float whole;
    float unused;
};

/// A row is an ActivationRow, an ActivationBlock for each 32 columns, then as many ActivationWords, on a
/// 64-byte line if the row is, then as many ActivationSums. So each way to multiply reads one dense part.
constexpr std::int64_t activationWordsAt(std::int64_t columns)
{
    const std::int64_t bytes =
        std::int64_t(sizeof(ActivationRow)) + columns / 32 * std::int64_t(sizeof(ActivationBlock));
    return (bytes + 63) / 64 * 64;
}
constexpr std::int64_t activationSumsAt(std::int64_t columns)
{
    return activationWordsAt(columns) + columns / 32 * std::int64_t(sizeof(ActivationWords));
}
constexpr std::int64_t activationRowBytes(std::int64_t columns)
{
    const std::int64_t bytes =
        activationSumsAt(columns) + columns / 32 * std::int64_t(sizeof(ActivationSums));
    return (bytes + 63) / 64 * 64;
}

} // namespace tokenloupe
