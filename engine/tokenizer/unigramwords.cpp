// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/unigramwords.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytetokentext.h"

#include <algorithm>
#include <limits>

namespace tokenloupe {

class UnigramWords::WordEncoder final : public WordModel::Encoder
{
public:
    explicit WordEncoder(const UnigramWords &words)
        : m_words(words)
    {}

    Status encode(std::string_view word, std::vector<WordToken> &tokens,
                  std::vector<WordMerger::Applied> *applied) override;

private:
    /// The best way to a place in the word.
    struct Place
    {
        double score = -std::numeric_limits<double>::infinity();
        std::size_t from = none;
        TokenId token; // invalid: unknown
    };
    static constexpr std::size_t none = ~std::size_t(0);

    void offer(std::size_t from, std::size_t to, double score, TokenId token);
    void offerPieces(std::string_view word, std::size_t from, std::size_t character, double scoreHere);
    Status appendUnknown(std::string_view bytes, std::vector<WordToken> &tokens) const;

    const UnigramWords &m_words;
    std::vector<Place> m_places;
};

std::unique_ptr<WordModel::Encoder> UnigramWords::encoder() const
{
    return std::make_unique<WordEncoder>(*this);
}

UnigramWords::UnigramWords(const VocabularyData &data)
    : m_data(data)
    , m_pipeline(*data.pipeline)
{
    double lowest = 0;
    for (std::uint32_t i = 0; i < data.texts.size(); ++i) {
        const bool scored = data.kinds[i] != TokenKind::Unused && i < data.scores.size();
        if (!scored || data.texts[i].empty())
            continue;
        lowest = std::min<double>(lowest, data.scores[i]);
        m_sorted.push_back(i);
        if (data.kinds[i] == TokenKind::Byte) {
            if (const auto byte = byteOfTokenText(data.texts[i]); byte && !m_byteTokens[*byte].isValid())
                m_byteTokens[*byte] = TokenId(i);
        }
    }
    std::sort(m_sorted.begin(), m_sorted.end(), [&data](std::uint32_t a, std::uint32_t b) {
        return data.texts[a] != data.texts[b] ? data.texts[a] < data.texts[b] : a < b;
    });
    constexpr double penalty = 10; // what the Hugging Face library and SentencePiece take
    m_unknownScore = lowest - penalty;
}

void UnigramWords::WordEncoder::offer(std::size_t from, std::size_t to, double score, TokenId token)
{
    Place &place = m_places[to];
    if (place.from == none || score > place.score)
        place = {score, from, token};
}

void UnigramWords::WordEncoder::offerPieces(std::string_view word, std::size_t from, std::size_t character,
                                            double scoreHere)
{
    const auto &texts = m_words.m_data.texts;
    // Those that begin like the word from here on lie side by side; with each byte they become fewer.
    auto low = m_words.m_sorted.begin();
    auto high = m_words.m_sorted.end();
    bool single = false; // a piece of just this character
    for (std::size_t length = 1; from + length <= word.size() && low != high; ++length) {
        const auto byte = static_cast<unsigned char>(word[from + length - 1]);
        const auto byteOf = [&](std::uint32_t token) {
            const std::string &text = texts[token];
            return text.size() < length ? -1 : static_cast<int>(static_cast<unsigned char>(text[length - 1]));
        };
        low =
            std::lower_bound(low, high, byte, [&](std::uint32_t t, int value) { return byteOf(t) < value; });
        high =
            std::upper_bound(low, high, byte, [&](int value, std::uint32_t t) { return value < byteOf(t); });
        for (auto it = low; it != high && texts[*it].size() == length; ++it) {
            offer(from, from + length, scoreHere + m_words.m_data.scores[*it], TokenId(*it));
            single = single || length == character;
        }
    }
    if (!single)
        offer(from, from + character, scoreHere + m_words.m_unknownScore, {});
}

Status UnigramWords::WordEncoder::appendUnknown(std::string_view bytes, std::vector<WordToken> &tokens) const
{
    const auto byteToken = [this](char byte) {
        return m_words.m_byteTokens[static_cast<unsigned char>(byte)];
    };
    // note: its own text, and nothing else without a piece around it, is the unknown token's piece.
    const bool isItsText =
        m_words.m_data.unknown && m_words.m_data.texts[m_words.m_data.unknown->value()] == bytes;
    const bool hasBytes =
        !isItsText && m_words.m_pipeline.byteFallback &&
        std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return byteToken(byte).isValid(); });
    if (hasBytes) {
        for (const char byte : bytes)
            tokens.push_back({byteToken(byte), 1});
        return {};
    }
    if (!m_words.m_data.unknown)
        return makeError(ErrorCode::Unsupported, "tokenise",
                         "the vocabulary has no token for " + quotedForMessage(bytes) +
                             " and no unknown token");
    tokens.push_back({*m_words.m_data.unknown, static_cast<std::uint32_t>(bytes.size())});
    return {};
}

Status UnigramWords::WordEncoder::encode(std::string_view word, std::vector<WordToken> &tokens,
                                         std::vector<WordMerger::Applied> *)
{
    m_places.assign(word.size() + 1, {});
    m_places[0] = {0.0, 0, {}};
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t character = decodeUtf8(word, at).length;
        offerPieces(word, at, character, m_places[at].score);
        at += character;
    }
    std::vector<std::size_t> ends; // of the pieces, from the last one
    for (std::size_t at = word.size(); at > 0; at = m_places[at].from)
        ends.push_back(at);
    std::reverse(ends.begin(), ends.end());
    std::size_t unknown = 0; // bytes before `begin` that have no piece: a run is one unknown
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
        const TokenId token = m_places[end].token;
        const bool known = token.isValid() && token != m_words.m_data.unknown;
        if (known && unknown > 0) {
            if (Status status = appendUnknown(word.substr(begin - unknown, unknown), tokens); !status)
                return status;
            unknown = 0;
        }
        if (known)
            tokens.push_back({token, static_cast<std::uint32_t>(end - begin)});
        else
            unknown += end - begin;
        begin = end;
    }
    return unknown > 0 ? appendUnknown(word.substr(begin - unknown, unknown), tokens) : Status();
}

} // namespace tokenloupe
