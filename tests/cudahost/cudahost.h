// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <string>
#include <vector>

// What tests ask of the device that the host plays. The runtime itself is <cuda_runtime.h>. (On a real device
// tests/cudadevice answers the same, where that is possible.)
//
// Kernels run when they are launched, in the calling thread, block after block, one fiber for each CUDA
// thread; with Completion::Deferred when somebody waits for their stream. What they do wrong (barriers that
// do not meet, masks that name ended lanes, writes past the end of memory) is a fault: its text goes to
// standard error and is kept, and the device is lost as after a kernel that crashed.

namespace cudahost {

enum class Completion : std::uint8_t {
    AtOnce,
    Deferred, ///< work of a stream is done when somebody waits for it: shows where nobody does
};

enum class FaultReport : std::uint8_t {
    Printed, ///< to standard error, and kept
    Kept,
};

struct Settings
{
    int devices = 1;
    int driverVersion = 13000; ///< as cudaDriverGetVersion has it; 0: none is installed
    int computeMajor = 9;
    int computeMinor = 0;
    int multiprocessors = 16;
    std::size_t cardBytes = std::size_t{8} << 30;
    std::size_t contextBytes = 0; ///< of the card, that the first call that needs a context takes for good
    std::int64_t failingAllocation = 0; ///< the n-th from now on fails, as if the card were full; 0: none
    std::int64_t failingAllocationsFrom = 0; ///< all from the n-th from now on; 0: none
    std::int64_t failingHostAllocation = 0;  ///< likewise, of page-locked host memory
    std::int64_t loseAtLaunch = 0;           ///< the n-th launch from now on loses the device; 0: none
    Completion completion = Completion::AtOnce;
    FaultReport faultReport = FaultReport::Printed;
};

/// A new device: nothing is allocated, nothing went wrong yet, no launch was counted. Memory, streams and
/// graphs of the one before are gone.
void reset(const Settings &settings = {});
/// Changes how the device behaves from now on.
void configure(const Settings &settings);
const Settings &settings();
/// Whether the device can be like this: this one always, a real one is what it is.
bool canBe(const Settings &settings);

/// Chooses the order in which threads, warps and blocks run. At first $CUDAHOST_SEED, or 1.
void setSeed(std::uint64_t seed);
std::uint64_t seed();

/// What went wrong since the last call. Asking makes the device well again.
std::vector<std::string> takeFaults();
/// Looks whether something was written past the end of memory, or to memory that was freed. Faults are
/// recorded.
void checkMemory();

struct LaunchRecord
{
    std::string kernel;
    dim3 grid;
    dim3 block;
    std::size_t sharedBytes = 0;
};

std::int64_t launchCount();
/// The launches since the last call, where recordLaunches() asked for them.
std::vector<LaunchRecord> takeLaunches();
void recordLaunches();

std::size_t allocatedBytes();      ///< of device memory
std::size_t allocationCount();     ///< of device memory
std::size_t hostAllocationCount(); ///< of page-locked host memory

} // namespace cudahost
