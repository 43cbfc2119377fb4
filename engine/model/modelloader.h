// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/ggufweights.h"
#include "engine/model/model.h"

namespace tokenloupe {

/// Makes a Model out of an open GGUF file: reads the config and has the weights assembled. Used once.
class ModelLoader
{
public:
    ModelLoader(std::shared_ptr<const GgufFile> file, std::filesystem::path path);

    Result<std::shared_ptr<const Model>> load();

private:
    Status readDescription();
    Status checkSupported() const;
    void readChatTemplate();
    Status findWeights();
    Status checkUnused(const GgufWeights &source);

    tl::unexpected<Error> bad(std::string message) const;
    tl::unexpected<Error> unsupported(std::string message) const;

    std::shared_ptr<Model> m_model;
    const GgufFile &m_file;
};

} // namespace tokenloupe
