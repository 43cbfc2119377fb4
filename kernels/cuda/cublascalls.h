// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace tokenloupe::cuda {

/// The functions of cuBLAS that are used. The program is not linked with it but looks them up when they are
/// first needed: the library is large, and machines without a device have none.
struct CublasCalls
{
    cublasStatus_t (*create)(cublasHandle_t *handle) = nullptr;
    cublasStatus_t (*destroy)(cublasHandle_t handle) = nullptr;
    cublasStatus_t (*setStream)(cublasHandle_t handle, cudaStream_t stream) = nullptr;
    cublasStatus_t (*setWorkspace)(cublasHandle_t handle, void *memory, std::size_t bytes) = nullptr;
    cublasStatus_t (*gemmEx)(cublasHandle_t handle, cublasOperation_t transposeA,
                             cublasOperation_t transposeB, int m, int n, int k, const void *alpha,
                             const void *a, cudaDataType typeA, int strideA, const void *b,
                             cudaDataType typeB, int strideB, const void *beta, void *c, cudaDataType typeC,
                             int strideC, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) = nullptr;
};

/// What to give a handle as its workspace, by compute capability: as much as cuBLAS would take by itself.
constexpr std::uint64_t cublasWorkspaceBytes(int capabilityMajor)
{
    const std::uint64_t mebibyte = std::uint64_t(1) << 20;
    return capabilityMajor >= 9 ? 32 * mebibyte : 8 * mebibyte;
}

} // namespace tokenloupe::cuda
