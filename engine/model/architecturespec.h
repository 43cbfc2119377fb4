// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string_view>

namespace tokenloupe {

enum class NormKind : std::uint8_t {
    Rms,   ///< x / √mean(x²)
    Layer, ///< (x - mean) / standard deviation
};
/// Where attention and feed-forward have their norms.
enum class NormPlacement : std::uint8_t {
    Before, ///< on what they read
    Around, ///< on what they read and on what they add
    After,  ///< on what they add
};
enum class Activation : std::uint8_t {
    SiluGated,     ///< silu(gate) · up
    GeluTanhGated, ///< gelu(gate) · up, the tanh form of gelu
    GeluTanh,      ///< gelu(up), the tanh form
    Gelu,          ///< gelu(up), the exact one
};
enum class RotaryStyle : std::uint8_t { Interleaved, HalfSplit };
enum class PositionKind : std::uint8_t {
    Rotary,  ///< queries and keys are turned
    Learned, ///< a row for each position is added to the embedding
    Alibi,   ///< scores fall with the distance, each head with a slope of its own
};
/// Norms of queries and keys, before they are turned.
enum class HeadNorm : std::uint8_t { None, PerHead, WholeWidth };
enum class ResidualKind : std::uint8_t {
    Sequential, ///< the feed-forward reads what attention left
    Parallel,   ///< both read the same
};
enum class ExpertWeighting : std::uint8_t {
    OfChosen, ///< the chosen experts' probabilities are scaled to a sum of 1
    OfAll,    ///< they stay what they are among all
};
enum class EmbeddingScale : std::uint8_t { One, RootOfWidth };
enum class OutputHead : std::uint8_t { Tied, Separate };
enum class Presence : std::uint8_t { Required, Optional };
/// Biases of the projections that must be there; others are added where a file has them.
enum class RequiredBiases : std::uint8_t { None, QueryKeyValue, All };

/// What makes an architecture, as data: one Transformer::forward reads it. New architectures are new rows
/// (and new enumerators where they need something that no row had). A model holds a copy: a file may say
/// something else than its architecture's row does.
struct ArchitectureSpec
{
    std::string_view name;
    NormKind norm = NormKind::Rms;
    NormPlacement normPlacement = NormPlacement::Before;
    float normGainOffset = 0.0F; ///< added to stored gains (some containers store what differs from 1)
    Presence normBias = Presence::Optional;
    bool embeddingNorm = false; ///< a norm right behind the embedding
    Activation activation = Activation::SiluGated;
    ResidualKind residual = ResidualKind::Sequential;
    RequiredBiases biases = RequiredBiases::None;

    PositionKind positions = PositionKind::Rotary;
    RotaryStyle rotary = RotaryStyle::Interleaved;
    std::uint32_t unrotatedPeriod = 0; ///< each n-th layer turns nothing; 0: all layers turn
    float localRopeBase = 0.0F; ///< of layers with a window, which then know no scaling; 0: as the rest
    float alibiBias = 0.0F;     ///< exponent of the steepest slope, where the file does not say

    HeadNorm headNorm = HeadNorm::None;
    Presence headNorms = Presence::Required;
    std::uint32_t window = 0;          ///< where the file does not say; 0: none
    std::uint32_t windowPeriod = 0;    ///< each n-th layer sees everything; 0: all have the file's window
    std::uint32_t wideQueryLayers = 0; ///< models of so many layers divide scores by √(width / heads)
    float attentionSoftCap = 0.0F;     ///< where the file does not say; 0: none
    float logitSoftCap = 0.0F;

    EmbeddingScale embeddingScale = EmbeddingScale::One;
    ExpertWeighting expertWeighting = ExpertWeighting::OfChosen;

    bool isGated() const
    {
        return activation == Activation::SiluGated || activation == Activation::GeluTanhGated;
    }
    bool normsInput() const { return normPlacement != NormPlacement::After; }
    bool normsOutput() const { return normPlacement != NormPlacement::Before; }
};

/// The row for a GGUF `general.architecture`; Unsupported names the architecture and those that are known.
Result<const ArchitectureSpec *> architectureSpec(std::string_view name);

} // namespace tokenloupe
