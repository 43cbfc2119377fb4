// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/specialmatcher.h"
#include "engine/tokenizer/tokenizer.h"

#include <string_view>
#include <vector>

namespace tokenloupe {

/// What byte-level BPE and SentencePiece have in common: BOS and EOS, and the split of the text at tokens
/// that are matched as a whole. What lies between them goes to encodeFragment().
class FragmentTokenizer : public Tokenizer
{
public:
    Result<std::vector<EncodedToken>> encode(std::string_view text,
                                             const EncodeOptions &options = {}) const final;

protected:
    struct Fragment
    {
        std::string_view text;   ///< never empty
        std::uint32_t begin = 0; ///< offset of `text` in the whole input
    };

    explicit FragmentTokenizer(std::shared_ptr<const VocabularyData> data);
    /// Σ lengths of the tokens' texts: no less than what they stand for.
    std::size_t textBytes() const;
    /// What each token stands for, size() entries. User-defined, control and unknown tokens are matched by
    /// it.
    void setBytes(TextList bytes);

    /// Appends tokens whose ranges cover the fragment, and merges when `merges` is given. `word` counts the
    /// pre-tokens of the whole text.
    virtual Status encodeFragment(const Fragment &fragment, std::vector<EncodedToken> &tokens,
                                  std::vector<MergeStep> *merges, std::uint32_t &word) const = 0;

private:
    SpecialMatcher m_specials;
};

} // namespace tokenloupe
