// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/vocabularydata.h"

#include <string>
#include <vector>

namespace tokenloupe::cli {

/// The vocabulary of a MODEL: of a GGUF file (one without weights will do), a Hugging Face folder, a
/// tokenizer.json or a tokenizer.model. `warnings` may be null.
Result<VocabularyData> readAnyVocabulary(const std::string &path, std::vector<std::string> *warnings);

/// The chat template of a MODEL as above; nothing when it has none.
Result<std::string> readAnyChatTemplate(const std::string &path);

} // namespace tokenloupe::cli
