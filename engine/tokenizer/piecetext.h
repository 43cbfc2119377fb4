// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace tokenloupe {

/// The character that stands for a space in SentencePiece vocabularies, U+2581.
inline constexpr std::string_view pieceSpace = "\xE2\x96\x81";

/// "▁a▁b" -> " a b".
std::string spacesOf(std::string_view pieces);
/// " a b" -> "▁a▁b".
std::string piecesOf(std::string_view text);

} // namespace tokenloupe
