// SPDX-License-Identifier: GPL-3.0-or-later
// What the driver's management library tells of the device that the host plays.
#include "engine/compute/cuda/cudadevice.h"
#include "tests/cudahost/device.h"

namespace tokenloupe {

std::uint64_t freeBytesWithoutContext(const std::string &)
{
    cudahost::Device &device = cudahost::Device::instance();
    const std::lock_guard lock(device.mutex());
    return device.freeBytesSeenFromOutside();
}

} // namespace tokenloupe
