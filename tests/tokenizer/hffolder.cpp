// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/tokenizer/hffolder.h"

#include "engine/model/hf/hfvocabulary.h"
#include "engine/tokenizer/bytealphabet.h"
#include "engine/tokenizer/bytetokentext.h"

#include <fstream>

namespace tokenloupe::test {

using nlohmann::json;

namespace {

void addMerges(json &model, const std::vector<std::pair<std::string, std::string>> &merges)
{
    for (const auto &[left, right] : merges) {
        model["merges"].push_back(left + " " + right);
        model["vocab"].emplace(left + right, model["vocab"].size());
    }
}

json added(std::size_t id, const std::string &text, const json &flags)
{
    json token{{"id", id}, {"content", text}, {"special", false}, {"normalized", false}};
    token.update(flags);
    return token;
}

} // namespace

std::filesystem::path HfFolder::writeText(const std::string &name, std::string_view content) const
{
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
}

std::filesystem::path HfFolder::write(const std::string &name, const json &content) const
{
    return writeText(name, content.dump());
}

Result<std::shared_ptr<const Tokenizer>> HfFolder::tokenizer(const std::string &name,
                                                             std::vector<std::string> *warnings) const
{
    return readHfVocabulary(name.empty() ? path() : path() / name, warnings)
        .and_then([](VocabularyData &&data) { return makeTokenizer(std::move(data)); });
}

json tinyByteLevelJson()
{
    const ByteAlphabet alphabet;
    json model{{"type", "BPE"}, {"vocab", json::object()}, {"merges", json::array()}};
    for (unsigned byte = 0; byte < 256; ++byte)
        model["vocab"][alphabet.letter(static_cast<unsigned char>(byte))] = byte;
    addMerges(model, {{"h", "e"},
                      {"l", "l"},
                      {"he", "ll"},
                      {"hell", "o"},
                      {"Ġ", "w"},
                      {"o", "r"},
                      {"Ġw", "or"},
                      {"1", "2"},
                      {"Ġ", "Ġ"},
                      {"Ã", "©"},
                      {"a", "b"},
                      {"b", "c"},
                      {"a", "bc"}});
    const std::size_t count = model["vocab"].size();
    return {{"version", "1.0"},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
            {"post_processor", {{"type", "ByteLevel"}}},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model", model},
            {"added_tokens",
             {added(count, "<|end|>", {{"special", true}}), added(count + 1, "<tool>", json::object())}}};
}

json tinyCharacterJson()
{
    json model{{"type", "BPE"},         {"unk_token", "<unk>"},    {"fuse_unk", true},
               {"byte_fallback", true}, {"vocab", json::object()}, {"merges", json::array()}};
    for (const char *text : {"<unk>", "<s>", "</s>"})
        model["vocab"].emplace(text, model["vocab"].size());
    for (unsigned byte = 0; byte < 256; ++byte)
        model["vocab"].emplace(tokenTextOfByte(static_cast<unsigned char>(byte)), model["vocab"].size());
    for (const char *text : {"▁", "a", "b", "c", "e", "h", "l", "o", "r", "w", "é", "中", "<", ">", "s"})
        model["vocab"].emplace(text, model["vocab"].size());
    addMerges(model,
              {{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"▁", "hello"}, {"▁", "w"}, {"▁", "▁"}});
    const json special{{"special", true}};
    return {
        {"normalizer",
         {{"type", "Sequence"},
          {"normalizers",
           {{{"type", "Prepend"}, {"prepend", "▁"}},
            {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}}}}},
        {"pre_tokenizer", nullptr},
        {"post_processor",
         {{"type", "TemplateProcessing"},
          {"single",
           {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
            {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
          {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}}},
        {"decoder",
         {{"type", "Sequence"},
          {"decoders",
           {{{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}},
            {{"type", "ByteFallback"}},
            {{"type", "Fuse"}},
            {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
        {"model", model},
        {"added_tokens", {added(0, "<unk>", special), added(1, "<s>", special), added(2, "</s>", special)}}};
}

std::string piecesOf(const Tokenizer &tokenizer, std::string_view text, const EncodeOptions &options)
{
    const auto tokens = tokenizer.encode(text, options);
    if (!tokens)
        return tokens.error().text();
    std::string result;
    for (const EncodedToken &token : *tokens)
        result += (result.empty() ? "" : "|") + tokenizer.data().texts[token.id.value()];
    return result;
}

} // namespace tokenloupe::test
