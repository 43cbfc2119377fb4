// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/tokenizerjsonreader.h"

#include "engine/base/utf8.h"
#include "engine/model/hf/pipelinesteps.h"

#include <algorithm>

namespace tokenloupe {

using nlohmann::json;

namespace {

constexpr std::size_t mostSteps = 256;

} // namespace

Result<VocabularyData> TokenizerJsonReader::read(std::string_view text)
{
    TokenizerJsonEvents events;
    if (!json::sax_parse(text.begin(), text.end(), &events))
        return bad(events.fault());
    return read(events, events.takeTree());
}

Result<VocabularyData> TokenizerJsonReader::read(TokenizerJsonEvents &lists, const json &tree)
{
    m_lists = &lists;
    const json &model = member(tree, "model");
    const json &added = member(tree, "added_tokens");
    PipelineSteps steps(m_name);
    const Status status =
        readModel(model)
            .and_then([&] { return steps.readNormalizer(member(tree, "normalizer"), m_pipeline); })
            .and_then([&] { return steps.readPreTokenizer(member(tree, "pre_tokenizer"), m_pipeline); })
            .and_then([&] { return steps.readDecoder(member(tree, "decoder"), m_pipeline); })
            .and_then([&] { return makeRoom(added); })
            .and_then([&] { return readTokens(); })
            .and_then([&] { return readMerges(); })
            .and_then([&] { return readAddedTokens(added); })
            .and_then([&] { return readUnknown(model); })
            .and_then([&] { return readPostProcessor(member(tree, "post_processor")); });
    if (!status)
        return tl::unexpected(status.error());
    if (m_pipeline.normalizer.size() + m_pipeline.words.size() > mostSteps)
        return bad("normalizer and pre_tokenizer have more than " + std::to_string(mostSteps) + " steps");
    markBytes();
    warnOfHoles();

    const bool unigram = m_pipeline.model == TextPipeline::Model::Unigram;
    const bool bytes = m_pipeline.alphabet == TextPipeline::Alphabet::Bytes;
    m_data.model = unigram ? "t5" : bytes ? "gpt2" : "llama";
    m_data.pre = "tokenizer.json";
    m_data.addSpacePrefix = m_pipeline.decodedDropsSpace;
    m_data.addBos = !m_pipeline.front.empty();
    m_data.addEos = !m_pipeline.back.empty();
    if (m_data.addBos)
        m_data.bos = m_pipeline.front.front();
    if (m_data.addEos)
        m_data.eos = m_pipeline.back.back();
    m_data.pipeline = std::make_shared<const TextPipeline>(std::move(m_pipeline));
    return std::move(m_data);
}

Status TokenizerJsonReader::readModel(const json &model)
{
    if (!model.is_object())
        return bad("field \"model\" is missing");
    std::string type = textMember(model, "type");
    if (type.empty()) // old files do not tell
        type = m_lists->hasScores() ? "Unigram" : "BPE";
    const bool unigram = type == "Unigram";
    if (!unigram && type != "BPE")
        return unsupported("a model of type " + quotedForMessage(type) +
                           " is not supported; expected BPE or Unigram");
    if (unigram)
        m_pipeline.model = TextPipeline::Model::Unigram;
    if (unigram != m_lists->hasScores())
        return bad("field \"model.vocab\": " + std::string(unigram ? "a list of pairs" : "an object") +
                   " is expected for " + type);
    for (const char *affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (!textMember(model, affix).empty())
            return unsupported(std::string("field \"model.") + affix + "\" is not supported");
    }
    if (member(model, "dropout").is_number() && member(model, "dropout").get<double>() > 0)
        warn("field \"model.dropout\" is for training: text is split without it");
    m_pipeline.byteFallback = flagMember(model, "byte_fallback").value_or(false);
    if (unigram || flagMember(model, "fuse_unk").value_or(false))
        m_pipeline.unknown = TextPipeline::Unknown::Joined;
    if (flagMember(model, "ignore_merges").value_or(false))
        m_pipeline.wholeWords = TextPipeline::WholeWords::First;
    return {};
}

Result<TokenId> TokenizerJsonReader::tokenOf(const std::string &text, const std::string &field) const
{
    const auto found = m_ids.find(text);
    if (found == m_ids.end())
        return bad("field \"" + field + "\": " + quotedForMessage(text) + " is no token of the vocabulary");
    return TokenId(found->second);
}

Status TokenizerJsonReader::readUnknown(const json &model)
{
    if (m_pipeline.model == TextPipeline::Model::Unigram) {
        const json &id = member(model, "unk_id");
        if (id.is_null())
            return {};
        const auto value = unsignedOf(id);
        if (!value || *value >= m_data.texts.size())
            return bad("field \"model.unk_id\": expected a token below " +
                       std::to_string(m_data.texts.size()) + ", found " + id.dump());
        m_data.unknown = TokenId(static_cast<std::uint32_t>(*value));
    } else {
        const std::string text = textMember(model, "unk_token");
        if (text.empty())
            return {};
        const auto id = tokenOf(text, "model.unk_token");
        if (!id)
            return tl::unexpected(id.error());
        m_data.unknown = *id;
    }
    m_data.kinds[m_data.unknown->value()] = TokenKind::Unknown;
    return {};
}

Status TokenizerJsonReader::readPostProcessor(const json &component)
{
    if (component.is_null())
        return {};
    const std::string type = textMember(component, "type");
    if (type == "Sequence") {
        for (const json &part : member(component, "processors")) {
            if (const Status status = readPostProcessor(part); !status)
                return status;
        }
        return {};
    }
    if (type == "ByteLevel") // sets the ranges of tokens only
        return {};
    if (type == "TemplateProcessing")
        return readTemplate(component);
    if (type != "RobertaProcessing" && type != "BertProcessing")
        return unsupported("the post_processor " + quotedForMessage(type) + " is not supported");
    for (const char *end : {"cls", "sep"}) {
        const json &pair = member(component, end);
        const auto text = pair.is_array() && !pair.empty() && pair[0].is_string() ? pair[0].get<std::string>()
                                                                                  : std::string();
        const auto id = tokenOf(text, std::string("post_processor.") + end);
        if (!id)
            return tl::unexpected(id.error());
        (end[0] == 'c' ? m_pipeline.front : m_pipeline.back).push_back(*id);
    }
    return {};
}

Status TokenizerJsonReader::readTemplate(const json &component)
{
    bool behind = false;
    for (const json &piece : member(component, "single")) {
        if (!member(piece, "Sequence").is_null()) {
            if (behind)
                return unsupported("post_processor TemplateProcessing: the text comes twice");
            behind = true;
            continue;
        }
        const std::string name = textMember(member(piece, "SpecialToken"), "id");
        if (const Status status =
                readTemplateToken(component, name, behind ? m_pipeline.back : m_pipeline.front);
            !status)
            return status;
    }
    if (!behind)
        return bad("post_processor TemplateProcessing: \"single\" has no place for the text");
    return {};
}

Status TokenizerJsonReader::readTemplateToken(const json &component, const std::string &name,
                                              std::vector<TokenId> &out)
{
    constexpr std::size_t mostTokens = 64;
    const json &ids = member(member(member(component, "special_tokens"), name.c_str()), "ids");
    if (!ids.is_array() || ids.empty())
        return bad("post_processor TemplateProcessing: special_tokens has no ids for " +
                   quotedForMessage(name));
    for (const json &id : ids) {
        const auto value = unsignedOf(id);
        if (!value || *value >= m_data.texts.size())
            return bad("post_processor TemplateProcessing: the ids of " + quotedForMessage(name) +
                       " are expected below " + std::to_string(m_data.texts.size()));
        if (out.size() == mostTokens)
            return bad("post_processor TemplateProcessing adds more than " + std::to_string(mostTokens) +
                       " tokens");
        out.emplace_back(static_cast<std::uint32_t>(*value));
    }
    return {};
}

} // namespace tokenloupe
