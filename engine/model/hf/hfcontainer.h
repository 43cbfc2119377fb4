// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/hf/hfconfig.h"
#include "engine/model/hf/safetensorsfile.h"
#include "engine/model/modelcontainer.h"

#include <nlohmann/json.hpp>

namespace tokenloupe {

/// A Hugging Face folder: `config.json` and safetensors files.
class HfContainer final : public ModelContainer
{
public:
    static Result<std::shared_ptr<const HfContainer>> open(const std::filesystem::path &folder);

    const std::filesystem::path &folder() const { return m_folder; }
    const nlohmann::json &json() const { return m_json; } ///< config.json, as it is
    /// Errors name the field.
    const Result<HfConfig> &config() const { return m_config; }

    ContainerFormat format() const override { return ContainerFormat::HuggingFace; }
    const std::string &name() const override { return m_name; }
    std::uint64_t headerBytes() const override;
    void releasePages(std::span<const std::byte> range) const override;

    Result<std::string> architecture() const override;
    Result<ModelConfig> readConfig() const override;
    Result<VocabularyData> readVocabulary(std::vector<std::string> *warnings) const override;
    bool hasVocabulary() const override;
    std::string readChatTemplate(std::vector<std::string> *warnings) const override;
    std::unique_ptr<ContainerWeights> weights(const ModelConfig &config,
                                              const std::stop_token &stop) const override;

private:
    HfContainer() = default;
    void listTensors();

    std::filesystem::path m_folder;
    std::string m_name;
    nlohmann::json m_json;
    std::vector<std::shared_ptr<const SafetensorsFile>> m_files;
    Result<HfConfig> m_config;
};

/// The folder behind a container; null for one of another format.
const HfContainer *hfContainerOf(const ModelContainer &container);

} // namespace tokenloupe
