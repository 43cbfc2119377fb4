// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/shapespec.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tokenloupe {

/// Which layers see only a window, where the config does not list the layers.
enum class WindowRule : std::uint8_t {
    None,
    All,   ///< all, where a window is given
    Every, ///< all but every n-th
    Upper  ///< from layer max_window_layers on, where use_sliding_window is set
};

/// Layers that are not attention, or not only.
enum class HybridKind : std::uint8_t { None, Mamba, Mamba2, Jamba, GatedDelta, ShortConvolution };

/// What a family of configs decides by its name, and what holds where a field is absent.
struct ConfigFamily
{
    std::string_view type;         ///< "model_type" of the config
    std::string_view architecture; ///< GGUF's name for the same
    NormParameters norm = NormParameters::Weight;
    std::uint32_t norms = 2; ///< of a layer
    MlpKind mlp = MlpKind::Gated;
    QkNorm queryKeyNorm = QkNorm::None;
    std::string_view queryKeyNormField{}; ///< that turns it on; empty: always
    bool tied = false;
    bool fused = false;
    bool headBias = false;
    bool embeddingNorm = false;
    bool positions = false; ///< learned position embeddings
    bool sinks = false;
    bool queryGate = false;
    bool latent = false;
    // Biases of q, k, v (and of the output matrix) and of the feed-forward matrices: a field that sets them,
    // and what holds without it.
    std::string_view attentionBiasField{};
    bool attentionBias = false;
    bool outputBias = true; ///< the output matrix has one where q, k and v have
    std::string_view mlpBiasField{};
    bool mlpBias = false;
    // Routed experts.
    bool expertBias = false;
    bool selectionBias = false;
    bool sharedGate = false;
    // Defaults of numbers; 0: no default.
    std::uint64_t headSize = 0;
    std::uint64_t keyValueHeads = 0;
    WindowRule windowRule = WindowRule::None;
    std::uint64_t windowEvery = 0;
    std::uint64_t window = 0;
    HybridKind hybrid = HybridKind::None;
};

/// Null: not known.
const ConfigFamily *configFamily(std::string_view modelType);
std::string configFamilyNames(); ///< "bloom, falcon, …"

} // namespace tokenloupe
