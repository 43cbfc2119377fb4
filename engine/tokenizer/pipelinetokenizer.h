// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tokenizer/addedtokens.h"
#include "engine/tokenizer/textsteps.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/wordmodel.h"

#include <memory>
#include <string>
#include <vector>

namespace tokenloupe {

/// A Hugging Face vocabulary (TextPipeline): the same ids as its own library gives.
class PipelineTokenizer final : public Tokenizer
{
public:
    static Result<std::shared_ptr<const Tokenizer>> create(std::shared_ptr<const VocabularyData> data);

    Result<std::vector<EncodedToken>> encode(std::string_view text,
                                             const EncodeOptions &options = {}) const override;

private:
    struct Run; // of one call of encode()

    explicit PipelineTokenizer(std::shared_ptr<const VocabularyData> data);
    Status prepare();
    void readBytes();
    std::string bytesOf(std::uint32_t token) const;
    Status addTokens();

    Status encodeFragment(std::uint32_t begin, std::uint32_t end, Run &run) const;
    void cutAtTokens(SteppedText &text, const Run &run) const;
    Status encodeWords(const SteppedText &text, Run &run) const;

    const TextPipeline &m_pipeline; // of m_data
    std::optional<TextSteps> m_normalizer, m_words;
    AddedTokens m_added;      // found in the input
    AddedTokens m_normalized; // found in what the normaliser makes of it
    std::unique_ptr<const WordModel> m_model;
};

} // namespace tokenloupe
