// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/tokenizer/splitpatterns.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

struct pcre2_real_code_8; // what pcre2_code is; its header works through macros that nobody else should see

namespace tokenloupe {

/// Cuts text into words by the patterns of a SplitRule (PCRE2, compiled once). Any bytes will do: a run of
/// bytes that are not UTF-8 is a word of its own. Immutable; may be used from any thread.
class PreTokenizer
{
public:
    static Result<PreTokenizer> create(const SplitRule &rule);

    /// The ends of the words of `text`, rising; the last one is its size. Empty for an empty text.
    Result<std::vector<std::uint32_t>> wordEnds(std::string_view text) const;

private:
    struct FreeCode
    {
        void operator()(pcre2_real_code_8 *code) const;
    };
    using Code = std::unique_ptr<pcre2_real_code_8, FreeCode>;

    PreTokenizer() = default;

    std::vector<Code> m_codes;
};

} // namespace tokenloupe
