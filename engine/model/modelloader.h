// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/ggufweights.h"
#include "engine/model/model.h"

namespace tokenloupe {

/// Makes a Model out of an open GGUF file: reads the config, has the weights assembled and quantised where
/// that is wanted, then brings them into memory. Used once.
class ModelLoader
{
public:
    ModelLoader(std::shared_ptr<const GgufFile> file, std::filesystem::path path,
                const ModelLoadOptions &options);

    Result<std::shared_ptr<const Model>> load(Progress *progress, const std::stop_token &stop);

private:
    Status readDescription();
    Status checkSupported() const;
    void readChatTemplate();
    Status findWeights();
    Status checkUnused(const GgufWeights &source);
    void countBytes();
    Status quantize(Progress *progress, const std::stop_token &stop);
    Status bringIntoMemory(Progress *progress, const std::stop_token &stop);
    Status bringIntoMemory(const GgufTensor &tensor, std::span<const std::byte> part, Progress *progress,
                           const std::stop_token &stop);

    tl::unexpected<Error> bad(std::string message) const;
    tl::unexpected<Error> unsupported(std::string message) const;

    std::shared_ptr<Model> m_model;
    const GgufFile &m_file;
    ModelLoadOptions m_options;
};

} // namespace tokenloupe
