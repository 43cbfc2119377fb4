// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/vocabularyinput.h"

#include "engine/model/hf/hfvocabulary.h"
#include "engine/model/model.h"

#include <filesystem>

namespace tokenloupe::cli {

namespace {

bool isFolder(const std::string &path)
{
    std::error_code error;
    return std::filesystem::is_directory(path, error);
}

} // namespace

Result<VocabularyData> readAnyVocabulary(const std::string &path, std::vector<std::string> *warnings)
{
    if (isFolder(path) || isHfVocabularyFile(path))
        return readHfVocabulary(path, warnings);
    const auto file = GgufFile::openWhole(path); // any part of a split one will do
    if (!file)
        return tl::unexpected(file.error());
    return readVocabulary(**file, warnings);
}

Result<std::string> readAnyChatTemplate(const std::string &path)
{
    if (isFolder(path))
        return readHfChatTemplate(path);
    if (isHfVocabularyFile(path)) // such a file alone has no place for one
        return std::string();
    const auto file = GgufFile::openWhole(path);
    if (!file)
        return tl::unexpected(file.error());
    const auto text = (*file)->stringValue("tokenizer.chat_template");
    return text ? std::string(*text) : std::string();
}

} // namespace tokenloupe::cli
