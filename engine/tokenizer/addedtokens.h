// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/textpipeline.h"
#include "engine/tokenizer/specialmatcher.h"
#include "engine/tokenizer/textfinder.h"

#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

/// Added tokens of a Hugging Face vocabulary, found as its library does: from left to right the longest one;
/// those that may not be taken where they are found hide what lies within them.
class AddedTokens
{
public:
    /// With the text by which the token is found. To be called for all before build().
    void add(const AddedToken &token, std::string_view text);
    Status build();
    bool isEmpty() const { return m_tokens.empty(); }

    /// Where special tokens are read as such; null: nowhere.
    using MayParse = std::function<bool(ByteRange)>;
    /// Matches in rising order, not overlapping; they include the white space that a token takes with it.
    std::vector<SpecialMatch> find(std::string_view text, const MayParse &mayParse,
                                   const TextFinder::Scratch &scratch) const;

private:
    bool isInWord(std::string_view text, ByteRange range, const TextFinder::Scratch &scratch) const;

    SpecialMatcher m_matcher;
    std::unordered_map<TokenId, AddedToken> m_tokens;
    std::optional<TextFinder> m_word; // a letter of a word; only where a token asks for it
};

} // namespace tokenloupe
