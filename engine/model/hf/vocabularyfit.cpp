// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/vocabularyfit.h"

#include "engine/model/hf/hfvocabulary.h"
#include "engine/model/textpipeline.h"

namespace tokenloupe {

namespace {

/// The way from text to tokens, without those that are not there.
void cutPipeline(TextPipeline &pipeline, std::uint32_t count)
{
    const auto isGone = [count](TokenId id) { return id.value() >= count; };
    std::erase_if(pipeline.added, [&](const AddedToken &token) { return isGone(token.id); });
    std::erase_if(pipeline.merges, [count](const TokenMerge &merge) {
        return merge.left >= count || merge.right >= count || merge.result >= count;
    });
    std::erase_if(pipeline.front, isGone);
    std::erase_if(pipeline.back, isGone);
}

} // namespace

void fitVocabulary(VocabularyData &data, std::uint32_t count, std::vector<std::string> *warnings)
{
    padVocabulary(data, count);
    if (data.texts.size() <= count)
        return;
    if (warnings)
        warnings->push_back("the tokenizer has " + std::to_string(data.texts.size()) +
                            " tokens, the model only " + std::to_string(count) + "; the others are not used");
    data.texts.resize(count);
    if (data.kinds.size() > count)
        data.kinds.resize(count);
    if (data.scores.size() > count)
        data.scores.resize(count);
    for (std::optional<TokenId> *id : {&data.bos, &data.eos, &data.eot, &data.unknown, &data.padding}) {
        if (*id && (*id)->value() >= count)
            id->reset();
    }
    std::erase_if(data.endOfTurn, [count](TokenId id) { return id.value() >= count; });
    if (!data.pipeline)
        return;
    auto pipeline = std::make_shared<TextPipeline>(*data.pipeline);
    cutPipeline(*pipeline, count);
    data.pipeline = std::move(pipeline);
}

} // namespace tokenloupe
