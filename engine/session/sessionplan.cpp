// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/sessionplan.h"

#include <algorithm>
#include <limits>
#include <unistd.h>

namespace tokenloupe {

namespace {

constexpr std::uint32_t defaultContext = 8192;
constexpr std::uint32_t largestBatch = 4096;

std::string mebibytes(std::uint64_t bytes)
{
    return std::to_string(bytes >> 20) + " MiB";
}

std::uint64_t physicalMemory()
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0)
        return std::numeric_limits<std::uint64_t>::max();
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

/// Streaming needs the blocks that stay, one to drop and one to write.
Status checkBlocks(const SessionSettings &settings)
{
    if (settings.blockTokens == 0 || settings.blockTokens > 1024)
        return makeError(ErrorCode::InvalidArgument, "KV blocks",
                         "1 to 1024 tokens, not " + std::to_string(settings.blockTokens));
    if (settings.sequences == 0 || settings.sequences > 1024)
        return makeError(ErrorCode::InvalidArgument, "sequences",
                         "1 to 1024, not " + std::to_string(settings.sequences));
    const std::uint64_t sinks = (std::uint64_t(settings.sinkTokens) + settings.blockTokens - 1) /
                                settings.blockTokens * settings.blockTokens;
    if (settings.overflow == OverflowPolicy::Streaming &&
        settings.contextTokens < sinks + 2 * std::uint64_t(settings.blockTokens))
        return makeError(ErrorCode::InvalidArgument, "streaming",
                         "a context of " + std::to_string(settings.contextTokens) +
                             " tokens leaves no window beside the first " + std::to_string(sinks) +
                             " and a block of " + std::to_string(settings.blockTokens));
    return {};
}

} // namespace

Status checkCacheUse(CacheUse use, OverflowPolicy overflow)
{
    if (use == CacheUse::Recompute && overflow == OverflowPolicy::Streaming)
        return makeError(ErrorCode::InvalidArgument, "no cache",
                         "a streaming context cannot be computed anew: tokens that were dropped left their "
                         "mark on the later ones; choose another overflow policy");
    return {};
}

Result<SessionSettings> completed(SessionSettings settings, const ModelConfig &config)
{
    if (settings.contextTokens == 0)
        settings.contextTokens = std::max<std::uint32_t>(1, std::min(config.contextTrain, defaultContext));
    settings.batchTokens = std::clamp<std::uint32_t>(settings.batchTokens, 1, largestBatch);
    settings.batchTokens = std::min(settings.batchTokens, settings.contextTokens);
    if (settings.threads < 0 || settings.threads > 1024)
        return makeError(ErrorCode::InvalidArgument, "threads",
                         "0 to 1024, not " + std::to_string(settings.threads));
    if (settings.threads == 0)
        settings.threads = usableCores();
    if (Status good = checkBlocks(settings); !good)
        return tl::unexpected(good.error());
    if (Status good = checkCacheUse(settings.cacheUse, settings.overflow); !good)
        return tl::unexpected(good.error());
    if (settings.deviceLayers == 0U)
        settings.backend = BackendKind::Cpu;
    if (settings.deviceLayers && *settings.deviceLayers >= config.layers)
        settings.deviceLayers.reset();
    return settings;
}

SessionParts partsOf(const SessionSettings &settings)
{
    if (settings.backend == BackendKind::Cpu)
        return {std::nullopt, ModelPart()};
    if (!settings.deviceLayers)
        return {ModelPart(), std::nullopt};
    return {ModelPart::before(*settings.deviceLayers), ModelPart::from(*settings.deviceLayers)};
}

KeyPhase keyPhaseOf(OverflowPolicy policy)
{
    return policy == OverflowPolicy::Streaming ? KeyPhase::Unrotated : KeyPhase::Rotated;
}

RunMemorySettings memorySettings(const LoadedModel &model, const SessionSettings &settings,
                                 const PackingPlan &packing, const std::optional<DeviceNeeds> &needs)
{
    RunMemorySettings memory;
    memory.contextTokens = settings.contextTokens;
    memory.batchTokens = settings.batchTokens;
    memory.keyType = settings.keyType;
    memory.valueType = settings.valueType;
    memory.blockTokens = settings.blockTokens;
    memory.sequences = settings.sequences;
    memory.keyPhase = keyPhaseOf(settings.overflow);
    memory.traceBudgetBytes = settings.logitBudgetBytes;
    memory.threads = static_cast<std::uint32_t>(settings.threads);
    memory.vocabulary = vocabularyFacts(*model.model);
    memory.packedBytes = packing.packedBytes;
    const SessionParts parts = partsOf(settings);
    memory.quantizedBytes = quantizedBytesBeside(*model.model, packing, parts.cpu.value_or(ModelPart()));
    if (parts.device) {
        memory.device = needs.value_or(DeviceNeeds());
        if (!needs)
            memory.device->weightBytes = model.model->weightsBytes(*parts.device);
        if (parts.cpu)
            memory.deviceLayers = settings.deviceLayers;
    }
    return memory;
}

PackingPlan packing(const Model &model, const SessionSettings &settings)
{
    const SessionParts parts = partsOf(settings);
    return parts.cpu && settings.precision == Precision::Fast ? packingPlan(model, *parts.cpu)
                                                              : PackingPlan();
}

Result<MemoryPlan> planFor(const Model &model, const SessionSettings &settings, const PackingPlan &packing,
                           const RunMemorySettings &memory)
{
    const std::uint64_t stored = model.weightsBytes(partsOf(settings).cpu.value_or(ModelPart()));
    return planMemory(model.config(), stored - packing.fileBytes + packing.packedBytes, memory);
}

Status fitsMachine(const MemoryPlan &plan, const SessionSettings &settings, const RunMemorySettings &memory)
{
    if (!partsOf(settings).cpu)
        return {}; // another memory, which says by itself what fits
    const std::uint64_t wanted = plan.bytesIn(MemoryPlace::Host) -
                                 plan.bytesOf(MemoryPart::Weights, MemoryPlace::Host) + memory.packedBytes +
                                 memory.quantizedBytes;
    const std::uint64_t machine = physicalMemory();
    if (wanted <= machine)
        return {};
    const std::uint64_t cache = plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Host);
    const std::uint64_t rest = wanted - cache;
    const std::uint64_t perToken = std::max<std::uint64_t>(1, cache / settings.contextTokens);
    const std::uint64_t fits = rest < machine ? (machine - rest) / perToken : 0;
    return makeError(
        ErrorCode::OutOfMemory, "context of " + std::to_string(settings.contextTokens) + " tokens",
        mebibytes(wanted) + " are needed (KV cache " + mebibytes(cache) + "), this machine has " +
            mebibytes(machine) + "; at most " + std::to_string(fits) + " tokens fit");
}

Result<MemoryPlan> sessionPlan(const LoadedModel &model, const SessionSettings &settings,
                               const std::optional<DeviceNeeds> &needs)
{
    const auto complete = completed(settings, model.config());
    if (!complete)
        return tl::unexpected(complete.error());
    const PackingPlan packed = packing(*model.model, *complete);
    return planFor(*model.model, *complete, packed, memorySettings(model, *complete, packed, needs));
}

SessionSettings fittedTo(const LoadedModel &model, SessionSettings settings)
{
    const ModelConfig &config = model.config();
    if (!checkKvType(settings.keyType, config.headSize, "key"))
        settings.keyType = KvType::F16;
    if (!checkKvType(settings.valueType, config.valueHeadSize, "value"))
        settings.valueType = KvType::F16;
    if (!completed(settings, config))
        settings.overflow = OverflowPolicy::Stop;
    const auto complete = completed(settings, config);
    const auto plan = sessionPlan(model, settings);
    if (complete &&
        (!plan ||
         !fitsMachine(*plan, *complete, memorySettings(model, *complete, packing(*model.model, *complete)))))
        settings.contextTokens = 0;
    return settings;
}

} // namespace tokenloupe
