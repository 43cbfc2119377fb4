// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/devicefit.h"

#include "engine/session/sessionplan.h"

#include <algorithm>
#include <numeric>

namespace tokenloupe {

namespace {

std::string mebibytes(std::uint64_t bytes)
{
    return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

/// What the device's part of the cache takes at this context and with these types; the largest number for
/// what cannot be.
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
    if (!plan)
        return std::uint64_t(-1);
    const std::uint32_t layers = settings.deviceLayers.value_or(config.layers);
    return std::accumulate(plan->layers.begin(), plan->layers.begin() + layers, std::uint64_t(0),
                           [](std::uint64_t sum, const KvLayerPlan &layer) { return sum + layer.bytes; });
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

enum class Side { Device, Machine };

/// The first so many layers on the device, the rest on the CPU: whether what that takes has room on a side.
bool layersFit(Side side, std::uint32_t layers, const LoadedModel &model, SessionSettings settings,
               const Backend &device, std::uint64_t freeBytes)
{
    settings.deviceLayers = layers;
    const auto needs = device.needs(*model.model, settings.precision, settings.batchTokens,
                                    settings.contextTokens, ModelPart::before(layers));
    if (!needs)
        return false;
    const PackingPlan packed = packing(*model.model, settings);
    const RunMemorySettings memory = memorySettings(model, settings, packed, needs);
    const auto plan = planFor(*model.model, settings, packed, memory);
    if (!plan)
        return false;
    return side == Side::Device ? deviceBytesWanted(*plan, *needs) <= freeBytes
                                : fitsMachine(*plan, settings, memory).has_value();
}

/// As many as have room, if they are fewer than are wanted; 0: none.
std::uint32_t layersThatFit(const LoadedModel &model, const SessionSettings &settings, const Backend &device,
                            std::uint64_t freeBytes)
{
    std::uint32_t fit = 0;
    std::uint32_t tooMany = settings.deviceLayers.value_or(model.config().layers);
    while (tooMany - fit > 1) {
        const std::uint32_t layers = fit + (tooMany - fit) / 2;
        if (layersFit(Side::Device, layers, model, settings, device, freeBytes))
            fit = layers;
        else
            tooMany = layers;
    }
    // With fewer of them the machine has to hold more.
    return fit > 0 && layersFit(Side::Machine, fit, model, settings, device, freeBytes) ? fit : 0;
}

} // namespace

std::uint64_t deviceBytesWanted(const MemoryPlan &plan, const DeviceNeeds &needs)
{
    const std::uint64_t planned = plan.bytesIn(MemoryPlace::Device);
    return planned - std::min(planned, needs.presentBytes);
}

Status fitsDevice(const MemoryPlan &plan, const LoadedModel &model, const SessionSettings &settings,
                  const Backend &device, const DeviceNeeds &needs, const DeviceMemoryUse &use)
{
    const std::uint64_t wanted = deviceBytesWanted(plan, needs);
    if (wanted <= use.freeBytes)
        return {};
    const ModelConfig &config = model.config();
    const std::uint64_t cache = plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Device);
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
    const std::uint32_t layers = layersThatFit(model, settings, device, use.freeBytes);
    if (layers > 0)
        message += "; or " + std::to_string(layers) + " of " + std::to_string(config.layers) +
                   " layers on the device and the rest on the CPU";
    Error error{ErrorCode::OutOfMemory, "context of " + std::to_string(settings.contextTokens) + " tokens",
                std::move(message)};
    error.deviceLayers = layers;
    return tl::unexpected(std::move(error));
}

} // namespace tokenloupe
