// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/tokenizer.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytebpetokenizer.h"
#include "engine/tokenizer/idtokenizer.h"
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

bool isWithin(const std::optional<TokenId> &id, std::size_t size)
{
    return !id || id->value() < size;
}

std::optional<TokenId> firstOfKind(const VocabularyData &data, TokenKind kind)
{
    const auto found = std::find(data.kinds.begin(), data.kinds.end(), kind);
    if (found == data.kinds.end())
        return std::nullopt;
    return TokenId(static_cast<std::uint32_t>(found - data.kinds.begin()));
}

/// SentencePiece vocabularies have an unknown token even where the file does not say which one it is.
bool lacksUnknown(const VocabularyData &data)
{
    return data.model == "llama" && !data.pipeline && !data.unknown && firstOfKind(data, TokenKind::Unknown);
}

bool isSound(const VocabularyData &data)
{
    const std::size_t count = data.texts.size();
    return data.kinds.size() == count && (data.scores.empty() || data.scores.size() == count) &&
           std::all_of(data.kinds.begin(), data.kinds.end(),
                       [](TokenKind kind) { return kind <= TokenKind::Byte; }) &&
           isWithin(data.bos, count) && isWithin(data.eos, count) && isWithin(data.eot, count) &&
           isWithin(data.unknown, count) && isWithin(data.padding, count) &&
           std::all_of(data.endOfTurn.begin(), data.endOfTurn.end(),
                       [count](TokenId id) { return id.value() < count; }) &&
           !lacksUnknown(data);
}

/// A vocabulary may come from anywhere. What is sound is shared as it is.
std::shared_ptr<const VocabularyData> sound(std::shared_ptr<const VocabularyData> data)
{
    if (isSound(*data))
        return data;
    auto repaired = std::make_shared<VocabularyData>(*data);
    const std::size_t count = repaired->texts.size();
    repaired->kinds.resize(count, TokenKind::Normal);
    std::replace_if(
        repaired->kinds.begin(), repaired->kinds.end(), [](TokenKind kind) { return kind > TokenKind::Byte; },
        TokenKind::Normal);
    if (!repaired->scores.empty())
        repaired->scores.resize(count, 0.0F);
    for (std::optional<TokenId> *id :
         {&repaired->bos, &repaired->eos, &repaired->eot, &repaired->unknown, &repaired->padding}) {
        if (!isWithin(*id, count))
            id->reset();
    }
    std::erase_if(repaired->endOfTurn, [count](TokenId id) { return id.value() >= count; });
    if (lacksUnknown(*repaired))
        repaired->unknown = firstOfKind(*repaired, TokenKind::Unknown);
    return repaired;
}

} // namespace

Tokenizer::Tokenizer(std::shared_ptr<const VocabularyData> data)
    : m_shared(sound(std::move(data)))
    , m_data(*m_shared)
{
    std::vector<TokenId> named;
    bool hasReturn = false;
    bool hasCall = false;
    for (std::uint32_t i = 0; i < size(); ++i) {
        if (m_data.kinds[i] != TokenKind::Control)
            continue;
        const std::string &text = m_data.texts[i];
        hasReturn = hasReturn || text == "<|return|>";
        hasCall = hasCall || text == "<|call|>";
        if (std::find(endOfTurnNames.begin(), endOfTurnNames.end(), text) != endOfTurnNames.end())
            named.push_back(TokenId(i));
    }
    // Where a format has both of these, "<|end|>" only ends a message within the turn.
    if (hasReturn && hasCall)
        std::erase_if(named, [this](TokenId id) { return m_data.texts[id.value()] == "<|end|>"; });
    named.insert(named.end(), m_data.endOfTurn.begin(), m_data.endOfTurn.end());
    for (const std::optional<TokenId> &id : {m_data.eos, m_data.eot}) {
        if (id)
            named.push_back(*id);
    }
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    m_endOfTurn = std::move(named);
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

Result<std::shared_ptr<const Tokenizer>> makeTokenizer(std::shared_ptr<const VocabularyData> data)
{
    constexpr const char *operation = "read the vocabulary";
    if (data->texts.empty())
        return makeError(ErrorCode::BadFile, operation, "it has no tokens");
    if (data->texts.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        return makeError(ErrorCode::BadFile, operation,
                         "it has " + std::to_string(data->texts.size()) +
                             " tokens; expected fewer than 2^31");
    if (data->model == noTokenizerModel)
        return std::make_shared<const IdTokenizer>(std::move(data));
    if (data->pipeline)
        return PipelineTokenizer::create(std::move(data));
    if (data->model == "gpt2")
        return ByteBpeTokenizer::create(std::move(data));
    if (data->model == "llama")
        return SentencePieceTokenizer::create(std::move(data));
    return makeError(ErrorCode::Unsupported, operation,
                     "a tokenizer of kind " + quotedForMessage(data->model) +
                         " is not supported; expected gpt2 (byte-level BPE) or llama (SentencePiece BPE)");
}

Result<std::shared_ptr<const Tokenizer>> makeTokenizer(VocabularyData data)
{
    return makeTokenizer(std::make_shared<const VocabularyData>(std::move(data)));
}

} // namespace tokenloupe
