// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/vocabularyfile.h"

#include "engine/base/utf8.h"
#include "engine/model/ggufcontainer.h"
#include "engine/model/model.h"

namespace tokenloupe {

namespace {

bool isFolder(const std::filesystem::path &path)
{
    std::error_code error;
    return std::filesystem::is_directory(path, error);
}

} // namespace

Result<VocabularyData> readVocabularyOf(const std::filesystem::path &path, std::vector<std::string> *warnings)
{
    if (isFolder(path))
        return makeError(ErrorCode::Unsupported, "open " + quotedForMessage(path.native(), 400),
                         "the folder has no tokenizer that this program reads");
    const auto file = GgufFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    return readVocabulary(**file, warnings);
}

Result<std::string> readChatTemplateOf(const std::filesystem::path &path)
{
    if (isFolder(path))
        return std::string();
    auto file = GgufFile::open(path);
    if (!file)
        return tl::unexpected(file.error());
    return GgufContainer(std::move(*file)).readChatTemplate(nullptr);
}

} // namespace tokenloupe
