// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/architecturespec.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tokenloupe {

/// What the formulas of scaled rotation need beyond the factor.
struct RopeScalingDetails
{
    std::uint32_t originalContext = 0;    ///< before the model was stretched; 0: contextTrain
    std::optional<float> attentionFactor; ///< of sines and cosines; nothing: by the scaling's own formula
    float betaFast = 32.0F;               ///< yarn: rotations over the original context
    float betaSlow = 1.0F;
    float lowFrequencyFactor = 1.0F; ///< llama3, where the frequency factors are not stored
    float highFrequencyFactor = 4.0F;
};

/// Shape of a model as its file states it, every number checked against the tensors.
struct ModelConfig
{
    std::string name;         ///< for people; the file name when the file holds none
    std::string architecture; ///< "llama"
    ArchitectureSpec spec;    ///< the architecture's row, with what this file says otherwise
    std::uint32_t layers = 0;
    std::uint32_t embedding = 0;        ///< width of the residual stream
    std::uint32_t heads = 0;            ///< query heads
    std::vector<std::uint32_t> kvHeads; ///< per layer; heads % kvHeads == 0
    std::uint32_t headSize = 0;         ///< of q and k
    std::uint32_t valueHeadSize = 0;    ///< of v
    std::uint32_t feedForward = 0;
    std::uint32_t vocabulary = 0;
    std::uint32_t contextTrain = 0; ///< learned positions: as many as there are
    float normEpsilon = 1e-5F;
    float ropeBase = 10000.0F;
    std::uint32_t ropeDimensions =
        0; ///< rotated values of each head, ≤ headSize; 0: positions come otherwise
    /// "none", "linear", "ntk", "dynamic", "yarn", "longrope" (the short and long factors of ModelWeights
    /// apply), "llama3" (its frequency factors apply, else the details), or what else the file says (such
    /// models are not loaded).
    std::string ropeScaling = "none";
    float ropeScaleFactor = 1.0F;
    RopeScalingDetails ropeDetails;
    float localRopeBase = 0.0F; ///< of layers with a window, which then know no scaling; 0: as the rest
    std::vector<std::uint8_t> unrotated; ///< per layer, 1: turns nothing; empty: all turn
    float alibiBias = 0.0F;              ///< 0: scores do not fall with the distance

    float queryScale = 0.0F;         ///< of q·k; 0: 1 / √headSize
    float attentionSoftCap = 0.0F;   ///< 0: none
    float logitSoftCap = 0.0F;       ///< 0: none
    float queryKeyValueClamp = 0.0F; ///< 0: none
    float embeddingScale = 1.0F;
    std::optional<std::uint32_t> slidingWindow;
    std::vector<std::uint32_t> windows; ///< per layer, 0: sees everything; empty: slidingWindow for all

    std::uint32_t experts = 0; ///< of each layer's feed-forward; 0: dense
    std::uint32_t expertsUsed = 0;
    std::uint32_t expertFeedForward = 0;
    std::uint64_t parameters = 0;

    std::uint32_t kvHeadsOf(std::uint32_t layer) const { return kvHeads[layer]; }
    /// Positions that a token of this layer sees, itself included; 0: all.
    std::uint32_t windowOf(std::uint32_t layer) const
    {
        return windows.empty() ? slidingWindow.value_or(0) : windows[layer];
    }
    bool rotates(std::uint32_t layer) const
    {
        return ropeDimensions > 0 && (unrotated.empty() || unrotated[layer] == 0);
    }
    bool rotatesLocally(std::uint32_t layer) const { return localRopeBase > 0.0F && windowOf(layer) > 0; }
    float attentionScale() const
    {
        return queryScale > 0.0F ? queryScale : 1.0F / std::sqrt(static_cast<float>(headSize));
    }
};

} // namespace tokenloupe
