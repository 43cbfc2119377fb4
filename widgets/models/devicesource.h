// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"
#include "engine/compute/devicelist.h"

#include <functional>
#include <memory>
#include <string>

namespace tokenloupe {

/// What computes in this program beside the CPU. `make` is called on the engine thread, `list` on one of its
/// own, as it may start a driver, which takes a while.
struct DeviceSource
{
    std::function<DeviceList()> list;
    /// `device`: by its id; empty: the best of its kind.
    std::function<Result<std::shared_ptr<Backend>>(BackendKind kind, const std::string &device, int threads)>
        make;
};

/// The CPU alone.
DeviceSource cpuAlone();

} // namespace tokenloupe
