// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/tokenizer/tokenizer.h"

#include <QTemporaryDir>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::test {

/// A folder with files of a Hugging Face vocabulary.
class HfFolder
{
public:
    std::filesystem::path path() const { return m_folder.path().toStdString(); }
    std::filesystem::path writeText(const std::string &name, std::string_view content) const;
    std::filesystem::path write(const std::string &name, const nlohmann::json &content) const;

    /// Of the folder, or of one file in it.
    Result<std::shared_ptr<const Tokenizer>> tokenizer(const std::string &name = {},
                                                       std::vector<std::string> *warnings = nullptr) const;

private:
    QTemporaryDir m_folder;
};

/// A small tokenizer.json: byte-level BPE of all bytes and some merges as texts; `<|end|>` is special and
/// `<tool>` is not.
nlohmann::json tinyByteLevelJson();
/// BPE of characters in the manner of SentencePiece: `▁` for spaces, byte tokens for what has none.
nlohmann::json tinyCharacterJson();

/// The vocabulary's own texts of the tokens: "Ġa|b". An error's text where there are none.
std::string piecesOf(const Tokenizer &tokenizer, std::string_view text, const EncodeOptions &options = {});

} // namespace tokenloupe::test
