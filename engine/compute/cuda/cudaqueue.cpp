// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudaqueue.h"

#include <string>

namespace tokenloupe {

ErrorCode errorCodeOf(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation:
        return ErrorCode::OutOfMemory;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
        return ErrorCode::InvalidArgument;
    case cudaErrorInitializationError:
    case cudaErrorDevicesUnavailable:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorNotSupported:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
        return ErrorCode::Unsupported;
    default:
        return ErrorCode::DeviceLost;
    }
}

tl::unexpected<Error> cudaFailure(cudaError_t error, std::string_view operation)
{
    std::string message = cudaGetErrorString(error);
    const ErrorCode code = errorCodeOf(error);
    if (code == ErrorCode::DeviceLost)
        message = "the device is lost, only what was recorded before is left: " + message;
    return makeError(code, std::string(operation), std::move(message));
}

Result<std::shared_ptr<CudaQueue>> CudaQueue::create(int device)
{
    std::shared_ptr<CudaQueue> queue(new CudaQueue(device));
    if (Status set = queue->check(cudaSetDevice(device), "choose the CUDA device"); !set)
        return tl::unexpected(set.error());
    // Not the default stream: that one cannot be captured.
    const cudaError_t created = cudaStreamCreateWithFlags(&queue->m_stream, cudaStreamNonBlocking);
    if (Status made = queue->check(created, "make a CUDA stream"); !made)
        return tl::unexpected(made.error());
    return queue;
}

CudaQueue::~CudaQueue()
{
    if (m_stream)
        cudaStreamDestroy(m_stream);
}

Status CudaQueue::alive() const
{
    return m_lost ? Status(tl::unexpected(*m_lost)) : Status();
}

Status CudaQueue::check(cudaError_t returned, std::string_view operation)
{
    if (m_lost)
        return tl::unexpected(*m_lost);
    if (returned == cudaSuccess)
        return {};
    cudaGetLastError(); // it was heard: what comes next does not repeat it
    tl::unexpected<Error> failure = cudaFailure(returned, operation);
    if (failure.value().code == ErrorCode::DeviceLost)
        m_lost = failure.value();
    return failure;
}

Status CudaQueue::synchronize(std::string_view operation)
{
    if (m_lost)
        return tl::unexpected(*m_lost);
    return check(cudaStreamSynchronize(m_stream), operation);
}

} // namespace tokenloupe
