// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/gguffile.h"
#include "engine/model/weightsource.h"

#include <string_view>
#include <vector>

namespace tokenloupe {

/// The tensors of a GGUF file by role. Names are a table, with the exceptions of single architectures.
class GgufWeights final : public WeightSource
{
public:
    GgufWeights(const GgufFile &file, std::string_view architecture);

    std::optional<StoredWeight> find(const WeightId &id) override;
    std::string nameOf(const WeightId &id) const override;
    std::string container() const override { return m_file.name(); }

    /// In the order of GgufFile::tensors().
    bool isUsed(std::size_t tensor) const { return m_used[tensor] != 0; }

private:
    std::vector<std::string> namesOf(const WeightId &id) const;

    const GgufFile &m_file;
    std::string_view m_architecture;
    std::vector<char> m_used;
};

} // namespace tokenloupe
