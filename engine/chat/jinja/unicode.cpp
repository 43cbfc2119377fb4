// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/unicode.h"

#include "engine/base/utf8.h"
#include "engine/chat/jinja/unicodetables.h"

#include <algorithm>

namespace tokenloupe::jinja {

namespace {

bool contains(CodeSet set, char32_t code)
{
    const auto after = std::upper_bound(set.begin(), set.end(), static_cast<std::uint32_t>(code));
    return (after - set.begin()) % 2 == 1;
}

char32_t mapped(std::span<const CaseRun> runs, char32_t code)
{
    const auto run =
        std::partition_point(runs.begin(), runs.end(), [code](const CaseRun &r) { return r.last < code; });
    if (run == runs.end() || code < run->first || (code - run->first) % run->stride != 0)
        return code;
    return static_cast<char32_t>(static_cast<std::int64_t>(code) + run->delta);
}

const CaseSpecial *special(std::span<const CaseSpecial> specials, char32_t code)
{
    const auto found = std::partition_point(specials.begin(), specials.end(),
                                            [code](const CaseSpecial &s) { return s.code < code; });
    return found != specials.end() && found->code == code ? &*found : nullptr;
}

bool isAsciiLetter(char32_t code)
{
    return (code >= U'a' && code <= U'z') || (code >= U'A' && code <= U'Z');
}

} // namespace

bool isSpace(char32_t code)
{
    if (code <= 0x20)
        return code == 0x20 || (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool isAlphabetic(char32_t code)
{
    return code < 0x80 ? isAsciiLetter(code) : contains(alphabeticSet, code);
}

bool isDecimal(char32_t code)
{
    return code < 0x80 ? code >= U'0' && code <= U'9' : contains(decimalSet, code);
}

bool isDigit(char32_t code)
{
    return code < 0x80 ? isDecimal(code) : contains(digitSet, code);
}

bool isNumeric(char32_t code)
{
    return contains(numericSet, code);
}

bool isPrintable(char32_t code)
{
    return code < 0x80 ? code >= 0x20 && code < 0x7F : contains(printableSet, code);
}

bool isUpper(char32_t code)
{
    return code < 0x80 ? code >= U'A' && code <= U'Z' : contains(upperSet, code);
}

bool isLower(char32_t code)
{
    return code < 0x80 ? code >= U'a' && code <= U'z' : contains(lowerSet, code);
}

bool isTitle(char32_t code)
{
    return code >= 0x80 && contains(titleSet, code);
}

void appendCased(std::string &out, char32_t code, Case target)
{
    if (code < 0x80) {
        const char c = static_cast<char>(code);
        if (target == Case::Lower)
            out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        else
            out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        return;
    }
    const CaseSpecial *found = target == Case::Title ? special(titleSpecials, code) : nullptr;
    if (!found)
        found = special(target == Case::Lower ? lowerSpecials : upperSpecials, code);
    if (found)
        out += found->text;
    else
        appendUtf8(out, mapped(target == Case::Lower ? lowerRuns : upperRuns, code));
}

std::size_t leadingSpace(std::string_view text)
{
    std::size_t at = 0;
    while (at < text.size()) {
        const Utf8Unit unit = decodeUtf8(text, at);
        if (!unit.valid || !isSpace(unit.codePoint))
            break;
        at += unit.length;
    }
    return at;
}

std::size_t trailingSpace(std::string_view text)
{
    std::size_t end = text.size();
    while (end > 0) {
        std::size_t begin = end - 1;
        while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U)
            --begin;
        const Utf8Unit unit = decodeUtf8(text, begin);
        if (!unit.valid || begin + unit.length != end || !isSpace(unit.codePoint))
            break;
        end = begin;
    }
    return text.size() - end;
}

std::size_t identifierLength(std::string_view text)
{
    std::size_t at = 0;
    while (at < text.size()) {
        const Utf8Unit unit = decodeUtf8(text, at);
        const char32_t code = unit.codePoint;
        const bool inside = unit.valid && (code == U'_' || isAlphabetic(code) || (at > 0 && isDecimal(code)));
        if (!inside)
            break;
        at += unit.length;
    }
    return at;
}

std::string firstCharacter(std::string_view text)
{
    if (text.empty())
        return {};
    return sanitizedUtf8(text.substr(0, decodeUtf8(text, 0).length));
}

} // namespace tokenloupe::jinja
