// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/bpewords.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytealphabet.h"
#include "engine/tokenizer/bytetokentext.h"

#include <algorithm>

namespace tokenloupe {

class BpeWords::WordEncoder final : public WordModel::Encoder
{
public:
    explicit WordEncoder(const BpeWords &words)
        : m_words(words)
        , m_merger(words.m_merges)
    {}

    Status encode(std::string_view word, std::vector<WordToken> &tokens,
                  std::vector<WordMerger::Applied> *applied) override;

private:
    Status appendBytes(std::string_view bytes);
    Status appendCharacters(std::string_view word);
    Status appendUnknown(std::string_view character);
    void flushUnknown();

    const BpeWords &m_words;
    WordMerger m_merger;
    std::uint32_t m_unknown = 0; // bytes that are waiting to become one unknown token
};

std::unique_ptr<WordModel::Encoder> BpeWords::encoder() const
{
    return std::make_unique<WordEncoder>(*this);
}

Status BpeWords::WordEncoder::encode(std::string_view word, std::vector<WordToken> &tokens,
                                     std::vector<WordMerger::Applied> *applied)
{
    if (m_words.m_pipeline.wholeWords == TextPipeline::WholeWords::First) {
        if (const auto found = m_words.m_words.find(word); found != m_words.m_words.end()) {
            tokens.push_back({TokenId(found->second), static_cast<std::uint32_t>(word.size())});
            return {};
        }
    }
    m_merger.begin();
    m_unknown = 0;
    const Status status = m_words.m_pipeline.alphabet == TextPipeline::Alphabet::Bytes
                              ? appendBytes(word)
                              : appendCharacters(word);
    if (!status)
        return status;
    flushUnknown();
    for (const WordMerger::Symbol &symbol : m_merger.merge(applied))
        tokens.push_back({TokenId(symbol.symbol), symbol.length});
    return {};
}

void BpeWords::WordEncoder::flushUnknown()
{
    if (m_unknown > 0)
        m_merger.append(m_words.m_data.unknown->value(), m_unknown);
    m_unknown = 0;
}

Status BpeWords::WordEncoder::appendUnknown(std::string_view character)
{
    if (!m_words.m_data.unknown)
        return makeError(ErrorCode::Unsupported, "tokenise",
                         "the vocabulary has no token for " + quotedForMessage(character) + " (bytes " +
                             hexOf(character) + ") and no unknown token");
    if (m_words.m_pipeline.unknown == TextPipeline::Unknown::OneByOne)
        flushUnknown();
    m_unknown += static_cast<std::uint32_t>(character.size());
    return {};
}

Status BpeWords::WordEncoder::appendBytes(std::string_view bytes)
{
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::uint32_t token = m_words.m_byteTokens[static_cast<unsigned char>(bytes[i])];
        if (token == none) {
            if (Status status = appendUnknown(bytes.substr(i, 1)); !status)
                return status;
            continue;
        }
        flushUnknown();
        m_merger.append(token);
    }
    return {};
}

Status BpeWords::WordEncoder::appendCharacters(std::string_view word)
{
    for (std::size_t i = 0; i < word.size();) {
        const Utf8Unit unit = decodeUtf8(word, i);
        const std::string_view character = word.substr(i, unit.length);
        i += unit.length;
        const auto found =
            unit.valid ? m_words.m_characters.find(unit.codePoint) : m_words.m_characters.end();
        if (found != m_words.m_characters.end()) {
            flushUnknown();
            m_merger.append(found->second, unit.length);
            continue;
        }
        bool hasBytes = m_words.m_pipeline.byteFallback;
        for (const char byte : character)
            hasBytes = hasBytes && m_words.m_byteTokens[static_cast<unsigned char>(byte)] != none;
        if (hasBytes) {
            flushUnknown();
            for (const char byte : character)
                m_merger.append(m_words.m_byteTokens[static_cast<unsigned char>(byte)]);
        } else if (Status status = appendUnknown(character); !status) {
            return status;
        }
    }
    return {};
}

BpeWords::BpeWords(const VocabularyData &data, const TextList &bytes)
    : m_data(data)
    , m_pipeline(*data.pipeline)
    , m_bytes(bytes)
{
    m_byteTokens.fill(none);
    if (m_pipeline.alphabet == TextPipeline::Alphabet::Bytes)
        readBytes();
    else
        readCharacters();
    readMerges();
}

void BpeWords::readBytes()
{
    const ByteAlphabet alphabet;
    std::unordered_map<std::string_view, unsigned char> letters;
    for (unsigned byte = 0; byte < 256; ++byte)
        letters.emplace(alphabet.letter(static_cast<unsigned char>(byte)), static_cast<unsigned char>(byte));
    const bool whole = m_pipeline.wholeWords == TextPipeline::WholeWords::First;
    if (whole)
        m_words.reserve(m_data.texts.size());
    for (std::uint32_t i = 0; i < m_data.texts.size(); ++i) {
        const std::string &text = m_data.texts[i];
        if (m_data.kinds[i] == TokenKind::Unused || text.empty())
            continue;
        if (text.size() <= 2) {
            if (const auto letter = letters.find(text); letter != letters.end())
                m_byteTokens[letter->second] = i;
        }
        // Texts with characters outside of the alphabet can never be meant.
        if (whole && m_data.kinds[i] == TokenKind::Normal && alphabet.encode(m_bytes[i]) == text)
            m_words.emplace(m_bytes[i], i);
    }
}

void BpeWords::readCharacters()
{
    const bool whole = m_pipeline.wholeWords == TextPipeline::WholeWords::First;
    for (std::uint32_t i = 0; i < m_data.texts.size(); ++i) {
        const std::string &text = m_data.texts[i];
        if (m_data.kinds[i] == TokenKind::Unused || text.empty())
            continue;
        if (m_data.kinds[i] == TokenKind::Byte) {
            if (const auto byte = byteOfTokenText(text); byte && m_byteTokens[*byte] == none)
                m_byteTokens[*byte] = i;
        }
        const Utf8Unit unit = decodeUtf8(text, 0);
        if (unit.valid && unit.length == text.size())
            m_characters.emplace(unit.codePoint, i);
        if (whole)
            m_words.emplace(text, i);
    }
}

void BpeWords::readMerges()
{
    // Of merges of the same pair the last one counts: it goes in first and stays.
    m_merges = MergeTable(m_pipeline.merges.size());
    for (std::size_t rank = m_pipeline.merges.size(); rank-- > 0;) {
        const TokenMerge &merge = m_pipeline.merges[rank];
        if (std::max({merge.left, merge.right, merge.result}) < m_data.texts.size())
            m_merges.insert(merge.left, merge.right, {static_cast<std::uint32_t>(rank), merge.result});
    }
}

} // namespace tokenloupe
