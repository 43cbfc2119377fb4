// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfvocabulary.h"

#include "engine/model/hf/foldersettings.h"
#include "engine/model/hf/sentencepiecefile.h"
#include "engine/model/hf/smallfile.h"
#include "engine/model/hf/tokenizerjsonreader.h"
#include "engine/model/hf/vocabandmerges.h"

#include <array>
#include <fstream>

namespace tokenloupe {

namespace {

namespace fs = std::filesystem;

constexpr const char *jsonName = "tokenizer.json";
constexpr const char *modelName = "tokenizer.model";
constexpr const char *vocabName = "vocab.json";
constexpr const char *mergesName = "merges.txt";

bool isFile(const fs::path &path)
{
    std::error_code error;
    return fs::is_regular_file(path, error);
}

bool isJson(std::string_view content)
{
    const std::size_t first = content.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && content[first] == '{';
}

/// Either kind of file, told apart by its first character.
Result<VocabularyData> readVocabularyFile(const fs::path &path, std::vector<std::string> *warnings)
{
    const auto file = openSmallFile(path);
    if (!file)
        return tl::unexpected(file.error());
    const std::string name = path.filename().string();
    if (isJson(textOf(**file)))
        return TokenizerJsonReader(name, warnings).read(textOf(**file));
    return readSentencePieceFile(textOf(**file), name, warnings);
}

} // namespace

bool hasHfVocabulary(const fs::path &folder)
{
    return isFile(folder / jsonName) || isFile(folder / modelName) ||
           (isFile(folder / vocabName) && isFile(folder / mergesName));
}

bool isHfVocabularyFile(const fs::path &file)
{
    if (!isFile(file))
        return false;
    std::array<char, 64> start{};
    std::ifstream stream(file, std::ios::binary);
    stream.read(start.data(), start.size());
    const std::string_view begin(start.data(), static_cast<std::size_t>(stream.gcount()));
    return !begin.starts_with("GGUF") && (isJson(begin) || file.extension() == ".model");
}

Result<VocabularyData> readHfVocabulary(const fs::path &folderOrFile, std::vector<std::string> *warnings)
{
    std::error_code error;
    if (!fs::is_directory(folderOrFile, error))
        return readVocabularyFile(folderOrFile, warnings);
    if (!hasHfVocabulary(folderOrFile))
        return makeError(ErrorCode::NotFound, "read " + folderOrFile.string(),
                         "there is no tokenizer.json, no tokenizer.model, and no vocab.json with merges.txt");
    const auto settings = FolderSettings::read(folderOrFile, warnings);
    if (!settings)
        return tl::unexpected(settings.error());
    const bool hasJson = isFile(folderOrFile / jsonName);
    const bool hasModel = isFile(folderOrFile / modelName);
    auto data = hasJson    ? readVocabularyFile(folderOrFile / jsonName, warnings)
                : hasModel ? readVocabularyFile(folderOrFile / modelName, warnings)
                           : readVocabAndMerges(folderOrFile / vocabName, folderOrFile / mergesName,
                                                *settings, warnings);
    if (!data)
        return data;
    if (!hasJson && hasModel) {
        if (const Status status = settings->addTokens(*data); !status)
            return tl::unexpected(status.error());
    }
    settings->apply(*data);
    return data;
}

void padVocabulary(VocabularyData &data, std::uint32_t count)
{
    for (std::size_t i = data.texts.size(); i < count; ++i) {
        data.texts.push_back("[PAD" + std::to_string(i) + "]");
        data.kinds.push_back(TokenKind::Unused);
        if (!data.scores.empty())
            data.scores.push_back(0.0F);
    }
}

} // namespace tokenloupe
