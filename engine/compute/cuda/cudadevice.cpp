// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudadevice.h"

#include "engine/compute/cuda/cudaqueue.h"

#include <array>
#include <cuda_runtime.h>
#include <optional>

namespace tokenloupe {

namespace {

tl::unexpected<Error> noDevice(std::string message)
{
    return makeError(ErrorCode::Unsupported, "CUDA", std::move(message));
}

int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return value;
}

/// Two transfers a clock, as all memories of graphics cards do.
double bandwidthOf(int device)
{
    const double kilohertz = attribute(cudaDevAttrMemoryClockRate, device);
    const double bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
    return 2.0 * kilohertz * 1e3 * bits / 8.0;
}

Result<CudaDevice> describe(int index)
{
    cudaDeviceProp properties{};
    if (const cudaError_t got = cudaGetDeviceProperties(&properties, index); got != cudaSuccess) {
        cudaGetLastError();
        return cudaFailure(got, "CUDA device " + std::to_string(index));
    }
    CudaDevice device;
    device.index = index;
    device.name = properties.name;
    device.major = properties.major;
    device.minor = properties.minor;
    device.totalBytes = properties.totalGlobalMem;
    device.multiprocessors = properties.multiProcessorCount;
    device.bytesPerSecond = bandwidthOf(index);
    std::array<char, 32> busId{};
    if (cudaDeviceGetPCIBusId(busId.data(), static_cast<int>(busId.size()), index) == cudaSuccess)
        device.busId = busId.data();
    else
        cudaGetLastError();
    return device;
}

/// Asks the runtime, which makes a context for the answer.
std::uint64_t freeBytesOf(int index)
{
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaSetDevice(index) == cudaSuccess && cudaMemGetInfo(&free, &total) == cudaSuccess)
        return free;
    cudaGetLastError();
    return 0;
}

} // namespace

std::string driverProblem(CudaVersion driver, CudaVersion runtime)
{
    if (driver.number == 0)
        return "no NVIDIA driver";
    if (driver.number / 1000 < runtime.number / 1000)
        return "driver too old: " + driver.text() + ", " + CudaVersion{runtime.number / 1000 * 1000}.text() +
               " needed";
    return {};
}

std::string deviceProblem(std::string_view name, int major, int minor)
{
    if (major > leastCudaMajor || (major == leastCudaMajor && minor >= leastCudaMinor))
        return {};
    return "compute capability " + std::to_string(major) + "." + std::to_string(minor) +
           " is not supported: " + std::string(name) + ", at least " + std::to_string(leastCudaMajor) + "." +
           std::to_string(leastCudaMinor) + " needed";
}

Result<std::vector<FoundCudaDevice>> findCudaDevices()
{
    CudaVersion driver;
    CudaVersion runtime;
    cudaDriverGetVersion(&driver.number);
    cudaRuntimeGetVersion(&runtime.number);
    cudaGetLastError();
    if (std::string problem = driverProblem(driver, runtime); !problem.empty())
        return noDevice(std::move(problem));
    int count = 0;
    if (const cudaError_t counted = cudaGetDeviceCount(&count); counted != cudaSuccess) {
        cudaGetLastError();
        if (counted != cudaErrorNoDevice)
            return noDevice(cudaGetErrorString(counted));
        count = 0;
    }
    if (count == 0)
        return noDevice("no device");

    std::vector<FoundCudaDevice> found;
    for (int index = 0; index < count; ++index) {
        FoundCudaDevice entry;
        if (Result<CudaDevice> device = describe(index)) {
            entry.device = std::move(*device);
            entry.device.driver = driver;
            entry.device.runtime = runtime;
            entry.problem = deviceProblem(entry.device.name, entry.device.major, entry.device.minor);
        } else {
            entry.device.index = index;
            entry.problem = device.error().text();
        }
        found.push_back(std::move(entry));
    }
    return found;
}

Result<CudaDevice> findCudaDevice(std::string_view busId)
{
    Result<std::vector<FoundCudaDevice>> found = findCudaDevices();
    if (!found)
        return tl::unexpected(found.error());
    std::optional<CudaDevice> best;
    std::string problem = "no device at " + std::string(busId);
    for (FoundCudaDevice &entry : *found) {
        if (!busId.empty() && entry.device.busId != busId)
            continue;
        if (!entry.problem.empty())
            problem = std::move(entry.problem);
        else if (!best || entry.device.totalBytes > best->totalBytes)
            best = std::move(entry.device);
    }
    if (!best)
        return noDevice(std::move(problem));
    best->freeBytes = freeBytesWithoutContext(best->busId);
    if (best->freeBytes == 0)
        best->freeBytes = freeBytesOf(best->index);
    return std::move(*best);
}

} // namespace tokenloupe
