// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/modelloader.h"

#include "engine/base/mappedfile.h"
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

} // namespace

ModelLoader::ModelLoader(std::shared_ptr<const ModelContainer> container, std::filesystem::path path,
                         const ModelLoadOptions &options)
    : m_model(new Model)
    , m_container(*container)
    , m_options(options)
{
    m_model->m_container = std::move(container);
    m_model->m_path = std::move(path);
}

Status ModelLoader::describe()
{
    return readDescription().and_then([this] { return checkSupported(); });
}

Result<std::shared_ptr<const Model>> ModelLoader::load(Progress *progress, const std::stop_token &stop)
{
    const Status described = m_model->m_vocabulary ? Status() : describe();
    const Status status = described.and_then([&] { return findWeights(stop); })
                              .map([this] { countBytes(); })
                              .and_then([&] { return quantize(progress, stop); })
                              .and_then([&] { return bringIntoMemory(progress, stop); });
    if (!status)
        return tl::unexpected(status.error());
    return m_model;
}

Status ModelLoader::readDescription()
{
    auto config = m_container.architecture().and_then(
        [this](const std::string &) -> Result<ModelConfig> { return m_container.readConfig(); });
    if (!config)
        return tl::unexpected(config.error());
    m_model->m_config = std::move(*config);
    if (m_model->m_config.spec.name.empty()) // what readConfig() reads of architectures that are not run
        return unsupported(architectureSpec(m_model->m_config.architecture).error().message);
    if (m_container.tensors().empty())
        return bad("the file holds no weights (only a vocabulary?)");
    auto vocabulary = m_container.readVocabulary(&m_model->m_warnings);
    if (!vocabulary)
        return tl::unexpected(vocabulary.error());
    m_model->m_vocabulary = std::make_shared<const VocabularyData>(std::move(*vocabulary));
    // The embedding must have a row for each token.
    m_model->m_config.vocabulary = static_cast<std::uint32_t>(m_model->m_vocabulary->texts.size());
    m_model->m_chatTemplate = m_container.readChatTemplate(&m_model->m_warnings);
    return {};
}

Status ModelLoader::checkSupported() const
{
    const std::string prefix(m_model->m_config.spec.name);
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

Status ModelLoader::findWeights(const std::stop_token &stop)
{
    m_source = m_container.weights(m_model->m_config, stop);
    Result<ModelWeights> weights = WeightAssembler(m_model->m_config, *m_source).assemble();
    if (!weights)
        return tl::unexpected(weights.error());
    m_model->m_weights = std::move(*weights);
    m_model->m_copies = m_source->copies();
    m_model->m_copiedBytes = m_source->copiedBytes();
    return checkUnused();
}

Status ModelLoader::checkUnused()
{
    // Something inside a block that the forward pass would leave out means wrong results, so it is refused;
    // elsewhere it is named.
    std::string first;
    std::size_t count = 0;
    for (std::size_t i = 0; i < m_container.tensors().size(); ++i) {
        const std::string &name = m_container.tensors()[i].name;
        if (m_source->isUsed(i) || m_source->isRedundant(i))
            continue;
        if (m_source->isInsideLayer(i))
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
    for (std::size_t i = 0; i < m_container.tensors().size(); ++i) {
        const ContainerTensor &tensor = m_container.tensors()[i];
        if (!m_source->isUsed(i) || !tensor.knownType)
            continue;
        m_model->m_weightsBytes += tensor.bytes; // disjoint parts of files: no wrap-around
        m_model->m_typeBytes[*tensor.knownType] += tensor.bytes;
    }
}

Status ModelLoader::quantize(Progress *progress, const std::stop_token &stop)
{
    if (progress)
        progress->start(m_model->m_weightsBytes);
    const auto releaseStored = [container = m_model->m_container](std::span<const std::byte> range) {
        container->releasePages(range);
    };
    auto quantized = LoadQuantizer(m_model->m_config, m_options)
                         .quantize(m_model->m_weights, m_model->m_warnings, releaseStored, progress, stop);
    if (!quantized)
        return makeError(quantized.error().code, "load " + m_container.name(), quantized.error().message);
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

std::vector<std::span<const std::byte>> ModelLoader::partsAsStored(std::span<const std::byte> stored) const
{
    if (m_model->m_quantized)
        return m_model->m_quantized->partsOutside(stored);
    return {stored};
}

Status ModelLoader::bringIntoMemory(Progress *progress, const std::stop_token &stop)
{
    for (std::size_t i = 0; i < m_container.tensors().size(); ++i) {
        const ContainerTensor &tensor = m_container.tensors()[i];
        if (!m_source->isUsed(i) || !tensor.knownType)
            continue;
        const std::span<const std::byte> copy = m_source->copyOf(i);
        if (!copy.empty()) { // read already; quantising told its own progress
            m_container.releasePages(tensor.data);
            std::uint64_t left = tensor.bytes;
            for (const std::span<const std::byte> part : partsAsStored(copy))
                left -= std::min<std::uint64_t>(left, part.size());
            if (progress)
                progress->advance(tensor.bytes - left);
            continue;
        }
        for (const std::span<const std::byte> part : partsAsStored(tensor.data)) {
            if (Status read = bringIntoMemory(tensor, part, progress, stop); !read)
                return read;
        }
    }
    return {};
}

Status ModelLoader::bringIntoMemory(const ContainerTensor &tensor, std::span<const std::byte> part,
                                    Progress *progress, const std::stop_token &stop)
{
    for (std::size_t begin = 0; begin < part.size(); begin += chunkBytes) {
        if (stop.stop_requested())
            return makeError(ErrorCode::Cancelled, "load " + m_container.name(), "cancelled");
        const std::size_t size = std::min(chunkBytes, part.size() - begin);
        if (Status status = readAhead(part.subspan(begin, size)); !status)
            return makeError(status.error().code, "load " + m_container.name(),
                             label(tensor.name) + ": " + status.error().message);
        if (progress)
            progress->advance(size);
    }
    return {};
}

tl::unexpected<Error> ModelLoader::bad(std::string message) const
{
    return makeError(ErrorCode::BadFile, "load " + m_container.name(), std::move(message));
}

tl::unexpected<Error> ModelLoader::unsupported(std::string message) const
{
    return makeError(ErrorCode::Unsupported, "load " + m_container.name(), std::move(message));
}

} // namespace tokenloupe
