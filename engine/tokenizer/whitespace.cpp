// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/whitespace.h"

#include "engine/base/utf8.h"

namespace tokenloupe {

bool isWhiteSpace(char32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

std::size_t whiteSpaceAtStart(std::string_view text)
{
    std::size_t end = 0;
    while (end < text.size()) {
        const Utf8Unit unit = decodeUtf8(text, end);
        if (!unit.valid || !isWhiteSpace(unit.codePoint))
            break;
        end += unit.length;
    }
    return end;
}

std::size_t lastCharacter(std::string_view text)
{
    std::size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
        --begin;
    const Utf8Unit unit = decodeUtf8(text, begin);
    return unit.valid && begin + unit.length == text.size() ? begin : text.size() - 1;
}

std::size_t whiteSpaceAtEnd(std::string_view text)
{
    std::size_t begin = text.size();
    while (begin > 0) {
        const std::size_t last = lastCharacter(text.substr(0, begin));
        const Utf8Unit unit = decodeUtf8(text, last);
        if (!unit.valid || !isWhiteSpace(unit.codePoint))
            break;
        begin = last;
    }
    return text.size() - begin;
}

} // namespace tokenloupe
