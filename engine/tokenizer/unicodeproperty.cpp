// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/unicodeproperty.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tokenloupe {

namespace {

using namespace std::string_view_literals;

/// note: PCRE2's own `\s` also takes U+180E, which has not been white space since Unicode 6.3.
constexpr std::string_view whiteSpace = "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}"
                                        "\\x{202F}\\x{205F}\\x{3000}";

/// Names without case, spaces, "-" and "_".
constexpr std::array<std::pair<std::string_view, std::string_view>, 97> names{{
    {"c", "\\p{C}"},
    {"other", "\\p{C}"},
    {"cc", "\\p{Cc}"},
    {"control", "\\p{Cc}"},
    {"cntrl", "\\p{Cc}"},
    {"cf", "\\p{Cf}"},
    {"format", "\\p{Cf}"},
    {"cn", "\\p{Cn}"},
    {"unassigned", "\\p{Cn}"},
    {"co", "\\p{Co}"},
    {"privateuse", "\\p{Co}"},
    {"cs", "\\p{Cs}"},
    {"surrogate", "\\p{Cs}"},
    {"l", "\\p{L}"},
    {"letter", "\\p{L}"},
    {"ll", "\\p{Ll}"},
    {"lowercaseletter", "\\p{Ll}"},
    {"lm", "\\p{Lm}"},
    {"modifierletter", "\\p{Lm}"},
    {"lo", "\\p{Lo}"},
    {"otherletter", "\\p{Lo}"},
    {"lt", "\\p{Lt}"},
    {"titlecaseletter", "\\p{Lt}"},
    {"lu", "\\p{Lu}"},
    {"uppercaseletter", "\\p{Lu}"},
    {"m", "\\p{M}"},
    {"mark", "\\p{M}"},
    {"combiningmark", "\\p{M}"},
    {"mc", "\\p{Mc}"},
    {"spacingmark", "\\p{Mc}"},
    {"me", "\\p{Me}"},
    {"enclosingmark", "\\p{Me}"},
    {"mn", "\\p{Mn}"},
    {"nonspacingmark", "\\p{Mn}"},
    {"n", "\\p{N}"},
    {"number", "\\p{N}"},
    {"nd", "\\p{Nd}"},
    {"decimalnumber", "\\p{Nd}"},
    {"digit", "\\p{Nd}"},
    {"nl", "\\p{Nl}"},
    {"letternumber", "\\p{Nl}"},
    {"no", "\\p{No}"},
    {"othernumber", "\\p{No}"},
    {"p", "\\p{P}"},
    {"punctuation", "\\p{P}"},
    {"punct", "\\p{P}"},
    {"pc", "\\p{Pc}"},
    {"connectorpunctuation", "\\p{Pc}"},
    {"pd", "\\p{Pd}"},
    {"dashpunctuation", "\\p{Pd}"},
    {"pe", "\\p{Pe}"},
    {"closepunctuation", "\\p{Pe}"},
    {"pf", "\\p{Pf}"},
    {"finalpunctuation", "\\p{Pf}"},
    {"pi", "\\p{Pi}"},
    {"initialpunctuation", "\\p{Pi}"},
    {"po", "\\p{Po}"},
    {"otherpunctuation", "\\p{Po}"},
    {"ps", "\\p{Ps}"},
    {"openpunctuation", "\\p{Ps}"},
    {"s", "\\p{S}"},
    {"symbol", "\\p{S}"},
    {"sc", "\\p{Sc}"},
    {"currencysymbol", "\\p{Sc}"},
    {"sk", "\\p{Sk}"},
    {"modifiersymbol", "\\p{Sk}"},
    {"sm", "\\p{Sm}"},
    {"mathsymbol", "\\p{Sm}"},
    {"so", "\\p{So}"},
    {"othersymbol", "\\p{So}"},
    {"z", "\\p{Z}"},
    {"separator", "\\p{Z}"},
    {"zl", "\\p{Zl}"},
    {"lineseparator", "\\p{Zl}"},
    {"zp", "\\p{Zp}"},
    {"paragraphseparator", "\\p{Zp}"},
    {"zs", "\\p{Zs}"},
    {"spaceseparator", "\\p{Zs}"},
    {"alphabetic", "\\p{Alphabetic}"},
    {"alpha", "\\p{Alphabetic}"},
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"word", "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"},
    {"lowercase", "\\p{Lowercase}"},
    {"lower", "\\p{Lowercase}"},
    {"uppercase", "\\p{Uppercase}"},
    {"upper", "\\p{Uppercase}"},
    {"whitespace", whiteSpace},
    {"space", whiteSpace},
    {"blank", "\\p{Zs}\\t"},
    {"xdigit", "0-9A-Fa-f"},
    {"ascii", "\\x{00}-\\x{7F}"},
    {"any", "\\x{00}-\\x{10FFFF}"},
    {"emoji", "\\p{Emoji}"},
    {"emojipresentation", "\\p{Emoji_Presentation}"},
    {"extendedpictographic", "\\p{Extended_Pictographic}"},
    {"ideographic", "\\p{Ideographic}"},
    {"unifiedideograph", "\\p{Unified_Ideograph}"},
}};

} // namespace

std::optional<std::string> unicodePropertyMembers(std::string_view name)
{
    std::string plain, script;
    for (const char c : name) {
        const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!isLetter && c != ' ' && c != '_' && c != '-')
            return std::nullopt;
        if (c != ' ')
            script += c;
        if (isLetter)
            plain += static_cast<char>(c | 0x20);
    }
    const auto *const known =
        std::find_if(names.begin(), names.end(), [&](const auto &entry) { return entry.first == plain; });
    if (known != names.end())
        return std::string(known->second);
    if (plain.empty())
        return std::nullopt;
    return "\\p{sc:" + script + "}";
}

} // namespace tokenloupe
