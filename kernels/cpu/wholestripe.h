// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenloupe {

/// The fifth bits of a block: the file keeps bit i for value i. In a stripe, byte k of a row holds what
/// belongs to the values that lie in byte k of a lane: bit j for value 4·j + k.
std::uint32_t spreadFifthBits(std::uint32_t bits);

/// How a file's block becomes a part of a stripe.
struct BlockShape
{
    int scaleHalves = 0;   // binary16 numbers at the start of a block
    int fifthBytes = 0;    // then the fifth bits
    int codeBytes = 0;     // then the codes
    std::uint8_t flip = 0; // of each code byte: signed codes become unsigned

    constexpr int fileBytes() const { return 2 * scaleHalves + fifthBytes + codeBytes; }
};

/// Packs 16 rows of `blocks` blocks each, the first at `rows`, the next `rowBytes` further. A block's scales
/// and its codes are written line by line, which is what makes it as fast as memory.
void packWholeStripe(const BlockShape &shape, const std::byte *rows, std::int64_t rowBytes,
                     std::int64_t blocks, std::byte *scales, std::byte *codes);

} // namespace tokenloupe
