// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/cache/keyphase.h"
#include "engine/cache/kvplan.h"
#include "engine/memory/deviceneeds.h"
#include "engine/memory/vocabularymemory.h"
#include "engine/model/modelconfig.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// What each layer of the model keeps of a token.
std::vector<KvLayerShape> kvLayers(const ModelConfig &config);

struct RunMemorySettings
{
    std::uint64_t contextTokens = 0; ///< of one sequence
    std::uint64_t sequences = 1;     ///< full contexts that the pool has room for
    std::uint32_t batchTokens = 0;   ///< most tokens of one forward call
    KvType keyType = KvType::F32;
    KvType valueType = KvType::F32;
    std::uint32_t blockTokens = 16;
    KvLayout layout = KvLayout::Paged;
    std::uint64_t traceBudgetBytes = 0; ///< LogitStore's memory budget
    std::uint32_t threads = 1;          ///< of the backend: each has scratch of its own
    KeyPhase keyPhase = KeyPhase::Rotated;
    VocabularyFacts vocabulary;        ///< no tokens: no such item
    std::uint64_t programBytes = 0;    ///< of the program without a model; 0: no such item
    std::uint64_t packedBytes = 0;     ///< of the weights: held in memory in a layout of their own
    std::uint64_t quantizedBytes = 0;  ///< of the weights: quantised at load and not packed
    std::optional<DeviceNeeds> device; ///< that computes; none: the CPU
    /// It computes the first so many layers, and the CPU the rest of the model; none: it computes everything.
    std::optional<std::uint32_t> deviceLayers;
};

enum class MemoryPart : std::uint8_t {
    Weights,
    KvCache,
    Activations,
    Logits,
    Trace,
    Runtime,
    Vocabulary, ///< texts, merges, tokenizer, chat template
    Program,    ///< code, libraries and what they hold before a model is there
    Workspace,  ///< of a device: what its operations work in; of the host: rows on their way to it and back
    Library,    ///< of a device: its matrix library
    Context,    ///< of a device: the driver's, for this process
};
std::string_view memoryPartName(MemoryPart part);  ///< "kv_cache": the JSON name
std::string_view memoryPartTitle(MemoryPart part); ///< "KV pool"

enum class MemoryPlace : std::uint8_t { Host, Device };

struct MemoryItem
{
    MemoryPart part;
    std::uint64_t bytes = 0;
    std::string how; ///< the arithmetic in words and numbers
    MemoryPlace place = MemoryPlace::Host;
};

/// Keys and values of the model as these settings store them.
KvShape kvShape(const ModelConfig &config, const RunMemorySettings &settings);

/// What will be allocated, computed before anything is. The session allocates by it; the window displays it.
struct MemoryPlan
{
    std::vector<MemoryItem> items;

    std::uint64_t total() const;
    std::uint64_t bytesOf(MemoryPart part) const;
    std::uint64_t bytesOf(MemoryPart part, MemoryPlace place) const;
    std::uint64_t bytesIn(MemoryPlace place) const;
    bool hasDevice() const { return bytesIn(MemoryPlace::Device) > 0; }
};

/// What the cache of such a run takes, by layer: what planMemory() counts and the pool allocates.
Result<KvPlan> planKvOf(const ModelConfig &config, const RunMemorySettings &settings);

/// `weightsBytes`: of what the CPU computes; of what a device computes `settings` knows. Overflow or absurd
/// sizes give InvalidArgument, never a wrapped number.
Result<MemoryPlan> planMemory(const ModelConfig &config, std::uint64_t weightsBytes,
                              const RunMemorySettings &settings);

/// Floats of the forward pass's scratch for a batch: the transformer allocates exactly this. The context only
/// has to be possible: attention works in pieces, so nothing here grows with it.
Result<std::uint64_t> activationFloats(const ModelConfig &config, std::uint32_t batchTokens,
                                       std::uint64_t contextTokens);

/// Memory of this process as the kernel counts it.
struct ProcessMemory
{
    std::uint64_t residentBytes = 0;
    std::uint64_t peakResidentBytes = 0;
};
ProcessMemory processMemory();

} // namespace tokenloupe
