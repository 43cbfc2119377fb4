// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/textlist.h"
#include "engine/model/vocabularydata.h"
#include "engine/tokenizer/tokenindex.h"

#include <cstdint>
#include <string_view>

namespace tokenloupe {

/// The pieces that SentencePiece can split text into: normal and unused tokens whose text is UTF-8. Of tokens
/// with equal texts the first. Texts have plain spaces here, not U+2581. Refers to the lists that it was
/// made of.
class PieceVocabulary
{
public:
    static constexpr std::uint32_t none = TokenIndex::none;

    /// `bytes`: of each token, as Tokenizer::bytes() has them.
    PieceVocabulary(const VocabularyData &data, const TextList &bytes);

    /// The piece with that text, or none.
    std::uint32_t find(std::string_view text) const
    {
        return text.size() > m_longest ? none : m_index.find(m_bytes, text);
    }
    /// Of two pieces that can be made, the one with the higher score comes first. Never NaN.
    float score(std::uint32_t piece) const;
    bool isUnused(std::uint32_t piece) const { return m_data.kinds[piece] == TokenKind::Unused; }

    /// Whether there are pieces that are only steps towards others and are taken apart again in the end.
    bool hasUnused() const { return m_hasUnused; }
    /// Whether no piece reaches over the end of a word into the spaces behind it: words can then be split one
    /// by one.
    bool hasWords() const { return m_hasWords; }

private:
    const VocabularyData &m_data;
    const TextList &m_bytes;
    TokenIndex m_index;
    std::size_t m_longest = 0; // bytes of a piece
    bool m_hasUnused = false;
    bool m_hasWords = true;
};

} // namespace tokenloupe
