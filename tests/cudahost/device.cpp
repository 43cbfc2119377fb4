// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/device.h"

#include "tests/cudahost/kernelname.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cudahost {

namespace {
// The runtime cannot work with an older driver.
constexpr int oldestDriver = 12000;
} // namespace

Device &Device::instance()
{
    static Device device;
    return device;
}

Device::Device()
{
    if (const char *text = std::getenv("CUDAHOST_SEED"))
        seed = std::strtoull(text, nullptr, 10);
}

void Device::reset(const Settings &newSettings)
{
    settings = newSettings;
    streams.clear();
    events.clear();
    graphs.clear();
    executables.clear();
    sharedLimits.clear();
    forgetLastError();
    memory.clear();
    hostMemory.clear();
    launches = 0;
    recordsLaunches = false;
    launchRecords.clear();
    m_hasContext = false;
    m_lost = cudaSuccess;
    m_faults.clear();
}

void Device::configure(const Settings &newSettings)
{
    streams.finishAll();
    settings = newSettings;
}

void Device::explain(const std::string &what) const
{
    if (settings.faultReport == FaultReport::Printed)
        std::fprintf(stderr, "cudahost: %s\n", what.c_str());
}

void Device::recordFault(const std::string &what, cudaError_t error)
{
    if (settings.faultReport == FaultReport::Printed)
        std::fprintf(stderr, "cudahost (seed %llu): %s\n", static_cast<unsigned long long>(seed),
                     what.c_str());
    m_faults.push_back(what);
    if (m_lost == cudaSuccess)
        m_lost = error;
}

std::vector<std::string> Device::takeFaults()
{
    streams.finishAll();
    m_lost = cudaSuccess;
    forgetLastError();
    return std::exchange(m_faults, {});
}

cudaError_t Device::state() const
{
    if (settings.driverVersion < oldestDriver)
        return cudaErrorInsufficientDriver;
    if (settings.devices == 0)
        return cudaErrorNoDevice;
    return m_lost;
}

std::size_t Device::freeBytes()
{
    m_hasContext = true;
    return freeBytesSeenFromOutside();
}

std::size_t Device::freeBytesSeenFromOutside() const
{
    const std::size_t held = memory.bytes() + (m_hasContext ? settings.contextBytes : 0);
    return settings.cardBytes - std::min(settings.cardBytes, held);
}

bool Device::grant(std::size_t bytes)
{
    if (settings.failingAllocation != 0 && --settings.failingAllocation == 0)
        return false;
    if (settings.failingAllocationsFrom == 1)
        return false;
    if (settings.failingAllocationsFrom > 1)
        --settings.failingAllocationsFrom;
    return bytes <= freeBytes();
}

bool Device::grantHost()
{
    return settings.failingHostAllocation == 0 || --settings.failingHostAllocation != 0;
}

std::size_t Device::mostSharedBytes() const
{
    constexpr std::size_t kibi = 1024;
    const int capability = settings.computeMajor * 10 + settings.computeMinor;
    if (capability < 80)
        return 64 * kibi;
    if (capability == 80 || capability == 87)
        return 163 * kibi;
    if (capability < 90 || capability >= 120)
        return 99 * kibi;
    return 227 * kibi;
}

bool Device::countLaunch()
{
    ++launches;
    if (settings.loseAtLaunch == 0 || --settings.loseAtLaunch != 0)
        return true;
    lose();
    return false;
}

void Device::checkMemory(const void *kernel)
{
    // After each launch the whole would take too long.
    const auto extent = kernel == nullptr ? Allocations::Extent::All : Allocations::Extent::Edges;
    for (Allocations *allocations : {&memory, &hostMemory})
        if (const std::optional<std::string> fault = allocations->check(extent))
            recordFault(kernel == nullptr ? *fault : "after " + kernelName(kernel) + ": " + *fault,
                        cudaErrorIllegalAddress);
}

void reset(const Settings &settings)
{
    const std::lock_guard lock(Device::instance().mutex());
    Device::instance().reset(settings);
}

void configure(const Settings &settings)
{
    const std::lock_guard lock(Device::instance().mutex());
    Device::instance().configure(settings);
}

const Settings &settings()
{
    return Device::instance().settings;
}

bool canBe(const Settings &)
{
    return true;
}

void setSeed(std::uint64_t seed)
{
    const std::lock_guard lock(Device::instance().mutex());
    Device::instance().seed = seed;
}

std::uint64_t seed()
{
    return Device::instance().seed;
}

std::vector<std::string> takeFaults()
{
    const std::lock_guard lock(Device::instance().mutex());
    return Device::instance().takeFaults();
}

void checkMemory()
{
    const std::lock_guard lock(Device::instance().mutex());
    Device::instance().checkMemory();
}

std::int64_t launchCount()
{
    const std::lock_guard lock(Device::instance().mutex());
    return Device::instance().launches;
}

std::vector<LaunchRecord> takeLaunches()
{
    const std::lock_guard lock(Device::instance().mutex());
    return std::exchange(Device::instance().launchRecords, {});
}

void recordLaunches()
{
    const std::lock_guard lock(Device::instance().mutex());
    Device::instance().recordsLaunches = true;
}

std::size_t allocatedBytes()
{
    const std::lock_guard lock(Device::instance().mutex());
    return Device::instance().memory.bytes();
}

std::size_t allocationCount()
{
    const std::lock_guard lock(Device::instance().mutex());
    return Device::instance().memory.count();
}

std::size_t hostAllocationCount()
{
    const std::lock_guard lock(Device::instance().mutex());
    return Device::instance().hostMemory.count();
}

} // namespace cudahost
