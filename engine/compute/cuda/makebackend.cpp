// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/makecuda.h"

namespace tokenloupe {

Result<std::shared_ptr<Backend>> makeBackend(BackendKind kind, int threads)
{
    return makeBackendOn(kind, {}, threads);
}

Result<std::shared_ptr<Backend>> makeBackendOn(BackendKind kind, std::string_view device, int threads)
{
    return kind == BackendKind::Cuda ? makeCudaBackend(device) : makeCpuBackend(threads);
}

} // namespace tokenloupe
