// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/vocabularydata.h"

#include <cstdint>
#include <string>

namespace tokenloupe {

/// A serialised SentencePiece model (sentencepiece_model.proto) of a vocabulary. Piece i is token i. Behind
/// them come an unknown piece of our own and 256 byte pieces: the library wants both, in full, and what it
/// cannot split comes back as those bytes, whatever byte tokens the vocabulary has.
///
/// Only normal and unused tokens can come out of the library. All others, and broken ones (empty, not UTF-8,
/// a text that an earlier token has), get names that no text holds. So any vocabulary gives a model that
/// loads.
std::string sentencePieceModel(const VocabularyData &data);

/// Piece id of the unknown piece, and of the piece of byte 0; `tokens`: size of the vocabulary.
constexpr std::uint32_t unknownPiece(std::uint32_t tokens)
{
    return tokens;
}
constexpr std::uint32_t firstBytePiece(std::uint32_t tokens)
{
    return tokens + 1;
}

} // namespace tokenloupe
