// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudabackend.h"
#include "engine/compute/shapecheck.h"
#include "kernels/cuda/matrixproduct.h"
#include "kernels/cuda/weightlayout.h"

#include <algorithm>
#include <vector>

namespace tokenloupe {

namespace {

cuda::DeviceRows part(const cuda::DeviceRows &rows, std::int32_t first, std::int32_t count)
{
    return {rows.data + first * rows.stride, count, rows.columns, rows.stride};
}

} // namespace

/// What a product counts as.
Operation CudaBackend::productOf(const Projection &projection) const
{
    const bool isHead = m_model && projection.weight == &m_model->weights().outputHead;
    return isHead ? Operation::Head : Operation::Product;
}

Status CudaBackend::checkProduct(Activations input, const Projection &projection) const
{
    if (Status good = checkWeight("multiply", *projection.weight, input.columns); !good)
        return good;
    if (projection.output.columns != projection.weight->rows)
        return wrongShape("multiply", "output columns", projection.output.columns, projection.weight->rows);
    if (projection.output.rows != input.rows)
        return wrongShape("multiply", "output rows", projection.output.rows, input.rows);
    return {};
}

Status CudaBackend::multiply(Activations input, std::span<const Projection> projections)
{
    for (const Projection &projection : projections) {
        if (Status good = checkProduct(input, projection); !good)
            return good;
    }
    if (projections.empty() || input.rows == 0)
        return {};
    if (input.rows <= cuda::largestDecodeRows)
        return multiplyFew(input, projections);
    openCublas();
    for (const Projection &projection : projections) {
        if (Status done = multiplyMany(input, projection); !done)
            return done;
    }
    return {};
}

/// Whether weights of this type are multiplied by rounded activations.
bool CudaBackend::isRounded(TensorType type, std::int64_t columns) const
{
    return m_precision == Precision::Fast && cuda::hasQuantizedProduct(type, columns);
}

/// The planes of rounded rows, filled.
Result<cuda::QuantizedRows> CudaBackend::quantize(cuda::DeviceRows rows)
{
    const Result<std::byte *> memory =
        reserve(m_quantized, cuda::quantizedRowsBytes(rows.rows, rows.columns));
    if (!memory)
        return tl::unexpected(memory.error());
    const cuda::QuantizedRows planes = cuda::quantizedRowsAt(*memory, rows.rows, rows.columns);
    if (Status done = m_deferred.quantize(rows, planes); !done)
        return tl::unexpected(done.error());
    return planes;
}

Status CudaBackend::multiplyFew(Activations input, std::span<const Projection> projections)
{
    const cuda::DeviceRows rows = rowsOf(input);
    std::vector<cuda::DeviceProduct> products;
    for (const Projection &projection : projections) {
        const Result<cuda::DeviceWeight> weight = m_weights->matrix(*projection.weight);
        if (!weight)
            return tl::unexpected(weight.error());
        const Result<const float *> bias = vectorOf("bias", projection.bias, projection.weight->rows);
        if (!bias)
            return tl::unexpected(bias.error());
        products.push_back({*weight, *bias, rowsOf(projection.output)});
    }
    const auto typeOf = [](const cuda::DeviceProduct &product) { return product.weight.type; };
    cuda::QuantizedRows planes;
    if (std::any_of(products.begin(), products.end(), [&](const cuda::DeviceProduct &product) {
            return isRounded(typeOf(product), rows.columns);
        })) {
        const Result<cuda::QuantizedRows> made = quantize(rows);
        if (!made)
            return tl::unexpected(made.error());
        planes = *made;
    } else if (Status started = m_deferred.flush(); !started) {
        return started;
    }
    m_queue->count(productOf(projections.front()));
    // Those of one type go together.
    std::stable_sort(
        products.begin(), products.end(),
        [&](const cuda::DeviceProduct &a, const cuda::DeviceProduct &b) { return typeOf(a) < typeOf(b); });
    for (std::size_t first = 0; first < products.size();) {
        const cuda::DeviceProduct *some = &products[first];
        std::int32_t count = 1;
        while (first + static_cast<std::size_t>(count) < products.size() && count < cuda::mostProducts &&
               typeOf(some[count]) == typeOf(*some))
            ++count;
        const cudaError_t started = isRounded(typeOf(*some), rows.columns)
                                        ? cuda::multiplyQuantized(some, count, planes, m_queue->stream())
                                        : cuda::multiplyExact(some, count, rows, m_queue->stream());
        if (Status good = start(started, "multiply"); !good)
            return good;
        first += static_cast<std::size_t>(count);
    }
    return {};
}

Status CudaBackend::multiplyMany(Activations input, const Projection &projection)
{
    const cuda::DeviceRows rows = rowsOf(input);
    const cuda::DeviceRows output = rowsOf(projection.output);
    if (!m_cublas) {
        for (std::int32_t first = 0; first < rows.rows; first += cuda::largestDecodeRows) {
            const std::int32_t count = std::min(cuda::largestDecodeRows, rows.rows - first);
            const auto few = [&](const cuda::DeviceRows &all) {
                const cuda::DeviceRows some = part(all, first, count);
                return Activations{some.data, some.rows, some.columns};
            };
            const Projection some{projection.weight, projection.bias, few(output)};
            if (Status done = multiplyFew(few(rows), {&some, 1}); !done)
                return done;
        }
        return {};
    }
    if (Status started = m_deferred.flush(); !started)
        return started;
    const Result<cuda::DeviceWeight> weight = m_weights->matrix(*projection.weight);
    if (!weight)
        return tl::unexpected(weight.error());
    const Result<const float *> bias = vectorOf("bias", projection.bias, projection.weight->rows);
    if (!bias)
        return tl::unexpected(bias.error());
    const auto precision =
        m_precision == Precision::Fast ? cuda::ProductPrecision::Half : cuda::ProductPrecision::Exact;
    const cuda::MatrixProductPlan plan =
        cuda::matrixProductPlan(precision, weight->type, weight->rows, weight->columns, rows.rows);
    const Result<std::byte *> scratch = reserve(m_product, plan.bytes);
    if (!scratch)
        return tl::unexpected(scratch.error());
    m_queue->count(productOf(projection));
    return start(cuda::multiplyMany(m_cublas->calls(), m_cublas->get(), precision, *weight, rows, *bias,
                                    *scratch, output, m_queue->stream()),
                 "multiply");
}

} // namespace tokenloupe
