// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/vocabularydata.h"

#include <string>

namespace tokenloupe {

/// A serialised SentencePiece model (sentencepiece_model.proto) of a vocabulary. Piece i is token i; one more piece
/// is put at the end, id texts.size(), as the model's unknown piece: what the library cannot split comes back
/// under that id and is turned into bytes by us.
///
/// Only normal and unused tokens can come out of the library. All others, and broken ones (empty, not UTF-8, a
/// text that an earlier token has), get names that no text holds. So any vocabulary gives a model that loads.
std::string sentencePieceModel(const VocabularyData &data);

} // namespace tokenloupe
