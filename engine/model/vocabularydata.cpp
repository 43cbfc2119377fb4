// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/vocabularydata.h"

#include "engine/base/utf8.h"
#include "engine/model/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

constexpr std::uint64_t maxTokens = 1U << 24;

const std::string tokensKey = "tokenizer.ggml.tokens";

/// "<0x0A>": how SentencePiece writes the token of a single byte.
bool isByteText(std::string_view text)
{
    return text.size() == 6 && text.starts_with("<0x") && text.ends_with(">") &&
           bytesOfHex(text.substr(3, 2));
}

/// Byte-level vocabularies whose models begin with BOS although their file does not say so.
bool pretokenizerAddsBos(std::string_view pre)
{
    constexpr std::array<std::string_view, 10> names = {"llama3",    "llama-v3", "llama-bpe", "falcon3",
                                                        "falcon-h1", "pixtral",  "midm-2.0",  "lfm2",
                                                        "tekken",    "chameleon"};
    return std::find(names.begin(), names.end(), pre) != names.end();
}

class VocabularyReader
{
public:
    VocabularyReader(const GgufFile &file, std::vector<std::string> *warnings)
        : m_file(file)
        , m_warnings(warnings)
    {}

    Result<VocabularyData> read();

private:
    Status readTexts();
    Status readScores();
    Status readKinds();
    Status readMerges();
    void readSpecialIds();
    void readFlags();

    Status checkCount(const std::string &key) const;
    std::optional<TokenId> specialId(const char *name);
    std::optional<TokenId> tokenOfText(std::string_view text) const;
    void readFlag(const char *key, bool &flag);
    void warn(std::string message)
    {
        if (m_warnings)
            m_warnings->push_back(std::move(message));
    }
    /// For a list that should have one entry for each token.
    void warnLength(const std::string &key, std::size_t found)
    {
        if (found != m_data.texts.size())
            warn(key + ": expected " + std::to_string(m_data.texts.size()) +
                 " entries, one for each token, found " + std::to_string(found));
    }

    const GgufFile &m_file;
    std::vector<std::string> *m_warnings;
    VocabularyData m_data;
};

Result<VocabularyData> VocabularyReader::read()
{
    const Status status = readTexts()
                              .and_then([this] { return readScores(); })
                              .and_then([this] { return readKinds(); })
                              .and_then([this] { return readMerges(); });
    if (!status)
        return tl::unexpected(status.error());
    readSpecialIds();
    readFlags();
    return std::move(m_data);
}

Status VocabularyReader::checkCount(const std::string &key) const
{
    const GgufValue *value = m_file.find(key);
    const auto *array = value ? std::get_if<GgufArray>(&value->value) : nullptr;
    if (array && array->count > maxTokens)
        return makeError(ErrorCode::BadFile, "read " + m_file.name(),
                         "key \"" + key + "\": expected at most " + std::to_string(maxTokens) +
                             " entries, found " + std::to_string(array->count));
    return {};
}

Status VocabularyReader::readTexts()
{
    const auto model = m_file.stringValue("tokenizer.ggml.model");
    if (!model)
        return tl::unexpected(model.error());
    m_data.model = sanitizedUtf8(*model);
    m_data.pre = "default";
    if (const auto pre = m_file.stringValue("tokenizer.ggml.pre"))
        m_data.pre = sanitizedUtf8(*pre);
    if (const Status count = checkCount(tokensKey); !count)
        return count;
    auto texts = m_file.stringArray(tokensKey);
    if (!texts)
        return tl::unexpected(texts.error());
    if (texts->empty())
        return makeError(ErrorCode::BadFile, "read " + m_file.name(),
                         "key \"" + tokensKey + "\": expected at least one token, found none");
    m_data.texts = std::move(*texts);
    return {};
}

Status VocabularyReader::readScores()
{
    const std::string key = "tokenizer.ggml.scores";
    if (!m_file.find(key))
        return {};
    if (const Status count = checkCount(key); !count)
        return count;
    auto scores = m_file.floatArray(key);
    if (!scores)
        return tl::unexpected(scores.error());
    warnLength(key, scores->size());
    m_data.scores = std::move(*scores);
    m_data.scores.resize(m_data.texts.size(), 0.0F);
    // A score that compares with nothing would make the order of merges undefined.
    std::size_t notNumbers = 0;
    for (float &score : m_data.scores) {
        if (std::isnan(score)) {
            score = -std::numeric_limits<float>::infinity();
            ++notNumbers;
        }
    }
    if (notNumbers > 0)
        warn(key + ": " + std::to_string(notNumbers) + " scores are not numbers and count as the lowest");
    return {};
}

Status VocabularyReader::readKinds()
{
    const std::string key = "tokenizer.ggml.token_type";
    m_data.kinds.assign(m_data.texts.size(), TokenKind::Normal);
    if (!m_file.find(key)) {
        warn(key + " is missing: every token counts as plain text");
        return {};
    }
    if (const Status count = checkCount(key); !count)
        return count;
    const auto types = m_file.integerArray(key);
    if (!types)
        return tl::unexpected(types.error());
    warnLength(key, types->size());

    constexpr std::array kinds = {TokenKind::Normal,      TokenKind::Unknown, TokenKind::Control,
                                  TokenKind::UserDefined, TokenKind::Unused,  TokenKind::Byte};
    std::size_t unknownTypes = 0;
    std::size_t badBytes = 0;
    for (std::size_t i = 0; i < std::min(types->size(), m_data.texts.size()); ++i) {
        const std::int64_t type = (*types)[i];
        if (type >= 1 && type <= static_cast<std::int64_t>(kinds.size()))
            m_data.kinds[i] = kinds[static_cast<std::size_t>(type) - 1];
        else
            unknownTypes += type != 0 ? 1 : 0; // 0 is "undefined" in the format
        if (m_data.kinds[i] == TokenKind::Byte && !isByteText(m_data.texts[i])) {
            m_data.kinds[i] = TokenKind::Normal;
            ++badBytes;
        }
    }
    if (unknownTypes > 0)
        warn(key + ": " + std::to_string(unknownTypes) + " types are outside 0 to 6 and count as plain text");
    if (badBytes > 0)
        warn(
            tokensKey + ": " + std::to_string(badBytes) +
            " byte tokens are not written as \"<0x..>\" with two hexadecimal digits and count as plain text");
    return {};
}

Status VocabularyReader::readMerges()
{
    const std::string key = "tokenizer.ggml.merges";
    if (!m_file.find(key)) {
        if (m_data.model == "gpt2")
            warn(key + " is missing: no tokens are merged");
        return {};
    }
    if (const Status count = checkCount(key); !count)
        return count;
    auto merges = m_file.textList(key);
    if (!merges)
        return tl::unexpected(merges.error());
    m_data.merges = std::move(*merges);
    return {};
}

std::optional<TokenId> VocabularyReader::tokenOfText(std::string_view text) const
{
    const auto found = std::find(m_data.texts.begin(), m_data.texts.end(), text);
    if (found == m_data.texts.end())
        return std::nullopt;
    return TokenId(static_cast<std::uint32_t>(found - m_data.texts.begin()));
}

std::optional<TokenId> VocabularyReader::specialId(const char *name)
{
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    if (!m_file.find(key))
        return std::nullopt;
    const auto id = m_file.unsignedValue(key);
    if (!id) {
        warn(id.error().message + "; the token counts as absent");
        return std::nullopt;
    }
    if (*id >= m_data.texts.size()) {
        warn(key + ": expected a token below " + std::to_string(m_data.texts.size()) + ", found " +
             std::to_string(*id) + "; the token counts as absent");
        return std::nullopt;
    }
    return TokenId(static_cast<std::uint32_t>(*id));
}

void VocabularyReader::readSpecialIds()
{
    m_data.bos = specialId("bos");
    m_data.eos = specialId("eos");
    m_data.eot = specialId("eot");
    m_data.unknown = specialId("unknown");
    m_data.padding = specialId("padding");
    if (m_data.model != "llama")
        return;
    // SentencePiece files may leave out the ids that nearly all of them share.
    const auto assume = [this](std::optional<TokenId> &id, const char *name, std::string_view text) {
        if (!id && !m_file.find(std::string("tokenizer.ggml.") + name + "_token_id"))
            id = tokenOfText(text);
    };
    assume(m_data.bos, "bos", "<s>");
    assume(m_data.eos, "eos", "</s>");
    assume(m_data.unknown, "unknown", "<unk>");
}

void VocabularyReader::readFlag(const char *key, bool &flag)
{
    if (!m_file.find(key))
        return;
    if (const auto value = m_file.boolValue(key))
        flag = *value;
    else
        warn(value.error().message);
}

void VocabularyReader::readFlags()
{
    const bool sentencePiece = m_data.model == "llama";
    m_data.addBos = sentencePiece || (m_data.model == "gpt2" && pretokenizerAddsBos(m_data.pre));
    m_data.addSpacePrefix = sentencePiece;
    readFlag("tokenizer.ggml.add_bos_token", m_data.addBos);
    readFlag("tokenizer.ggml.add_eos_token", m_data.addEos);
    readFlag("tokenizer.ggml.add_space_prefix", m_data.addSpacePrefix);
    readFlag("tokenizer.ggml.remove_extra_whitespaces", m_data.removeExtraWhitespaces);
    if (m_data.addBos && !m_data.bos) {
        warn("the model asks for a BOS token but names none: none is added");
        m_data.addBos = false;
    }
    if (m_data.addEos && !m_data.eos) {
        warn("the model asks for an EOS token but names none: none is added");
        m_data.addEos = false;
    }
}

} // namespace

Result<VocabularyData> readVocabulary(const GgufFile &file, std::vector<std::string> *warnings)
{
    return VocabularyReader(file, warnings).read();
}

} // namespace tokenloupe
