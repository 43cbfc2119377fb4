// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"

namespace tokenloupe {

/// Makes a Model out of an open container: reads the config, finds each weight and checks its shape, then
/// brings the weights into memory. Used once.
class ModelLoader
{
public:
    ModelLoader(std::shared_ptr<const GgufFile> file, std::filesystem::path path);

    Result<std::shared_ptr<const Model>> load(Progress *progress, const std::stop_token &stop);

private:
    Status readDescription();
    Status checkSupported() const;
    void readChatTemplate();
    Status findWeights();
    Status findLayer(std::uint32_t layer);
    Status findFrequencyFactors();
    Status checkUnused();
    Status bringIntoMemory(Progress *progress, const std::stop_token &stop);

    enum class Presence { Required, Optional };
    /// The tensors that the kernels multiply by, and those that they add or scale by (F32).
    Status matrix(const std::string &name, std::uint64_t rows, std::uint64_t columns, Weight &weight);
    Status vector(const std::string &name, std::uint64_t size, Presence presence, Weight &weight);
    Status bias(const std::string &name, std::uint64_t size, Weight &weight);
    Status checkShape(const GgufTensor &tensor, std::uint64_t rows, std::uint64_t columns) const;
    const GgufTensor *use(const std::string &name);

    tl::unexpected<Error> bad(std::string message) const;
    tl::unexpected<Error> unsupported(std::string message) const;

    std::shared_ptr<Model> m_model;
    const GgufFile &m_file;
    std::vector<char> m_used; // by tensor, 1 when it became a weight
};

} // namespace tokenloupe
