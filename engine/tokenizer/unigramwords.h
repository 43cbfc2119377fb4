// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/textpipeline.h"
#include "engine/model/vocabularydata.h"
#include "engine/tokenizer/wordmodel.h"

#include <array>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Unigram: of all ways to cut a word into pieces the one whose scores sum up highest.
class UnigramWords final : public WordModel
{
public:
    /// `data` must outlive this.
    explicit UnigramWords(const VocabularyData &data);

    std::unique_ptr<Encoder> encoder() const override;

private:
    class WordEncoder;

    const VocabularyData &m_data;
    const TextPipeline &m_pipeline;
    std::vector<std::uint32_t> m_sorted;   // tokens by text; none of them is empty
    std::array<TokenId, 256> m_byteTokens; // invalid where there is none
    double m_unknownScore = 0;
};

} // namespace tokenloupe
