// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/base/result.h"
#include "engine/model/architecturespec.h"
#include "engine/model/gguffile.h"
#include "engine/model/modelconfig.h"
#include "engine/model/vocabularydata.h"

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// A weight: a view into the file's mapping, shape checked against the config.
struct Weight
{
    TensorType type = TensorType::F32;
    std::int64_t rows = 0;    ///< outputs (1 for a vector)
    std::int64_t columns = 0; ///< inputs, contiguous
    std::span<const std::byte> data;

    bool isPresent() const { return !data.empty(); }
};

/// The weights of one block. Absent ones (biases) have no data.
struct LayerWeights
{
    Weight attentionNorm;             ///< (embedding)
    Weight query, key, value, output; ///< (heads·headSize × embedding), (kvHeads·headSize × embedding) ×2,
                                      ///< (embedding × heads·headSize)
    Weight queryBias, keyBias, valueBias, outputBias;
    Weight feedForwardNorm; ///< (embedding)
    Weight gate, up, down;  ///< (feedForward × embedding) ×2, (embedding × feedForward)
};

struct ModelWeights
{
    Weight tokenEmbedding; ///< (vocabulary × embedding)
    Weight outputNorm;     ///< (embedding)
    Weight outputHead;     ///< (vocabulary × embedding); the embedding itself when tied
    OutputHead outputKind = OutputHead::Tied;
    Weight ropeFrequencyFactors; ///< (ropeDimensions / 2) F32 or absent
    std::vector<LayerWeights> layers;
};

/// Shape of a GGUF's model without touching its weights; what `inspect` shows. Files without tensors
/// (vocabularies) are fine. For architectures that this program does not run, keys may be missing: their
/// numbers are then 0.
Result<ModelConfig> readModelConfig(const GgufFile &file);
/// The vocabulary alone. What can be repaired (short lists, ids out of range) is, and named in `warnings`,
/// which may be null.
Result<VocabularyData> readVocabulary(const GgufFile &file, std::vector<std::string> *warnings);

/// An immutable model: config, architecture, weights (mapped), vocabulary, chat template.
/// May be shared by threads; lives as long as anything uses its weights.
class Model
{
public:
    /// Loads from a GGUF file (Llama family). Touches every weight page once so that progress means something
    /// and the first token is not slowed by page faults; cancellable every few MiB.
    static Result<std::shared_ptr<const Model>> load(const std::filesystem::path &path,
                                                     Progress *progress = nullptr, std::stop_token stop = {});

    /// The same from a container that is open already; `path` is for show.
    static Result<std::shared_ptr<const Model>> fromFile(std::shared_ptr<const GgufFile> file,
                                                         std::filesystem::path path = {},
                                                         Progress *progress = nullptr,
                                                         std::stop_token stop = {});

    const std::filesystem::path &path() const { return m_path; }
    const GgufFile &file() const { return *m_file; }
    const ModelConfig &config() const { return m_config; }
    const ArchitectureSpec &architecture() const { return *m_architecture; }
    const ModelWeights &weights() const { return m_weights; }
    const VocabularyData &vocabulary() const { return m_vocabulary; }
    const std::string &chatTemplate() const { return m_chatTemplate; } ///< empty when the file has none
    const std::vector<std::string> &warnings() const { return m_warnings; }
    std::uint64_t weightsBytes() const { return m_weightsBytes; }
    /// The type that holds most bytes: "Q4_1".
    std::string mainType() const;

private:
    friend class ModelLoader;
    Model() = default;

    std::filesystem::path m_path;
    std::shared_ptr<const GgufFile> m_file;
    ModelConfig m_config;
    const ArchitectureSpec *m_architecture = nullptr;
    ModelWeights m_weights;
    VocabularyData m_vocabulary;
    std::string m_chatTemplate;
    std::vector<std::string> m_warnings;
    std::uint64_t m_weightsBytes = 0;
};

} // namespace tokenloupe
