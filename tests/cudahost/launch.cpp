// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/launch.h"

#include "tests/cudahost/blockrunner.h"
#include "tests/cudahost/calls.h"
#include "tests/cudahost/kernelname.h"

namespace cudahost {

namespace {

constexpr std::size_t sharedWithoutAsking = 48 * 1024;

bool isPossible(const KernelLaunch &launch)
{
    const dim3 grid = launch.grid;
    const dim3 block = launch.block;
    constexpr unsigned int most = 65535;
    return grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7FFFFFFF && grid.y <= most &&
           grid.z <= most && block.x >= 1 && block.y >= 1 && block.z >= 1 && block.x <= 1024 &&
           block.y <= 1024 && block.z <= 64 &&
           std::uint64_t{block.x} * block.y * block.z <= BlockRunner::maxThreads;
}

void run(const KernelLaunch &launch)
{
    Device &device = Device::instance();
    if (!device.countLaunch())
        return;
    if (device.recordsLaunches)
        device.launchRecords.push_back(
            {kernelName(launch.function), launch.grid, launch.block, launch.sharedBytes});
    const std::uint64_t seed = device.seed * 1000003 + static_cast<std::uint64_t>(device.launches);
    const std::optional<std::string> fault =
        BlockRunner::instance().run(launch.thread, launch.grid, launch.block, launch.sharedBytes, seed);
    if (fault)
        device.recordFault(kernelName(launch.function) + ", " + *fault, cudaErrorLaunchFailure);
    else
        device.checkMemory(launch.function);
}

} // namespace

cudaError_t launchOn(cudaStream_t stream, KernelLaunch launch)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const Settings &settings = call.device.settings;
    if (settings.computeMajor * 10 + settings.computeMinor < 75)
        return failed(cudaErrorNoKernelImageForDevice);
    if (!isPossible(launch))
        return failed(cudaErrorInvalidConfiguration);
    const auto asked = call.device.sharedLimits.find(launch.function);
    if (launch.sharedBytes > (asked == call.device.sharedLimits.end() ? sharedWithoutAsking : asked->second))
        return failed(cudaErrorInvalidValue);
    const void *function = launch.function;
    return failed(call.device.streams.submit(
        stream, {WorkKind::Kernel, function, [launch = std::move(launch)] { run(launch); }}));
}

} // namespace cudahost

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value)
{
    const cudahost::Call call;
    if (call.isRefused())
        return call.refusal();
    if (function == nullptr)
        return cudahost::failed(cudaErrorInvalidDeviceFunction);
    if (attribute !=
        cudaFuncAttributeMaxDynamicSharedMemorySize) // a preference: nothing follows from it here
        return cudaSuccess;
    if (value < 0 || static_cast<std::size_t>(value) > call.device.mostSharedBytes())
        return cudahost::failed(cudaErrorInvalidValue);
    call.device.sharedLimits[function] = static_cast<std::size_t>(value);
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function)
{
    const cudahost::Call call;
    if (call.isRefused())
        return call.refusal();
    const auto asked = call.device.sharedLimits.find(function);
    const std::size_t limit =
        asked == call.device.sharedLimits.end() ? cudahost::sharedWithoutAsking : asked->second;
    const int capability = call.device.settings.computeMajor * 10 + call.device.settings.computeMinor;
    *attributes = {};
    attributes->maxThreadsPerBlock = static_cast<int>(cudahost::BlockRunner::maxThreads);
    attributes->numRegs = 32;
    attributes->ptxVersion = capability;
    attributes->binaryVersion = capability;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(limit);
    return cudaSuccess;
}
