// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/makecuda.h"

#include "engine/compute/cuda/cudabackend.h"

namespace tokenloupe {

DeviceList cudaDevices()
{
    DeviceList list;
    const Result<std::vector<FoundCudaDevice>> found = findCudaDevices();
    if (!found) {
        list.problem = found.error().message;
        return list;
    }
    for (const FoundCudaDevice &entry : *found)
        list.devices.push_back(
            {entry.device.busId, entry.device.name, entry.device.totalBytes, entry.problem});
    return list;
}

Result<std::shared_ptr<Backend>> makeCudaBackend(std::string_view id)
{
    const Result<CudaDevice> device = findCudaDevice(id);
    if (!device)
        return tl::unexpected(device.error());
    return CudaBackend::create(*device, GraphUse::Replay);
}

} // namespace tokenloupe
