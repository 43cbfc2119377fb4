// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/tokenizer.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytebpetokenizer.h"
#include "engine/tokenizer/pipelinetokenizer.h"
#include "engine/tokenizer/sentencepiecetokenizer.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tokenloupe {

namespace {

/// Texts that end a turn in the chat formats of well-known models. A control token with one of these texts
/// ends the turn even if the file does not name it as EOS or EOT.
constexpr std::array<std::string_view, 18> endOfTurnNames = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<eos>",
    "<|return|>",
    "<|call|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|eot|>",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
};

template <class Id>
void dropOutOfRange(std::optional<Id> &id, std::size_t size)
{
    if (id && id->value() >= size)
        id.reset();
}

} // namespace

Tokenizer::Tokenizer(VocabularyData data)
    : m_data(std::move(data))
{
    // A vocabulary may come from anywhere: from here on every list has size() entries and every id lies
    // within.
    const std::size_t count = m_data.texts.size();
    m_data.kinds.resize(count, TokenKind::Normal);
    for (TokenKind &kind : m_data.kinds) {
        if (kind > TokenKind::Byte)
            kind = TokenKind::Normal;
    }
    if (!m_data.scores.empty())
        m_data.scores.resize(count, 0.0F);
    for (std::optional<TokenId> *id :
         {&m_data.bos, &m_data.eos, &m_data.eot, &m_data.unknown, &m_data.padding})
        dropOutOfRange(*id, count);

    // Where a format has both of these, "<|end|>" only ends a message within the turn.
    const auto hasControl = [this](std::string_view text) {
        for (std::size_t i = 0; i < m_data.texts.size(); ++i) {
            if (m_data.kinds[i] == TokenKind::Control && m_data.texts[i] == text)
                return true;
        }
        return false;
    };
    std::erase_if(m_data.endOfTurn, [count](TokenId id) { return id.value() >= count; });
    const bool endIsInner = hasControl("<|return|>") && hasControl("<|call|>");
    for (std::uint32_t i = 0; i < count; ++i) {
        const TokenId id(i);
        const std::string &text = m_data.texts[i];
        const bool named =
            m_data.kinds[i] == TokenKind::Control &&
            std::find(endOfTurnNames.begin(), endOfTurnNames.end(), text) != endOfTurnNames.end() &&
            !(endIsInner && text == "<|end|>");
        const bool listed =
            std::find(m_data.endOfTurn.begin(), m_data.endOfTurn.end(), id) != m_data.endOfTurn.end();
        if (named || listed || m_data.eos == id || m_data.eot == id)
            m_endOfTurn.push_back(id);
    }
}

bool Tokenizer::isEndOfTurn(TokenId id) const
{
    return std::find(m_endOfTurn.begin(), m_endOfTurn.end(), id) != m_endOfTurn.end();
}

std::string Tokenizer::decode(std::span<const TokenId> ids, ShowControl control) const
{
    std::string text;
    bool dropSpace = m_dropsLeadingSpace;
    for (const TokenId id : ids) {
        if (id.value() >= size())
            continue;
        std::string_view piece = bytes(id);
        const TokenKind kindOfId = kind(id);
        const bool isSpecial = kindOfId == TokenKind::Control || kindOfId == TokenKind::Unknown;
        if (piece.empty() || (isSpecial && control == ShowControl::No))
            continue;
        // Encoding puts a space in front of plain text only, so a special token keeps what it begins with.
        if (dropSpace && !isSpecial && kindOfId != TokenKind::UserDefined && piece.front() == ' ')
            piece.remove_prefix(1);
        dropSpace = false;
        text += piece;
    }
    return text;
}

Result<std::shared_ptr<const Tokenizer>> makeTokenizer(VocabularyData data)
{
    constexpr const char *operation = "read the vocabulary";
    if (data.texts.empty())
        return makeError(ErrorCode::BadFile, operation, "it has no tokens");
    if (data.texts.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        return makeError(ErrorCode::BadFile, operation,
                         "it has " + std::to_string(data.texts.size()) + " tokens; expected fewer than 2^31");
    if (data.pipeline)
        return PipelineTokenizer::create(std::move(data));
    if (data.model == "gpt2")
        return ByteBpeTokenizer::create(std::move(data));
    if (data.model == "llama")
        return SentencePieceTokenizer::create(std::move(data));
    return makeError(ErrorCode::Unsupported, operation,
                     "a tokenizer of kind " + quotedForMessage(data.model) +
                         " is not supported; expected gpt2 (byte-level BPE) or llama (SentencePiece BPE)");
}

} // namespace tokenloupe
