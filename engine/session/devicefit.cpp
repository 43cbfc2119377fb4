// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/devicefit.h"

#include <algorithm>

namespace tokenloupe {

namespace {

std::string mebibytes(std::uint64_t bytes)
{
    return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

/// What the cache takes at this context and with these types; the largest number for what cannot be.
std::uint64_t cacheBytes(const ModelConfig &config, const SessionSettings &settings, std::uint32_t context,
                         KvType keys, KvType values)
{
    RunMemorySettings memory;
    memory.contextTokens = context;
    memory.sequences = settings.sequences;
    memory.batchTokens = std::min(settings.batchTokens, context);
    memory.keyType = keys;
    memory.valueType = values;
    memory.blockTokens = settings.blockTokens;
    const Result<KvPlan> plan = planKvOf(config, memory);
    return plan ? plan->bytes : std::uint64_t(-1);
}

/// The longest context whose cache has room in `room`; 0: none.
std::uint32_t longestContext(const ModelConfig &config, const SessionSettings &settings, std::uint64_t room,
                             KvType keys, KvType values)
{
    std::uint32_t fits = 0;
    std::uint32_t tooLong = settings.contextTokens + 1;
    while (tooLong - fits > 1) {
        const std::uint32_t context = fits + (tooLong - fits) / 2;
        if (cacheBytes(config, settings, context, keys, values) <= room)
            fits = context;
        else
            tooLong = context;
    }
    return fits;
}

/// Smaller types with which more tokens have room than `tokens`.
std::string smallerTypes(const ModelConfig &config, const SessionSettings &settings, std::uint64_t room,
                         std::uint32_t tokens)
{
    std::string text;
    for (const KvType type : {KvType::F16, KvType::Q8_0}) {
        if (!checkKvType(type, config.headSize, "key") || !checkKvType(type, config.valueHeadSize, "value"))
            continue;
        const std::uint32_t fits = longestContext(config, settings, room, type, type);
        if (fits <= tokens)
            continue;
        text += (text.empty() ? "; with keys and values as " : ", as ") + std::string(kvTypeName(type)) +
                ": " + std::to_string(fits);
        tokens = fits;
    }
    return text;
}

} // namespace

Status fitsDevice(const MemoryPlan &plan, const SessionSettings &settings, const ModelConfig &config,
                  const DeviceNeeds &needs, const DeviceMemoryUse &use)
{
    const std::uint64_t planned = plan.bytesIn(MemoryPlace::Device);
    const std::uint64_t wanted = planned - std::min(planned, needs.presentBytes);
    if (wanted <= use.freeBytes)
        return {};
    const std::uint64_t cache = plan.bytesOf(MemoryPart::KvCache);
    const std::uint64_t rest = wanted - std::min(wanted, cache);
    std::string message = mebibytes(wanted) + " are needed on " + needs.device + " (weights " +
                          mebibytes(needs.weightBytes) + ", KV cache " + mebibytes(cache) + "), " +
                          mebibytes(use.freeBytes) + " of its " + mebibytes(use.totalBytes) + " are free; ";
    if (rest >= use.freeBytes) {
        message += "not even a short context fits: weights of fewer bits (quantised at load) take less, or "
                   "the CPU computes";
    } else {
        const std::uint64_t room = use.freeBytes - rest;
        const std::uint32_t tokens =
            longestContext(config, settings, room, settings.keyType, settings.valueType);
        message += "at most " + std::to_string(tokens) + " tokens fit" +
                   smallerTypes(config, settings, room, tokens);
    }
    return makeError(ErrorCode::OutOfMemory,
                     "context of " + std::to_string(settings.contextTokens) + " tokens", std::move(message));
}

} // namespace tokenloupe
