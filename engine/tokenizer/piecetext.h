// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace tokenloupe {

/// The character that stands for a space in SentencePiece vocabularies, U+2581.
inline constexpr std::string_view pieceSpace = "\xE2\x96\x81";

/// Appends a piece's text as it reads: "▁a▁b" -> " a b".
void appendSpaced(std::string_view piece, std::string &out);

} // namespace tokenloupe
