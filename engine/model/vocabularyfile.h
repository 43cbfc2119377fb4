// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/vocabularydata.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tokenloupe {

/// The vocabulary of a model file or folder, whether or not weights are there. A folder without a tokenizer
/// is an error here.
Result<VocabularyData> readVocabularyOf(const std::filesystem::path &path,
                                        std::vector<std::string> *warnings);
/// Its chat template; empty: it has none.
Result<std::string> readChatTemplateOf(const std::filesystem::path &path);

} // namespace tokenloupe
