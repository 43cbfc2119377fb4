// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

// The groups of values that the IQ1, IQ2 and IQ3 types choose from: what the file stores is an index into one
// of these lists. They are part of the format.

namespace tokenloupe {

/// `size` groups; value i of a group is byte i (little endian, two's complement) of its Group.
template <class Group, int size>
struct Codebook
{
    Group groups[size];
};

/// A list before it is spread out: level numbers, the first value's in the lowest bits.
template <int size>
struct CodebookCodes
{
    std::uint16_t codes[size];
};

/// What the level numbers stand for. Those of IQ1 are -1, 0, 1 in eighths and without a sign.
constexpr int iq1Levels[4] = {0, 8, 16, 0};
constexpr int iq2Levels[4] = {8, 25, 43, 0};
constexpr int iq3xxsLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr int iq3sLevels[8] = {1, 3, 5, 7, 9, 11, 13, 15};

extern const Codebook<std::uint64_t, 256> iq2xxsCodebook;
extern const Codebook<std::uint64_t, 512> iq2xsCodebook;
extern const Codebook<std::uint64_t, 1024> iq2sCodebook;
extern const Codebook<std::uint32_t, 256> iq3xxsCodebook;
extern const Codebook<std::uint32_t, 512> iq3sCodebook;
/// Eighths, and 8 too large: 0, 8, 16 for -1, 0, 1.
extern const Codebook<std::uint64_t, 2048> iq1Codebook;

} // namespace tokenloupe
