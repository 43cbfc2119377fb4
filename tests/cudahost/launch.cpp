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

// The seed that orders its threads; null: the device is lost.
std::optional<std::uint64_t> count(const KernelLaunch &launch)
{
    Device &device = Device::instance();
    if (!device.countLaunch())
        return std::nullopt;
    if (device.recordsLaunches)
        device.launchRecords.push_back(
            {kernelName(launch.function), launch.grid, launch.block, launch.sharedBytes});
    return device.seed * 1000003 + static_cast<std::uint64_t>(device.launches);
}

// `before`: what the kernel began in front of.
void run(const KernelLaunch &launch, std::optional<std::uint64_t> seed,
         const std::function<void()> &before = {})
{
    Device &device = Device::instance();
    if (!seed)
        return;
    const auto goOn = [&] {
        before();
        return device.state() == cudaSuccess;
    };
    const std::optional<std::string> fault = BlockRunner::instance().run(
        launch, *seed, before ? BlockRunner::Before(goOn) : BlockRunner::Before());
    if (device.state() != cudaSuccess)
        return; // what was in front of it went wrong
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
    if (!isPossible(launch) || (launch.isEarly && settings.computeMajor < 9))
        return failed(cudaErrorInvalidConfiguration);
    const auto asked = call.device.sharedLimits.find(launch.function);
    if (launch.sharedBytes > (asked == call.device.sharedLimits.end() ? sharedWithoutAsking : asked->second))
        return failed(cudaErrorInvalidValue);
    const auto kernel = std::make_shared<const KernelLaunch>(std::move(launch));
    return failed(call.device.streams.submit(
        stream, {WorkKind::Kernel, kernel, [kernel] { run(*kernel, count(*kernel)); }}));
}

bool beginsEarly(const Work &first, const Work &second)
{
    const Device &device = Device::instance();
    const std::uint64_t mixed =
        (device.seed + static_cast<std::uint64_t>(device.launches)) * 0x9E3779B97F4A7C15U;
    return first.kind == WorkKind::Kernel && second.kernel != nullptr && second.kernel->isEarly &&
           second.after == nullptr && (mixed >> 40 & 1) != 0;
}

void runOverlapped(const Work &first, const Work &second)
{
    if (first.kernel == nullptr) {
        run(*second.kernel, count(*second.kernel), first.run);
        return;
    }
    const std::optional<std::uint64_t> seed = count(*first.kernel);
    const std::optional<std::uint64_t> secondSeed = seed ? count(*second.kernel) : std::nullopt;
    if (secondSeed)
        run(*second.kernel, secondSeed, [&] { run(*first.kernel, seed); });
    else
        run(*first.kernel, seed);
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
