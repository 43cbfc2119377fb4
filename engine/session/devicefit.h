// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/session/session.h"

namespace tokenloupe {

/// What of the plan the device has still to give.
std::uint64_t deviceBytesWanted(const MemoryPlan &plan, const DeviceNeeds &needs);

/// Whether what the plan puts on a device has room in what is free there. OutOfMemory names the sizes and
/// what would fit: a shorter context, smaller types of keys and values, fewer layers; the number of these is
/// in Error::deviceLayers too.
Status fitsDevice(const MemoryPlan &plan, const LoadedModel &model, const SessionSettings &settings,
                  const Backend &device, const DeviceNeeds &needs, const DeviceMemoryUse &use);

} // namespace tokenloupe
