// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tokenloupe::test {

/// What is measured on a device, and how large.
struct DeviceTimesRequest
{
    std::uint64_t copyBytes = std::uint64_t(1) << 30;
    std::int32_t matrixSize = 8192; ///< of the half-precision product, all three sides
    /// Each kernel works through so many bytes of weights before it comes to the first again: more than
    /// caches hold.
    std::uint64_t spreadBytes = std::uint64_t(512) << 20;
    std::int32_t rounds = 10;
    // The shape that kernels are timed in: that of an 8B model.
    std::int32_t embedding = 4096;
    std::int32_t feedForward = 14336;
    std::int32_t vocabulary = 128256;
    std::int32_t heads = 32;
    std::int32_t kvHeads = 8;
    std::int32_t context = 4096; ///< positions that attention reads
    std::int32_t promptRows = 512;
};

/// Why there is no device to measure.
class NoDeviceError : public std::runtime_error
{
    using std::runtime_error::runtime_error;
};

/// The device that would be used, how fast it copies and multiplies, and the time of each kernel; see
/// docs/cuda.md for the keys. Throws NoDeviceError, or std::runtime_error where something fails.
nlohmann::json measureDevice(const DeviceTimesRequest &request);

} // namespace tokenloupe::test
