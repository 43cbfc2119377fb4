// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/packedweights.h"
#include "engine/session/session.h"

namespace tokenloupe {

// What the settings of a session come to for a model, before anything is built of them. sessionPlan() and
// fittedTo() in session.h are made of it.

/// With the defaults filled in; InvalidArgument for what cannot be.
Result<SessionSettings> completed(SessionSettings settings, const ModelConfig &config);
Status checkCacheUse(CacheUse use, OverflowPolicy overflow);

/// Blocks can only leave the middle of a sequence when keys are not bound to their positions.
KeyPhase keyPhaseOf(OverflowPolicy policy);

/// What of the model each computes, by settings with the defaults filled in.
struct SessionParts
{
    std::optional<ModelPart> device;
    std::optional<ModelPart> cpu;

    bool isSplit() const { return device && cpu; }
};
SessionParts partsOf(const SessionSettings &settings);

/// What the weights that the CPU reads will look like in memory.
PackingPlan packing(const Model &model, const SessionSettings &settings);
RunMemorySettings memorySettings(const LoadedModel &model, const SessionSettings &settings,
                                 const PackingPlan &packing,
                                 const std::optional<DeviceNeeds> &needs = std::nullopt);
Result<MemoryPlan> planFor(const Model &model, const SessionSettings &settings, const PackingPlan &packing,
                           const RunMemorySettings &memory);

/// What is anonymous memory of the plan must fit this machine: weights that are neither packed nor quantised
/// are a mapping of their file. OutOfMemory names the context that would fit.
Status fitsMachine(const MemoryPlan &plan, const SessionSettings &settings, const RunMemorySettings &memory);

} // namespace tokenloupe
