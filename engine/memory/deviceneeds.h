// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace tokenloupe {

/// What a device is to hold beside keys, values and activations, as its backend computes it before anything
/// is allocated.
struct DeviceNeeds
{
    std::uint64_t weightBytes = 0;    ///< in the layout of its kernels
    std::uint64_t workspaceBytes = 0; ///< at most: what operations work in
    std::uint64_t libraryBytes = 0;   ///< the workspace of its matrix library; 0: there is none
    std::uint64_t contextBytes = 0;   ///< of the driver for this process, measured; 0: not known
    std::uint64_t presentBytes = 0;   ///< of all these, what is on the device already
    std::string device;               ///< its name
};

/// A device's memory as it is measured now, and what of it is known.
struct DeviceMemoryUse
{
    std::uint64_t totalBytes = 0;
    std::uint64_t freeBytes = 0;
    std::uint64_t contextBytes =
        0; ///< free before the driver's context was made, less free after; 0: unknown
    std::uint64_t libraryBytes = 0; ///< likewise, of the matrix library with its workspace
    std::uint64_t weightBytes = 0;
    std::uint64_t workspaceBytes = 0; ///< that operations have asked for so far

    std::uint64_t usedBytes() const { return totalBytes - freeBytes; }
};

} // namespace tokenloupe
