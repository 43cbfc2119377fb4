// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/cuda/cublaslibrary.h"

#include <cstddef>
#include <memory>

namespace tokenloupe {

/// A handle of cuBLAS for one stream, with the workspace that it is given: it takes no device memory of its
/// own for products. One thread at a time.
class CublasHandle
{
public:
    /// For this thread's device. `workspace` is device memory that outlives the handle.
    static Result<std::unique_ptr<CublasHandle>> create(std::shared_ptr<const CublasLibrary> library,
                                                        cudaStream_t stream, void *workspace,
                                                        std::size_t workspaceBytes);
    ~CublasHandle();
    CublasHandle(const CublasHandle &) = delete;
    CublasHandle &operator=(const CublasHandle &) = delete;

    const cuda::CublasCalls &calls() const { return m_library->calls(); }
    cublasHandle_t get() const { return m_handle; }

private:
    CublasHandle(std::shared_ptr<const CublasLibrary> library, cublasHandle_t handle);

    std::shared_ptr<const CublasLibrary> m_library;
    cublasHandle_t m_handle;
};

} // namespace tokenloupe
