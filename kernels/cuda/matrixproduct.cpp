// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/matrixproduct.h"

#include "kernels/cuda/launchshape.h"
#include "kernels/cuda/productrows.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/weightlayout.h"

#include <algorithm>

namespace tokenloupe::cuda {

namespace {

/// Tiles are whole blocks of cuBLAS's products, one at least.
constexpr std::int64_t tileStep = 256;
constexpr std::int64_t largestSize = (std::int64_t(1) << 31) - 1; ///< cuBLAS takes int

std::uint64_t aligned(std::uint64_t bytes)
{
    return ceilDivide(bytes, std::uint64_t(256)) * 256;
}

std::uint64_t valueBytes(ProductPrecision precision)
{
    return precision == ProductPrecision::Half ? 2 : 4;
}

bool isStoredSo(ProductPrecision precision, TensorType type)
{
    return type == (precision == ProductPrecision::Half ? TensorType::F16 : TensorType::F32);
}

/// Of activations in binary16: rows begin at multiples of 16 bytes.
std::int64_t halfStride(std::int64_t columns)
{
    return ceilDivide(columns, std::int64_t(8)) * 8;
}

/// Both factors as cuBLAS gets them: rows of `columns` values, `stride` values apart.
struct Factor
{
    const void *data = nullptr;
    std::int64_t stride = 0;
};

struct Product
{
    const CublasCalls &cublas;
    cublasHandle_t handle;
    ProductPrecision precision;
    std::int64_t columns;
    Factor activations;
    DeviceRows output;
};

/// Columns [first, first + count) of the output.
cudaError_t multiplyTile(const Product &product, const Factor &weights, std::int64_t first,
                         std::int64_t count)
{
    const bool isHalf = product.precision == ProductPrecision::Half;
    const cudaDataType type = isHalf ? CUDA_R_16F : CUDA_R_32F;
    // The default of float32 products may be lowered to shorter numbers from outside; this one may not.
    const cublasComputeType_t compute = isHalf ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC;
    const float one = 1.0F;
    const float zero = 0.0F;
    // note: cuBLAS counts down columns, so our rows are its columns: outputᵀ = (weightsᵀ)ᵀ · activationsᵀ.
    return cudaErrorOf(product.cublas.gemmEx(
        product.handle, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(count), product.output.rows,
        static_cast<int>(product.columns), &one, weights.data, type, static_cast<int>(weights.stride),
        product.activations.data, type, static_cast<int>(product.activations.stride), &zero,
        product.output.data + first, CUDA_R_32F, static_cast<int>(product.output.stride), compute,
        CUBLAS_GEMM_DEFAULT));
}

} // namespace

cudaError_t cudaErrorOf(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return cudaSuccess;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_INVALID_VALUE:
        return cudaErrorInvalidValue;
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return cudaErrorNotSupported;
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return cudaErrorInitializationError;
    default:
        return cudaErrorLaunchFailure;
    }
}

MatrixProductPlan matrixProductPlan(ProductPrecision precision, TensorType type, std::int64_t weightRows,
                                    std::int64_t columns, std::int32_t rows, std::uint64_t tileBytes)
{
    MatrixProductPlan plan;
    // Half of what an int holds, so that a padded row is one too.
    if (weightRows <= 0 || columns <= 0 || rows <= 0 || weightRows > largestSize || columns > largestSize / 2)
        return plan;
    plan.isPossible = true;
    if (!isStoredSo(precision, type)) {
        const std::uint64_t rowBytes = std::uint64_t(columns) * valueBytes(precision);
        const auto fitting = static_cast<std::int64_t>(tileBytes / rowBytes) / tileStep * tileStep;
        // Tiles of about the same size: a small rest would keep few multiprocessors busy.
        const std::int64_t tiles = ceilDivide(weightRows, std::max(fitting, tileStep));
        const std::int64_t evenRows = ceilDivide(ceilDivide(weightRows, tiles), tileStep) * tileStep;
        plan.tileRows = std::min(weightRows, evenRows);
        plan.tileBytes = std::uint64_t(plan.tileRows) * rowBytes;
    }
    if (precision == ProductPrecision::Half) {
        plan.activationBytes = std::uint64_t(rows) * std::uint64_t(halfStride(columns)) * 2;
        plan.scaleBytes = std::uint64_t(rows) * sizeof(float);
    }
    plan.bytes = aligned(plan.tileBytes) + aligned(plan.activationBytes) + aligned(plan.scaleBytes);
    return plan;
}

cudaError_t multiplyMany(const CublasCalls &cublas, cublasHandle_t handle, ProductPrecision precision,
                         const DeviceWeight &weight, DeviceRows input, const float *bias, void *scratch,
                         DeviceRows output, cudaStream_t stream, std::uint64_t tileBytes)
{
    const MatrixProductPlan plan =
        matrixProductPlan(precision, weight.type, weight.rows, weight.columns, input.rows, tileBytes);
    if (!plan.isPossible || !weight.data || !input.data || !output.data || (!scratch && plan.bytes > 0) ||
        input.columns != weight.columns || output.rows != input.rows || output.columns != weight.rows ||
        input.stride < input.columns || output.stride < output.columns || input.stride > largestSize ||
        output.stride > largestSize)
        return cudaErrorInvalidValue;

    auto *tile = static_cast<std::byte *>(scratch);
    std::byte *half = tile + aligned(plan.tileBytes);
    auto *scales = reinterpret_cast<float *>(half + aligned(plan.activationBytes));
    const bool isHalf = precision == ProductPrecision::Half;
    Product product{cublas, handle, precision, weight.columns, {input.data, input.stride}, output};
    if (isHalf) {
        product.activations = {half, halfStride(weight.columns)};
        const cudaError_t status = scaleToHalf(input, half, product.activations.stride, scales, stream);
        if (status != cudaSuccess)
            return status;
    }
    if (plan.tileRows == 0) {
        // The stored rows are whole numbers of what the layout aligns them to.
        const auto rowBytes = static_cast<std::int64_t>(
            deviceWeightBytes(weight.type, weight.rows, weight.columns) / std::uint64_t(weight.rows));
        const Factor stored{weight.data, rowBytes / static_cast<std::int64_t>(valueBytes(precision))};
        const cudaError_t status = multiplyTile(product, stored, 0, weight.rows);
        if (status != cudaSuccess)
            return status;
    }
    for (std::int64_t first = 0; plan.tileRows > 0 && first < weight.rows; first += plan.tileRows) {
        const std::int64_t count = std::min(plan.tileRows, weight.rows - first);
        cudaError_t status = isHalf
                                 ? expandHalf(weight, first, count, tile, stream)
                                 : expandFloat(weight, first, count, reinterpret_cast<float *>(tile), stream);
        if (status == cudaSuccess)
            status = multiplyTile(product, {tile, weight.columns}, first, count);
        if (status != cudaSuccess)
            return status;
    }
    if (isHalf || bias)
        return finishProduct(output, isHalf ? scales : nullptr, bias, stream);
    return cudaSuccess;
}

} // namespace tokenloupe::cuda
