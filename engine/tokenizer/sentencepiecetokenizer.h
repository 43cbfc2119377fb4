// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/fragmenttokenizer.h"

#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace tokenloupe {

/// SentencePiece BPE (GGUF "llama"): the sentencepiece library splits valid UTF-8 into pieces; the space in
/// front, byte tokens, bytes that are not UTF-8 and tokens that match as a whole are handled here.
class SentencePieceTokenizer final : public FragmentTokenizer
{
public:
    static Result<std::shared_ptr<const Tokenizer>> create(VocabularyData data);
    ~SentencePieceTokenizer() override;

protected:
    Status encodeFragment(const Fragment &fragment, std::vector<EncodedToken> &tokens,
                          std::vector<MergeStep> *merges, std::uint32_t &word) const override;

private:
    /// What the library gets, and where its bytes come from.
    struct Input
    {
        std::string text;
        /// Offset in the whole input of each byte of `text`, and of its end. Rising.
        std::vector<std::uint32_t> origin;
    };

    explicit SentencePieceTokenizer(VocabularyData data);
    void readTokens();
    Input inputOf(const Fragment &fragment) const;
    Status encodeValid(const Input &input, std::size_t begin, std::size_t end,
                       std::vector<EncodedToken> &tokens) const;
    /// Bytes without a piece: byte tokens as far as there are any, else the unknown token. `origins`: of each
    /// byte, and of the end.
    Status encodeBytes(std::string_view bytes, std::span<const std::uint32_t> origins,
                       std::vector<EncodedToken> &tokens) const;

    std::unique_ptr<sentencepiece::SentencePieceProcessor> m_processor;
    std::array<TokenId, 256> m_byteTokens; ///< invalid where there is none
    bool m_hasByteTokens = false;
};

} // namespace tokenloupe
