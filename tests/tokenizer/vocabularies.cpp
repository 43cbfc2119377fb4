// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/tokenizer/vocabularies.h"

#include "engine/base/philox.h"
#include "engine/base/utf8.h"
#include "engine/tokenizer/bytealphabet.h"

#include <cstdio>

namespace tokenloupe::test {

namespace {

void add(VocabularyData &data, std::string text, TokenKind kind = TokenKind::Normal, float score = 0.0F)
{
    data.texts.push_back(std::move(text));
    data.kinds.push_back(kind);
    data.scores.push_back(score);
}

} // namespace

VocabularyData tinyByteBpe(const std::string &pre)
{
    const ByteAlphabet alphabet;
    VocabularyData data;
    data.model = "gpt2";
    data.pre = pre;
    data.addSpacePrefix = false;
    for (unsigned byte = 0; byte < 256; ++byte)
        add(data, alphabet.letter(static_cast<unsigned char>(byte)));
    const std::vector<std::pair<std::string, std::string>> merges = {
        {"l", "l"},       {"h", "e"}, {" ", "w"},     {"he", "ll"}, {"o", "r"},       {"hell", "o"},
        {" w", "or"},     {"l", "d"}, {" wor", "ld"}, {"a", "a"},   {"aa", "a"},      {"aa", "aa"},
        {"aaaa", "aaaa"}, {"1", "2"}, {" ", " "},     {"\n", "\n"}, {"\xE4", "\xB8"}, {"\xE4\xB8", "\xAD"},
        {"'", "s"},       {"b", "c"}, {"a", "bc"},    {"a", "b"},
    };
    for (const auto &[left, right] : merges) {
        data.merges.push_back(alphabet.encode(left) + " " + alphabet.encode(right));
        add(data, alphabet.encode(left + right));
    }
    add(data, "<|end|>", TokenKind::Control);
    data.eos = TokenId(static_cast<std::uint32_t>(data.texts.size() - 1));
    add(data, "<|im_start|>", TokenKind::Control);
    add(data, "<|im_start|>x", TokenKind::Control);
    add(data, "<tool>", TokenKind::UserDefined);
    return data;
}

VocabularyData tinySentencePiece()
{
    VocabularyData data;
    data.model = "llama";
    add(data, "<unk>", TokenKind::Unknown);
    add(data, "<s>", TokenKind::Control);
    add(data, "</s>", TokenKind::Control);
    data.unknown = TokenId(0);
    data.bos = TokenId(1);
    data.eos = TokenId(2);
    data.addBos = true;
    for (unsigned byte = 0; byte < 256; ++byte) {
        char text[8];
        std::snprintf(text, sizeof text, "<0x%02X>", byte);
        add(data, text, TokenKind::Byte);
    }
    float score = 0.0F;
    for (const char *piece :
         {"▁t", "he",  "▁the",  "in",     "▁a", "er", "▁w", "or", "▁wor", "ld",      "▁world",
          "ll", "llo", "hello", "▁hello", "é",  "ée", "▁▁", "aa", "aaaa", "aaaaaaaa"})
        add(data, piece, TokenKind::Normal, score--);
    for (const char *letter : {"▁", "a", "b", "c", "d", "e", "h", "i", "l", "n", "o", "r", "t",
                               "w", "[", "I", "N", "S", "T", "]", "/", "<", ">", "s", "中"})
        add(data, letter, TokenKind::Normal, score--);
    add(data, "[INST]", TokenKind::Control);
    add(data, "<tool>", TokenKind::UserDefined);
    return data;
}

TokenId idOf(const VocabularyData &data, std::string_view text)
{
    for (std::uint32_t i = 0; i < data.texts.size(); ++i) {
        if (data.texts[i] == text)
            return TokenId(i);
    }
    return {};
}

std::vector<std::uint32_t> idsOf(const std::vector<EncodedToken> &tokens)
{
    std::vector<std::uint32_t> ids;
    for (const EncodedToken &token : tokens)
        ids.push_back(token.id.value());
    return ids;
}

std::vector<TokenId> tokenIds(const std::vector<EncodedToken> &tokens)
{
    std::vector<TokenId> ids;
    for (const EncodedToken &token : tokens)
        ids.push_back(token.id);
    return ids;
}

std::string coverageFault(const std::vector<EncodedToken> &tokens, std::string_view text)
{
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const ByteRange range = tokens[i].range;
        if (range.begin != end || range.end < range.begin)
            return "token " + std::to_string(i) + " has " + std::to_string(range.begin) + ".." +
                   std::to_string(range.end) + " after " + std::to_string(end);
        end = range.end;
    }
    return end == text.size() ? std::string()
                              : "ends at " + std::to_string(end) + " of " + std::to_string(text.size());
}

std::string replayFault(const std::vector<MergeStep> &merges, const std::vector<std::string> &words,
                        const std::vector<std::vector<std::string>> &pieces, Units units)
{
    std::vector<std::vector<std::string>> parts(words.size());
    for (std::size_t w = 0; w < words.size(); ++w) {
        for (std::size_t i = 0; i < words[w].size();) {
            const std::size_t length = units == Units::Bytes ? 1 : decodeUtf8(words[w], i).length;
            parts[w].push_back(words[w].substr(i, length));
            i += length;
        }
    }
    for (const MergeStep &step : merges) {
        if (step.word >= parts.size() || step.left + step.right != step.result)
            return "a step of word " + std::to_string(step.word) + " makes no sense: " + step.result;
        std::vector<std::string> &word = parts[step.word];
        std::size_t i = 0;
        while (i + 1 < word.size() && !(word[i] == step.left && word[i + 1] == step.right))
            ++i;
        if (i + 1 >= word.size())
            return "no such neighbours in word " + std::to_string(step.word) + ": " + step.left + " + " +
                   step.right;
        word[i] = step.result;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    for (std::size_t w = 0; w < words.size(); ++w) {
        if (parts[w] != pieces[w])
            return "word " + std::to_string(w) + " ends with " + std::to_string(parts[w].size()) +
                   " pieces, expected " + std::to_string(pieces[w].size());
    }
    return {};
}

std::string randomBytes(std::uint64_t seed, std::size_t count, std::string_view letters)
{
    std::string bytes;
    for (std::uint32_t i = 0; bytes.size() < count; ++i) {
        const auto draw = philox4x32({i, 0, 0, 0}, {static_cast<std::uint32_t>(seed), 77});
        for (const std::uint32_t word : draw) {
            if (bytes.size() < count)
                bytes += letters.empty() ? static_cast<char>(word & 0xFF) : letters[word % letters.size()];
        }
    }
    return bytes;
}

} // namespace tokenloupe::test
