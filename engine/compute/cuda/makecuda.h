// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"
#include "engine/compute/devicelist.h"

#include <memory>

namespace tokenloupe {

/// The CUDA devices of this machine. Makes nothing on them.
DeviceList cudaDevices();

/// The backend of a CUDA device of this machine, by its id; without one, of the best. Unsupported says in
/// words why there is none, also in a program that was built without a CUDA compiler.
Result<std::shared_ptr<Backend>> makeCudaBackend(std::string_view device = {});

/// What this program has: the CPU with so many threads (0: one for each core), or a CUDA device.
Result<std::shared_ptr<Backend>> makeBackend(BackendKind kind, int threads);
Result<std::shared_ptr<Backend>> makeBackendOn(BackendKind kind, std::string_view device, int threads);

} // namespace tokenloupe
