// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/codebooks.h"

namespace tokenloupe {

/// A codebook written down as level numbers of `bits` bits each, spread out to one byte a value.
template <class Group, int bits, int size>
constexpr Codebook<Group, size> expandedCodebook(const std::uint16_t (&codes)[size],
                                                 const int (&levels)[1 << bits])
{
    Codebook<Group, size> book = {};
    for (int i = 0; i < size; ++i) {
        for (unsigned value = 0; value < sizeof(Group); ++value) {
            const int level = levels[(codes[i] >> (bits * value)) & ((1U << bits) - 1U)];
            book.groups[i] |= Group(std::uint8_t(level)) << (8U * value);
        }
    }
    return book;
}

} // namespace tokenloupe
