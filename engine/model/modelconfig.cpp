// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/model/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

// Far above any model; they keep products of two of them inside 64 bits for whoever computes sizes from a
// header alone. The tensors are what really bounds the numbers of a model that is loaded.
constexpr std::uint64_t maxWidth = 1U << 24;
constexpr std::uint64_t maxHeads = 1U << 16;
constexpr std::uint64_t maxLayersWithoutTensors = 1U << 16;
constexpr std::uint64_t maxU32 = std::numeric_limits<std::uint32_t>::max();

enum class Need { Required, Optional };

/// Reads the keys of one architecture; the first error stays, later reads then do nothing.
class ConfigReader
{
public:
    ConfigReader(const GgufFile &file, std::string prefix, Need need)
        : m_file(file)
        , m_prefix(std::move(prefix))
        , m_need(need)
    {}

    /// A number from 1 to `highest`. Missing: `fallback`, or an error where the key is needed and there is
    /// none.
    std::uint32_t count(const std::string &key, std::uint64_t highest,
                        std::optional<std::uint32_t> fallback = {})
    {
        const std::vector<std::uint32_t> values = perLayer(key, highest, 0, fallback);
        if (values.empty())
            return 0;
        if (std::any_of(values.begin(), values.end(), [&](std::uint32_t v) { return v != values[0]; }))
            fail(ErrorCode::Unsupported, key, "layers that differ in it are not supported");
        return values[0];
    }

    /// One number for each of `layers` layers, stored as one or as an array. `layers` 0: any number of them.
    std::vector<std::uint32_t> perLayer(const std::string &key, std::uint64_t highest, std::uint32_t layers,
                                        std::optional<std::uint32_t> fallback = {});
    double floating(const std::string &key, std::optional<double> fallback);
    std::string string(const std::string &key, std::string fallback);
    bool has(const std::string &key) const { return m_file.find(full(key)) != nullptr; }

    void fail(ErrorCode code, const std::string &key, const std::string &message)
    {
        if (m_status)
            m_status = makeError(code, "read " + m_file.name(),
                                 "key " + quotedForMessage(full(key)) + ": " + message);
    }
    const Status &status() const { return m_status; }

private:
    std::string full(const std::string &key) const { return m_prefix + "." + key; }
    template <class T>
    T take(Result<T> result)
    {
        if (result)
            return *result;
        if (m_status)
            m_status = tl::unexpected(result.error());
        return T{};
    }

    const GgufFile &m_file;
    std::string m_prefix;
    Need m_need;
    Status m_status;
};

std::vector<std::uint32_t> ConfigReader::perLayer(const std::string &key, std::uint64_t highest,
                                                  std::uint32_t layers, std::optional<std::uint32_t> fallback)
{
    if (!m_status)
        return {};
    const GgufValue *value = m_file.find(full(key));
    if (!value && (fallback || m_need == Need::Optional))
        return std::vector<std::uint32_t>(std::max(layers, 1U), fallback.value_or(0));

    std::vector<std::uint32_t> numbers;
    const auto append = [&](std::uint64_t number) {
        if (number == 0 || number > highest)
            fail(ErrorCode::BadFile, key,
                 "expected 1 to " + std::to_string(highest) + ", found " + std::to_string(number));
        numbers.push_back(static_cast<std::uint32_t>(number));
    };
    if (value && value->type == GgufType::Array) {
        const std::uint64_t found = std::get<GgufArray>(value->value).count;
        if (found == 0 || found > maxLayersWithoutTensors || (layers != 0 && found != layers)) {
            fail(ErrorCode::BadFile, key,
                 "expected one number for each layer" +
                     (layers ? " (" + std::to_string(layers) + ")" : std::string()) + ", found " +
                     std::to_string(found));
            return {};
        }
        for (const std::int64_t number : take(m_file.integerArray(full(key))))
            append(static_cast<std::uint64_t>(number));
        return numbers;
    }
    const std::uint64_t number = take(m_file.unsignedValue(full(key)));
    if (!m_status)
        return {};
    append(number);
    numbers.resize(std::max(layers, 1U), numbers[0]);
    return numbers;
}

double ConfigReader::floating(const std::string &key, std::optional<double> fallback)
{
    if (!m_status || (!has(key) && (fallback || m_need == Need::Optional)))
        return fallback.value_or(0.0);
    const double value = take(m_file.floatValue(full(key)));
    if (m_status && !(std::isfinite(value) && value >= 0 && value <= std::numeric_limits<float>::max()))
        fail(ErrorCode::BadFile, key, "expected a finite number from 0, found " + std::to_string(value));
    return value;
}

std::string ConfigReader::string(const std::string &key, std::string fallback)
{
    if (!m_status || !has(key))
        return fallback;
    return sanitizedUtf8(take(m_file.stringValue(full(key))));
}

std::uint32_t readLayerCount(ConfigReader &reader, const GgufFile &file)
{
    const std::uint32_t layers = reader.count("block_count", maxU32);
    // Before anything is made for each layer: a layer has tensors, so there cannot be more than those.
    const std::uint64_t most = file.tensors().empty() ? maxLayersWithoutTensors : file.tensors().size();
    if (layers > most)
        reader.fail(ErrorCode::BadFile, "block_count",
                    "found " + std::to_string(layers) + " layers, but the file has only " +
                        std::to_string(file.tensors().size()) + " tensors");
    return layers;
}

void readHeads(ConfigReader &reader, ModelConfig &config)
{
    config.heads = reader.count("attention.head_count", maxHeads);
    config.kvHeads = reader.perLayer("attention.head_count_kv", maxHeads, config.layers, config.heads);
    if (!reader.status() || config.heads == 0)
        return;
    std::optional<std::uint32_t> share;
    if (config.embedding % config.heads == 0)
        share = config.embedding / config.heads;
    else if (!reader.has("attention.key_length") || !reader.has("attention.value_length"))
        reader.fail(ErrorCode::BadFile, "attention.head_count",
                    "expected a divisor of the width " + std::to_string(config.embedding) + ", found " +
                        std::to_string(config.heads));
    for (const std::uint32_t kvHeads : config.kvHeads) {
        if (config.heads % kvHeads != 0)
            reader.fail(ErrorCode::BadFile, "attention.head_count_kv",
                        "expected a divisor of the " + std::to_string(config.heads) + " heads, found " +
                            std::to_string(kvHeads));
    }
    config.headSize = reader.count("attention.key_length", maxHeads, share);
    config.valueHeadSize = reader.count("attention.value_length", maxHeads, share);
}

void readRotation(ConfigReader &reader, const GgufFile &file, ModelConfig &config)
{
    config.ropeBase = static_cast<float>(reader.floating("rope.freq_base", 10000.0));
    if (config.ropeBase <= 0.0F)
        reader.fail(ErrorCode::BadFile, "rope.freq_base", "expected a number above 0");
    config.ropeDimensions = reader.count("rope.dimension_count", maxHeads, config.headSize);
    if (reader.status() && (config.ropeDimensions > config.headSize || config.ropeDimensions % 2 != 0))
        reader.fail(ErrorCode::BadFile, "rope.dimension_count",
                    "expected an even number up to the head size " + std::to_string(config.headSize) +
                        ", found " + std::to_string(config.ropeDimensions));

    // Files without a type that state a factor mean linear scaling; "scale_linear" is the key's older name.
    const std::string factorKey =
        reader.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    const double factor = reader.floating(factorKey, 1.0);
    config.ropeScaling =
        reader.string("rope.scaling.type", factor != 0.0 && factor != 1.0 ? "linear" : "none");
    if (config.ropeScaling != "none" && factor != 0.0)
        config.ropeScaleFactor = static_cast<float>(factor);
    if (config.ropeScaleFactor <= 0.0F)
        reader.fail(ErrorCode::BadFile, factorKey, "expected a number above 0");
    if (config.ropeScaling == "none" && file.tensor("rope_freqs.weight"))
        config.ropeScaling = "llama3";
}

std::uint32_t vocabularySize(ConfigReader &reader, const GgufFile &file)
{
    if (const GgufTensor *embedding = file.tensor("token_embd.weight"))
        return static_cast<std::uint32_t>(std::min(embedding->shape[1], maxU32));
    const GgufValue *tokens = file.find("tokenizer.ggml.tokens");
    if (const auto *array = tokens ? std::get_if<GgufArray>(&tokens->value) : nullptr)
        return static_cast<std::uint32_t>(std::min(array->count, maxU32));
    return reader.count("vocab_size", maxU32, 0);
}

} // namespace

Result<ModelConfig> readModelConfig(const GgufFile &file)
{
    const auto architecture = file.stringValue("general.architecture");
    if (!architecture)
        return tl::unexpected(architecture.error());
    ModelConfig config;
    config.architecture = sanitizedUtf8(*architecture);
    config.name = file.name();
    if (const auto name = file.stringValue("general.name"))
        config.name = sanitizedUtf8(*name);
    for (const GgufTensor &tensor : file.tensors())
        config.parameters += tensor.elements(); // at most twice the file's bits: no wrap-around

    const bool known = architectureSpec(*architecture).has_value();
    ConfigReader reader(file, std::string(*architecture), known ? Need::Required : Need::Optional);
    config.layers = readLayerCount(reader, file);
    if (!reader.status())
        return tl::unexpected(reader.status().error());
    config.embedding = reader.count("embedding_length", maxWidth);
    config.contextTrain = reader.count("context_length", maxU32);
    config.feedForward = reader.count("feed_forward_length", maxWidth);
    config.normEpsilon = static_cast<float>(reader.floating("attention.layer_norm_rms_epsilon", {}));
    readHeads(reader, config);
    readRotation(reader, file, config);
    if (reader.has("attention.sliding_window"))
        config.slidingWindow = reader.count("attention.sliding_window", maxU32);
    config.vocabulary = vocabularySize(reader, file);
    if (!reader.status())
        return tl::unexpected(reader.status().error());
    return config;
}

} // namespace tokenloupe
