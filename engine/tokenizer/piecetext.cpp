// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/piecetext.h"

namespace tokenloupe {

void appendSpaced(std::string_view piece, std::string &out)
{
    for (std::size_t begin = 0;;) {
        const std::size_t found = piece.find(pieceSpace, begin);
        out += piece.substr(begin, found - begin);
        if (found == std::string_view::npos)
            return;
        out += ' ';
        begin = found + pieceSpace.size();
    }
}

} // namespace tokenloupe
