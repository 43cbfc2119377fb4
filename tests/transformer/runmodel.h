// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/transformer/transformer.h"

#include <filesystem>
#include <map>
#include <memory>
#include <vector>

namespace tokenloupe::test {

struct RunOptions
{
    int threads = 2;
    std::uint32_t batch = 64;
    std::uint32_t context = 256;
    KvType keyType = KvType::F32;
    KvType valueType = KvType::F32;
    std::uint32_t blockTokens = 16;
    KeyPhase keyPhase = KeyPhase::Rotated;
    Precision precision = Precision::Exact;
    std::shared_ptr<Backend> backend; ///< none: the CPU with `threads`
    std::uint32_t backendLayers = 0;  ///< that it computes, and the CPU the rest; 0: all
};

/// A model with a transformer and a cache, for tests. The constructor throws std::runtime_error with the
/// error's text where something cannot be had.
class RunModel
{
public:
    explicit RunModel(const std::filesystem::path &path, const RunOptions &options = {});
    RunModel(std::shared_ptr<const Model> model, const RunOptions &options);

    const Model &model() const { return *m_model; }
    std::shared_ptr<const Model> sharedModel() const { return m_model; }
    Backend &backend() { return *m_backend; } ///< of the first layers
    Transformer &transformer() { return *m_transformer; }
    KvCache &cache() { return *m_cache; }
    SequenceId sequence() const { return m_sequence; } ///< the one that is fed
    std::uint32_t vocabulary() const { return m_model->config().vocabulary; }

    /// Appends the ids in calls of at most `batch` (0: as many as go in); logits of the last one.
    std::vector<float> feed(const std::vector<std::uint32_t> &ids, std::uint32_t batch = 0,
                            ForwardTap *tap = nullptr);
    /// The same with the logits of every id, one row after the other.
    std::vector<float> feedAll(const std::vector<std::uint32_t> &ids, std::uint32_t batch = 0);

private:
    std::vector<float> run(const std::vector<std::uint32_t> &ids, std::uint32_t batch, LogitRows rows,
                           ForwardTap *tap);

    std::shared_ptr<const Model> m_model;
    std::shared_ptr<Backend> m_backend;
    std::unique_ptr<Transformer> m_transformer;
    std::unique_ptr<KvCache> m_cache;
    SequenceId m_sequence;
};

/// The same for the same seed, each below `vocabulary`.
std::vector<std::uint32_t> randomIds(std::size_t count, std::uint32_t vocabulary, unsigned seed);
std::vector<TokenId> tokenIds(const std::vector<std::uint32_t> &ids);
std::uint32_t argmax(std::span<const float> logits);
double logSumExp(std::span<const float> logits);
/// Mean over the rows of `reference` of the divergence KL(reference ‖ logits); both (rows × vocabulary).
double meanDivergence(std::span<const float> reference, std::span<const float> logits,
                      std::size_t vocabulary);
/// -ln p(id) under softmax.
double negativeLogLikelihood(std::span<const float> logits, std::uint32_t id);

/// Keeps everything that passes by, by point and layer (invalid outside of layers).
class CollectingTap final : public ForwardTap
{
public:
    using Key = std::pair<TapPoint, LayerIndex>;

    bool wants(TapPoint, LayerIndex) override { return true; }
    void take(TapPoint point, LayerIndex layer, std::uint32_t position,
              std::span<const float> values) override
    {
        std::vector<float> &all = taken[{point, layer}];
        all.insert(all.end(), values.begin(), values.end());
        lastPosition = position;
    }

    std::map<Key, std::vector<float>> taken;
    std::uint32_t lastPosition = 0;
};

} // namespace tokenloupe::test
