// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/base/textlist.h"
#include "engine/model/vocabularydata.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

struct ByteRange
{
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    bool operator==(const ByteRange &) const = default;
};

/// A token of an encoded text and the bytes of the input that it stands for. BOS and EOS that were added have
/// an empty range. Ranges rise and cover the input without gaps.
struct EncodedToken
{
    TokenId id;
    ByteRange range;
};

/// One merge of byte-level or SentencePiece BPE, in the order applied.
struct MergeStep
{
    std::string left, right, result; ///< bytes
    std::uint32_t rank = 0;          ///< line of the merge table; for SentencePiece the id of the result
    std::uint32_t word = 0;          ///< pre-token that it happened in, from 0
};

enum class SpecialTokens { AsText, Parse };
enum class AddSpecial { No, AsModelWants };

struct EncodeOptions
{
    SpecialTokens special = SpecialTokens::AsText;
    AddSpecial add = AddSpecial::No;
    /// With Parse: parts of the text (rising, not overlapping) in which control tokens are plain text, so
    /// that what a user typed never becomes one.
    std::span<const ByteRange> literal;
    std::vector<MergeStep> *merges = nullptr; ///< filled when given
};

enum class ShowControl { No, Yes };

/// Text <-> token ids exactly as the model's file defines it. Immutable after creation; encode() and decode()
/// may be called from any thread.
class Tokenizer
{
public:
    virtual ~Tokenizer() = default;

    virtual Result<std::vector<EncodedToken>> encode(std::string_view text,
                                                     const EncodeOptions &options = {}) const = 0;

    std::uint32_t size() const { return static_cast<std::uint32_t>(m_data.texts.size()); }
    /// The bytes that the token stands for (what decoding appends). Control tokens: their text, "<|im_end|>".
    std::string_view bytes(TokenId id) const { return m_bytes[id.value()]; }
    TokenKind kind(TokenId id) const { return m_data.kinds[id.value()]; }
    bool isControl(TokenId id) const { return kind(id) == TokenKind::Control; }
    /// Whether the model ends its turn with this token (EOS, EOT, <|im_end|>, …).
    bool isEndOfTurn(TokenId id) const;
    const VocabularyData &data() const { return m_data; }
    bool recognised() const { return m_recognised; } ///< the pre-tokenizer's name is one that we know

    /// Exact bytes of a list of ids; control tokens only with ShowControl::Yes. SentencePiece models: a space
    /// that encoding put in front is taken away again.
    std::string decode(std::span<const TokenId> ids, ShowControl control = ShowControl::No) const;
    std::vector<TokenId> endOfTurnTokens() const { return m_endOfTurn; }

protected:
    explicit Tokenizer(std::shared_ptr<const VocabularyData> data);

    const std::shared_ptr<const VocabularyData> m_shared;
    const VocabularyData &m_data; ///< the same; sound: every list has size() entries, every id lies within
    TextList m_bytes;             ///< size() entries
    std::vector<TokenId> m_endOfTurn;
    bool m_recognised = true;
    bool m_dropsLeadingSpace = false;
};

/// Unsupported (naming the kind) for vocabularies other than byte-level BPE and SentencePiece BPE. `data` is
/// shared, not copied, unless something in it has to be repaired.
Result<std::shared_ptr<const Tokenizer>> makeTokenizer(std::shared_ptr<const VocabularyData> data);
Result<std::shared_ptr<const Tokenizer>> makeTokenizer(VocabularyData data);

} // namespace tokenloupe
