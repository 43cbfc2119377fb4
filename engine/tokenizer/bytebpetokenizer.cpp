// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/bytebpetokenizer.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytealphabet.h"
#include "engine/tokenizer/bytetokentext.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace tokenloupe {

namespace {

/// Tokens that words can become. All others only ever match as a whole, so that no merge makes a control
/// token.
bool isPlain(TokenKind kind)
{
    return kind == TokenKind::Normal || kind == TokenKind::Unused;
}

} // namespace

Result<std::shared_ptr<const Tokenizer>> ByteBpeTokenizer::create(std::shared_ptr<const VocabularyData> data)
{
    const std::optional<SplitRule> known = splitRule(data->pre);
    const SplitRule rule = known.value_or(gpt2SplitRule());
    Result<PreTokenizer> preTokenizer = PreTokenizer::create(rule);
    if (!preTokenizer)
        return tl::unexpected(preTokenizer.error());
    std::shared_ptr<ByteBpeTokenizer> tokenizer(
        new ByteBpeTokenizer(std::move(data), std::move(*preTokenizer), rule.wholeWords));
    tokenizer->m_recognised = known.has_value();
    return tokenizer;
}

ByteBpeTokenizer::ByteBpeTokenizer(std::shared_ptr<const VocabularyData> data, PreTokenizer preTokenizer,
                                   WholeWords wholeWords)
    : FragmentTokenizer(std::move(data))
    , m_preTokenizer(std::move(preTokenizer))
    , m_wholeWords(wholeWords)
{
    const ByteAlphabet alphabet;
    readTokens(alphabet);
    readMerges(alphabet);
}

void ByteBpeTokenizer::readTokens(const ByteAlphabet &alphabet)
{
    TextList bytes;
    bytes.reserve(size(), textBytes());
    std::string decoded;
    for (std::uint32_t i = 0; i < size(); ++i) {
        const TokenKind kindOfToken = kind(TokenId(i));
        const std::string_view text = m_data.texts[i];
        decoded.clear();
        if (kindOfToken == TokenKind::Byte) {
            const std::optional<unsigned char> byte = byteOfTokenText(text);
            if (byte && !m_tokenOfByte[*byte].isValid())
                m_tokenOfByte[*byte] = TokenId(i);
            if (byte)
                decoded += static_cast<char>(*byte);
            else
                decoded = text;
        } else if (isPlain(kindOfToken)) {
            alphabet.decode(text, decoded);
        } else {
            decoded = text;
        }
        bytes.push_back(decoded);
    }
    setBytes(std::move(bytes));
    if (m_wholeWords == WholeWords::ByMerges)
        return;
    m_words = TokenIndex(size());
    for (std::uint32_t i = 0; i < size(); ++i) {
        // Texts with characters outside of the alphabet can never be meant.
        if (isPlain(kind(TokenId(i))) && alphabet.encode(m_bytes[i]) == m_data.texts[i])
            m_words.insert(m_bytes, i);
    }
}

void ByteBpeTokenizer::readMerges(const ByteAlphabet &alphabet)
{
    const std::vector<std::string> &texts = m_data.texts;
    TokenIndex tokens(size());
    for (std::uint32_t i = 0; i < size(); ++i) {
        if (isPlain(kind(TokenId(i))))
            tokens.insert(texts, i); // of duplicates the first
    }
    std::unordered_map<std::string, std::uint32_t> otherSymbols; // texts in the alphabet
    std::string bytes;
    const auto symbolOf = [&](std::string_view text) {
        if (const std::uint32_t token = tokens.find(texts, text); token != TokenIndex::none)
            return token;
        const auto [it, added] = otherSymbols.try_emplace(
            std::string(text), size() + static_cast<std::uint32_t>(m_otherSymbols.size()));
        if (added) {
            bytes.clear();
            alphabet.decode(text, bytes);
            m_otherSymbols.push_back(bytes);
        }
        return it->second;
    };

    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::uint32_t symbol = symbolOf(alphabet.letter(static_cast<unsigned char>(byte)));
        m_symbolOfByte[byte] = symbol;
        if (symbol < size())
            m_tokenOfByte[byte] = TokenId(symbol);
    }
    m_merges = MergeTable(m_data.merges.size());
    std::string joined;
    for (std::size_t rank = 0; rank < m_data.merges.size(); ++rank) {
        const std::string_view line = m_data.merges[rank];
        const std::size_t space = line.find(' ', 1);
        if (space == std::string_view::npos || space + 1 == line.size())
            continue; // not "left right": a broken line, which joins nothing
        const std::string_view left = line.substr(0, space);
        const std::string_view right = line.substr(space + 1);
        joined.assign(left).append(right);
        m_merges.insert(symbolOf(left), symbolOf(right),
                        {static_cast<std::uint32_t>(rank), symbolOf(joined)});
    }
}

std::string_view ByteBpeTokenizer::symbolBytes(std::uint32_t symbol) const
{
    return symbol < size() ? m_bytes[symbol] : m_otherSymbols[symbol - size()];
}

Status ByteBpeTokenizer::encodeWord(std::string_view text, WordMerger &merger, std::vector<WordToken> &tokens,
                                    std::vector<WordMerger::Applied> *applied) const
{
    if (m_wholeWords == WholeWords::BeforeMerges) {
        if (const std::uint32_t token = m_words.find(m_bytes, text); token != TokenIndex::none) {
            tokens.push_back({TokenId(token), static_cast<std::uint32_t>(text.size())});
            return {};
        }
    }
    merger.begin();
    for (const char byte : text)
        merger.append(m_symbolOfByte[static_cast<unsigned char>(byte)]);
    std::size_t done = 0;
    for (const WordMerger::Symbol &symbol : merger.merge(applied)) {
        if (symbol.symbol < size()) {
            tokens.push_back({TokenId(symbol.symbol), symbol.length});
            done += symbol.length;
            continue;
        }
        // A merge whose result is no token: its bytes one by one, as far as the vocabulary has them.
        for (std::uint32_t i = 0; i < symbol.length; ++i, ++done) {
            const TokenId token = m_tokenOfByte[static_cast<unsigned char>(text[done])];
            if (token.isValid())
                tokens.push_back({token, 1});
            else if (m_data.unknown)
                tokens.push_back({*m_data.unknown, 1});
            else
                return makeError(ErrorCode::Unsupported, "tokenise",
                                 "the vocabulary has no token for the byte " + hexOf(text.substr(done, 1)) +
                                     " (hexadecimal) and no unknown token");
        }
    }
    return {};
}

Status ByteBpeTokenizer::encodeFragment(const Fragment &fragment, std::vector<EncodedToken> &tokens,
                                        std::vector<MergeStep> *merges, std::uint32_t &word) const
{
    const Result<std::vector<std::uint32_t>> ends = m_preTokenizer.wordEnds(fragment.text);
    if (!ends)
        return tl::unexpected(ends.error());
    tokens.reserve(tokens.size() + ends->size());

    // A cache pays off from a few hundred words on. With merges asked for, every word has to be merged for
    // real.
    constexpr std::size_t cachedFrom = 256;
    std::optional<WordCache> cache;
    if (!merges && ends->size() >= cachedFrom)
        cache.emplace();
    WordMerger merger(m_merges);
    std::vector<WordToken> wordTokens;
    std::vector<WordMerger::Applied> applied;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : *ends) {
        const std::string_view text = fragment.text.substr(begin, end - begin);
        std::uint32_t position = fragment.begin + begin;
        const auto emit = [&](std::span<const WordToken> list) {
            for (const WordToken &token : list) {
                tokens.push_back({token.id, {position, position + token.length}});
                position += token.length;
            }
        };
        WordCache::Place place;
        const bool cached = cache && text.size() <= WordCache::longestWord;
        if (cached)
            place = cache->find(text);
        if (place.found) {
            emit(cache->tokens(place));
        } else {
            wordTokens.clear();
            applied.clear();
            if (Status status = encodeWord(text, merger, wordTokens, merges ? &applied : nullptr); !status)
                return status;
            if (cached)
                cache->insert(place, text, wordTokens);
            emit(wordTokens);
        }
        for (const WordMerger::Applied &step : applied) {
            merges->push_back({std::string(symbolBytes(step.left)), std::string(symbolBytes(step.right)),
                               std::string(symbolBytes(step.merge.result)), step.merge.rank, word});
        }
        begin = end;
        ++word;
    }
    return {};
}

} // namespace tokenloupe
