// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/memoryplan.h"

#include "engine/base/checkedmath.h"
#include "engine/memory/activationlayout.h"

#include <algorithm>
#include <numeric>

namespace tokenloupe {

namespace {

std::string text(std::uint64_t number)
{
    return std::to_string(number);
}

tl::unexpected<Error> tooLarge(std::string_view what)
{
    return makeError(ErrorCode::InvalidArgument, "memory plan",
                     std::string(what) + " is more than this machine can address");
}

Status checkSettings(const ModelConfig &config, const RunMemorySettings &settings)
{
    const auto wrong = [](std::string message) {
        return makeError(ErrorCode::InvalidArgument, "memory plan", std::move(message));
    };
    if (settings.contextTokens == 0)
        return wrong("a context of 0 tokens");
    if (settings.batchTokens == 0)
        return wrong("a batch of 0 tokens");
    if (settings.blockTokens == 0)
        return wrong("KV blocks of 0 tokens");
    if (settings.threads == 0)
        return wrong("0 threads");
    if (settings.sequences == 0)
        return wrong("0 sequences");
    if (config.kvHeads.size() != config.layers)
        return wrong("KV heads are given for " + text(config.kvHeads.size()) + " of " + text(config.layers) +
                     " layers");
    if (config.vocabulary == 0)
        return wrong("a vocabulary of 0 tokens");
    if (settings.deviceLayers && (*settings.deviceLayers == 0 || *settings.deviceLayers >= config.layers))
        return wrong(text(*settings.deviceLayers) + " of " + text(config.layers) +
                     " layers on the device leave no two parts");
    return {};
}

/// Layers that lie in the same memory.
struct LayerRange
{
    std::uint32_t first = 0;
    std::uint32_t end = 0;
};

/// What of the model the host's memory holds, or a device's that holds all of it.
LayerRange mainLayers(const ModelConfig &config, const RunMemorySettings &settings)
{
    return {settings.device ? settings.deviceLayers.value_or(0) : 0, config.layers};
}

MemoryItem planKvCache(const ModelConfig &config, const RunMemorySettings &settings, const KvPlan &plan,
                       LayerRange range)
{
    std::uint64_t heads = 0;
    std::uint64_t cells = 0;
    std::uint64_t bytes = 0;
    for (std::uint32_t layer = range.first; layer < range.end; ++layer) {
        heads += config.kvHeads[layer];
        cells = std::max(cells, plan.layers[layer].cells);
        bytes += plan.layers[layer].bytes;
    }
    return MemoryItem{MemoryPart::KvCache, bytes,
                      text(heads) + " KV heads in " + text(range.end - range.first) + " layers × (" +
                          text(config.headSize) + " key numbers as " +
                          std::string(kvTypeName(settings.keyType)) + " + " + text(config.valueHeadSize) +
                          " value numbers as " + std::string(kvTypeName(settings.valueType)) + ") × " +
                          text(cells / settings.blockTokens) + " blocks × " + text(settings.blockTokens) +
                          " tokens"};
}

/// What a token needs in the feed-forward.
struct SharedPart
{
    std::uint64_t numbers = 0;
    std::string what;
};

SharedPart feedForwardPart(const ModelConfig &config)
{
    if (config.experts > 0)
        return {config.experts + config.expertsUsed * (std::uint64_t(config.embedding) +
                                                       2 * std::uint64_t(config.expertFeedForward)),
                " router, inputs, gates and ups of " + text(config.expertsUsed) + " experts"};
    if (config.spec.isGated())
        return {2 * std::uint64_t(config.feedForward), " gate and up"};
    return {config.feedForward, " feed-forward"};
}

Result<MemoryItem> planActivations(const ModelConfig &config, const RunMemorySettings &settings)
{
    const Result<std::uint64_t> floats =
        activationFloats(config, settings.batchTokens, settings.contextTokens);
    if (!floats)
        return tl::unexpected(floats.error());
    const std::uint32_t kvHeads = *std::max_element(config.kvHeads.begin(), config.kvHeads.end());
    const std::uint64_t attention =
        (std::uint64_t(config.heads) + kvHeads) * (std::uint64_t(config.headSize) + config.valueHeadSize);
    const SharedPart feedForward = feedForwardPart(config);
    const std::string larger = feedForward.numbers > attention
                                   ? text(feedForward.numbers) + feedForward.what
                                   : text(attention) + " queries, keys, values and attention output";
    const bool isParallel = config.spec.residual == ResidualKind::Parallel;
    return MemoryItem{MemoryPart::Activations, *floats * sizeof(float),
                      text(settings.batchTokens) + " tokens × (" + (isParallel ? "3 × " : "2 × ") +
                          text(config.embedding) +
                          (isParallel ? " residual and twice normalised + " : " residual and normalised + ") +
                          larger + ") numbers × 4 bytes, each matrix on 64-byte lines"};
}

/// In how many ways layers turn: those with a window may have a base of their own.
std::uint64_t rotations(const ModelConfig &config, LayerRange range)
{
    std::uint64_t local = 0;
    std::uint64_t turning = 0;
    for (std::uint32_t layer = range.first; layer < range.end; ++layer) {
        turning += config.rotates(layer) ? 1 : 0;
        local += config.rotates(layer) && config.rotatesLocally(layer) ? 1 : 0;
    }
    return (local > 0 ? 1 : 0) + (turning > local ? 1 : 0);
}

Result<MemoryItem> planRuntime(const ModelConfig &config, const RunMemorySettings &settings)
{
    const bool rotatesKeys = settings.keyPhase == KeyPhase::Unrotated;
    const std::uint64_t scratch = attentionScratch(config.headSize, config.valueHeadSize).total;
    const std::uint64_t shared = settings.threads > 1 ? attentionSharedFloats : 0;
    const std::uint64_t positions =
        std::uint64_t(settings.batchTokens) + (rotatesKeys ? settings.contextTokens : 0);
    const std::uint64_t numbers =
        std::uint64_t(config.ropeDimensions) * rotations(config, mainLayers(config, settings));
    const CheckedSize rotary = CheckedSize(positions) * numbers;
    const CheckedSize bytes = (CheckedSize(scratch) * settings.threads + shared + rotary) * sizeof(float);
    if (!bytes.isValid())
        return tooLarge("the threads' scratch");
    return MemoryItem{MemoryPart::Runtime, bytes.value(),
                      text(settings.threads) + " threads × " + text(scratch) +
                          " numbers of attention scratch + " + text(shared) + " shared + " +
                          (rotatesKeys ? "(" + text(settings.batchTokens) + " tokens + " +
                                             text(settings.contextTokens) + " positions of keys)"
                                       : text(settings.batchTokens) + " tokens") +
                          " × " + text(numbers) + " sines and cosines, 4 bytes each"};
}

std::string weightsText(std::uint64_t bytes, const RunMemorySettings &settings)
{
    const std::uint64_t mapped = bytes - settings.packedBytes - settings.quantizedBytes;
    if (mapped == bytes)
        return text(bytes) + " bytes of tensors, mapped from the file";
    std::string how;
    if (settings.packedBytes > 0)
        how = text(settings.packedBytes) + " bytes of tensors, laid out for the fast kernels + ";
    if (settings.quantizedBytes > 0)
        how += text(settings.quantizedBytes) + " bytes of tensors, quantised at load + ";
    return how + text(mapped) + " bytes mapped from the file";
}

MemoryItem deviceWeights(const DeviceNeeds &needs)
{
    return {MemoryPart::Weights, needs.weightBytes,
            text(needs.weightBytes) + " bytes of tensors, laid out for the device's kernels",
            MemoryPlace::Device};
}

/// What a device's driver and kernels need beside what a pass works on.
void addDeviceNeeds(std::vector<MemoryItem> &items, const DeviceNeeds &needs)
{
    const auto add = [&items](MemoryPart part, std::uint64_t bytes, std::string how) {
        if (bytes > 0)
            items.push_back({part, bytes, std::move(how), MemoryPlace::Device});
    };
    add(MemoryPart::Workspace, needs.workspaceBytes,
        "at most: rounded activations, pieces of attention, unpacked tiles of weights, routes to experts");
    add(MemoryPart::Library, needs.libraryBytes, "given to cuBLAS for the products of prompts");
    add(MemoryPart::Context, needs.contextBytes,
        "measured: free on the device before the driver made it, less free afterwards");
}

/// Everything that a pass works on is on the device; the host reads its result.
void moveToDevice(std::vector<MemoryItem> &items, const ModelConfig &config, const DeviceNeeds &needs)
{
    for (MemoryItem &item : items) {
        item.place = MemoryPlace::Device;
        if (item.part == MemoryPart::Weights)
            item = deviceWeights(needs);
    }
    addDeviceNeeds(items, needs);
    items.push_back(
        {MemoryPart::Logits, std::uint64_t(config.vocabulary) * sizeof(float),
         text(config.vocabulary) + " tokens of the vocabulary × 4 bytes, where the host reads them"});
}

/// The first layers are on a device; `items` are those of the rest.
void addDevicePart(std::vector<MemoryItem> &items, const ModelConfig &config,
                   const RunMemorySettings &settings, const KvPlan &cache)
{
    MemoryItem blocks = planKvCache(config, settings, cache, {0, *settings.deviceLayers});
    MemoryItem activations = *std::find_if(items.begin(), items.end(), [](const MemoryItem &item) {
        return item.part == MemoryPart::Activations;
    });
    blocks.place = activations.place = MemoryPlace::Device;
    items.push_back(deviceWeights(*settings.device));
    items.push_back(std::move(blocks));
    items.push_back(std::move(activations));
    addDeviceNeeds(items, *settings.device);
    items.push_back({MemoryPart::Workspace,
                     (CheckedSize(2) * settings.batchTokens * config.embedding * sizeof(float)).value(),
                     "2 × " + text(settings.batchTokens) + " tokens × " + text(config.embedding) +
                         " numbers × 4 bytes, on their way to the device and back"});
}

} // namespace

std::string_view memoryPartName(MemoryPart part)
{
    switch (part) {
    case MemoryPart::Weights:
        return "weights";
    case MemoryPart::KvCache:
        return "kv_cache";
    case MemoryPart::Activations:
        return "activations";
    case MemoryPart::Logits:
        return "logits";
    case MemoryPart::Trace:
        return "trace";
    case MemoryPart::Vocabulary:
        return "vocabulary";
    case MemoryPart::Program:
        return "program";
    case MemoryPart::Workspace:
        return "workspace";
    case MemoryPart::Library:
        return "cublas";
    case MemoryPart::Context:
        return "cuda_context";
    case MemoryPart::Runtime:
        break;
    }
    return "runtime";
}

std::string_view memoryPartTitle(MemoryPart part)
{
    switch (part) {
    case MemoryPart::Weights:
        return "Weights";
    case MemoryPart::KvCache:
        return "KV pool";
    case MemoryPart::Activations:
        return "Activations";
    case MemoryPart::Logits:
        return "Logits";
    case MemoryPart::Trace:
        return "Trace";
    case MemoryPart::Vocabulary:
        return "Vocabulary";
    case MemoryPart::Program:
        return "Program";
    case MemoryPart::Workspace:
        return "Scratch";
    case MemoryPart::Library:
        return "cuBLAS";
    case MemoryPart::Context:
        return "CUDA context";
    case MemoryPart::Runtime:
        break;
    }
    return "Runtime";
}

std::uint64_t MemoryPlan::total() const
{
    return std::accumulate(items.begin(), items.end(), std::uint64_t(0),
                           [](std::uint64_t sum, const MemoryItem &item) { return sum + item.bytes; });
}

std::uint64_t MemoryPlan::bytesOf(MemoryPart part) const
{
    return std::accumulate(items.begin(), items.end(), std::uint64_t(0),
                           [part](std::uint64_t sum, const MemoryItem &item) {
                               return item.part == part ? sum + item.bytes : sum;
                           });
}

std::uint64_t MemoryPlan::bytesOf(MemoryPart part, MemoryPlace place) const
{
    return std::accumulate(items.begin(), items.end(), std::uint64_t(0),
                           [=](std::uint64_t sum, const MemoryItem &item) {
                               return item.part == part && item.place == place ? sum + item.bytes : sum;
                           });
}

std::uint64_t MemoryPlan::bytesIn(MemoryPlace place) const
{
    return std::accumulate(items.begin(), items.end(), std::uint64_t(0),
                           [place](std::uint64_t sum, const MemoryItem &item) {
                               return item.place == place ? sum + item.bytes : sum;
                           });
}

std::vector<KvLayerShape> kvLayers(const ModelConfig &config)
{
    std::vector<KvLayerShape> layers;
    for (std::uint32_t layer = 0; layer < config.kvHeads.size(); ++layer)
        layers.push_back(
            {config.kvHeads[layer], config.headSize, config.valueHeadSize, config.windowOf(layer)});
    return layers;
}

KvShape kvShape(const ModelConfig &config, const RunMemorySettings &settings)
{
    KvShape shape;
    shape.layers = kvLayers(config);
    shape.keyType = settings.keyType;
    shape.valueType = settings.valueType;
    shape.blockTokens = settings.blockTokens;
    shape.splitLayer = mainLayers(config, settings).first;
    return shape;
}

Result<KvPlan> planKvOf(const ModelConfig &config, const RunMemorySettings &settings)
{
    KvPlanSettings room;
    room.contextTokens = settings.contextTokens;
    room.sequences = settings.sequences;
    room.batchTokens = settings.batchTokens;
    room.layout = settings.layout;
    return planKv(kvShape(config, settings), room);
}

Result<std::uint64_t> activationFloats(const ModelConfig &config, std::uint32_t batchTokens,
                                       std::uint64_t contextTokens)
{
    if (contextTokens == 0)
        return makeError(ErrorCode::InvalidArgument, "activations", "a context of 0 tokens");
    return activationLayout(config, batchTokens).map([](const ActivationLayout &layout) {
        return layout.total;
    });
}

Result<MemoryPlan> planMemory(const ModelConfig &config, std::uint64_t weightsBytes,
                              const RunMemorySettings &settings)
{
    if (Status good = checkSettings(config, settings); !good)
        return tl::unexpected(good.error());
    MemoryPlan plan;
    const Result<KvPlan> cache = planKvOf(config, settings);
    if (!cache)
        return tl::unexpected(cache.error());
    const Result<MemoryItem> activations = planActivations(config, settings);
    if (!activations)
        return tl::unexpected(activations.error());
    const bool isSplit = settings.device && settings.deviceLayers;
    plan.items = {{MemoryPart::Weights, weightsBytes, weightsText(weightsBytes, settings)},
                  planKvCache(config, settings, *cache, mainLayers(config, settings)),
                  *activations,
                  {MemoryPart::Logits, std::uint64_t(config.vocabulary) * sizeof(float),
                   text(config.vocabulary) + " tokens of the vocabulary × 4 bytes"}};
    if (isSplit)
        addDevicePart(plan.items, config, settings, *cache);
    else if (settings.device)
        moveToDevice(plan.items, config, *settings.device);
    plan.items.push_back({MemoryPart::Trace, settings.traceBudgetBytes,
                          text(settings.traceBudgetBytes) + " bytes at most for the logits of past steps"});
    if (!settings.device || isSplit) {
        const Result<MemoryItem> runtime = planRuntime(config, settings);
        if (!runtime)
            return tl::unexpected(runtime.error());
        plan.items.push_back(*runtime);
    }
    if (settings.vocabulary.tokens > 0) {
        MemoryItem vocabulary{MemoryPart::Vocabulary, 0, {}};
        vocabulary.bytes = vocabularyBytes(settings.vocabulary, &vocabulary.how);
        plan.items.push_back(std::move(vocabulary));
    }
    if (settings.programBytes > 0)
        plan.items.push_back(
            {MemoryPart::Program, settings.programBytes,
             text(settings.programBytes) + " bytes of the program without a model: code, libraries, heap"});

    CheckedSize sum;
    for (const MemoryItem &item : plan.items)
        sum += CheckedSize(item.bytes);
    if (!sum.isValid())
        return tooLarge("the sum");
    return plan;
}

} // namespace tokenloupe
