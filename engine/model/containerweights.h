// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/weightsource.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tokenloupe {

/// A container's tensors by role, and which of them were asked for. Tensors are numbered as in
/// ModelContainer::tensors().
class ContainerWeights : public WeightSource
{
public:
    virtual bool isUsed(std::size_t tensor) const = 0;
    /// What it is used as, where that is a copy beside the container; empty: it is none.
    virtual std::span<const std::byte> copyOf(std::size_t /*tensor*/) const { return {}; }
    /// Something that the config says as well, and that may lie unused.
    virtual bool isRedundant(std::size_t tensor) const = 0;
    /// Part of one of the blocks that the forward pass runs.
    virtual bool isInsideLayer(std::size_t tensor) const = 0;
    /// What keeps the copies alive; null: there are none.
    virtual std::shared_ptr<const void> copies() const { return {}; }
    virtual std::uint64_t copiedBytes() const { return 0; }
};

} // namespace tokenloupe
