// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/device.h"
#include "tests/cudahost/runtimeapi.h"

#include <array>

namespace {

thread_local cudaError_t lastError = cudaSuccess;

struct ErrorText
{
    cudaError_t error;
    const char *name;
    const char *text;
};

// The texts are our own; programs may only show them.
#define CUDAHOST_ERROR(name, text)                                                                           \
    ErrorText                                                                                                \
    {                                                                                                        \
        name, #name, text                                                                                    \
    }
constexpr std::array errorTexts{
    CUDAHOST_ERROR(cudaSuccess, "no error"),
    CUDAHOST_ERROR(cudaErrorInvalidValue, "an argument is out of range"),
    CUDAHOST_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    CUDAHOST_ERROR(cudaErrorInitializationError, "the driver could not be initialised"),
    CUDAHOST_ERROR(cudaErrorInvalidConfiguration, "the launch has a shape that no device can run"),
    CUDAHOST_ERROR(cudaErrorInvalidDevicePointer, "not a pointer of the device"),
    CUDAHOST_ERROR(cudaErrorInvalidMemcpyDirection, "the copy's direction does not fit its pointers"),
    CUDAHOST_ERROR(cudaErrorInsufficientDriver, "the driver is older than the runtime needs"),
    CUDAHOST_ERROR(cudaErrorInvalidDeviceFunction, "not a function of the device"),
    CUDAHOST_ERROR(cudaErrorNoDevice, "there is no device"),
    CUDAHOST_ERROR(cudaErrorInvalidDevice, "there is no device of that number"),
    CUDAHOST_ERROR(cudaErrorNoKernelImageForDevice, "the program has no code for this device"),
    CUDAHOST_ERROR(cudaErrorInvalidResourceHandle, "not a stream, event or graph, or no more"),
    CUDAHOST_ERROR(cudaErrorIllegalState, "the resource is not in a state for this"),
    CUDAHOST_ERROR(cudaErrorNotReady, "not done yet"),
    CUDAHOST_ERROR(cudaErrorIllegalAddress, "a kernel used memory that is not there"),
    CUDAHOST_ERROR(cudaErrorLaunchOutOfResources, "the launch asks for more than the device has"),
    CUDAHOST_ERROR(cudaErrorLaunchTimeout, "a kernel ran for too long"),
    CUDAHOST_ERROR(cudaErrorAssert, "an assertion of a kernel failed"),
    CUDAHOST_ERROR(cudaErrorMisalignedAddress, "a kernel used an address that is not aligned"),
    CUDAHOST_ERROR(cudaErrorLaunchFailure, "a kernel failed"),
    CUDAHOST_ERROR(cudaErrorNotPermitted, "not permitted"),
    CUDAHOST_ERROR(cudaErrorNotSupported, "not supported"),
    CUDAHOST_ERROR(cudaErrorStreamCaptureUnsupported, "not possible while a stream is captured"),
    CUDAHOST_ERROR(cudaErrorStreamCaptureInvalidated, "the capture was broken by an earlier error"),
    CUDAHOST_ERROR(cudaErrorStreamCaptureUnmatched, "this stream did not begin the capture"),
    CUDAHOST_ERROR(cudaErrorStreamCaptureUnjoined, "another stream of the capture was not joined again"),
    CUDAHOST_ERROR(cudaErrorStreamCaptureImplicit, "the default stream would wait for a captured one"),
    CUDAHOST_ERROR(cudaErrorCapturedEvent, "the event was recorded in a capture"),
    CUDAHOST_ERROR(cudaErrorGraphExecUpdateFailure, "the graph differs in more than its parameters"),
    CUDAHOST_ERROR(cudaErrorUnknown, "unknown"),
};
#undef CUDAHOST_ERROR

const ErrorText *find(cudaError_t error)
{
    for (const ErrorText &known : errorTexts)
        if (known.error == error)
            return &known;
    return nullptr;
}

} // namespace

namespace cudahost {

cudaError_t failed(cudaError_t error)
{
    if (error != cudaSuccess)
        lastError = error;
    return error;
}

void forgetLastError()
{
    lastError = cudaSuccess;
}

} // namespace cudahost

cudaError_t cudaGetLastError()
{
    const std::lock_guard lock(cudahost::Device::instance().mutex());
    const cudaError_t state = cudahost::Device::instance().state();
    const cudaError_t error = state != cudaSuccess ? state : lastError;
    lastError = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    const std::lock_guard lock(cudahost::Device::instance().mutex());
    const cudaError_t state = cudahost::Device::instance().state();
    return state != cudaSuccess ? state : lastError;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const ErrorText *known = find(error);
    return known != nullptr ? known->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const ErrorText *known = find(error);
    return known != nullptr ? known->text : "unrecognized error code";
}
