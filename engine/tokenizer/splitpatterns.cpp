// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/splitpatterns.h"

#include <algorithm>
#include <array>

// The patterns are those of the vocabularies' own tokenizer.json files (they decide which words a model was
// trained on), spelled for PCRE2 without its case-insensitive mode, whose folding reaches beyond ASCII.

#define TOKENLOUPE_CONTRACTIONS "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define TOKENLOUPE_SPACES "\\s+(?!\\S)|\\s+"
#define TOKENLOUPE_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define TOKENLOUPE_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define TOKENLOUPE_CASED(tail)                                                                               \
    "[^\\r\\n\\p{L}\\p{N}]?" TOKENLOUPE_UPPER "*" TOKENLOUPE_LOWER "+" tail                                  \
    "|[^\\r\\n\\p{L}\\p{N}]?" TOKENLOUPE_UPPER "+" TOKENLOUPE_LOWER "*" tail

namespace tokenloupe {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view gpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" TOKENLOUPE_SPACES;

constexpr std::array gpt2{gpt2Pattern};
constexpr std::array eachDigitAlone{"\\p{N}"sv, gpt2Pattern};
constexpr std::array unnamed{"[\\p{P}\\$\\+<=>\\^~\\|]+"sv, gpt2Pattern, "\\p{N}+"sv, "[0-9][0-9][0-9]"sv};
constexpr std::array falcon{"[\\p{P}\\$\\+<=>\\^~\\|`]+"sv, gpt2Pattern, "[0-9][0-9][0-9]"sv};
constexpr std::array llama3{TOKENLOUPE_CONTRACTIONS
                            "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                            "|\\s*[\\r\\n]+|" TOKENLOUPE_SPACES ""sv};
constexpr std::array qwen2{TOKENLOUPE_CONTRACTIONS
                           "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                           "|\\s*[\\r\\n]+|" TOKENLOUPE_SPACES ""sv};
constexpr std::array deepseekCoder{"[\\r\\n]"sv, "\\s?\\p{L}+"sv, "\\s?\\p{P}+"sv,
                                   "[\\x{4E00}-\\x{9FA5}\\x{0800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"sv,
                                   "\\p{N}"sv};
constexpr std::array deepseek3{"\\p{N}{1,3}"sv,
                               "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"sv,
                               "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
                               "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*"
                               "|\\s*[\\r\\n]+|" TOKENLOUPE_SPACES ""sv};
constexpr std::array tekken{TOKENLOUPE_CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
                                                 "|\\s*[\\r\\n]+|" TOKENLOUPE_SPACES ""sv};
constexpr std::array gpt4o{
    TOKENLOUPE_CASED(TOKENLOUPE_CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
                                                  "|\\s*[\\r\\n]+|" TOKENLOUPE_SPACES ""sv};
constexpr std::array bloom{
    " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{0964}\\x{06D4}\\x{060C})]+"sv};

struct NamedRule
{
    std::string_view name;
    std::span<const std::string_view> patterns;
    WholeWords wholeWords = WholeWords::ByMerges;
};

constexpr std::array rules{
    NamedRule{"gpt-2", gpt2},
    NamedRule{"phi-2", gpt2},
    NamedRule{"mpt", gpt2},
    NamedRule{"olmo", gpt2},
    NamedRule{"jais", gpt2},
    NamedRule{"exaone4", gpt2},
    NamedRule{"trillion", gpt2},
    NamedRule{"smollm", eachDigitAlone},
    NamedRule{"starcoder", eachDigitAlone},
    NamedRule{"refact", eachDigitAlone},
    NamedRule{"command-r", eachDigitAlone},
    NamedRule{"codeshell", eachDigitAlone},
    NamedRule{"exaone", eachDigitAlone},
    NamedRule{"minerva-7b", eachDigitAlone},
    NamedRule{"default", unnamed},
    NamedRule{"falcon", falcon},
    NamedRule{"llama-bpe", llama3, WholeWords::BeforeMerges},
    NamedRule{"llama3", llama3, WholeWords::BeforeMerges},
    NamedRule{"llama-v3", llama3, WholeWords::BeforeMerges},
    NamedRule{"falcon3", llama3, WholeWords::BeforeMerges},
    NamedRule{"pixtral", llama3, WholeWords::BeforeMerges},
    NamedRule{"lfm2", llama3, WholeWords::BeforeMerges},
    NamedRule{"smaug-bpe", llama3},
    NamedRule{"dbrx", llama3},
    NamedRule{"glm4", llama3},
    NamedRule{"chatglm-bpe", llama3},
    NamedRule{"qwen2", qwen2},
    NamedRule{"deepseek-r1-qwen", qwen2},
    NamedRule{"megrez", qwen2},
    NamedRule{"stablelm2", qwen2},
    NamedRule{"hunyuan", qwen2},
    NamedRule{"deepseek-coder", deepseekCoder},
    NamedRule{"deepseek-v3", deepseek3},
    NamedRule{"tekken", tekken, WholeWords::BeforeMerges},
    NamedRule{"gpt-4o", gpt4o},
    NamedRule{"llama4", gpt4o},
    NamedRule{"bloom", bloom},
    NamedRule{"poro-chat", bloom},
    NamedRule{"gpt3-finnish", bloom},
};

} // namespace

std::optional<SplitRule> splitRule(std::string_view name)
{
    const auto *const it =
        std::find_if(rules.begin(), rules.end(), [name](const NamedRule &rule) { return rule.name == name; });
    if (it == rules.end())
        return std::nullopt;
    return SplitRule{it->patterns, it->wholeWords};
}

SplitRule gpt2SplitRule()
{
    return {gpt2, WholeWords::ByMerges};
}

} // namespace tokenloupe
