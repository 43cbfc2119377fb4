// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/fragmenttokenizer.h"
#include "engine/tokenizer/mergetable.h"
#include "engine/tokenizer/pretokenizer.h"
#include "engine/tokenizer/tokenindex.h"
#include "engine/tokenizer/wordcache.h"
#include "engine/tokenizer/wordmerger.h"

#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace tokenloupe {

class ByteAlphabet;

/// Byte-level BPE (GGUF "gpt2"): text is cut into words by patterns, a word's bytes are merged by rank.
/// A symbol is a token id, or, from size() on, a string that merges produce but that is no token.
class ByteBpeTokenizer final : public FragmentTokenizer
{
public:
    static Result<std::shared_ptr<const Tokenizer>> create(std::shared_ptr<const VocabularyData> data);

protected:
    Status encodeFragment(const Fragment &fragment, std::vector<EncodedToken> &tokens,
                          std::vector<MergeStep> *merges, std::uint32_t &word) const override;

private:
    ByteBpeTokenizer(std::shared_ptr<const VocabularyData> data, PreTokenizer preTokenizer,
                     WholeWords wholeWords);
    void readTokens(const ByteAlphabet &alphabet);
    void readMerges(const ByteAlphabet &alphabet);

    /// Appends what `text`, one word, becomes.
    Status encodeWord(std::string_view text, WordMerger &merger, std::vector<WordToken> &tokens,
                      std::vector<WordMerger::Applied> *applied) const;
    std::string_view symbolBytes(std::uint32_t symbol) const;

    PreTokenizer m_preTokenizer;
    WholeWords m_wholeWords;
    MergeTable m_merges;
    TextList m_otherSymbols; ///< bytes of symbol size() + i
    std::array<std::uint32_t, 256> m_symbolOfByte{};
    std::array<TokenId, 256>
        m_tokenOfByte;  ///< fallback for symbols that are no tokens; invalid where there is none
    TokenIndex m_words; ///< by bytes; only filled for WholeWords::BeforeMerges
};

} // namespace tokenloupe
