// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudadevice/devicenotes.h"

#include <algorithm>
#include <cuda_runtime.h>

// What tests ask of a device, answered by a real one.

namespace tokenloupe::test {

DeviceNotes &deviceNotes()
{
    static DeviceNotes notes;
    return notes;
}

void checkBand(void *memory, std::size_t bytes)
{
    std::vector<unsigned char> band(bandBytes);
    const auto *end = static_cast<const unsigned char *>(memory) + bytes;
    if (cudaMemcpy(band.data(), end, bandBytes, cudaMemcpyDeviceToHost) != cudaSuccess)
        return; // the device is lost, and takeFaults() tells why
    const auto damaged =
        std::find_if(band.begin(), band.end(), [](unsigned char b) { return b != bandValue; });
    if (damaged == band.end())
        return;
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    notes.faults.push_back("byte " + std::to_string(damaged - band.begin()) + " past the end of " +
                           std::to_string(bytes) + " bytes was written to");
}

} // namespace tokenloupe::test

namespace cudahost {

using tokenloupe::test::deviceNotes;
using tokenloupe::test::DeviceNotes;

bool canBe(const Settings &settings)
{
    const Settings usual;
    return settings.devices == usual.devices && settings.driverVersion == usual.driverVersion &&
           settings.computeMajor == usual.computeMajor && settings.computeMinor == usual.computeMinor &&
           settings.multiprocessors == usual.multiprocessors && settings.cardBytes == usual.cardBytes &&
           settings.failingAllocationsFrom == 0 && settings.loseAtLaunch == 0;
}

void reset(const Settings &settings)
{
    cudaDeviceSynchronize();
    cudaGetLastError();
    configure(settings);
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    notes.launches = 0;
    notes.recordsLaunches = false;
    notes.recorded.clear();
}

void configure(const Settings &settings)
{
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    if (!canBe(settings))
        notes.faults.push_back("a real device is what it is: this test is for the one that the host plays");
    notes.settings = settings;
    notes.allocationCalls = 0;
    notes.hostAllocationCalls = 0;
}

const Settings &settings()
{
    return deviceNotes().settings;
}

void setSeed(std::uint64_t seed)
{
    deviceNotes().seed = seed; // note: the order of its threads is the device's own
}

std::uint64_t seed()
{
    return deviceNotes().seed;
}

std::vector<std::string> takeFaults()
{
    DeviceNotes &notes = deviceNotes();
    const cudaError_t status = cudaDeviceSynchronize();
    cudaGetLastError();
    const std::lock_guard lock(notes.mutex);
    if (status != cudaSuccess)
        notes.faults.push_back(std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status));
    return std::exchange(notes.faults, {});
}

void checkMemory()
{
    DeviceNotes &notes = deviceNotes();
    std::map<void *, std::size_t> memory;
    {
        const std::lock_guard lock(notes.mutex);
        memory = notes.memory;
    }
    for (const auto &[address, bytes] : memory)
        tokenloupe::test::checkBand(address, bytes);
}

std::int64_t launchCount()
{
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    return notes.launches;
}

std::vector<LaunchRecord> takeLaunches()
{
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    return std::exchange(notes.recorded, {});
}

void recordLaunches()
{
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    notes.recordsLaunches = true;
}

std::size_t allocatedBytes()
{
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    std::size_t bytes = 0;
    for (const auto &allocation : notes.memory)
        bytes += allocation.second;
    return bytes;
}

std::size_t allocationCount()
{
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    return notes.memory.size();
}

std::size_t hostAllocationCount()
{
    DeviceNotes &notes = deviceNotes();
    const std::lock_guard lock(notes.mutex);
    return notes.hostAllocations;
}

} // namespace cudahost
