// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfcontainer.h"

#include "engine/base/utf8.h"
#include "engine/model/hf/configtext.h"
#include "engine/model/hf/foldersettings.h"
#include "engine/model/hf/hfvocabulary.h"
#include "engine/model/hf/hfweights.h"
#include "engine/model/hf/safetensorsfolder.h"
#include "engine/model/hf/vocabularyfit.h"

namespace tokenloupe {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mostConfigBytes = 16U << 20; // far above any config

/// "models/tiny/" and "." have names, too.
std::string nameOf(const fs::path &folder)
{
    std::error_code error;
    fs::path whole = fs::absolute(folder, error).lexically_normal();
    if (!whole.has_filename())
        whole = whole.parent_path();
    return sanitizedUtf8(whole.filename().string());
}

/// A vocabulary without texts: ids can be run, text cannot be split. Which of them end a turn may be known.
Result<VocabularyData> idsOnly(const fs::path &folder, std::uint32_t count,
                               std::vector<std::string> *warnings)
{
    VocabularyData data;
    data.model = noTokenizerModel;
    data.texts.resize(count);
    data.kinds.resize(count, TokenKind::Unused);
    const auto settings = FolderSettings::read(folder, warnings);
    if (!settings)
        return tl::unexpected(settings.error());
    settings->apply(data);
    return data;
}

} // namespace

Result<std::shared_ptr<const HfContainer>> HfContainer::open(const fs::path &folder)
{
    std::error_code error;
    const std::string operation = "open " + quotedForMessage(folder.native(), 400);
    if (!fs::exists(folder / "config.json", error))
        return makeError(ErrorCode::InvalidArgument, operation,
                         "expected a GGUF file or a Hugging Face folder, found a folder without config.json");
    const auto text = readTextFile(folder / "config.json", mostConfigBytes);
    if (!text)
        return tl::unexpected(text.error());
    std::shared_ptr<HfContainer> container(new HfContainer);
    container->m_folder = folder;
    container->m_name = nameOf(folder);
    const JsonSource source{container->m_name, "read config.json of " + container->m_name,
                            ErrorCode::BadFile};
    auto json = parseConfigText(*text, source);
    if (!json)
        return tl::unexpected(json.error());
    container->m_json = std::move(*json);
    auto files = openSafetensorsFolder(folder);
    if (!files)
        return tl::unexpected(files.error());
    container->m_files = std::move(*files);
    container->listTensors();
    container->m_config = readHfConfig(withTextPart(container->m_json), source, container->m_tensors.size());
    if (container->m_config) {
        container->m_config->model.name = container->m_name;
        for (const ContainerTensor &tensor : container->m_tensors)
            container->m_config->model.parameters += tensor.elements();
    }
    return container;
}

void HfContainer::listTensors()
{
    for (const auto &file : m_files) {
        for (const SafetensorsTensor &stored : file->tensors()) {
            ContainerTensor tensor;
            tensor.name = stored.name;
            tensor.type = stored.type->name;
            tensor.knownType = stored.type->type;
            tensor.shape = stored.shape;
            tensor.file = file->name();
            tensor.offset = file->dataOffset() + stored.begin;
            tensor.bytes = stored.end - stored.begin;
            tensor.data = stored.data;
            m_tensors.push_back(std::move(tensor));
        }
    }
}

std::uint64_t HfContainer::headerBytes() const
{
    std::uint64_t sum = 0;
    for (const auto &file : m_files)
        sum += file->dataOffset();
    return sum;
}

void HfContainer::releasePages(std::span<const std::byte> range) const
{
    for (const auto &file : m_files)
        file->releasePages(range);
}

Result<std::string> HfContainer::architecture() const
{
    const auto type = m_json.find("model_type");
    if (type != m_json.end() && type->is_string())
        return sanitizedUtf8(type->get_ref<const std::string &>());
    return makeError(ErrorCode::BadFile, "read config.json of " + m_name,
                     "field \"model_type\": expected the name of an architecture");
}

Result<ModelConfig> HfContainer::readConfig() const
{
    if (!m_config)
        return tl::unexpected(m_config.error());
    return m_config->model;
}

bool HfContainer::hasVocabulary() const
{
    return hasHfVocabulary(m_folder);
}

Result<VocabularyData> HfContainer::readVocabulary(std::vector<std::string> *warnings) const
{
    if (!hasVocabulary()) {
        if (!m_config)
            return tl::unexpected(m_config.error());
        return idsOnly(m_folder, m_config->model.vocabulary, warnings);
    }
    auto data = readHfVocabulary(m_folder, warnings);
    if (data && m_config)
        fitVocabulary(*data, m_config->model.vocabulary, warnings);
    return data;
}

std::string HfContainer::readChatTemplate(std::vector<std::string> *warnings) const
{
    auto text = readHfChatTemplate(m_folder);
    if (text)
        return std::move(*text);
    if (warnings)
        warnings->push_back(text.error().text() + "; the model counts as without a chat template");
    return {};
}

std::unique_ptr<ContainerWeights> HfContainer::weights(const ModelConfig & /*config*/,
                                                       const std::stop_token &stop) const
{
    std::vector<const SafetensorsTensor *> tensors;
    for (const auto &file : m_files) {
        for (const SafetensorsTensor &tensor : file->tensors())
            tensors.push_back(&tensor);
    }
    return std::make_unique<HfWeights>(*m_config, std::move(tensors), m_name, stop);
}

const HfContainer *hfContainerOf(const ModelContainer &container)
{
    return dynamic_cast<const HfContainer *>(&container);
}

} // namespace tokenloupe
