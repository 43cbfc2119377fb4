// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/piecetext.h"

namespace tokenloupe {

namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to)
{
    std::string result;
    result.reserve(text.size());
    for (std::size_t begin = 0;;) {
        const std::size_t found = text.find(from, begin);
        result += text.substr(begin, found - begin);
        if (found == std::string_view::npos)
            return result;
        result += to;
        begin = found + from.size();
    }
}

} // namespace

std::string spacesOf(std::string_view pieces)
{
    return replaced(pieces, pieceSpace, " ");
}

std::string piecesOf(std::string_view text)
{
    return replaced(text, " ", pieceSpace);
}

} // namespace tokenloupe
