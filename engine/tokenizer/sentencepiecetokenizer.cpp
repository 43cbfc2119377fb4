// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/sentencepiecetokenizer.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytetokentext.h"
#include "engine/tokenizer/piecetext.h"
#include "engine/tokenizer/sentencepiecemerges.h"
#include "engine/tokenizer/sentencepiecemodel.h"

#include <algorithm>
#include <sentencepiece_processor.h>

namespace sentencepiece::logging {
void SetMinLogLevel(int level); // part of the library, though of none of its installed headers
}

namespace tokenloupe {

namespace {

constexpr int fatalErrorsOnly = 3;

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
        const Utf8Unit unit = decodeUtf8(text, run.end);
        if (run.end != begin && unit.valid != run.valid)
            break;
        run.valid = unit.valid;
        run.end += unit.length;
    }
    return run;
}

} // namespace

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> SentencePieceTokenizer::create(VocabularyData data)
{
    // The library tells on standard error that there is no character map; what matters comes back as a
    // status.
    sentencepiece::logging::SetMinLogLevel(fatalErrorsOnly);
    std::shared_ptr<SentencePieceTokenizer> tokenizer(new SentencePieceTokenizer(std::move(data)));
    const auto status =
        tokenizer->m_processor->LoadFromSerializedProto(sentencePieceModel(tokenizer->m_data));
    if (!status.ok())
        return makeError(ErrorCode::BadFile, "load the SentencePiece vocabulary", status.ToString());
    return tokenizer;
}

SentencePieceTokenizer::SentencePieceTokenizer(VocabularyData data)
    : FragmentTokenizer(std::move(data))
    , m_processor(std::make_unique<sentencepiece::SentencePieceProcessor>())
{
    readTokens();
    m_dropsLeadingSpace = m_data.addSpacePrefix;
}

void SentencePieceTokenizer::readTokens()
{
    std::vector<std::string> bytes;
    bytes.reserve(size());
    for (std::uint32_t i = 0; i < size(); ++i) {
        const std::string &text = m_data.texts[i];
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
                bytes.emplace_back(1, static_cast<char>(*byte));
                break;
            }
            // Not a byte's name: a text that nothing encodes to.
            bytes.push_back(text);
            break;
        case TokenKind::Normal:
        case TokenKind::UserDefined:
        case TokenKind::Unused:
            bytes.push_back(spacesOf(text));
            break;
        }
    }
    setBytes(std::move(bytes));
    if (m_data.unknown)
        return;
    for (std::uint32_t i = 0; i < size() && !m_data.unknown; ++i) {
        if (m_data.kinds[i] == TokenKind::Unknown)
            m_data.unknown = TokenId(i);
    }
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
    for (; offset < text.size(); ++offset) {
        if (!(collapse && text[offset] == ' ' && text[offset - 1] == ' '))
            push(text[offset], offset);
    }
    input.origin.push_back(fragment.begin + static_cast<std::uint32_t>(fragment.text.size()));
    return input;
}

Status SentencePieceTokenizer::encodeFragment(const Fragment &fragment, std::vector<EncodedToken> &tokens,
                                              std::vector<MergeStep> *merges, std::uint32_t &word) const
{
    const Input input = inputOf(fragment);
    const std::size_t firstToken = tokens.size();
    for (std::size_t begin = 0; begin < input.text.size();) {
        const Run run = runAt(input.text, begin);
        const std::string_view text = std::string_view(input.text).substr(begin, run.end - begin);
        Status status =
            run.valid ? encodeValid(input, begin, run.end, tokens)
                      : encodeBytes(text, std::span(input.origin).subspan(begin, text.size() + 1), tokens);
        if (!status)
            return status;
        if (merges && run.valid)
            appendSentencePieceMerges(*m_processor, piecesOf(text), unknownPiece(size()), word, *merges);
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

Status SentencePieceTokenizer::encodeValid(const Input &input, std::size_t begin, std::size_t end,
                                           std::vector<EncodedToken> &tokens) const
{
    const std::string_view text = std::string_view(input.text).substr(begin, end - begin);
    sentencepiece::ImmutableSentencePieceText split;
    const auto status = m_processor->Encode(text, split.mutable_proto());
    if (!status.ok())
        return makeError(ErrorCode::InvalidArgument, "tokenise", status.ToString());
    const std::span origins(input.origin);
    std::string bytes; // a run of characters without a piece
    std::vector<std::uint32_t> byteOrigins;
    std::size_t character = 0; // where the last one of them begins in `bytes`
    std::size_t bytesEnd = 0;
    const auto flushBytes = [&]() -> Status {
        if (bytes.empty())
            return {};
        byteOrigins.push_back(origins[bytesEnd]);
        Status result = encodeBytes(bytes, byteOrigins, tokens);
        bytes.clear();
        byteOrigins.clear();
        character = 0;
        return result;
    };
    for (std::size_t i = 0; i < split.pieces_size(); ++i) {
        const auto piece = split.pieces(static_cast<int>(i));
        const std::size_t first = begin + piece.begin();
        const std::size_t last = begin + piece.end();
        if (piece.id() < size()) {
            if (Status result = flushBytes(); !result)
                return result;
            tokens.push_back({TokenId(piece.id()), {origins[first], origins[last]}});
            continue;
        }
        bytes += static_cast<char>(piece.id() - firstBytePiece(size()));
        byteOrigins.push_back(origins[first]);
        if (first == last)
            continue;
        // The library gives a whole character to its last byte. A space has three bytes as a piece, one here.
        if (last - first == bytes.size() - character)
            std::copy_n(origins.begin() + static_cast<std::ptrdiff_t>(first), last - first,
                        byteOrigins.begin() + static_cast<std::ptrdiff_t>(character));
        character = bytes.size();
        bytesEnd = last;
    }
    return flushBytes();
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
