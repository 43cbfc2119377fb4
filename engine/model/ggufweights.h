// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/containerweights.h"
#include "engine/model/gguffile.h"

#include <string_view>
#include <vector>

namespace tokenloupe {

/// The tensors of a GGUF file by role. Names are a table, with the exceptions of single architectures.
class GgufWeights final : public ContainerWeights
{
public:
    GgufWeights(const GgufFile &file, std::string_view architecture, std::uint32_t layers);

    Result<std::optional<StoredWeight>> find(const WeightId &id) override;
    std::string nameOf(const WeightId &id) const override;
    std::string container() const override { return m_file.name(); }

    bool isUsed(std::size_t tensor) const override { return m_used[tensor] != 0; }
    bool isRedundant(std::size_t tensor) const override;
    bool isInsideLayer(std::size_t tensor) const override;

private:
    std::vector<std::string> namesOf(const WeightId &id) const;

    const GgufFile &m_file;
    std::string_view m_architecture;
    std::uint32_t m_layers;
    std::vector<char> m_used;
};

} // namespace tokenloupe
