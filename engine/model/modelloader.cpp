// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/modelloader.h"

#include "engine/base/utf8.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tokenloupe {

namespace {

/// Between two looks at the stop token and two steps of the progress.
constexpr std::size_t chunkBytes = 4U << 20;

std::string shapeText(std::uint64_t rows, std::uint64_t columns)
{
    return std::to_string(rows) + " × " + std::to_string(columns);
}

std::string label(std::string_view tensorName)
{
    return "tensor " + quotedForMessage(tensorName);
}

std::string computableTypes()
{
    std::string names;
    for (std::uint32_t id = 0; id <= static_cast<std::uint32_t>(TensorType::NVFP4); ++id) {
        const TensorTypeTraits *traits = tensorTypeTraits(id);
        if (traits && traits->computable)
            names += (names.empty() ? "" : ", ") + std::string(traits->name);
    }
    return names;
}

/// Tables that can be computed from the config, which older converters stored all the same.
bool isRedundant(std::string_view name)
{
    return name.ends_with(".attn_rot_embd") || name.ends_with("rotary_emb.inv_freq");
}

/// Part of one of the blocks that the forward pass runs.
bool isInside(std::string_view name, std::uint32_t layers)
{
    if (!name.starts_with("blk."))
        return false;
    std::uint64_t layer = 0;
    std::size_t i = 4;
    for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && layer < layers; ++i)
        layer = layer * 10 + static_cast<std::uint64_t>(name[i] - '0');
    return i > 4 && i < name.size() && name[i] == '.' && layer < layers;
}

} // namespace

ModelLoader::ModelLoader(std::shared_ptr<const GgufFile> file, std::filesystem::path path)
    : m_model(new Model)
    , m_file(*file)
    , m_used(file->tensors().size(), 0)
{
    m_model->m_file = std::move(file);
    m_model->m_path = std::move(path);
}

Result<std::shared_ptr<const Model>> ModelLoader::load(Progress *progress, const std::stop_token &stop)
{
    const Status status = readDescription()
                              .and_then([this] { return checkSupported(); })
                              .and_then([this] { return findWeights(); })
                              .and_then([this] { return checkUnused(); })
                              .and_then([&] { return bringIntoMemory(progress, stop); });
    if (!status)
        return tl::unexpected(status.error());
    return m_model;
}

Status ModelLoader::readDescription()
{
    if (m_file.metadata().empty() && m_file.tensors().empty())
        return bad("the file holds no model: it has neither keys nor tensors");
    const auto architecture = m_file.stringValue("general.architecture");
    if (!architecture)
        return tl::unexpected(architecture.error());
    const auto spec = architectureSpec(*architecture);
    if (!spec)
        return unsupported(spec.error().message);
    m_model->m_architecture = *spec;
    auto config = readModelConfig(m_file);
    if (!config)
        return tl::unexpected(config.error());
    m_model->m_config = std::move(*config);
    if (m_file.tensors().empty())
        return bad("the file holds no weights (only a vocabulary?)");
    auto vocabulary = readVocabulary(m_file, &m_model->m_warnings);
    if (!vocabulary)
        return tl::unexpected(vocabulary.error());
    m_model->m_vocabulary = std::move(*vocabulary);
    readChatTemplate();
    return {};
}

Status ModelLoader::checkSupported() const
{
    const std::string prefix(m_model->m_architecture->name);
    if (const auto parts = m_file.unsignedValue("split.count"); parts && *parts > 1)
        return unsupported("key \"split.count\": the model is split into " + std::to_string(*parts) +
                           " files; join them first (llama.cpp's gguf-split --merge)");
    if (const auto experts = m_file.unsignedValue(prefix + ".expert_count"); experts && *experts > 0)
        return unsupported("key \"" + prefix + ".expert_count\": models with experts (" +
                           std::to_string(*experts) + ") are not supported");
    const std::string &scaling = m_model->m_config.ropeScaling;
    if (scaling != "none" && scaling != "linear" && scaling != "llama3")
        return unsupported("key \"" + prefix + ".rope.scaling.type\": expected none or linear, found " +
                           quotedForMessage(scaling));
    return {};
}

void ModelLoader::readChatTemplate()
{
    const GgufValue *value = m_file.find("tokenizer.chat_template");
    if (!value)
        return;
    if (const auto *text = std::get_if<std::string_view>(&value->value))
        m_model->m_chatTemplate = *text;
    else
        m_model->m_warnings.push_back(std::string("tokenizer.chat_template: expected a string, found ") +
                                      ggufTypeName(value->type) + "; the model counts as without one");
}

Status ModelLoader::findWeights()
{
    ModelWeights &weights = m_model->m_weights;
    const ModelConfig &config = m_model->m_config;
    const std::uint64_t tokens = m_model->m_vocabulary.texts.size();
    if (Status status = matrix("token_embd.weight", tokens, config.embedding, weights.tokenEmbedding);
        !status)
        return status;
    if (Status status =
            vector("output_norm.weight", config.embedding, Presence::Required, weights.outputNorm);
        !status)
        return status;
    if (m_file.tensor("output.weight")) {
        weights.outputKind = OutputHead::Separate;
        if (Status status = matrix("output.weight", tokens, config.embedding, weights.outputHead); !status)
            return status;
    } else {
        weights.outputKind = OutputHead::Tied;
        weights.outputHead = weights.tokenEmbedding;
    }
    if (Status status = findFrequencyFactors(); !status)
        return status;
    for (std::uint32_t layer = 0; layer < config.layers; ++layer) { // grows only as far as tensors are there
        if (Status status = findLayer(layer); !status)
            return status;
    }
    return {};
}

Status ModelLoader::findLayer(std::uint32_t layer)
{
    const ModelConfig &config = m_model->m_config;
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    const std::uint64_t width = config.embedding;
    const std::uint64_t queries = std::uint64_t{config.heads} * config.headSize;
    const std::uint64_t keys = std::uint64_t{config.kvHeadsOf(layer)} * config.headSize;
    const std::uint64_t values = std::uint64_t{config.kvHeadsOf(layer)} * config.valueHeadSize;
    const std::uint64_t mixed = std::uint64_t{config.heads} * config.valueHeadSize;
    LayerWeights weights;
    const auto norm = [&](const char *name, Weight &weight) {
        return vector(prefix + name, width, Presence::Required, weight);
    };
    const Status status =
        norm("attn_norm.weight", weights.attentionNorm)
            .and_then([&] { return matrix(prefix + "attn_q.weight", queries, width, weights.query); })
            .and_then([&] { return matrix(prefix + "attn_k.weight", keys, width, weights.key); })
            .and_then([&] { return matrix(prefix + "attn_v.weight", values, width, weights.value); })
            .and_then([&] { return matrix(prefix + "attn_output.weight", width, mixed, weights.output); })
            .and_then([&] { return bias(prefix + "attn_q.bias", queries, weights.queryBias); })
            .and_then([&] { return bias(prefix + "attn_k.bias", keys, weights.keyBias); })
            .and_then([&] { return bias(prefix + "attn_v.bias", values, weights.valueBias); })
            .and_then([&] { return bias(prefix + "attn_output.bias", width, weights.outputBias); })
            .and_then([&] { return norm("ffn_norm.weight", weights.feedForwardNorm); })
            .and_then(
                [&] { return matrix(prefix + "ffn_gate.weight", config.feedForward, width, weights.gate); })
            .and_then([&] { return matrix(prefix + "ffn_up.weight", config.feedForward, width, weights.up); })
            .and_then(
                [&] { return matrix(prefix + "ffn_down.weight", width, config.feedForward, weights.down); });
    if (status)
        m_model->m_weights.layers.push_back(weights);
    return status;
}

Status ModelLoader::findFrequencyFactors()
{
    const std::string name = "rope_freqs.weight";
    Weight &factors = m_model->m_weights.ropeFrequencyFactors;
    if (Status status = vector(name, m_model->m_config.ropeDimensions / 2, Presence::Optional, factors);
        !status)
        return status;
    for (std::size_t i = 0; i + sizeof(float) <= factors.data.size(); i += sizeof(float)) {
        float factor = 0.0F;
        std::memcpy(&factor, factors.data.data() + i, sizeof(float));
        if (!std::isfinite(factor) || factor <= 0.0F)
            return bad(label(name) + ": expected numbers above 0, found " + std::to_string(factor));
    }
    return {};
}

Status ModelLoader::checkUnused()
{
    // Something inside a block that the forward pass would leave out means wrong results, so it is refused;
    // elsewhere it is named.
    std::string first;
    std::size_t count = 0;
    for (std::size_t i = 0; i < m_used.size(); ++i) {
        const std::string &name = m_file.tensors()[i].name;
        if (m_used[i] || isRedundant(name))
            continue;
        if (isInside(name, m_model->m_config.layers))
            return unsupported(label(name) + " is no part of a " +
                               std::string(m_model->m_architecture->name) + " block as this program runs it");
        if (count++ == 0)
            first = name;
    }
    if (count > 0)
        m_model->m_warnings.push_back(std::to_string(count) + " tensors are not used, the first is " +
                                      quotedForMessage(first));
    return {};
}

Status ModelLoader::bringIntoMemory(Progress *progress, const std::stop_token &stop)
{
    for (const GgufTensor &tensor : m_file.tensors())
        m_model->m_weightsBytes += tensor.bytes; // disjoint parts of the file: no wrap-around
    if (progress)
        progress->start(m_model->m_weightsBytes);
    for (const GgufTensor &tensor : m_file.tensors()) {
        for (std::size_t begin = 0; begin < tensor.data.size(); begin += chunkBytes) {
            if (stop.stop_requested())
                return makeError(ErrorCode::Cancelled, "load " + m_file.name(), "cancelled");
            const std::size_t size = std::min(chunkBytes, tensor.data.size() - begin);
            if (Status status = readAhead(tensor.data.subspan(begin, size)); !status)
                return makeError(status.error().code, "load " + m_file.name(),
                                 label(tensor.name) + ": " + status.error().message);
            if (progress)
                progress->advance(size);
        }
    }
    return {};
}

Status ModelLoader::matrix(const std::string &name, std::uint64_t rows, std::uint64_t columns, Weight &weight)
{
    const GgufTensor *tensor = use(name);
    if (!tensor)
        return bad(label(name) + " is missing");
    if (Status status = checkShape(*tensor, rows, columns); !status)
        return status;
    const TensorTypeTraits &traits = traitsOf(tensor->type);
    if (!traits.computable)
        return unsupported(label(name) + " has the type " + traits.name + "; supported are " +
                           computableTypes());
    weight = {tensor->type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns),
              tensor->data};
    return {};
}

Status ModelLoader::vector(const std::string &name, std::uint64_t size, Presence presence, Weight &weight)
{
    const GgufTensor *tensor = use(name);
    if (!tensor)
        return presence == Presence::Optional ? Status() : bad(label(name) + " is missing");
    if (Status status = checkShape(*tensor, 1, size); !status)
        return status;
    if (tensor->type != TensorType::F32)
        return unsupported(label(name) + ": expected the type F32, found " + traitsOf(tensor->type).name);
    weight = {tensor->type, 1, static_cast<std::int64_t>(size), tensor->data};
    return {};
}

Status ModelLoader::bias(const std::string &name, std::uint64_t size, Weight &weight)
{
    if (!m_model->m_architecture->attentionBias)
        return {};
    return vector(name, size, Presence::Optional, weight);
}

Status ModelLoader::checkShape(const GgufTensor &tensor, std::uint64_t rows, std::uint64_t columns) const
{
    const auto &shape = tensor.shape;
    if (shape[0] == columns && shape[1] == rows && shape[2] == 1 && shape[3] == 1)
        return {};
    std::string found = shapeText(shape[1], shape[0]);
    if (shape[2] != 1 || shape[3] != 1)
        found += " × " + shapeText(shape[2], shape[3]);
    return bad(label(tensor.name) + ": expected " + shapeText(rows, columns) + " (rows × columns), found " +
               found);
}

const GgufTensor *ModelLoader::use(const std::string &name)
{
    const GgufTensor *tensor = m_file.tensor(name);
    if (tensor)
        m_used[static_cast<std::size_t>(tensor - m_file.tensors().data())] = 1;
    return tensor;
}

tl::unexpected<Error> ModelLoader::bad(std::string message) const
{
    return makeError(ErrorCode::BadFile, "load " + m_file.name(), std::move(message));
}

tl::unexpected<Error> ModelLoader::unsupported(std::string message) const
{
    return makeError(ErrorCode::Unsupported, "load " + m_file.name(), std::move(message));
}

} // namespace tokenloupe
