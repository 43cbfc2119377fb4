// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/cudahost/cudahost.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tokenloupe::test {

/// What tests have done to the device so far, as the wrapped calls of the runtime noted it.
struct DeviceNotes
{
    std::mutex mutex;
    cudahost::Settings settings;
    std::uint64_t seed = 1;
    std::map<void *, std::size_t> memory; ///< bytes that were asked for, by address
    std::size_t hostAllocations = 0;
    std::int64_t allocationCalls = 0; ///< since the settings were made
    std::int64_t hostAllocationCalls = 0;
    std::int64_t launches = 0;
    bool recordsLaunches = false;
    std::vector<cudahost::LaunchRecord> recorded;
    std::vector<std::string> faults;
};
DeviceNotes &deviceNotes();

/// Bytes after the end of each allocation that nobody may write to, and what is in them.
constexpr std::size_t bandBytes = 256;
constexpr unsigned char bandValue = 0xA5;

/// Notes a fault where the band behind this memory is damaged. Waits for the device. Without the lock.
void checkBand(void *memory, std::size_t bytes);

} // namespace tokenloupe::test
