// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace tokenloupe {

/// The merges by which the library splits `text` (UTF-8, spaces as U+2581) into pieces, in its order: highest
/// score first, of equal ones the leftmost. The library does not tell them, so they are played again here.
/// Merges into unused pieces that it takes back in the end are left out. `unknown`: the id that it gives to
/// strings that are no pieces.
void appendSentencePieceMerges(const sentencepiece::SentencePieceProcessor &processor, std::string_view text,
                               std::uint32_t unknown, std::uint32_t word, std::vector<MergeStep> &merges);

} // namespace tokenloupe
