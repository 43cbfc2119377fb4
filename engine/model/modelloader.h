// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"

namespace tokenloupe {

/// Makes a Model out of an open container: reads the config, has the weights assembled and quantised where
/// that is wanted, then brings them into memory. Used once.
class ModelLoader
{
public:
    ModelLoader(std::shared_ptr<const ModelContainer> container, std::filesystem::path path,
                const ModelLoadOptions &options);

    /// The first half of load(): all but the weights.
    Status describe();
    /// Once described: for whoever builds on it while the weights come in.
    std::shared_ptr<const VocabularyData> vocabulary() const { return m_model->sharedVocabulary(); }

    Result<std::shared_ptr<const Model>> load(Progress *progress, const std::stop_token &stop);

private:
    Status readDescription();
    Status checkSupported() const;
    Status findWeights(const std::stop_token &stop);
    Status checkUnused();
    void countBytes();
    Status quantize(Progress *progress, const std::stop_token &stop);
    Status bringIntoMemory(Progress *progress, const std::stop_token &stop);
    Status bringIntoMemory(const ContainerTensor &tensor, std::span<const std::byte> part, Progress *progress,
                           const std::stop_token &stop);
    /// Of a part of what is stored, what was not quantised.
    std::vector<std::span<const std::byte>> partsAsStored(std::span<const std::byte> stored) const;

    tl::unexpected<Error> bad(std::string message) const;
    tl::unexpected<Error> unsupported(std::string message) const;

    std::shared_ptr<Model> m_model;
    const ModelContainer &m_container;
    std::unique_ptr<ContainerWeights> m_source;
    ModelLoadOptions m_options;
};

} // namespace tokenloupe
