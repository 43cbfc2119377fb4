// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/fragmenttokenizer.h"
#include "engine/tokenizer/piecemerger.h"

#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// SentencePiece BPE (GGUF "llama"): valid UTF-8 is split into pieces; byte tokens, bytes that are not UTF-8
/// and tokens that match as a whole are handled beside.
class SentencePieceTokenizer final : public FragmentTokenizer
{
public:
    static Result<std::shared_ptr<const Tokenizer>> create(std::shared_ptr<const VocabularyData> data);

protected:
    Status encodeFragment(const Fragment &fragment, std::vector<EncodedToken> &tokens,
                          std::vector<MergeStep> *merges, std::uint32_t &word) const override;

private:
    /// What is split, and where its bytes come from.
    struct Input
    {
        std::string text; ///< the space in front included; U+2581, which means a space, is one
        /// Offset in the whole input of each byte of `text`, and of its end. Rising.
        std::vector<std::uint32_t> origin;
    };
    class Splitter;

    explicit SentencePieceTokenizer(std::shared_ptr<const VocabularyData> data);
    void readTokens();
    Input inputOf(const Fragment &fragment) const;
    /// Bytes without a piece: byte tokens as far as there are any, else the unknown token. `origins`: of each
    /// byte, and of the end.
    Status encodeBytes(std::string_view bytes, std::span<const std::uint32_t> origins,
                       std::vector<EncodedToken> &tokens) const;

    std::unique_ptr<const PieceVocabulary> m_pieces;
    std::array<TokenId, 256> m_byteTokens; ///< invalid where there is none
    bool m_hasByteTokens = false;
};

} // namespace tokenloupe
