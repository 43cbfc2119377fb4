// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/pipelinesteps.h"

#include "engine/base/utf8.h"
#include "engine/model/hf/jsontree.h"

#include <algorithm>
#include <array>

namespace tokenloupe {

using nlohmann::json;

const char *const gpt2WordPattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

namespace {

constexpr const char *asciiPunctuationOrOther = "[!-/:-@\\[-`{-~\\p{P}]";

/// Not what Ruby has for `\w`.
constexpr const char *wordCharacters = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}";

TextPattern literal(std::string text)
{
    return {TextPattern::Kind::Literal, std::move(text)};
}

TextPattern regex(std::string text)
{
    return {TextPattern::Kind::Regex, std::move(text)};
}

std::string typeOf(const json &component)
{
    return textMember(component, "type");
}

bool isFlag(const json &component, const char *key, bool fallback)
{
    return flagMember(component, key).value_or(fallback);
}

} // namespace

Result<TextPattern> PipelineSteps::readPattern(const json &component, const char *field) const
{
    const json &pattern = member(component, "pattern");
    for (const auto kind : {TextPattern::Kind::Literal, TextPattern::Kind::Regex}) {
        const json &text = member(pattern, kind == TextPattern::Kind::Regex ? "Regex" : "String");
        if (!text.is_string())
            continue;
        if (text.get_ref<const std::string &>().empty())
            return bad(std::string(field) + ": the pattern is empty");
        return TextPattern{kind, text.get<std::string>()};
    }
    return bad(std::string(field) + ": \"pattern\" is expected as {\"String\": …} or {\"Regex\": …}");
}

Result<SplitStep::Behaviour> PipelineSteps::readBehaviour(const json &component) const
{
    using Behaviour = SplitStep::Behaviour;
    constexpr std::array<std::pair<const char *, Behaviour>, 5> names{{
        {"Removed", Behaviour::Removed},
        {"Isolated", Behaviour::Isolated},
        {"MergedWithPrevious", Behaviour::MergedWithPrevious},
        {"MergedWithNext", Behaviour::MergedWithNext},
        {"Contiguous", Behaviour::Contiguous},
    }};
    const std::string name = textMember(component, "behavior");
    for (const auto &[known, behaviour] : names) {
        if (name == known)
            return behaviour;
    }
    return unsupported("pre_tokenizer: behavior " + quotedForMessage(name) + " is not known");
}

Status PipelineSteps::readNormalizer(const json &component, TextPipeline &pipeline)
{
    if (component.is_null())
        return {};
    const std::string type = typeOf(component);
    auto &steps = pipeline.normalizer;
    if (type == "Sequence") {
        for (const json &part : member(component, "normalizers")) {
            if (const Status status = readNormalizer(part, pipeline); !status)
                return status;
        }
    } else if (type == "NFC") {
        steps.emplace_back(FormStep{UnicodeForm::Nfc});
    } else if (type == "NFD") {
        steps.emplace_back(FormStep{UnicodeForm::Nfd});
    } else if (type == "NFKC") {
        steps.emplace_back(FormStep{UnicodeForm::Nfkc});
    } else if (type == "NFKD") {
        steps.emplace_back(FormStep{UnicodeForm::Nfkd});
    } else if (type == "Prepend") {
        steps.emplace_back(PrependStep{textMember(component, "prepend"), PrependStep::Where::Always});
    } else if (type == "Strip") {
        steps.emplace_back(
            StripStep{isFlag(component, "strip_left", true), isFlag(component, "strip_right", true)});
    } else if (type == "Replace") {
        auto pattern = readPattern(component, "normalizer");
        if (!pattern)
            return tl::unexpected(pattern.error());
        if (!member(component, "content").is_string())
            return bad("normalizer Replace: \"content\" is expected as a text");
        steps.emplace_back(ReplaceStep{std::move(*pattern), textMember(component, "content")});
    } else {
        return unsupported("the normalizer " + quotedForMessage(type) + " is not supported");
    }
    return {};
}

Status PipelineSteps::readByteLevel(const json &component, TextPipeline &pipeline)
{
    if (isFlag(component, "add_prefix_space", true))
        pipeline.words.emplace_back(PrependStep{" ", PrependStep::Where::UnlessThere});
    if (isFlag(component, "use_regex", true))
        pipeline.words.emplace_back(SplitStep{regex(gpt2WordPattern)});
    pipeline.alphabet = TextPipeline::Alphabet::Bytes;
    return {};
}

Status PipelineSteps::readMetaspace(const json &component, TextPipeline &pipeline)
{
    const std::string mark = textMember(component, "replacement", "\xE2\x96\x81");
    if (mark.empty())
        return bad("pre_tokenizer Metaspace: \"replacement\" is empty");
    std::string scheme = textMember(component, "prepend_scheme");
    if (scheme.empty())
        scheme = isFlag(component, "add_prefix_space", true) ? "always" : "never";
    pipeline.words.emplace_back(ReplaceStep{literal(" "), mark});
    if (scheme == "always")
        pipeline.words.emplace_back(PrependStep{mark, PrependStep::Where::UnlessThere});
    else if (scheme == "first")
        pipeline.words.emplace_back(PrependStep{mark, PrependStep::Where::StartUnlessThere});
    else if (scheme != "never")
        return unsupported("pre_tokenizer Metaspace: prepend_scheme " + quotedForMessage(scheme) +
                           " is not known");
    if (isFlag(component, "split", true))
        pipeline.words.emplace_back(SplitStep{literal(mark), SplitStep::Behaviour::MergedWithNext});
    return {};
}

Status PipelineSteps::readSplit(const json &component, TextPipeline &pipeline)
{
    auto pattern = readPattern(component, "pre_tokenizer Split");
    if (!pattern)
        return tl::unexpected(pattern.error());
    const auto behaviour = readBehaviour(component);
    if (!behaviour)
        return tl::unexpected(behaviour.error());
    const auto matches =
        isFlag(component, "invert", false) ? SplitStep::Matches::RestOfText : SplitStep::Matches::Pattern;
    pipeline.words.emplace_back(SplitStep{std::move(*pattern), *behaviour, matches});
    return {};
}

Status PipelineSteps::readPreTokenizer(const json &component, TextPipeline &pipeline)
{
    using Behaviour = SplitStep::Behaviour;
    if (component.is_null())
        return {};
    const std::string type = typeOf(component);
    if (type == "Sequence") {
        for (const json &part : member(component, "pretokenizers")) {
            if (const Status status = readPreTokenizer(part, pipeline); !status)
                return status;
        }
        return {};
    }
    // Behind ByteLevel text is spelled in its alphabet, which no later step of ours would see.
    if (pipeline.alphabet == TextPipeline::Alphabet::Bytes)
        return unsupported("the pre_tokenizer " + quotedForMessage(type) +
                           " behind ByteLevel is not supported");
    if (type == "ByteLevel")
        return readByteLevel(component, pipeline);
    if (type == "Metaspace")
        return readMetaspace(component, pipeline);
    if (type == "Split")
        return readSplit(component, pipeline);
    auto &steps = pipeline.words;
    if (type == "Digits") {
        steps.emplace_back(SplitStep{regex("\\p{N}"), isFlag(component, "individual_digits", false)
                                                          ? Behaviour::Isolated
                                                          : Behaviour::Contiguous});
    } else if (type == "Punctuation") {
        const auto behaviour = member(component, "behavior").is_null()
                                   ? Result<Behaviour>(Behaviour::Isolated)
                                   : readBehaviour(component);
        if (!behaviour)
            return tl::unexpected(behaviour.error());
        steps.emplace_back(SplitStep{regex(asciiPunctuationOrOther), *behaviour});
    } else if (type == "Whitespace") {
        const std::string words = std::string("[") + wordCharacters + "]+|[^\\s" + wordCharacters + "]+";
        steps.emplace_back(SplitStep{regex(words), Behaviour::Removed, SplitStep::Matches::RestOfText});
    } else if (type == "WhitespaceSplit") {
        steps.emplace_back(SplitStep{regex("\\s"), Behaviour::Removed});
    } else if (type == "CharDelimiterSplit") {
        const std::string delimiter = textMember(component, "delimiter");
        if (delimiter.empty())
            return bad("pre_tokenizer CharDelimiterSplit: \"delimiter\" is missing");
        steps.emplace_back(SplitStep{literal(delimiter), Behaviour::Removed});
    } else {
        return unsupported("the pre_tokenizer " + quotedForMessage(type) + " is not supported");
    }
    return {};
}

Status PipelineSteps::readStripDecoder(const json &component, TextPipeline &pipeline)
{
    const auto start = unsignedOf(member(component, "start")).value_or(0);
    const auto stop = unsignedOf(member(component, "stop")).value_or(0);
    if (textMember(component, "content") != " " || start > 1 || stop != 0)
        return unsupported("decoder Strip: only one space at the start can be taken away");
    pipeline.decodedDropsSpace = start == 1;
    return {};
}

Status PipelineSteps::readDecoder(const json &component, TextPipeline &pipeline)
{
    if (component.is_null())
        return {};
    const std::string type = typeOf(component);
    if (type == "Sequence") {
        for (const json &part : member(component, "decoders")) {
            if (const Status status = readDecoder(part, pipeline); !status)
                return status;
        }
    } else if (type == "Metaspace") {
        pipeline.decoded.emplace_back(textMember(component, "replacement", "\xE2\x96\x81"), " ");
        pipeline.decodedDropsSpace = textMember(component, "prepend_scheme", "always") != "never" &&
                                     isFlag(component, "add_prefix_space", true);
    } else if (type == "Replace") {
        auto pattern = readPattern(component, "decoder Replace");
        if (!pattern)
            return tl::unexpected(pattern.error());
        if (pattern->kind == TextPattern::Kind::Regex)
            return unsupported("decoder Replace: a regular expression is not supported");
        pipeline.decoded.emplace_back(std::move(pattern->text), textMember(component, "content"));
    } else if (type == "Strip") {
        return readStripDecoder(component, pipeline);
    } else if (type != "ByteLevel" && type != "ByteFallback" && type != "Fuse") {
        // Those three are what tokens stand for anyway.
        return unsupported("the decoder " + quotedForMessage(type) + " is not supported");
    }
    return {};
}

} // namespace tokenloupe
