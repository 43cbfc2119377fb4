// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/base/result.h"
#include "engine/base/strongindex.h"
#include "engine/cache/kvcache.h"
#include "engine/compute/backend.h"
#include "engine/model/model.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Names of the intermediates that can be tapped, in the order they are computed.
enum class TapPoint : std::uint8_t {
    Embedding,     ///< (embedding)
    AttentionNorm, ///< (embedding); not where the architecture has no norm there
    Query,         ///< (heads · headSize) before rotation, normalised where heads have norms
    Key,           ///< (kvHeads · headSize) before rotation
    Value,         ///< (kvHeads · headSize)
    QueryRotated,
    KeyRotated,
    AttentionWeights, ///< (heads × positions up to the batch's last token): softmax of the scores, 0 where a
                      ///< token does not see the position
    AttentionOutput,  ///< (heads · headSize), before the output projection
    AttentionResidual,
    FeedForwardNorm,
    Gate,   ///< (feedForward) before the activation; not where there is no gate, and not with experts
    Up,     ///< (feedForward); without a gate: before the activation. Not with experts
    Router, ///< (experts): the router's probabilities; only with experts
    FeedForwardOutput, ///< (embedding): down projection
    LayerOutput,       ///< residual stream after the layer
    FinalNorm,
    Logits,
};

/// Asks first, then receives: nothing is copied for points that nobody wants.
class ForwardTap
{
public:
    virtual ~ForwardTap() = default;
    virtual bool wants(TapPoint point, LayerIndex layer) = 0;
    /// One row for each token of the batch; `position` is the first token's. `layer` is invalid outside
    /// layers.
    virtual void take(TapPoint point, LayerIndex layer, std::uint32_t position,
                      std::span<const float> values) = 0;
};

enum class LogitRows { Last, All };

struct ForwardRequest
{
    std::span<const TokenId> tokens; ///< appended to the sequence
    LogitRows rows = LogitRows::Last;
    /// Where the last token's logits shall be: (vocabulary). Empty: in memory of the transformer's own. Only
    /// with LogitRows::Last; written to even by a call that fails.
    std::span<float> target;
    ForwardTap *tap = nullptr;
    std::stop_token stop; ///< checked between layers; on Cancelled the sequence is as before the call
};

/// A backend that computes layers of a model, up to `endLayer`. The last of a model's parts also has its
/// ends: the embedding and the head.
struct TransformerPart
{
    std::shared_ptr<Backend> backend;
    std::uint32_t endLayer = 0; ///< behind its last
};

/// The forward pass of one model on one backend, or with its first layers on one and the rest on another.
/// Owns its scratch memory, sized by the batch. Used by the engine thread only.
class Transformer
{
public:
    /// `maxBatch`: the most tokens of one forward call.
    static Result<std::unique_ptr<Transformer>> create(std::shared_ptr<const Model> model,
                                                       std::shared_ptr<Backend> backend,
                                                       std::uint32_t maxBatch, Progress *progress = nullptr,
                                                       std::stop_token stop = {});
    /// `parts` in the order of their layers; the last ends with the model's last.
    static Result<std::unique_ptr<Transformer>> create(std::shared_ptr<const Model> model,
                                                       std::vector<TransformerPart> parts,
                                                       std::uint32_t maxBatch, Progress *progress = nullptr,
                                                       std::stop_token stop = {});
    ~Transformer();

    /// Appends to a sequence of `cache` and returns logits: (vocabulary) for the last token, or
    /// (tokens × vocabulary). The span is valid until the next call. Token ids out of range are
    /// InvalidArgument. The sequence is as before the call when this fails.
    Result<std::span<const float>> forward(const ForwardRequest &request, KvCache &cache,
                                           SequenceId sequence);

    std::uint32_t maxBatch() const;
    KvShape kvShape(KvType keys, KvType values) const;
    std::vector<KvAllocator> kvAllocators(); ///< for a cache of that shape
    std::uint64_t scratchBytes() const;      ///< activations, of all parts
    const Model &model() const;

private:
    friend class ForwardPass;
    struct State;
    explicit Transformer(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
};

} // namespace tokenloupe
