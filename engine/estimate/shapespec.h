// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/modelshape.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tokenloupe {

// What sources of shapes (configs, the estimator's own spelling) say about a model, before it is spelled out
// as tensors. Limits are far above any model; they keep single products inside 64 bits.
inline constexpr std::uint64_t maxShapeLayers = 1U << 14;
inline constexpr std::uint64_t maxShapeWidth = 1U << 24;
inline constexpr std::uint64_t maxShapeHeads = 1U << 16;
inline constexpr std::uint64_t maxShapeExperts = 1U << 16;
inline constexpr std::uint64_t maxShapeRows = 0x7FFFFFFF; ///< vocabulary, positions, context

enum class NormParameters : std::uint8_t { None, Weight, WeightAndBias };
enum class QkNorm : std::uint8_t {
    None,
    Head,    ///< one vector of the head size, shared by the heads
    Whole,   ///< one vector over all heads
    HeadSets ///< a vector for every head, without bias
};
enum class MlpKind : std::uint8_t {
    Gated,      ///< gate, up, down
    GatedFused, ///< gate and up in one matrix
    Plain       ///< up, down
};

/// Latent attention: keys and values are made from one short vector of a token.
struct LatentSpec
{
    std::uint64_t queryRank = 0; ///< 0: queries come straight from the residual stream
    std::uint64_t rank = 0;
    std::uint64_t nopeSize = 0;
    std::uint64_t ropeSize = 0;
    std::uint64_t valueSize = 0;
};

struct AttentionSpec
{
    std::uint64_t heads = 0; ///< 0: the layer has no attention
    std::uint64_t kvHeads = 0;
    std::uint64_t keySize = 0;
    std::uint64_t valueSize = 0;
    std::uint64_t window = 0; ///< 0: sees all positions
    bool fused = false;       ///< q, k and v in one matrix
    bool queryKeyValueBias = false;
    bool outputBias = false;
    bool queryGate = false; ///< the query matrix also makes a gate of the same size
    bool sinks = false;     ///< a learned number for every head
    QkNorm queryKeyNorm = QkNorm::None;
    std::shared_ptr<const LatentSpec> latent;
};

struct FeedForwardSpec
{
    std::uint64_t size = 0; ///< 0: none
    MlpKind kind = MlpKind::Gated;
    bool bias = false;
};

struct ExpertsSpec
{
    std::uint64_t count = 0; ///< 0: none
    std::uint64_t used = 0;
    std::uint64_t size = 0; ///< feed-forward width of one expert
    MlpKind kind = MlpKind::Gated;
    bool bias = false;
    bool routerBias = false;
    bool selectionBias = false;   ///< a number for every expert that only steers the choice
    std::uint64_t sharedSize = 0; ///< width of the experts that every token uses, all together
    bool sharedGate = false;
};

/// State-space and linear-attention layers: what they store, and what they keep of a sequence.
struct RecurrentSpec
{
    struct Part
    {
        std::string role;
        std::uint64_t rows = 1;
        std::uint64_t columns = 0;
    };
    std::vector<Part> parts;
    std::uint64_t stateValues = 0; ///< float32 numbers kept for each sequence
};

struct LayerSpec
{
    AttentionSpec attention;
    std::shared_ptr<const RecurrentSpec> recurrent;
    FeedForwardSpec feedForward;
    ExpertsSpec experts;
    std::uint32_t norms = 2; ///< vectors of the model's width
    bool normsAfter = false; ///< two norms, both behind what they belong to
};

struct ShapeSpec
{
    std::string name;
    std::string architecture;
    std::string source;
    std::uint64_t embedding = 0;
    std::uint64_t vocabulary = 0;
    std::uint64_t embeddingRows = 0; ///< really stored
    std::uint64_t context = 0;
    std::uint64_t positions = 0; ///< rows of learned position embeddings
    std::uint64_t feedForward = 0;
    std::uint64_t heads = 0;
    std::uint64_t headSize = 0;
    bool tied = false;
    bool headBias = false; ///< of the output head
    bool embeddingNorm = false;
    bool finalNorm = true;
    NormParameters norm = NormParameters::Weight;
    std::vector<LayerSpec> layers;
    std::vector<std::string> notes;
};

/// Spells the tensors out. InvalidArgument where the whole cannot be counted in 63 bits.
Result<ModelShape> buildShape(const ShapeSpec &spec);

} // namespace tokenloupe
