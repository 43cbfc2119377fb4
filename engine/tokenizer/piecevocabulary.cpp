// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/piecevocabulary.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/bytetokentext.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

/// "a b": a word, and behind it a space.
bool spansWords(std::string_view text)
{
    for (std::size_t i = text.find(' ', 1); i != std::string_view::npos; i = text.find(' ', i + 1)) {
        if (text[i - 1] != ' ')
            return true;
    }
    return false;
}

} // namespace

PieceVocabulary::PieceVocabulary(const VocabularyData &data, const TextList &bytes)
    : m_data(data)
    , m_bytes(bytes)
    , m_index(bytes.size())
{
    for (std::uint32_t id = 0; id < bytes.size(); ++id) {
        const TokenKind kind = data.kinds[id];
        if (kind != TokenKind::Normal && kind != TokenKind::Unused)
            continue;
        // A space in a file's text is not the character that stands for spaces: nothing becomes such a piece.
        const std::string_view text = data.texts[id];
        if (text.empty() || text.find(' ') != std::string_view::npos || !isValidUtf8(text) ||
            byteOfTokenText(text))
            continue;
        m_index.insert(bytes, id);
        m_longest = std::max(m_longest, bytes[id].size());
        m_hasUnused = m_hasUnused || kind == TokenKind::Unused;
        m_hasWords = m_hasWords && !spansWords(bytes[id]);
    }
}

float PieceVocabulary::score(std::uint32_t piece) const
{
    const float score = m_data.scores.empty() ? 0.0F : m_data.scores[piece];
    return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}

} // namespace tokenloupe
