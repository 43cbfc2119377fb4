// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/blockrunner.h"
#include "tests/cudahost/calls.h"
#include "tests/cudahost/runtimeapi.h"

#include <cstdio>

using cudahost::Call;
using cudahost::Device;
using cudahost::failed;

namespace {

constexpr int sharedBytesOfAll = 48 * 1024;
constexpr int l2Bytes = 4 << 20;
constexpr int busBits = 256;
constexpr int clockKilohertz = 1500000;
constexpr int memoryKilohertz = 7000000;
constexpr int threadsOfMultiprocessor = 2048;
constexpr int registersOfBlock = 65536;

thread_local int currentDevice = 0;

bool exists(const Device &device, int number)
{
    return number >= 0 && number < device.settings.devices;
}

} // namespace

cudaError_t cudaDriverGetVersion(int *version)
{
    const std::lock_guard lock(Device::instance().mutex());
    *version = Device::instance().settings.driverVersion;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    const Call call;
    *count = 0;
    if (call.isRefused())
        return call.refusal();
    *count = call.device.settings.devices;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (!exists(call.device, device))
        return failed(cudaErrorInvalidDevice);
    currentDevice = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    *device = currentDevice;
    return cudaSuccess;
}

cudaError_t cudaDeviceReset()
{
    const std::lock_guard lock(Device::instance().mutex());
    Device::instance().reset(Device::instance().settings);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int number)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (!exists(call.device, number))
        return failed(cudaErrorInvalidDevice);
    const cudahost::Settings &settings = call.device.settings;
    *properties = {};
    std::snprintf(properties->name, sizeof(properties->name), "CUDA device played by the host");
    properties->totalGlobalMem = settings.cardBytes;
    properties->sharedMemPerBlock = sharedBytesOfAll;
    properties->sharedMemPerBlockOptin = call.device.mostSharedBytes();
    properties->sharedMemPerMultiprocessor = call.device.mostSharedBytes() + 1024;
    properties->regsPerBlock = registersOfBlock;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = static_cast<int>(cudahost::BlockRunner::maxThreads);
    properties->maxThreadsDim[0] = 1024;
    properties->maxThreadsDim[1] = 1024;
    properties->maxThreadsDim[2] = 64;
    properties->maxGridSize[0] = 0x7FFFFFFF;
    properties->maxGridSize[1] = 65535;
    properties->maxGridSize[2] = 65535;
    properties->major = settings.computeMajor;
    properties->minor = settings.computeMinor;
    properties->multiProcessorCount = settings.multiprocessors;
    properties->maxThreadsPerMultiProcessor = threadsOfMultiprocessor;
    properties->concurrentKernels = 1;
    properties->asyncEngineCount = 1;
    properties->unifiedAddressing = 1;
    properties->memoryBusWidth = busBits;
    properties->l2CacheSize = l2Bytes;
    properties->pciBusID = number + 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int number)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (!exists(call.device, number))
        return failed(cudaErrorInvalidDevice);
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = static_cast<int>(cudahost::BlockRunner::maxThreads);
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = sharedBytesOfAll;
        return cudaSuccess;
    case cudaDevAttrWarpSize:
        *value = 32;
        return cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
        *value = registersOfBlock;
        return cudaSuccess;
    case cudaDevAttrClockRate:
        *value = clockKilohertz;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = call.device.settings.multiprocessors;
        return cudaSuccess;
    case cudaDevAttrIntegrated:
        *value = 0;
        return cudaSuccess;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrMemoryPoolsSupported:
        *value = 1;
        return cudaSuccess;
    case cudaDevAttrMemoryClockRate:
        *value = memoryKilohertz;
        return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = busBits;
        return cudaSuccess;
    case cudaDevAttrL2CacheSize:
        *value = l2Bytes;
        return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = threadsOfMultiprocessor;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        *value = call.device.settings.computeMajor;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = call.device.settings.computeMinor;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = static_cast<int>(call.device.mostSharedBytes()) + 1024;
        return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = static_cast<int>(call.device.mostSharedBytes());
        return cudaSuccess;
    }
    return failed(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int number)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    if (!exists(call.device, number))
        return failed(cudaErrorInvalidDevice);
    if (bytes < 13)
        return failed(cudaErrorInvalidValue);
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0",
                  static_cast<unsigned int>(number + 1) & 0xFF);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
