// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/vocabularydata.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tokenloupe {

class FolderSettings;

/// Byte-level BPE from a vocab.json and a merges.txt. How it cuts text into words is what the folder's
/// tokenizer class is known for, else what GPT-2 does. `warnings` may be null.
Result<VocabularyData> readVocabAndMerges(const std::filesystem::path &vocab,
                                          const std::filesystem::path &merges, const FolderSettings &settings,
                                          std::vector<std::string> *warnings);

} // namespace tokenloupe
