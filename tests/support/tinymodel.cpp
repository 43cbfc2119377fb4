// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tinymodel.h"

#include "tests/support/quantize.h"
#include "tests/support/seededweights.h"

#include <cmath>
#include <stdexcept>

namespace tokenloupe::test {

const char *const tinyChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% "
    "endif %}";

namespace {

constexpr const char *space = "\xE2\x96\x81"; // U+2581, how SentencePiece writes a space

enum Kind : std::int32_t { Normal = 1, Unknown = 2, Control = 3, Byte = 6 };

/// Pieces of more than one letter; each is the join of two that stand before it, so that merging reaches it.
const std::vector<std::string> &joinedPieces()
{
    static const std::vector<std::string> pieces = {
        "st", "sto", "ry", "story", "th", "the", "in",  "an", "and", "er",   "on",    "re",  "he", "at",
        "en", "ed",  "ou", "it",    "is", "or",  "ing", "to", "of",  "hell", "hello", "wor", "ld", "world",
    };
    return pieces;
}

std::vector<std::string> basePieces()
{
    std::vector<std::string> pieces = {space};
    for (const char letter : std::string_view("etaoinshrdlcumwfgypbvkjxqz"))
        pieces.emplace_back(1, letter);
    for (const char letter : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'\"-:;()\n"))
        pieces.emplace_back(1, letter);
    pieces.emplace_back("\xC3\xA9");     // é
    pieces.emplace_back("\xE4\xB8\xAD"); // 中
    pieces.emplace_back("hel");          // so that "hell" and "hello" are reached: he + l
    for (const std::string &piece : joinedPieces())
        pieces.push_back(piece);
    for (const char *word : {"the", "and", "a", "hello", "world", "story", "to", "of", "in", "is"})
        pieces.push_back(std::string(space) + word);
    return pieces;
}

class TinyBuilder
{
public:
    explicit TinyBuilder(const TinyModelOptions &options)
        : m_options(options)
        , m_headSize(options.headSize ? options.headSize : options.embedding / options.heads)
        , m_source(options.seed)
    {}

    GgufWriter build()
    {
        addConfig();
        addTinyVocabulary(m_writer, m_options.vocabulary);
        addWeights();
        return std::move(m_writer);
    }

private:
    void addConfig();
    void addWeights();
    void addLayer(const std::string &prefix);

    void matrix(const std::string &name, std::uint32_t rows, std::uint32_t columns, float gain = 1.0F)
    {
        auto type = static_cast<std::uint32_t>(m_options.type);
        if (columns % blockValuesOf(type) != 0)
            type = static_cast<std::uint32_t>(TinyType::F16);
        const float deviation = gain / std::sqrt(static_cast<float>(columns));
        const auto values = m_source.take(name, std::size_t{rows} * columns, 0.0F, deviation);
        m_writer.tensor(name, {columns, rows}, type, storeAs(type, values));
    }
    void vector(const std::string &name, std::uint32_t size, float mean, float deviation)
    {
        const auto values = m_source.take(name, size, mean, deviation);
        m_writer.tensor(name, {size}, 0, std::as_bytes(std::span(values)));
    }
    void projection(const std::string &name, std::uint32_t rows, std::uint32_t columns, float gain = 1.0F)
    {
        matrix(name + ".weight", rows, columns, gain);
        if (m_options.bias == TinyBias::Attention)
            vector(name + ".bias", rows, 0.0F, 0.3F);
    }

    const TinyModelOptions &m_options;
    std::uint32_t m_headSize;
    SeededWeights m_source;
    GgufWriter m_writer;
};

void TinyBuilder::addConfig()
{
    m_writer.string("general.architecture", "llama").string("general.name", m_options.name);
    m_writer.u32("llama.block_count", m_options.layers)
        .u32("llama.context_length", m_options.context)
        .u32("llama.embedding_length", m_options.embedding)
        .u32("llama.feed_forward_length", m_options.feedForward)
        .u32("llama.attention.head_count", m_options.heads)
        .u32("llama.attention.head_count_kv", m_options.kvHeads)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .f32("llama.rope.freq_base", m_options.ropeBase)
        .u32("llama.rope.dimension_count", m_headSize)
        .u32("llama.vocab_size", m_options.vocabulary);
    if (m_options.headSize)
        m_writer.u32("llama.attention.key_length", m_headSize)
            .u32("llama.attention.value_length", m_headSize);
    if (m_options.ropeScaleFactor != 1.0F)
        m_writer.string("llama.rope.scaling.type", "linear")
            .f32("llama.rope.scaling.factor", m_options.ropeScaleFactor);
    if (m_options.chatTemplate)
        m_writer.string("tokenizer.chat_template", *m_options.chatTemplate);
}

void TinyBuilder::addWeights()
{
    const bool tied = m_options.output == TinyOutput::Tied;
    // A tied embedding is also the head, so it carries the head's gain; the first norm takes it out again.
    matrix("token_embd.weight", m_options.vocabulary, m_options.embedding,
           tied ? m_options.outputGain : 8.0F);
    if (!m_options.ropeFrequencyFactors.empty())
        m_writer.tensor("rope_freqs.weight", {m_options.ropeFrequencyFactors.size()}, 0,
                        std::as_bytes(std::span(m_options.ropeFrequencyFactors)));
    for (std::uint32_t layer = 0; layer < m_options.layers; ++layer)
        addLayer("blk." + std::to_string(layer) + ".");
    vector("output_norm.weight", m_options.embedding, 1.0F, 0.1F);
    if (!tied)
        matrix("output.weight", m_options.vocabulary, m_options.embedding, m_options.outputGain);
}

void TinyBuilder::addLayer(const std::string &prefix)
{
    const std::uint32_t width = m_options.embedding;
    const std::uint32_t queries = m_options.heads * m_headSize;
    const std::uint32_t keys = m_options.kvHeads * m_headSize;
    vector(prefix + "attn_norm.weight", width, 1.0F, 0.1F);
    projection(prefix + "attn_q", queries, width);
    projection(prefix + "attn_k", keys, width);
    projection(prefix + "attn_v", keys, width);
    // The gains let what the layers write outweigh the embedding: else a tied model only repeats its input.
    projection(prefix + "attn_output", width, queries, 3.0F);
    vector(prefix + "ffn_norm.weight", width, 1.0F, 0.1F);
    matrix(prefix + "ffn_gate.weight", m_options.feedForward, width);
    matrix(prefix + "ffn_up.weight", m_options.feedForward, width);
    matrix(prefix + "ffn_down.weight", width, m_options.feedForward, 4.0F);
}

} // namespace

std::uint32_t tinyLeastVocabulary()
{
    return tinyFirstPiece + static_cast<std::uint32_t>(basePieces().size());
}

std::vector<std::string> tinyVocabulary(std::uint32_t size)
{
    if (size < tinyLeastVocabulary())
        throw std::logic_error("a tiny vocabulary has at least " + std::to_string(tinyLeastVocabulary()) +
                               " tokens");
    std::vector<std::string> texts = {"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"};
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < 256; ++byte)
        texts.push_back(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">");
    for (std::string &piece : basePieces())
        texts.push_back(std::move(piece));
    // The rest can be drawn and shown, but no merge leads to it.
    while (texts.size() < size)
        texts.push_back(std::string(space) + "w" + std::to_string(texts.size()));
    return texts;
}

void addTinyVocabulary(GgufWriter &writer, std::uint32_t size)
{
    const std::vector<std::string> texts = tinyVocabulary(size);
    std::vector<float> scores(texts.size(), 0.0F);
    std::vector<std::int32_t> kinds(texts.size(), Normal);
    kinds[tinyUnknown] = Unknown;
    kinds[tinyBos] = kinds[tinyEos] = kinds[tinyTurnStart] = kinds[tinyTurnEnd] = Control;
    for (std::uint32_t id = tinyFirstByte; id < tinyFirstPiece; ++id)
        kinds[id] = Byte;
    for (std::size_t id = tinyFirstPiece; id < texts.size(); ++id) // earlier pieces merge first
        scores[id] = -static_cast<float>(id - tinyFirstPiece);
    writer.string("tokenizer.ggml.model", "llama").string("tokenizer.ggml.pre", "default");
    writer.strings("tokenizer.ggml.tokens", texts)
        .floats("tokenizer.ggml.scores", scores)
        .integers("tokenizer.ggml.token_type", kinds);
    writer.u32("tokenizer.ggml.bos_token_id", tinyBos)
        .u32("tokenizer.ggml.eos_token_id", tinyEos)
        .u32("tokenizer.ggml.eot_token_id", tinyTurnEnd)
        .u32("tokenizer.ggml.unknown_token_id", tinyUnknown)
        .boolean("tokenizer.ggml.add_bos_token", true)
        .boolean("tokenizer.ggml.add_eos_token", false)
        .boolean("tokenizer.ggml.add_space_prefix", true);
}

GgufWriter tinyModel(const TinyModelOptions &options)
{
    return TinyBuilder(options).build();
}

std::vector<std::byte> tinyModelBytes(const TinyModelOptions &options)
{
    return tinyModel(options).bytes();
}

std::filesystem::path writeTinyModel(const std::filesystem::path &folder, const TinyModelOptions &options)
{
    return writeBytes(folder / (options.name + ".gguf"), tinyModelBytes(options));
}

} // namespace tokenloupe::test
