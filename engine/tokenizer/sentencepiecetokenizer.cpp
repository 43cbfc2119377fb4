// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/sentencepiecetokenizer.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytetokentext.h"
#include "engine/tokenizer/piecetext.h"

#include <algorithm>

namespace tokenloupe {

namespace {

/// The end of the run of valid (or of broken) characters that begins at `begin`.
struct Run
{
    std::size_t end = 0;
    bool valid = true;
};

Run runAt(std::string_view text, std::size_t begin)
{
    Run run;
    for (run.end = begin; run.end < text.size();) {
        if (run.valid && static_cast<unsigned char>(text[run.end]) < 0x80) {
            ++run.end;
            continue;
        }
        const Utf8Unit unit = decodeUtf8(text, run.end);
        if (run.end != begin && unit.valid != run.valid)
            break;
        run.valid = unit.valid;
        run.end += unit.length;
    }
    return run;
}

/// "one two": where the space is that the next word begins with, or the end.
std::size_t wordEnd(std::string_view text, std::size_t begin)
{
    std::size_t end = text.find_first_not_of(' ', begin);
    if (end != std::string_view::npos)
        end = text.find(' ', end);
    return std::min(end, text.size());
}

} // namespace

/// One call of encodeFragment(): appends the tokens of one run of valid characters after the other.
class SentencePieceTokenizer::Splitter
{
public:
    Splitter(const SentencePieceTokenizer &tokenizer, const Input &input, std::vector<EncodedToken> &tokens)
        : m_tokenizer(tokenizer)
        , m_text(input.text)
        , m_origins(input.origin)
        , m_tokens(tokens)
        , m_merger(*tokenizer.m_pieces)
    {}

    Status split(std::size_t begin, std::size_t end, std::vector<MergeStep> *merges, std::uint32_t word)
    {
        if (merges) {
            // In the order that all of it is merged in.
            m_steps.clear();
            const std::string_view text = m_text.substr(begin, end - begin);
            if (Status status = take(begin, m_merger.split(text, &m_steps)); !status)
                return status;
            tell(text, word, *merges);
            return flushBytes();
        }
        if (!m_tokenizer.m_pieces->hasWords() || m_tokenizer.m_pieces->hasUnused()) {
            if (Status status = take(begin, m_merger.split(m_text.substr(begin, end - begin))); !status)
                return status;
            return flushBytes();
        }
        for (std::size_t next = begin; begin < end; begin = next) {
            next = std::min(wordEnd(m_text, begin), end);
            if (Status status = take(begin, piecesOf(m_text.substr(begin, next - begin))); !status)
                return status;
        }
        return flushBytes();
    }

private:
    std::span<const WordToken> piecesOf(std::string_view word)
    {
        // A cache pays off from a few hundred words on.
        constexpr std::size_t cachedFrom = 1024;
        if (m_text.size() < cachedFrom || word.size() > WordCache::longestWord)
            return m_merger.split(word);
        if (!m_cache)
            m_cache.emplace();
        const WordCache::Place place = m_cache->find(word);
        if (!place.found)
            m_cache->insert(place, word, m_merger.split(word));
        return m_cache->tokens(m_cache->find(word));
    }

    /// Appends pieces whose characters begin at `position`; those without a token wait for flushBytes().
    Status take(std::size_t position, std::span<const WordToken> pieces)
    {
        for (const WordToken &piece : pieces) {
            const std::size_t end = position + piece.length;
            if (piece.id.isValid()) {
                if (Status status = flushBytes(); !status)
                    return status;
                m_tokens.push_back({piece.id, {m_origins[position], m_origins[end]}});
            } else {
                keepBytes(position, end);
            }
            position = end;
        }
        return {};
    }

    void keepBytes(std::size_t begin, std::size_t end)
    {
        const std::string_view character = m_text.substr(begin, end - begin);
        const std::string_view bytes = character == " " ? pieceSpace : character;
        // A space has three bytes as a piece, in the input it mostly has one: which the last byte gets then.
        const bool isWhole = m_origins[end] - m_origins[begin] == bytes.size();
        for (std::uint32_t i = 0; i < bytes.size(); ++i)
            m_byteOrigins.push_back(m_origins[begin] + (isWhole ? i : 0));
        m_bytes += bytes;
        m_bytesEnd = end;
    }

    Status flushBytes()
    {
        if (m_bytes.empty())
            return {};
        m_byteOrigins.push_back(m_origins[m_bytesEnd]);
        Status result = m_tokenizer.encodeBytes(m_bytes, m_byteOrigins, m_tokens);
        m_bytes.clear();
        m_byteOrigins.clear();
        return result;
    }

    void tell(std::string_view text, std::uint32_t word, std::vector<MergeStep> &merges) const
    {
        for (const PieceMerger::Step &step : m_steps) {
            const auto part = [&](std::uint32_t begin, std::uint32_t end) {
                return std::string(text.substr(begin, end - begin));
            };
            merges.push_back({part(step.begin, step.middle), part(step.middle, step.end),
                              part(step.begin, step.end), step.piece, word});
        }
    }

    const SentencePieceTokenizer &m_tokenizer;
    std::string_view m_text;
    std::span<const std::uint32_t> m_origins;
    std::vector<EncodedToken> &m_tokens;
    PieceMerger m_merger;
    std::optional<WordCache> m_cache;
    std::vector<PieceMerger::Step> m_steps;
    std::string m_bytes; // a run of characters without a piece
    std::vector<std::uint32_t> m_byteOrigins;
    std::size_t m_bytesEnd = 0; // in m_text
};

Result<std::shared_ptr<const Tokenizer>>
SentencePieceTokenizer::create(std::shared_ptr<const VocabularyData> data)
{
    return std::shared_ptr<const Tokenizer>(new SentencePieceTokenizer(std::move(data)));
}

SentencePieceTokenizer::SentencePieceTokenizer(std::shared_ptr<const VocabularyData> data)
    : FragmentTokenizer(std::move(data))
{
    readTokens();
    m_pieces = std::make_unique<const PieceVocabulary>(m_data, m_bytes);
    m_dropsLeadingSpace = m_data.addSpacePrefix;
}

void SentencePieceTokenizer::readTokens()
{
    TextList bytes;
    bytes.reserve(size(), textBytes());
    std::string spaced;
    for (std::uint32_t i = 0; i < size(); ++i) {
        const std::string_view text = m_data.texts[i];
        switch (m_data.kinds[i]) {
        case TokenKind::Control:
        case TokenKind::Unknown:
            bytes.push_back(text);
            break;
        case TokenKind::Byte:
            if (const std::optional<unsigned char> byte = byteOfTokenText(text)) {
                if (!m_byteTokens[*byte].isValid())
                    m_byteTokens[*byte] = TokenId(i);
                m_hasByteTokens = true;
                const char value = static_cast<char>(*byte);
                bytes.push_back({&value, 1});
                break;
            }
            // Not a byte's name: a text that nothing encodes to.
            bytes.push_back(text);
            break;
        case TokenKind::Normal:
        case TokenKind::UserDefined:
        case TokenKind::Unused:
            if (text.find(pieceSpace.front()) == std::string_view::npos) {
                bytes.push_back(text);
                break;
            }
            spaced.clear();
            appendSpaced(text, spaced);
            bytes.push_back(spaced);
            break;
        }
    }
    setBytes(std::move(bytes));
}

SentencePieceTokenizer::Input SentencePieceTokenizer::inputOf(const Fragment &fragment) const
{
    // A fragment is the start of the text or follows a token that was matched as a whole: in both cases the
    // space in front belongs to it.
    Input input;
    input.text.reserve(fragment.text.size() + 1);
    input.origin.reserve(fragment.text.size() + 2);
    const auto push = [&](char byte, std::size_t offset) {
        input.text += byte;
        input.origin.push_back(fragment.begin + static_cast<std::uint32_t>(offset));
    };
    std::string_view text = fragment.text;
    std::size_t offset = 0;
    const bool collapse = m_data.removeExtraWhitespaces;
    if (collapse) {
        while (!text.empty() && text.back() == ' ')
            text.remove_suffix(1);
        while (offset < text.size() && text[offset] == ' ')
            ++offset;
    }
    if (collapse && text.empty())
        return input; // nothing but white space, of which nothing is kept
    if (m_data.addSpacePrefix)
        push(' ', 0);
    while (offset < text.size()) {
        if (text[offset] == pieceSpace.front() && text.substr(offset).starts_with(pieceSpace)) {
            push(' ', offset);
            offset += pieceSpace.size();
            continue;
        }
        if (!(collapse && text[offset] == ' ' && text[offset - 1] == ' '))
            push(text[offset], offset);
        ++offset;
    }
    input.origin.push_back(fragment.begin + static_cast<std::uint32_t>(fragment.text.size()));
    return input;
}

Status SentencePieceTokenizer::encodeFragment(const Fragment &fragment, std::vector<EncodedToken> &tokens,
                                              std::vector<MergeStep> *merges, std::uint32_t &word) const
{
    const Input input = inputOf(fragment);
    const std::size_t firstToken = tokens.size();
    Splitter splitter(*this, input, tokens);
    for (std::size_t begin = 0; begin < input.text.size();) {
        const Run run = runAt(input.text, begin);
        const std::size_t size = run.end - begin;
        Status status = run.valid ? splitter.split(begin, run.end, merges, word)
                                  : encodeBytes(std::string_view(input.text).substr(begin, size),
                                                std::span(input.origin).subspan(begin, size + 1), tokens);
        if (!status)
            return status;
        ++word;
        begin = run.end;
    }
    // White space that was taken out belongs to the token before it, at the start to the first one.
    if (tokens.size() > firstToken) {
        tokens[firstToken].range.begin = fragment.begin;
        tokens.back().range.end = fragment.begin + static_cast<std::uint32_t>(fragment.text.size());
    }
    return {};
}

Status SentencePieceTokenizer::encodeBytes(std::string_view bytes, std::span<const std::uint32_t> origins,
                                           std::vector<EncodedToken> &tokens) const
{
    if (!m_hasByteTokens && m_data.unknown) {
        tokens.push_back({*m_data.unknown, {origins.front(), origins.back()}});
        return {};
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const TokenId byteToken = m_byteTokens[static_cast<unsigned char>(bytes[i])];
        if (!byteToken.isValid() && !m_data.unknown)
            return makeError(ErrorCode::Unsupported, "tokenise",
                             "the vocabulary has no piece and no byte token for the byte " +
                                 hexOf(bytes.substr(i, 1)) + " (hexadecimal), and no unknown token");
        tokens.push_back({byteToken.isValid() ? byteToken : *m_data.unknown, {origins[i], origins[i + 1]}});
    }
    return {};
}

} // namespace tokenloupe
