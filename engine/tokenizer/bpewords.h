// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/textlist.h"
#include "engine/model/textpipeline.h"
#include "engine/model/vocabularydata.h"
#include "engine/tokenizer/mergetable.h"
#include "engine/tokenizer/wordmodel.h"

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

/// BPE over token ids: a word begins as the tokens of its bytes or characters, merges join neighbours.
class BpeWords final : public WordModel
{
public:
    /// `bytes`: what each token stands for. Both must outlive this.
    BpeWords(const VocabularyData &data, const TextList &bytes);

    std::unique_ptr<Encoder> encoder() const override;

private:
    class WordEncoder;
    static constexpr std::uint32_t none = MergeTable::none;

    void readBytes();
    void readCharacters();
    void readMerges();

    const VocabularyData &m_data;
    const TextPipeline &m_pipeline;
    const TextList &m_bytes;
    MergeTable m_merges;
    std::array<std::uint32_t, 256> m_byteTokens;                 // none where there is no such token
    std::unordered_map<char32_t, std::uint32_t> m_characters;    // of one character each
    std::unordered_map<std::string_view, std::uint32_t> m_words; // only for WholeWords::First
};

} // namespace tokenloupe
