// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/makecuda.h"

namespace tokenloupe {

DeviceList cudaDevices()
{
    return {{}, "built without CUDA"};
}

Result<std::shared_ptr<Backend>> makeCudaBackend(std::string_view)
{
    return makeError(ErrorCode::Unsupported, "built without CUDA");
}

} // namespace tokenloupe
