// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/vocabandmerges.h"

#include "engine/model/hf/foldersettings.h"
#include "engine/model/hf/jsontree.h"
#include "engine/model/hf/smallfile.h"
#include "engine/model/hf/tokenizerjsonreader.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace tokenloupe {

namespace {

using nlohmann::json;

constexpr const char *qwen2Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

json byteLevel(bool prefixSpace, bool useRegex)
{
    return {{"type", "ByteLevel"}, {"add_prefix_space", prefixSpace}, {"use_regex", useRegex}};
}

/// The components that a tokenizer.json of the class has.
json componentsOf(const FolderSettings &settings)
{
    const std::string kind = settings.tokenizerClass();
    const bool prefixSpace = flagMember(settings.tokenizerConfig(), "add_prefix_space").value_or(false);
    json tree{{"model", {{"type", "BPE"}}}, {"decoder", {{"type", "ByteLevel"}}}};
    if (kind.starts_with("Qwen2")) {
        tree["normalizer"] = {{"type", "NFC"}};
        tree["pre_tokenizer"] = {
            {"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"pattern", {{"Regex", qwen2Pattern}}}, {"behavior", "Isolated"}},
              byteLevel(prefixSpace, false)}}};
    } else {
        tree["pre_tokenizer"] = byteLevel(prefixSpace, true);
    }
    return tree;
}

json addedToken(std::uint64_t id, const std::string &text, bool special)
{
    return {{"id", id}, {"content", text}, {"special", special}, {"normalized", false}};
}

/// Tokens of added_tokens_decoder and added_tokens.json, and the special ones by their texts.
json addedTokens(const FolderSettings &settings, TokenizerJsonEvents &lists)
{
    std::map<std::uint64_t, json> tokens;
    for (const auto &[id, token] : settings.addedTokens())
        tokens[id] = addedToken(id, token.text, token.kind == TokenKind::Control);
    const std::vector<std::string> specials = settings.specialTexts();
    for (const auto &token : lists.tokens()) {
        if (std::find(specials.begin(), specials.end(), token.text) != specials.end())
            tokens.try_emplace(token.id, addedToken(token.id, token.text, true));
    }
    json list = json::array();
    for (auto &[id, token] : tokens)
        list.push_back(std::move(token));
    return list;
}

} // namespace

Result<VocabularyData> readVocabAndMerges(const std::filesystem::path &vocab,
                                          const std::filesystem::path &merges, const FolderSettings &settings,
                                          std::vector<std::string> *warnings)
{
    const auto vocabFile = openSmallFile(vocab);
    if (!vocabFile)
        return tl::unexpected(vocabFile.error());
    const auto mergesFile = openSmallFile(merges);
    if (!mergesFile)
        return tl::unexpected(mergesFile.error());
    TokenizerJsonEvents lists(TokenizerJsonEvents::Content::VocabOnly);
    const std::string_view text = textOf(**vocabFile);
    if (!json::sax_parse(text.begin(), text.end(), &lists))
        return makeError(ErrorCode::BadFile, "read " + vocab.filename().string(), lists.fault());
    std::string_view rest = textOf(**mergesFile);
    for (bool first = true; !rest.empty(); first = false) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.empty() && line.back() == '\r')
            line.remove_suffix(1);
        if (line.empty() || (first && line.starts_with("#version")))
            continue;
        if (!lists.addMerge(line))
            return makeError(ErrorCode::BadFile, "read " + merges.filename().string(), lists.fault());
    }
    json tree = componentsOf(settings);
    tree["added_tokens"] = addedTokens(settings, lists);
    return TokenizerJsonReader(vocab.filename().string(), warnings).read(lists, tree);
}

} // namespace tokenloupe
