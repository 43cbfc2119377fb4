// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/modelloader.h"

#include "engine/base/utf8.h"
#include "engine/model/loadquantizer.h"
#include "engine/model/weightassembler.h"

#include <algorithm>
#include <array>

namespace tokenloupe {

namespace {

/// Between two looks at the stop token and two steps of the progress.
constexpr std::size_t chunkBytes = 4U << 20;

std::string label(std::string_view tensorName)
{
    return "tensor " + quotedForMessage(tensorName);
}

constexpr std::array<std::string_view, 7> knownScalings = {"none", "linear",   "ntk",   "dynamic",
                                                           "yarn", "longrope", "llama3"};

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

ModelLoader::ModelLoader(std::shared_ptr<const GgufFile> file, std::filesystem::path path,
                         const ModelLoadOptions &options)
    : m_model(new Model)
    , m_file(*file)
    , m_options(options)
{
    m_model->m_file = std::move(file);
    m_model->m_path = std::move(path);
}

Result<std::shared_ptr<const Model>> ModelLoader::load(Progress *progress, const std::stop_token &stop)
{
    const Status status = readDescription()
                              .and_then([this] { return checkSupported(); })
                              .and_then([this] { return findWeights(); })
                              .map([this] { countBytes(); })
                              .and_then([&] { return quantize(progress, stop); })
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
    // The embedding must have a row for each token.
    m_model->m_config.vocabulary = static_cast<std::uint32_t>(m_model->m_vocabulary.texts.size());
    readChatTemplate();
    return {};
}

Status ModelLoader::checkSupported() const
{
    const std::string prefix(m_model->m_config.spec.name);
    if (const auto parts = m_file.unsignedValue("split.count"); parts && *parts > 1)
        return unsupported("key \"split.count\": the model is split into " + std::to_string(*parts) +
                           " files; join them first (llama.cpp's gguf-split --merge)");
    const std::string &scaling = m_model->m_config.ropeScaling;
    if (std::find(knownScalings.begin(), knownScalings.end(), scaling) == knownScalings.end()) {
        std::string known;
        for (const std::string_view name : knownScalings)
            known += (known.empty() ? "" : ", ") + std::string(name);
        return unsupported("key \"" + prefix + ".rope.scaling.type\": expected one of " + known + ", found " +
                           quotedForMessage(scaling));
    }
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
    GgufWeights source(m_file, m_model->m_config.spec.name);
    Result<ModelWeights> weights = WeightAssembler(m_model->m_config, source).assemble();
    if (!weights)
        return tl::unexpected(weights.error());
    m_model->m_weights = std::move(*weights);
    return checkUnused(source);
}

Status ModelLoader::checkUnused(const GgufWeights &source)
{
    // Something inside a block that the forward pass would leave out means wrong results, so it is refused;
    // elsewhere it is named.
    std::string first;
    std::size_t count = 0;
    for (std::size_t i = 0; i < m_file.tensors().size(); ++i) {
        const std::string &name = m_file.tensors()[i].name;
        if (source.isUsed(i) || isRedundant(name))
            continue;
        if (isInside(name, m_model->m_config.layers))
            return unsupported(label(name) + " is no part of a " + std::string(m_model->m_config.spec.name) +
                               " block as this program runs it");
        if (count++ == 0)
            first = name;
    }
    if (count > 0)
        m_model->m_warnings.push_back(std::to_string(count) + " tensors are not used, the first is " +
                                      quotedForMessage(first));
    return {};
}

void ModelLoader::countBytes()
{
    for (const GgufTensor &tensor : m_file.tensors()) {
        m_model->m_weightsBytes += tensor.bytes; // disjoint parts of the file: no wrap-around
        m_model->m_typeBytes[tensor.type] += tensor.bytes;
    }
}

Status ModelLoader::quantize(Progress *progress, const std::stop_token &stop)
{
    if (progress)
        progress->start(m_model->m_weightsBytes);
    const auto releaseStored = [file = m_model->m_file](std::span<const std::byte> range) {
        file->releasePages(range);
    };
    auto quantized = LoadQuantizer(m_model->m_config, m_options)
                         .quantize(m_model->m_weights, m_model->m_warnings, releaseStored, progress, stop);
    if (!quantized)
        return makeError(quantized.error().code, "load " + m_file.name(), quantized.error().message);
    m_model->m_quantized = std::move(*quantized);
    if (!m_model->m_quantized)
        return {};
    const QuantizationPlan &plan = m_model->m_quantized->plan();
    m_model->m_weightsBytes -= plan.storedBytes - plan.bytes;
    for (const MatrixConversion &matrix : plan.matrices) {
        m_model->m_typeBytes[matrix.stored.type] -= matrix.stored.data.size();
        m_model->m_typeBytes[matrix.type] += matrix.bytes;
    }
    std::erase_if(m_model->m_typeBytes, [](const auto &entry) { return entry.second == 0; });
    return {};
}

Status ModelLoader::bringIntoMemory(Progress *progress, const std::stop_token &stop)
{
    for (const GgufTensor &tensor : m_file.tensors()) {
        std::vector<std::span<const std::byte>> parts{tensor.data};
        if (m_model->m_quantized)
            parts = m_model->m_quantized->partsOutside(tensor.data);
        for (const std::span<const std::byte> part : parts) {
            if (Status read = bringIntoMemory(tensor, part, progress, stop); !read)
                return read;
        }
    }
    return {};
}

Status ModelLoader::bringIntoMemory(const GgufTensor &tensor, std::span<const std::byte> part,
                                    Progress *progress, const std::stop_token &stop)
{
    for (std::size_t begin = 0; begin < part.size(); begin += chunkBytes) {
        if (stop.stop_requested())
            return makeError(ErrorCode::Cancelled, "load " + m_file.name(), "cancelled");
        const std::size_t size = std::min(chunkBytes, part.size() - begin);
        if (Status status = readAhead(part.subspan(begin, size)); !status)
            return makeError(status.error().code, "load " + m_file.name(),
                             label(tensor.name) + ": " + status.error().message);
        if (progress)
            progress->advance(size);
    }
    return {};
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
