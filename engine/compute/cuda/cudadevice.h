// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// A version as CUDA counts: 1000 · major + 10 · minor.
struct CudaVersion
{
    int number = 0;
    std::string text() const
    {
        return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    }
};

/// A device as it is found, before anything is made on it.
struct CudaDevice
{
    int index = 0;
    std::string name;
    int major = 0; ///< compute capability
    int minor = 0;
    std::string busId; ///< "0000:01:00.0"
    std::uint64_t totalBytes = 0;
    std::uint64_t freeBytes = 0; ///< before this process made a context, where the driver tells
    double bytesPerSecond = 0.0; ///< of its memory, by clock and bus width; 0: it does not say
    std::int32_t multiprocessors = 0;
    CudaVersion driver;
    CudaVersion runtime; ///< that the program was built with

    std::string capability() const { return std::to_string(major) + "." + std::to_string(minor); }
    /// Whether matrix units multiply binary16 as the kernels use them.
    bool hasTensorCores() const { return major >= 8; }
};

/// A device of this machine, and why it cannot be used; empty: it can.
struct FoundCudaDevice
{
    CudaDevice device;
    std::string problem;
};
/// All of them, at least one. Unsupported says in words why there is none: no driver, one that is too old, no
/// device. Makes no context.
Result<std::vector<FoundCudaDevice>> findCudaDevices();

/// The device with this bus id; without one, that with the most memory among those that can be used.
/// Unsupported says in words why there is none: as above, not this device, devices that are too old.
Result<CudaDevice> findCudaDevice(std::string_view busId = {});

/// Oldest compute capability that the kernels are compiled for.
constexpr int leastCudaMajor = 7;
constexpr int leastCudaMinor = 5;

/// Why this driver and runtime do not go together; empty: they do. A driver runs programs of its own major
/// version and of older ones.
std::string driverProblem(CudaVersion driver, CudaVersion runtime);
/// Why a device cannot be used; empty: it can.
std::string deviceProblem(std::string_view name, int major, int minor);

/// Free bytes of a device as its driver's management library tells them without a context; 0: it does not.
std::uint64_t freeBytesWithoutContext(const std::string &busId);

} // namespace tokenloupe
