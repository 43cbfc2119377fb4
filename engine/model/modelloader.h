// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"

namespace tokenloupe {

/// Makes a Model out of an open container: reads the config, has the weights assembled, then brings them into
/// memory. Used once.
class ModelLoader
{
public:
    ModelLoader(std::shared_ptr<const ModelContainer> container, std::filesystem::path path);

    Result<std::shared_ptr<const Model>> load(Progress *progress, const std::stop_token &stop);

private:
    Status readDescription();
    Status checkSupported() const;
    Status findWeights(const std::stop_token &stop);
    Status checkUnused();
    void countWeights();
    Status bringIntoMemory(Progress *progress, const std::stop_token &stop);

    tl::unexpected<Error> bad(std::string message) const;
    tl::unexpected<Error> unsupported(std::string message) const;

    std::shared_ptr<Model> m_model;
    const ModelContainer &m_container;
    std::unique_ptr<ContainerWeights> m_source;
};

} // namespace tokenloupe
