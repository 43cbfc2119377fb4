// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/ggufcontainer.h"

#include "engine/model/ggufweights.h"
#include "engine/model/model.h"

namespace tokenloupe {

GgufContainer::GgufContainer(std::shared_ptr<const GgufFile> file)
    : m_file(std::move(file))
{
    m_tensors.reserve(m_file->tensors().size());
    for (const GgufTensor &stored : m_file->tensors()) {
        ContainerTensor tensor;
        tensor.name = stored.name;
        tensor.type = traitsOf(stored.type).name;
        tensor.knownType = stored.type;
        tensor.shape.assign(stored.shape.begin(), stored.shape.begin() + stored.dimensions);
        tensor.file =
            stored.part < m_file->partNames().size() ? m_file->partNames()[stored.part] : m_file->name();
        tensor.offset = stored.position;
        tensor.bytes = stored.bytes;
        tensor.data = stored.data;
        m_tensors.push_back(std::move(tensor));
    }
}

Result<std::string> GgufContainer::architecture() const
{
    if (m_file->metadata().empty() && m_file->tensors().empty())
        return makeError(ErrorCode::BadFile, "load " + name(),
                         "the file holds no model: it has neither keys nor tensors");
    return m_file->stringValue("general.architecture").map([](std::string_view text) {
        return std::string(text);
    });
}

Status GgufContainer::checkLoadable() const
{
    const auto parts = m_file->unsignedValue("split.count");
    if (parts && *parts > 1 && m_file->partNames().empty())
        return makeError(ErrorCode::Unsupported, "load " + name(),
                         "key \"split.count\": the model is split into " + std::to_string(*parts) +
                             " files, and this is only one of them");
    return {};
}

Result<ModelConfig> GgufContainer::readConfig() const
{
    auto config = readModelConfig(*m_file);
    if (!config)
        return config;
    if (Status loadable = checkLoadable(); !loadable)
        return tl::unexpected(loadable.error());
    return config;
}

Result<VocabularyData> GgufContainer::readVocabulary(std::vector<std::string> *warnings) const
{
    return tokenloupe::readVocabulary(*m_file, warnings);
}

bool GgufContainer::hasVocabulary() const
{
    return m_file->find("tokenizer.ggml.model") != nullptr;
}

std::string GgufContainer::readChatTemplate(std::vector<std::string> *warnings) const
{
    const GgufValue *value = m_file->find("tokenizer.chat_template");
    if (!value)
        return {};
    if (const auto *text = std::get_if<std::string_view>(&value->value))
        return std::string(*text);
    if (warnings)
        warnings->push_back(std::string("tokenizer.chat_template: expected a string, found ") +
                            ggufTypeName(value->type) + "; the model counts as without one");
    return {};
}

std::unique_ptr<ContainerWeights> GgufContainer::weights(const ModelConfig &config,
                                                         const std::stop_token & /*stop*/) const
{
    return std::make_unique<GgufWeights>(*m_file, config.spec.name, config.layers);
}

const GgufFile *ggufFileOf(const ModelContainer &container)
{
    const auto *gguf = dynamic_cast<const GgufContainer *>(&container);
    return gguf ? &gguf->file() : nullptr;
}

} // namespace tokenloupe
