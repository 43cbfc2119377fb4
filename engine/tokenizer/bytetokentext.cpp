// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/bytetokentext.h"

#include <charconv>

namespace tokenloupe {

std::optional<unsigned char> byteOfTokenText(std::string_view text)
{
    if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>')
        return std::nullopt;
    unsigned char byte = 0;
    const char *const end = text.data() + 5;
    const auto [last, error] = std::from_chars(text.data() + 3, end, byte, 16);
    if (error != std::errc() || last != end)
        return std::nullopt;
    return byte;
}

std::string tokenTextOfByte(unsigned char byte)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

} // namespace tokenloupe
