// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/vocabularydata.h"

#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// The vocabulary of a serialised SentencePiece model (a tokenizer.model). Unsupported, by name, for other
/// kinds than BPE and for rules of its own that change text. `name` is the file's; `warnings` may be null.
Result<VocabularyData> readSentencePieceFile(std::string_view bytes, const std::string &name,
                                             std::vector<std::string> *warnings);

} // namespace tokenloupe
