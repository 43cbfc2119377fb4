// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tokenloupe {

/// Shape of a model as its file states it, every number checked against the tensors.
struct ModelConfig
{
    std::string name;         ///< for people; the file name when the file holds none
    std::string architecture; ///< "llama"
    std::uint32_t layers = 0;
    std::uint32_t embedding = 0;        ///< width of the residual stream
    std::uint32_t heads = 0;            ///< query heads
    std::vector<std::uint32_t> kvHeads; ///< per layer; heads % kvHeads == 0
    std::uint32_t headSize = 0;         ///< of q and k
    std::uint32_t valueHeadSize = 0;    ///< of v
    std::uint32_t feedForward = 0;
    std::uint32_t vocabulary = 0;
    std::uint32_t contextTrain = 0;
    float normEpsilon = 1e-5F;
    float ropeBase = 10000.0F;
    std::uint32_t ropeDimensions = 0; ///< rotated values of each head, ≤ headSize
    /// "none", "linear", or what else the file says ("yarn"; such models are not loaded). "llama3": the
    /// frequency factors of ModelWeights apply.
    std::string ropeScaling = "none";
    float ropeScaleFactor = 1.0F; ///< positions are divided by it before they are turned into angles
    std::optional<std::uint32_t> slidingWindow;
    std::vector<std::uint32_t> windows; ///< per layer, 0: sees everything; empty: slidingWindow for all
    std::uint64_t parameters = 0;

    std::uint32_t kvHeadsOf(std::uint32_t layer) const { return kvHeads[layer]; }
    /// Positions that a token of this layer sees, itself included; 0: all.
    std::uint32_t windowOf(std::uint32_t layer) const
    {
        return windows.empty() ? slidingWindow.value_or(0) : windows[layer];
    }
};

} // namespace tokenloupe
