// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/calls.h"
#include "tests/cudahost/matrixproduct.h"

#include <cublas_v2.h>
#include <optional>

using cudahost::Call;
using cudahost::Device;
using cudahost::FactorRounding;
using cudahost::MatrixElement;
using cudahost::MatrixProduct;
using cudahost::WorkKind;

struct cublasContext
{
    cudaStream_t stream = nullptr;
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
    void *workspace = nullptr;
    std::size_t workspaceBytes = 0;
};

namespace {

cudahost::Handles<cublasContext> &handles()
{
    static cudahost::Handles<cublasContext> handles;
    return handles;
}

std::optional<MatrixElement> elementOf(cudaDataType type)
{
    switch (type) {
    case CUDA_R_32F:
        return MatrixElement::Float;
    case CUDA_R_16F:
        return MatrixElement::Half;
    case CUDA_R_16BF:
        return MatrixElement::Bfloat;
    default:
        return std::nullopt;
    }
}

// Of those that sum in float32.
std::optional<FactorRounding> roundingOf(cublasComputeType_t compute, cublasMath_t mode, cudaDataType type)
{
    switch (compute) {
    case CUBLAS_COMPUTE_32F:
        return mode == CUBLAS_TF32_TENSOR_OP_MATH && type == CUDA_R_32F ? FactorRounding::Tf32
                                                                        : FactorRounding::None;
    case CUBLAS_COMPUTE_32F_PEDANTIC:
        return FactorRounding::None;
    case CUBLAS_COMPUTE_32F_FAST_16F:
        return FactorRounding::Half;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
        return FactorRounding::Bfloat;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return FactorRounding::Tf32;
    default:
        return std::nullopt;
    }
}

// Bytes from the first element to behind the last.
std::size_t extentOf(std::size_t rows, std::size_t columns, std::size_t stride, MatrixElement element)
{
    return rows == 0 || columns == 0 ? 0 : ((columns - 1) * stride + rows) * cudahost::bytesOf(element);
}

std::size_t extentOf(const cudahost::MatrixView &matrix, std::size_t rows, std::size_t columns)
{
    return matrix.isTransposed ? extentOf(columns, rows, matrix.stride, matrix.element)
                               : extentOf(rows, columns, matrix.stride, matrix.element);
}

void run(const MatrixProduct &product, const cublasContext &context)
{
    Device &device = Device::instance();
    const auto isThere = [&](const void *data, std::size_t bytes) {
        return bytes == 0 || device.memory.contains(data, bytes);
    };
    if (!isThere(product.a.data, extentOf(product.a, product.rows, product.depth)) ||
        !isThere(product.b.data, extentOf(product.b, product.depth, product.columns)) ||
        !isThere(product.target,
                 extentOf(product.rows, product.columns, product.targetStride, product.targetElement)) ||
        !isThere(context.workspace, context.workspaceBytes)) {
        device.recordFault("a matrix product of " + std::to_string(product.rows) + " x " +
                               std::to_string(product.columns) + " over " + std::to_string(product.depth) +
                               " reaches past device memory",
                           cudaErrorIllegalAddress);
        return;
    }
    if (device.countLaunch())
        cudahost::multiply(product);
}

} // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    const Call call;
    if (call.isRefused() || handle == nullptr)
        return handle == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = handles().create();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    const Call call;
    return handles().destroy(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    const Call call;
    const std::shared_ptr<cublasContext> context = handles().find(handle);
    if (context == nullptr)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    // As with cuBLAS: another stream, another workspace.
    *context = {stream, context->mode, nullptr, 0};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *memory, std::size_t bytes)
{
    const Call call;
    const std::shared_ptr<cublasContext> context = handles().find(handle);
    if (context == nullptr)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (reinterpret_cast<std::uintptr_t>(memory) % 256 != 0 ||
        (bytes != 0 && !call.device.memory.contains(memory, bytes)))
        return CUBLAS_STATUS_INVALID_VALUE;
    context->workspace = memory;
    context->workspaceBytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    const Call call;
    const std::shared_ptr<cublasContext> context = handles().find(handle);
    if (context == nullptr)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    context->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t opA, cublasOperation_t opB, int m, int n,
                            int k, const void *alpha, const void *a, cudaDataType typeA, int strideA,
                            const void *b, cudaDataType typeB, int strideB, const void *beta, void *c,
                            cudaDataType typeC, int strideC, cublasComputeType_t compute, cublasGemmAlgo_t)
{
    const Call call;
    const std::shared_ptr<cublasContext> context = handles().find(handle);
    if (context == nullptr)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (call.isRefused())
        return CUBLAS_STATUS_EXECUTION_FAILED;
    const int leastA = std::max(1, opA == CUBLAS_OP_N ? m : k);
    const int leastB = std::max(1, opB == CUBLAS_OP_N ? k : n);
    if (m < 0 || n < 0 || k < 0 || strideA < leastA || strideB < leastB || strideC < std::max(1, m) ||
        alpha == nullptr || beta == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    const std::optional<MatrixElement> factor = elementOf(typeA);
    const std::optional<MatrixElement> target = elementOf(typeC);
    const std::optional<FactorRounding> rounding = roundingOf(compute, context->mode, typeA);
    if (!factor || !target || !rounding || typeA != typeB || (typeC != typeA && typeC != CUDA_R_32F))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (m == 0 || n == 0)
        return CUBLAS_STATUS_SUCCESS;
    MatrixProduct product;
    product.rows = static_cast<std::size_t>(m);
    product.columns = static_cast<std::size_t>(n);
    product.depth = static_cast<std::size_t>(k);
    product.alpha = *static_cast<const float *>(alpha);
    product.beta = *static_cast<const float *>(beta);
    product.a = {a, *factor, static_cast<std::size_t>(strideA), opA != CUBLAS_OP_N};
    product.b = {b, *factor, static_cast<std::size_t>(strideB), opB != CUBLAS_OP_N};
    product.rounding = *rounding;
    product.target = c;
    product.targetElement = *target;
    product.targetStride = static_cast<std::size_t>(strideC);
    const cudaError_t error = call.device.streams.submit(
        context->stream, {WorkKind::Kernel, nullptr, [product, used = *context] { run(product, used); }});
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t opA, cublasOperation_t opB, int m,
                              int n, int k, const float *alpha, const float *a, int strideA, const float *b,
                              int strideB, const float *beta, float *c, int strideC)
{
    return cublasGemmEx(handle, opA, opB, m, n, k, alpha, a, CUDA_R_32F, strideA, b, CUDA_R_32F, strideB,
                        beta, c, CUDA_R_32F, strideC, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
        return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return cublasGetStatusName(status);
}
