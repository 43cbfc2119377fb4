// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/containerweights.h"
#include "engine/model/modelconfig.h"
#include "engine/model/vocabularydata.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

enum class ContainerFormat : std::uint8_t { Gguf, HuggingFace };

/// A tensor as its container lists it, whether or not it is of a kind that this program multiplies by.
struct ContainerTensor
{
    std::string name;
    std::string_view type;               ///< "Q4_1", "BF16", as the container calls it
    std::optional<TensorType> knownType; ///< nothing: none of ours
    std::vector<std::uint64_t> shape;    ///< in the container's own order
    std::string_view file;               ///< of the container's, that holds it
    std::uint64_t offset = 0;            ///< of its data, from the start of that file
    std::uint64_t bytes = 0;
    std::span<const std::byte> data;

    std::uint64_t elements() const; ///< checked by the container: no wrap-around
};

/// What a model is read from: a GGUF file, several of them, or a Hugging Face folder. Everything in it is
/// checked when it is opened; weights stay where they are, mapped. Immutable; may be read from any thread.
class ModelContainer
{
public:
    virtual ~ModelContainer() = default;
    ModelContainer(const ModelContainer &) = delete;
    ModelContainer &operator=(const ModelContainer &) = delete;

    virtual ContainerFormat format() const = 0;
    virtual const std::string &name() const = 0; ///< of the file or folder, for messages
    const std::vector<ContainerTensor> &tensors() const { return m_tensors; }
    const ContainerTensor *tensor(std::string_view name) const;
    std::uint64_t tensorBytes() const; ///< of all
    /// That were read to know what is inside, and are not weights.
    virtual std::uint64_t headerBytes() const = 0;
    /// For whoever has a copy of these bytes. Reading them again is fine and brings them back; ranges of
    /// other memory are left alone.
    virtual void releasePages(std::span<const std::byte> range) const = 0;

    /// The architecture's name, as the container spells it.
    virtual Result<std::string> architecture() const = 0;
    virtual Result<ModelConfig> readConfig() const = 0;
    /// What can be repaired is, and named in `warnings`, which may be null.
    virtual Result<VocabularyData> readVocabulary(std::vector<std::string> *warnings) const = 0;
    virtual bool hasVocabulary() const = 0; ///< else readVocabulary() gives one without texts
    /// Empty: it has none.
    virtual std::string readChatTemplate(std::vector<std::string> *warnings) const = 0;
    /// The tensors by role. Lives no longer than this object and `config`.
    virtual std::unique_ptr<ContainerWeights> weights(const ModelConfig &config,
                                                      const std::stop_token &stop) const = 0;

protected:
    ModelContainer() = default;
    std::vector<ContainerTensor> m_tensors;
};

/// By what lies at `path`: a folder is one of Hugging Face, a file is GGUF, or one part of a split one.
Result<std::shared_ptr<const ModelContainer>> openModelContainer(const std::filesystem::path &path);

} // namespace tokenloupe
