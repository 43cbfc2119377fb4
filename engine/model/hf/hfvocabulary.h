// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/vocabularydata.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tokenloupe {

/// Whether readHfVocabulary() would find a vocabulary in the folder: tokenizer.json, tokenizer.model, or
/// vocab.json with merges.txt.
bool hasHfVocabulary(const std::filesystem::path &folder);
/// Whether a file's name and first bytes are those of a tokenizer.json or a tokenizer.model (and not of a
/// model with weights).
bool isHfVocabularyFile(const std::filesystem::path &file);

/// The vocabulary of a Hugging Face folder (of several forms the first one above), with what the files beside
/// it say about the ends of texts and turns; or of a tokenizer.json or tokenizer.model alone, with what that
/// file says. `warnings` may be null.
Result<VocabularyData> readHfVocabulary(const std::filesystem::path &folderOrFile,
                                        std::vector<std::string> *warnings);

/// The folder's chat template: chat_template.jinja, chat_template.json or in tokenizer_config.json; of
/// several named ones "default". Empty when there is none.
Result<std::string> readHfChatTemplate(const std::filesystem::path &folder);

/// Models may have more rows than their vocabulary has tokens: fills up to `count` with unused ones.
void padVocabulary(VocabularyData &data, std::uint32_t count);

} // namespace tokenloupe
