// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/pipelinetokenizer.h"

#include "engine/tokenizer/bpewords.h"
#include "engine/tokenizer/bytealphabet.h"
#include "engine/tokenizer/bytetokentext.h"
#include "engine/tokenizer/unigramwords.h"

#include <algorithm>
#include <limits>

namespace tokenloupe {

namespace {

void replaceAll(std::string &text, const std::string &from, const std::string &to)
{
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

bool touches(std::span<const ByteRange> literal, ByteRange range)
{
    return std::any_of(literal.begin(), literal.end(), [range](const ByteRange &part) {
        return part.begin < part.end && part.begin < range.end && range.begin < part.end;
    });
}

} // namespace

struct PipelineTokenizer::Run
{
    std::string_view text;
    const EncodeOptions &options;
    AddedTokens::MayParse mayParse; // ranges in `text`; null: nowhere
    TextFinder::Scratch scratch;
    std::unique_ptr<WordModel::Encoder> encoder;
    std::vector<EncodedToken> tokens;
    std::uint32_t word = 0;
};

Result<std::shared_ptr<const Tokenizer>> PipelineTokenizer::create(std::shared_ptr<const VocabularyData> data)
{
    std::shared_ptr<PipelineTokenizer> tokenizer(new PipelineTokenizer(std::move(data)));
    if (const Status status = tokenizer->prepare(); !status)
        return tl::unexpected(status.error());
    return tokenizer;
}

PipelineTokenizer::PipelineTokenizer(std::shared_ptr<const VocabularyData> data)
    : Tokenizer(std::move(data))
    , m_pipeline(*m_data.pipeline)
{}

Status PipelineTokenizer::prepare()
{
    readBytes();
    m_dropsLeadingSpace = m_pipeline.decodedDropsSpace;
    auto normalizer = TextSteps::create(m_pipeline.normalizer, TextSteps::Scope::WholeText);
    if (!normalizer)
        return tl::unexpected(normalizer.error());
    m_normalizer = std::move(*normalizer);
    auto words = TextSteps::create(m_pipeline.words, TextSteps::Scope::EachPart);
    if (!words)
        return tl::unexpected(words.error());
    m_words = std::move(*words);
    if (m_pipeline.model == TextPipeline::Model::Unigram)
        m_model = std::make_unique<UnigramWords>(m_data);
    else
        m_model = std::make_unique<BpeWords>(m_data, m_bytes);
    return addTokens();
}

std::string PipelineTokenizer::bytesOf(std::uint32_t token) const
{
    const std::string &text = m_data.texts[token];
    const TokenKind kindOfToken = m_data.kinds[token];
    if (kindOfToken == TokenKind::Control || kindOfToken == TokenKind::Unknown)
        return text;
    if (kindOfToken == TokenKind::Byte) {
        if (const auto byte = byteOfTokenText(text))
            return std::string(1, static_cast<char>(*byte));
    }
    std::string result = text;
    for (const auto &[from, to] : m_pipeline.decoded)
        replaceAll(result, from, to);
    return result;
}

void PipelineTokenizer::readBytes()
{
    const ByteAlphabet alphabet;
    m_bytes.reserve(size(), 0);
    for (std::uint32_t i = 0; i < size(); ++i) {
        const bool isPlain = m_data.kinds[i] == TokenKind::Normal || m_data.kinds[i] == TokenKind::Unused;
        if (m_pipeline.alphabet == TextPipeline::Alphabet::Bytes && isPlain) {
            // A text that is not wholly in the alphabet stands for itself.
            const std::string bytes = alphabet.decode(m_data.texts[i]);
            m_bytes.push_back(alphabet.encode(bytes) == m_data.texts[i] ? bytes : m_data.texts[i]);
        } else {
            m_bytes.push_back(bytesOf(i));
        }
    }
}

Status PipelineTokenizer::addTokens()
{
    const TextFinder::Scratch scratch;
    for (const AddedToken &token : m_pipeline.added) {
        if (token.id.value() >= size())
            continue;
        const std::string &text = m_data.texts[token.id.value()];
        if (!token.normalized) {
            m_added.add(token, text);
            continue;
        }
        SteppedText stepped(text, 0);
        if (!scratch.isValid())
            return makeError(ErrorCode::OutOfMemory, "read the vocabulary", "no memory for its patterns");
        if (const Status status = m_normalizer->apply(stepped, scratch); !status)
            return status;
        m_normalized.add(token, stepped.text());
    }
    return m_added.build().and_then([this] { return m_normalized.build(); });
}

Result<std::vector<EncodedToken>> PipelineTokenizer::encode(std::string_view text,
                                                            const EncodeOptions &options) const
{
    if (text.size() >= std::numeric_limits<std::uint32_t>::max())
        return makeError(ErrorCode::InvalidArgument, "tokenise", "the text has more than 4 GiB");
    const auto end = static_cast<std::uint32_t>(text.size());
    Run run{text, options, {}, {}, m_model->encoder(), {}, 0};
    if (!run.scratch.isValid())
        return makeError(ErrorCode::OutOfMemory, "tokenise", "no memory for the vocabulary's patterns");
    if (options.merges)
        options.merges->clear();
    if (options.special == SpecialTokens::Parse)
        run.mayParse = [&options](ByteRange range) { return !touches(options.literal, range); };

    std::uint32_t begin = 0;
    for (const SpecialMatch &match : m_added.find(text, run.mayParse, run.scratch)) {
        if (const Status status = encodeFragment(begin, match.range.begin, run); !status)
            return tl::unexpected(status.error());
        run.tokens.push_back({match.id, match.range});
        begin = match.range.end;
    }
    if (const Status status = encodeFragment(begin, end, run); !status)
        return tl::unexpected(status.error());

    // What became no token belongs to the token before it, at the start to the first one.
    std::vector<EncodedToken> &tokens = run.tokens;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i].range.begin = i == 0 ? 0 : tokens[i].range.begin;
        tokens[i].range.end = i + 1 < tokens.size() ? tokens[i + 1].range.begin : end;
    }
    if (options.add == AddSpecial::No)
        return std::move(tokens);
    std::vector<EncodedToken> all;
    all.reserve(tokens.size() + m_pipeline.front.size() + m_pipeline.back.size());
    for (const TokenId id : m_pipeline.front)
        all.push_back({id, {0, 0}});
    all.insert(all.end(), tokens.begin(), tokens.end());
    for (const TokenId id : m_pipeline.back)
        all.push_back({id, {end, end}});
    return all;
}

Status PipelineTokenizer::encodeFragment(std::uint32_t begin, std::uint32_t end, Run &run) const
{
    if (begin == end)
        return {};
    SteppedText text(run.text.substr(begin, end - begin), begin);
    if (Status status = m_normalizer->apply(text, run.scratch); !status)
        return status;
    if (!m_normalized.isEmpty())
        cutAtTokens(text, run);
    if (Status status = m_words->apply(text, run.scratch); !status)
        return status;
    return encodeWords(text, run);
}

void PipelineTokenizer::cutAtTokens(SteppedText &text, const Run &run) const
{
    std::vector<SteppedText::Part> parts;
    std::uint32_t begin = 0;
    for (const SteppedText::Part &part : text.parts()) {
        if (part.state == SteppedText::State::Open) {
            const auto originOf = [&](ByteRange range) {
                return ByteRange{text.originOf(begin + range.begin), text.originOf(begin + range.end)};
            };
            AddedTokens::MayParse mayParse;
            if (run.mayParse)
                mayParse = [&](ByteRange range) { return run.mayParse(originOf(range)); };
            std::uint32_t done = begin;
            const auto all = text.text().substr(begin, part.end - begin);
            for (const SpecialMatch &match : m_normalized.find(all, mayParse, run.scratch)) {
                if (begin + match.range.begin > done)
                    parts.push_back({begin + match.range.begin, SteppedText::State::Open, {}});
                done = begin + match.range.end;
                parts.push_back({done, SteppedText::State::Token, match.id});
            }
            if (done < part.end)
                parts.push_back(part);
        } else {
            parts.push_back(part);
        }
        begin = part.end;
    }
    text.setParts(std::move(parts));
}

Status PipelineTokenizer::encodeWords(const SteppedText &text, Run &run) const
{
    run.tokens.reserve(run.tokens.size() + text.parts().size());
    std::vector<MergeStep> *const merges = run.options.merges;
    // A cache pays off from a few hundred words on. With merges asked for, every word has to be merged for
    // real.
    constexpr std::size_t cachedFrom = 256;
    std::optional<WordCache> cache;
    if (!merges && text.parts().size() >= cachedFrom)
        cache.emplace();
    std::vector<WordToken> wordTokens;
    std::vector<WordMerger::Applied> applied;
    std::uint32_t begin = 0;
    for (const SteppedText::Part &part : text.parts()) {
        const std::string_view word = text.text().substr(begin, part.end - begin);
        std::uint32_t position = begin;
        const auto emit = [&](std::span<const WordToken> list) {
            for (const WordToken &token : list) {
                const std::uint32_t next = position + token.length;
                run.tokens.push_back({token.id, {text.originOf(position), text.originOf(next)}});
                position = next;
            }
        };
        begin = part.end;
        if (part.state == SteppedText::State::Removed)
            continue;
        if (part.state == SteppedText::State::Token) {
            const WordToken token{part.token, static_cast<std::uint32_t>(word.size())};
            emit({&token, 1});
            continue;
        }
        WordCache::Place place;
        const bool cached = cache && word.size() <= WordCache::longestWord;
        if (cached)
            place = cache->find(word);
        if (place.found) {
            emit(cache->tokens(place));
        } else {
            wordTokens.clear();
            applied.clear();
            if (Status status = run.encoder->encode(word, wordTokens, merges ? &applied : nullptr); !status)
                return status;
            if (cached)
                cache->insert(place, word, wordTokens);
            emit(wordTokens);
        }
        for (const WordMerger::Applied &step : applied)
            merges->push_back({std::string(m_bytes[step.left]), std::string(m_bytes[step.right]),
                               std::string(m_bytes[step.merge.result]), step.merge.rank, run.word});
        ++run.word;
    }
    return {};
}

} // namespace tokenloupe
