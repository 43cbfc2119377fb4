// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace tokenloupe {

enum class WholeWords {
    ByMerges,     ///< a word becomes what its merges make of it
    BeforeMerges, ///< a word that is a token is that token, whatever the merges say
};

/// How a byte-level BPE vocabulary cuts text into the words within which it merges: patterns applied one
/// after the other, each to every part that the ones before left (its matches and what lies between them).
struct SplitRule
{
    std::span<const std::string_view> patterns; ///< `\s` and `\S` mean Unicode's White_Space
    WholeWords wholeWords = WholeWords::ByMerges;
};

/// The rule for a name as GGUF's `tokenizer.ggml.pre` has it; nothing for names that are not known.
std::optional<SplitRule> splitRule(std::string_view name);
/// What GPT-2 does; the best guess where the name is not known.
SplitRule gpt2SplitRule();

} // namespace tokenloupe
