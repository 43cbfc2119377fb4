// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/gguffile.h"
#include "engine/model/modelcontainer.h"

namespace tokenloupe {

/// A GGUF file, or all parts of a split one.
class GgufContainer final : public ModelContainer
{
public:
    explicit GgufContainer(std::shared_ptr<const GgufFile> file);

    const GgufFile &file() const { return *m_file; }

    ContainerFormat format() const override { return ContainerFormat::Gguf; }
    const std::string &name() const override { return m_file->name(); }
    std::uint64_t headerBytes() const override { return m_file->headerBytes(); }
    void releasePages(std::span<const std::byte> range) const override { m_file->releasePages(range); }

    Result<std::string> architecture() const override;
    Result<ModelConfig> readConfig() const override;
    Result<VocabularyData> readVocabulary(std::vector<std::string> *warnings) const override;
    bool hasVocabulary() const override;
    std::string readChatTemplate(std::vector<std::string> *warnings) const override;
    std::unique_ptr<ContainerWeights> weights(const ModelConfig &config,
                                              const std::stop_token &stop) const override;

private:
    Status checkLoadable() const;

    std::shared_ptr<const GgufFile> m_file;
};

/// The file behind a container; null for one of another format.
const GgufFile *ggufFileOf(const ModelContainer &container);

} // namespace tokenloupe
