// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tokenloupe {

/// A device beside the CPU, as it can be chosen.
struct DeviceEntry
{
    std::string id; ///< the same after a restart
    std::string name;
    std::uint64_t totalBytes = 0;
    std::string problem; ///< why it cannot be used; empty: it can
};

/// The devices of this machine.
struct DeviceList
{
    std::vector<DeviceEntry> devices;
    std::string problem; ///< why there are none at all; empty: there are
};

} // namespace tokenloupe
