// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tokenloupe {

/// What a step looks for: a text, or a regular expression in the dialect of Ruby (Oniguruma).
struct TextPattern
{
    enum class Kind { Literal, Regex };
    Kind kind = Kind::Literal;
    std::string text; ///< not empty

    bool operator==(const TextPattern &) const = default;
};

enum class UnicodeForm { Nfc, Nfd, Nfkc, Nfkd };

struct FormStep
{
    UnicodeForm form = UnicodeForm::Nfc;
};

struct ReplaceStep
{
    TextPattern pattern;
    std::string content;
};

/// Puts a text in front of each part that is not empty.
struct PrependStep
{
    enum class Where {
        Always,
        UnlessThere,      ///< not where the part begins with it already
        StartUnlessThere, ///< the same, and only at the start of the whole input
    };
    std::string content;
    Where where = Where::Always;
};

/// Takes white space off the ends.
struct StripStep
{
    bool left = true;
    bool right = true;
};

/// Cuts each part at the matches of a pattern.
struct SplitStep
{
    enum class Behaviour { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
    enum class Matches { Pattern, RestOfText };
    TextPattern pattern;
    Behaviour behaviour = Behaviour::Isolated;
    Matches matches = Matches::Pattern; ///< RestOfText: what lies between matches counts as the match
};

using TextStep = std::variant<FormStep, ReplaceStep, PrependStep, StripStep, SplitStep>;

/// A token that is matched as a whole; its text is the vocabulary's.
struct AddedToken
{
    TokenId id;
    bool special = false;    ///< only matched where control tokens are asked for
    bool normalized = false; ///< matched after the normaliser instead of before it
    bool leftStrip = false;  ///< takes the white space before it
    bool rightStrip = false;
    bool singleWord = false; ///< not next to letters and digits
};

/// Two tokens, neighbours in a word, and the one that they become.
struct TokenMerge
{
    std::uint32_t left = 0, right = 0, result = 0;
};

/// How a Hugging Face vocabulary turns text into tokens: added tokens are cut out, the rest goes through the
/// normaliser, is split into words, and each word becomes tokens by the model.
struct TextPipeline
{
    enum class Model { Bpe, Unigram };
    enum class Alphabet {
        Bytes,      ///< token texts are written in the byte-level alphabet
        Characters, ///< token texts are text
    };
    enum class Unknown { OneByOne, Joined };
    enum class WholeWords { ByMerges, First }; ///< First: a word that is a token is that token

    Model model = Model::Bpe;
    Alphabet alphabet = Alphabet::Characters;
    Unknown unknown = Unknown::OneByOne;
    WholeWords wholeWords = WholeWords::ByMerges;
    bool byteFallback = false; ///< characters without a token become byte tokens
    std::vector<AddedToken> added;
    std::vector<TextStep> normalizer;
    std::vector<TextStep> words;
    std::vector<TokenMerge> merges;   ///< best first
    std::vector<TokenId> front, back; ///< around the text where the model's special tokens are asked for
    std::vector<std::pair<std::string, std::string>> decoded; ///< replaced in token texts, in order
    bool decodedDropsSpace = false; ///< a space at the start of decoded text is taken away
};

} // namespace tokenloupe
