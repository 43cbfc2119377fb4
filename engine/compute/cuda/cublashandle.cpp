// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cublashandle.h"

namespace tokenloupe {

namespace {

tl::unexpected<Error> failed(const char *function, cublasStatus_t status)
{
    const ErrorCode code =
        status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::OutOfMemory : ErrorCode::Unsupported;
    return makeError(code, "start cuBLAS",
                     std::string(function) + " gave status " + std::to_string(static_cast<int>(status)));
}

} // namespace

Result<std::unique_ptr<CublasHandle>> CublasHandle::create(std::shared_ptr<const CublasLibrary> library,
                                                           cudaStream_t stream, void *workspace,
                                                           std::size_t workspaceBytes)
{
    const cuda::CublasCalls &calls = library->calls();
    cublasHandle_t created = nullptr;
    if (const cublasStatus_t status = calls.create(&created); status != CUBLAS_STATUS_SUCCESS)
        return failed("cublasCreate", status);
    std::unique_ptr<CublasHandle> handle(new CublasHandle(std::move(library), created));
    // note: in this order, as a new stream takes the workspace away.
    if (const cublasStatus_t status = calls.setStream(created, stream); status != CUBLAS_STATUS_SUCCESS)
        return failed("cublasSetStream", status);
    if (const cublasStatus_t status = calls.setWorkspace(created, workspace, workspaceBytes);
        status != CUBLAS_STATUS_SUCCESS)
        return failed("cublasSetWorkspace", status);
    return handle;
}

CublasHandle::CublasHandle(std::shared_ptr<const CublasLibrary> library, cublasHandle_t handle)
    : m_library(std::move(library))
    , m_handle(handle)
{}

CublasHandle::~CublasHandle()
{
    m_library->calls().destroy(m_handle);
}

} // namespace tokenloupe
