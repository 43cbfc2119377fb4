// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/base/result.h"
#include "engine/model/architecturespec.h"
#include "engine/model/gguffile.h"
#include "engine/model/modelconfig.h"
#include "engine/model/modelcontainer.h"
#include "engine/model/modelloadoptions.h"
#include "engine/model/modelpart.h"
#include "engine/model/vocabularydata.h"

#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

class QuantizedWeights;
class WorkerPool;

/// A weight: a view into its file's mapping, of a copy in the order that the kernels want, or of what was
/// quantised at load; shape checked against the config.
struct Weight
{
    TensorType type = TensorType::F32;
    std::int64_t rows = 0;    ///< outputs (1 for a vector)
    std::int64_t columns = 0; ///< inputs, contiguous
    std::span<const std::byte> data;

    bool isPresent() const { return !data.empty(); }
};

/// Rows [first, first + count) of a matrix, or so many values of a vector. They must be there.
Weight rowsOf(const Weight &weight, std::int64_t first, std::int64_t count);
Weight valuesOf(const Weight &vector, std::int64_t first, std::int64_t count);

/// One expert's feed-forward.
struct ExpertWeights
{
    Weight gate, up, down; ///< (expertFeedForward × embedding) ×2, (embedding × expertFeedForward)
};

/// The weights of one block. Absent ones have no data: biases, and what the architecture does not have.
/// Projections that are stored as one matrix are parts of it here.
struct LayerWeights
{
    Weight attentionNorm, attentionNormBias; ///< (embedding)
    Weight query, key, value, output; ///< (heads·headSize × embedding), (kvHeads·headSize × embedding),
                                      ///< (kvHeads·valueHeadSize × embedding),
                                      ///< (embedding × heads·valueHeadSize)
    Weight queryBias, keyBias, valueBias, outputBias;
    Weight queryNorm, keyNorm; ///< (headSize), or the width of all heads
    Weight queryNormBias, keyNormBias;
    Weight attentionPostNorm, attentionPostNormBias; ///< (embedding): on what attention adds
    Weight feedForwardNorm, feedForwardNormBias;     ///< (embedding)
    Weight gate, up, down; ///< (feedForward × embedding) ×2, (embedding × feedForward); no gate if not gated
    Weight gateBias, upBias, downBias;
    Weight router; ///< (experts × embedding): instead of gate, up and down
    std::vector<ExpertWeights> experts;
    Weight feedForwardPostNorm, feedForwardPostNormBias; ///< (embedding): on what the feed-forward adds

    /// All but the experts', absent ones too.
    std::vector<const Weight *> all() const;
    /// visit(weight) for each that is there, those of experts too.
    template <class Visit>
    void forEach(const Visit &visit) const;
};

template <class Visit>
void LayerWeights::forEach(const Visit &visit) const
{
    for (const Weight *weight : all()) {
        if (weight->isPresent())
            visit(*weight);
    }
    for (const ExpertWeights &expert : experts) {
        for (const Weight *weight : {&expert.gate, &expert.up, &expert.down}) {
            if (weight->isPresent())
                visit(*weight);
        }
    }
}

struct ModelWeights
{
    Weight tokenEmbedding;                   ///< (vocabulary × embedding)
    Weight positionEmbedding;                ///< (contextTrain × embedding)
    Weight embeddingNorm, embeddingNormBias; ///< (embedding)
    Weight outputNorm, outputNormBias;       ///< (embedding)
    Weight outputHead;                       ///< (vocabulary × embedding); the embedding itself when tied
    OutputHead outputKind = OutputHead::Tied;
    Weight ropeFrequencyFactors;              ///< (ropeDimensions / 2) F32 or absent
    Weight ropeShortFactors, ropeLongFactors; ///< the same, of scaling "longrope"
    std::vector<LayerWeights> layers;
};

/// Shape of a GGUF's model without touching its weights; what `inspect` shows. Files without tensors
/// (vocabularies) are fine. For architectures that this program does not run, keys may be missing: their
/// numbers are then 0.
Result<ModelConfig> readModelConfig(const GgufFile &file);
/// The vocabulary alone. What can be repaired (short lists, ids out of range) is, and named in `warnings`,
/// which may be null.
Result<VocabularyData> readVocabulary(const GgufFile &file, std::vector<std::string> *warnings);

/// The layers of a part.
std::span<const LayerWeights> layersOf(const ModelWeights &weights, const ModelPart &part);

/// An immutable model: config, architecture, weights (mapped), vocabulary, chat template.
/// May be shared by threads; lives as long as anything uses its weights.
class Model
{
public:
    /// Loads a GGUF file (of a split one any part) or a Hugging Face folder. Touches every weight page once
    /// so that progress means something and the first token is not slowed by page faults; cancellable every
    /// few MiB.
    static Result<std::shared_ptr<const Model>> load(const std::filesystem::path &path,
                                                     Progress *progress = nullptr, std::stop_token stop = {},
                                                     const ModelLoadOptions &options = {});

    /// The same from a container that is open already; `path` is for show.
    static Result<std::shared_ptr<const Model>> fromContainer(std::shared_ptr<const ModelContainer> container,
                                                              std::filesystem::path path = {},
                                                              Progress *progress = nullptr,
                                                              std::stop_token stop = {},
                                                              const ModelLoadOptions &options = {});
    static Result<std::shared_ptr<const Model>>
    fromFile(std::shared_ptr<const GgufFile> file, std::filesystem::path path = {},
             Progress *progress = nullptr, std::stop_token stop = {}, const ModelLoadOptions &options = {});

    const std::filesystem::path &path() const { return m_path; }
    const ModelContainer &container() const { return *m_container; }
    const ModelConfig &config() const { return m_config; }
    const ArchitectureSpec &architecture() const { return m_config.spec; }
    const ModelWeights &weights() const { return m_weights; }
    const VocabularyData &vocabulary() const { return *m_vocabulary; }
    std::shared_ptr<const VocabularyData> sharedVocabulary() const { return m_vocabulary; }
    const std::string &chatTemplate() const { return m_chatTemplate; } ///< empty when the file has none
    const std::vector<std::string> &warnings() const { return m_warnings; }
    std::uint64_t weightsBytes() const { return m_weightsBytes; } ///< of what is used, as it is held
    std::uint64_t weightsBytes(const ModelPart &part) const;      ///< likewise, of a part
    /// The same by type, as they are held.
    const std::map<TensorType, std::uint64_t> &typeBytes() const { return m_typeBytes; }
    /// The type that holds most bytes: "Q4_1".
    std::string mainType() const;
    /// Of the weights, what is a copy beside the container: stored in another order or type.
    std::uint64_t copiedBytes() const { return m_copiedBytes; }
    /// What was quantised at load; null: everything is as the file has it.
    const QuantizedWeights *quantized() const { return m_quantized.get(); }

    /// For whoever has a copy of these rows of its own. Those of the file may be read again and come back by
    /// themselves; those that were quantised at load have to be asked for (restorePages(), keepInPlace()).
    void releasePages(std::span<const std::byte> rows) const;
    Status restorePages(std::span<const std::byte> rows, WorkerPool &pool) const;
    /// For whoever reads the weights of a part where they are: none is released as long as the result lives.
    Result<std::shared_ptr<const void>> keepInPlace(const ModelPart &part, WorkerPool &pool,
                                                    Progress *progress = nullptr,
                                                    const std::stop_token &stop = {}) const;

private:
    friend class ModelLoader;
    Model() = default;

    std::filesystem::path m_path;
    std::shared_ptr<const ModelContainer> m_container;
    std::shared_ptr<const void> m_copies;
    ModelConfig m_config;
    ModelWeights m_weights;
    std::shared_ptr<const VocabularyData> m_vocabulary;
    std::string m_chatTemplate;
    std::vector<std::string> m_warnings;
    std::uint64_t m_weightsBytes = 0;
    std::uint64_t m_copiedBytes = 0;
    std::map<TensorType, std::uint64_t> m_typeBytes;
    std::shared_ptr<QuantizedWeights> m_quantized;
};

} // namespace tokenloupe
