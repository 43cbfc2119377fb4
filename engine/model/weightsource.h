// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "kernels/formats/tensortype.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tokenloupe {

/// What a stored tensor is for, whatever its container calls it.
enum class WeightRole : std::uint8_t {
    TokenEmbedding,
    PositionEmbedding,
    EmbeddingNorm,
    OutputNorm,
    OutputHead,
    RopeFactors,
    RopeShortFactors,
    RopeLongFactors,
    // of a layer
    AttentionNorm,
    QueryKeyValue, ///< the rows of queries, then keys, then values
    Query,
    Key,
    Value,
    QueryNorm,
    KeyNorm,
    AttentionOutput,
    AttentionPostNorm,
    FeedForwardNorm,
    GateUp, ///< the rows of the gate, then of up
    Gate,
    Up,
    Down,
    Router,
    ExpertGate, ///< all experts' in one tensor of three dimensions, or one expert's
    ExpertUp,
    ExpertDown,
    FeedForwardPostNorm,
};

enum class WeightPart : std::uint8_t { Weight, Bias };

struct WeightId
{
    WeightRole role = WeightRole::TokenEmbedding;
    WeightPart part = WeightPart::Weight;
    std::optional<std::uint32_t> layer;
    std::optional<std::uint32_t> expert; ///< where each has tensors of its own
};

struct StoredWeight
{
    std::string name; ///< as the container calls it
    TensorType type = TensorType::F32;
    std::string_view foreignType = {};              ///< the container's name for one that is none of ours
    std::array<std::uint64_t, 4> shape{1, 1, 1, 1}; ///< shape[0] runs fastest: (inputs, outputs, experts, 1)
    std::span<const std::byte> data;                ///< as many bytes as type and shape say
};

/// Tensors by role: all that the assembly of a model's weights knows of the container they lie in.
class WeightSource
{
public:
    virtual ~WeightSource() = default;
    /// What was found counts as used. An error: it is there, but cannot be had, or must be there.
    virtual Result<std::optional<StoredWeight>> find(const WeightId &id) = 0;
    /// How the container would call it: for a message about one that is missing.
    virtual std::string nameOf(const WeightId &id) const = 0;
    /// The file or folder, for messages.
    virtual std::string container() const = 0;
};

/// Whether a tensor's name is of one of the first `layers` layers: "blk.3.…" with the start "blk.".
bool isLayerName(std::string_view name, std::string_view start, std::uint32_t layers);

} // namespace tokenloupe
