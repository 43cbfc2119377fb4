// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/ggufwriter.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe::test {

/// What a small model computes, spelled out on its own: nothing here comes from the engine's description of
/// architectures, so a wrong row there disagrees with this one.
struct TinyArchitecture
{
    enum class Norm { Rms, Layer };
    enum class Where { Before, Around, After };
    enum class Curve { Silu, GeluTanh, GeluErf };
    enum class Places { Neighbours, Halves, Learned, Slopes };
    enum class HeadNorm { None, EachHead, AllHeads };
    enum class Scaling { None, Linear, Ntk, Dynamic, Yarn, Wavelength, Factors, Long };

    std::string name;         ///< of the test
    std::string architecture; ///< as GGUF spells it
    std::uint64_t seed = 11;

    // Sizes are no round numbers and no multiples of each other.
    std::uint32_t layers = 3;
    std::uint32_t width = 45;
    std::uint32_t heads = 6;
    std::uint32_t kvHeads = 2;
    std::uint32_t headSize = 10;
    std::uint32_t inner = 77;
    std::uint32_t vocabulary = 391;
    std::uint32_t context = 256;

    Norm norm = Norm::Rms;
    Where where = Where::Before;
    bool normBias = false;
    bool embeddingNorm = false;
    Curve curve = Curve::Silu;
    bool gated = true;
    bool parallel = false;
    bool secondNorm = false; ///< parallel: attention has a norm of its own
    bool fusedQkv = false;
    bool fusedGateUp = false;
    bool qkvBias = false;
    bool otherBias = false; ///< of the attention's output and the feed-forward
    bool ownHead = false;   ///< an output matrix beside the embedding

    Places places = Places::Neighbours;
    std::uint32_t rotated = 10;
    double base = 10000.0;
    double localBase = 0.0;            ///< of layers with a window; 0: as the rest
    std::uint32_t unrotatedPeriod = 0; ///< each n-th layer turns nothing
    Scaling scaling = Scaling::None;
    double factor = 1.0;
    std::uint32_t originalContext = 0;
    double attentionFactor = 0.0; ///< as the file states it; 0: it does not
    std::vector<float> factors, shortFactors, longFactors;
    double slopeBias = 8.0;

    HeadNorm headNorm = HeadNorm::None;
    std::uint32_t window = 0;
    std::uint32_t windowPeriod = 0; ///< each n-th layer sees everything
    double scoreCap = 0.0;
    double logitCap = 0.0;
    double clamp = 0.0;
    double embeddingFactor = 1.0;
    double scoreScale = 0.0; ///< 0: 1 / √headSize

    std::uint32_t experts = 0;
    std::uint32_t expertsUsed = 0;
    std::uint32_t expertInner = 0;
    bool expertsApart = false; ///< each expert's matrices as tensors of their own

    std::uint32_t windowOf(std::uint32_t layer) const
    {
        return windowPeriod > 0 && (layer + 1) % windowPeriod == 0 ? 0 : window;
    }
};

/// A matrix or vector as the file has it: rows × columns.
struct TinyTensor
{
    std::uint32_t rows = 1;
    std::uint32_t columns = 0;
    std::vector<float> values;
};
/// By GGUF name, but what the file stores as one is apart, and experts are numbered:
/// "blk.0.attn_q.weight", "blk.0.ffn_gate.3.weight".
using TinyTensors = std::map<std::string, TinyTensor>;

/// Random weights: norm gains and biases too, so that a forgotten one shows.
TinyTensors tinyTensors(const TinyArchitecture &model);
GgufWriter tinyArchitecture(const TinyArchitecture &model, const TinyTensors &tensors);

/// One or more of every architecture that is run.
std::vector<TinyArchitecture> tinyArchitectures();
TinyArchitecture tinyArchitectureNamed(std::string_view name);

} // namespace tokenloupe::test
