// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/cache/kvplan.h"
#include "engine/estimate/gpucatalogue.h"
#include "engine/estimate/modelshape.h"
#include "engine/estimate/weighttypes.h"
#include "engine/memory/vocabularymemory.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tokenloupe {

enum class AttentionKind : std::uint8_t { Flash, ScoreMatrix }; ///< ScoreMatrix: scores are stored
enum class SplitKind : std::uint8_t { Layers, Tensors };        ///< over several cards
/// ThisProgram: what our own CPU engine allocates (planMemory()). Gpu: weights, cache and buffers on cards.
enum class EstimateTarget : std::uint8_t { Gpu, ThisProgram };

struct EstimateRequest
{
    std::shared_ptr<const ModelShape> shape;
    EstimateTarget target = EstimateTarget::Gpu;
    std::string weightType = "stored"; ///< of weightTypeNames(); shapes without a file: F16
    std::uint64_t contextTokens = 4096;
    std::uint64_t batch = 1;      ///< sequences at the same time, each with the whole context
    std::uint64_t microBatch = 0; ///< tokens of one forward call; 0: the target's own (512, here 256)
    KvType keyType = KvType::F16;
    KvType valueType = KvType::F16;
    KvLayout layout = KvLayout::Paged;
    std::uint32_t blockTokens = 16;
    AttentionKind attention = AttentionKind::Flash;
    std::uint32_t beams = 1; ///< hypotheses of each sequence; they share the prompt's blocks when paged
    std::uint64_t promptTokens = 0;          ///< of the context, shared by the beams; 0: half of it
    std::shared_ptr<const ModelShape> draft; ///< speculative decoding: its weights and cache come on top
    std::string draftWeightType = "stored";
    std::vector<Gpu> devices;        ///< one, or several at once; empty: capacityBytes alone
    std::uint64_t capacityBytes = 0; ///< replaces the devices' memory when > 0
    SplitKind split = SplitKind::Layers;
    std::uint64_t hostBytes = 0;  ///< memory for layers that do not fit the cards; 0: this machine's
    std::uint64_t traceBytes = 0; ///< ThisProgram: budget of the logit store
    std::uint32_t threads = 1;    ///< ThisProgram
    /// ThisProgram: of a model that it can run, so that the plan is the one that loading makes; else what the
    /// shape tells.
    std::optional<ModelConfig> config;
    VocabularyFacts vocabulary; ///< ThisProgram; no tokens: a typical one of the shape's size
    /// ThisProgram: resident before a model was loaded (code, libraries, window); 0: not counted.
    std::uint64_t programBytes = 0;
};

struct EstimatePart
{
    std::string name;  ///< JSON: "weights", "kv_cache", "activations", "logits", "workspace", "runtime", …
    std::string title; ///< for people: "KV cache"
    std::uint64_t bytes = 0;
    std::string how;                                           ///< the arithmetic in words and numbers
    std::vector<std::pair<std::string, std::uint64_t>> detail; ///< by tensor class, by layer kind
};

struct DeviceShare
{
    Gpu gpu;
    std::uint32_t layers = 0; ///< of the model, placed on it (SplitKind::Tensors: all, in part)
    std::uint64_t bytes = 0;
    bool fits = false;
};

/// What a common simplified formula says beside the right number.
struct TextbookFormula
{
    std::string name;    ///< "all heads counted"
    std::string formula; ///< "2 · layers · heads · head size · 2 bytes · context"
    std::uint64_t says = 0;
    std::uint64_t right = 0;
    std::string reason; ///< why they differ, for this shape
};

struct SpeedBound
{
    double tokensPerSecond = 0.0;
    std::string how;
};

struct Estimate
{
    std::vector<EstimatePart> parts;
    std::uint64_t totalBytes = 0;
    std::uint64_t capacityBytes = 0;
    bool fits = false;
    std::string verdict;          ///< one sentence with both numbers
    std::uint64_t maxContext = 0; ///< largest that fits, everything else as asked; 0: not even one token
    std::uint64_t maxBatch = 0;
    std::uint32_t offloadLayers = 0; ///< layers that the cards hold when the rest runs from host memory
    bool offloadFits = false;        ///< that split fits cards and host
    std::vector<DeviceShare> devices;
    std::uint64_t kvBytesPerToken = 0;    ///< Σ of all layers, as asked
    std::vector<std::uint64_t> kvByLayer; ///< bytes in all at this context and batch
    SpeedBound decode;                    ///< bandwidth bound, all sequences together
    SpeedBound prefill;                   ///< compute bound
    std::vector<std::string> warnings; ///< "131072 is beyond the 8192 tokens that the model was trained for"
    std::vector<TextbookFormula> textbook;
};

/// Never overflows: what cannot be counted in 63 bits is InvalidArgument and names the setting. Sizes of 0,
/// KV types that the head size does not allow, beams without a batch: the same.
Result<Estimate> estimate(const EstimateRequest &request);

/// The total alone, for curves and tables: a fraction of the cost of estimate().
Result<std::uint64_t> estimateTotal(const EstimateRequest &request);

/// Weight types × contexts: what fits.
struct FitCell
{
    std::uint64_t bytes = 0;
    bool fits = false;
};
struct FitTable
{
    std::vector<std::string> weightTypes;
    std::vector<std::uint64_t> contexts;
    std::vector<std::vector<FitCell>> cells; ///< [type][context]
};
Result<FitTable> fitTable(const EstimateRequest &request, const std::vector<std::string> &weightTypes,
                          const std::vector<std::uint64_t> &contexts);

/// Bytes of a token for the loaded shape's width under the four kinds of attention: every head its own keys
/// and values, the shape's own grouping, one head for all, a latent vector. `isOwn` marks what the shape
/// uses.
struct AttentionVariant
{
    std::string name; ///< "multi-head"
    std::uint64_t bytesPerToken = 0;
    double ratio = 0.0; ///< to multi-head
    bool isOwn = false;
    std::string how;
};
std::vector<AttentionVariant> attentionVariants(const ModelShape &shape, KvType keyType, KvType valueType);

} // namespace tokenloupe
