// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/containerweights.h"
#include "engine/model/hf/hfconfig.h"
#include "engine/model/hf/safetensorsfile.h"
#include "engine/model/hf/weightcopies.h"

#include <map>
#include <stop_token>
#include <vector>

namespace tokenloupe {

/// The tensors of a Hugging Face folder by role. What is stored in another order than the forward pass
/// reads it, or in halves where it wants float32, comes as a copy.
class HfWeights final : public ContainerWeights
{
public:
    /// `tensors` in the order of the container's list; `name` for messages. All must outlive the object.
    HfWeights(const HfConfig &config, std::vector<const SafetensorsTensor *> tensors, const std::string &name,
              std::stop_token stop);

    Result<std::optional<StoredWeight>> find(const WeightId &id) override;
    std::string nameOf(const WeightId &id) const override;
    std::string container() const override { return m_name; }

    bool isUsed(std::size_t tensor) const override { return m_used[tensor] != 0; }
    std::span<const std::byte> copyOf(std::size_t tensor) const override { return m_copied[tensor]; }
    bool isRedundant(std::size_t tensor) const override;
    bool isInsideLayer(std::size_t tensor) const override;
    std::shared_ptr<const void> copies() const override { return m_copies; }
    std::uint64_t copiedBytes() const override { return m_copies->bytes(); }

private:
    struct Name
    {
        std::string text;
        HfStorage storage = HfStorage::AsIs;
    };
    std::vector<Name> namesOf(const WeightId &id) const;
    std::optional<std::size_t> indexOf(const std::string &name) const;
    Result<std::optional<StoredWeight>> factors(WeightRole role) const;
    Result<StoredWeight> stored(std::size_t tensor, HfStorage storage);
    Status reorder(StoredWeight &weight, HfStorage storage);
    Status align(StoredWeight &weight);

    const HfConfig &m_config;
    std::vector<const SafetensorsTensor *> m_tensors;
    const std::string &m_name;
    std::stop_token m_stop;
    std::map<std::string_view, std::size_t> m_index; // by name
    std::string m_prefix;
    std::vector<char> m_used;
    std::vector<std::span<const std::byte>> m_copied;
    std::shared_ptr<WeightCopies> m_copies;
};

} // namespace tokenloupe
