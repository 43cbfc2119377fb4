// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cpubackend.h"
#include "engine/compute/shapecheck.h"

#include <algorithm>

namespace tokenloupe {

namespace {

// Rows are handed out in groups of a cache line of outputs: no two threads write to one line, and kernels
// that compute several rows together get whole groups.
constexpr std::int64_t unitRows = 16;
static_assert(unitRows == stripeRows);

// What a worker fetches of the next product's weights while it waits for it; and what the thread fetches that
// has other work to do first.
constexpr std::uint32_t idleFetchBytes = 128 << 10;
constexpr std::uint32_t ownFetchBytes = 4 << 10;
// Norms between two products, and the longest gain that is worth it.
constexpr std::size_t mostGains = 4;
constexpr std::size_t mostGainBytes = 32 << 10;

std::int64_t unitsOf(std::int64_t rows)
{
    return (rows + unitRows - 1) / unitRows;
}

} // namespace

Status CpuBackend::prepareProducts(Activations input, std::span<const Projection> projections)
{
    m_products.clear();
    m_biasScratch.resize(std::max(m_biasScratch.size(), projections.size()));
    std::int64_t firstUnit = 0;
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const Projection &projection = projections[i];
        if (Status good = checkWeight("multiply", *projection.weight, input.columns); !good)
            return good;
        if (projection.output.columns != projection.weight->rows)
            return wrongShape("multiply", "output columns", projection.output.columns,
                              projection.weight->rows);
        if (projection.output.rows != input.rows)
            return wrongShape("multiply", "output rows", projection.output.rows, input.rows);
        Product product{matrixOf(*projection.weight), nullptr, nullptr, projection.output, firstUnit};
        if (m_packed)
            product.packed = m_packed->find(*projection.weight);
        if (projection.bias && projection.bias->isPresent()) {
            if (Status good = checkWeight("bias", *projection.bias, projection.weight->rows); !good)
                return good;
            product.bias = vectorOf(*projection.bias, m_biasScratch[i]);
        }
        m_products.push_back(product);
        firstUnit += unitsOf(projection.weight->rows);
    }
    return {};
}

/// The input as integers, for the packed matrices of the call.
void CpuBackend::quantizeInput(Activations input)
{
    const std::int64_t rowBytes = activationRowBytes(input.columns);
    m_quantized.resize(std::max(m_quantized.size(), static_cast<std::size_t>(rowBytes * input.rows)));
    share(input.rows, input.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            m_fastKernels.quantizeRow(input.data + row * input.columns, input.columns,
                                      m_quantized.data() + row * rowBytes);
    });
}

/// Where the weights of a row group of the call begin.
const std::byte *CpuBackend::startOf(std::int64_t unit) const
{
    const Product *product = &m_products.front();
    for (const Product &next : m_products) {
        if (next.firstUnit <= unit)
            product = &next;
    }
    if (!product->packed)
        return product->matrix.data;
    return product->packed->data +
           (unit - product->firstUnit) * packedStripeBytes(product->packed->type, product->packed->columns);
}

/// Remembers that this call came after the last one, and tells the workers where the one after this begins.
/// The processor cannot guess that, and waits at the start of every stretch for the first lines of it.
void CpuBackend::learnOrder(std::int64_t units)
{
    const std::byte *call = m_products.front().matrix.data;
    std::vector<const std::byte *> &starts = m_following[m_lastCall].starts;
    if (starts.empty() || starts.front() != startOf(0)) {
        starts.clear();
        for (int worker = 0; worker < m_pool->threads(); ++worker)
            starts.push_back(startOf(StretchQueue::firstUnit(worker, m_pool->threads(), units)));
    }
    m_lastCall = call;
    const auto next = m_following.find(call);
    if (next == m_following.end())
        return;
    for (int worker = 1; worker < m_pool->threads() && !next->second.starts.empty(); ++worker)
        m_pool->fetchNext(worker, next->second.starts[std::size_t(worker)], idleFetchBytes);
    // Here, not with fetchNext(): they are wanted right after the product, and it takes long enough.
    for (const std::span<const std::byte> gain : next->second.gains)
        m_pool->fetchNext(0, gain.data(), static_cast<std::uint32_t>(gain.size()));
}

void CpuBackend::fetchNext()
{
    const auto next = m_following.find(m_lastCall);
    if (next != m_following.end() && !next->second.starts.empty())
        m_pool->fetchNext(0, next->second.starts.front(), ownFetchBytes);
}

/// A whole model of weights goes through the caches between two uses of a gain, so it has to come from memory
/// too.
void CpuBackend::noteGain(const Weight &gain)
{
    std::vector<std::span<const std::byte>> &gains = m_following[m_lastCall].gains;
    const auto isIt = [&](std::span<const std::byte> known) { return known.data() == gain.data.data(); };
    if (gains.size() < mostGains && gain.data.size() <= mostGainBytes &&
        std::none_of(gains.begin(), gains.end(), isIt))
        gains.push_back(gain.data);
}

/// Row groups [begin, end) of the call, counted over its matrices one after the other.
void CpuBackend::multiplyUnits(Activations input, std::int64_t begin, std::int64_t end) const
{
    for (const Product &product : m_products) {
        const std::int64_t rows = product.matrix.rows;
        const std::int64_t from = std::max<std::int64_t>(begin - product.firstUnit, 0) * unitRows;
        const std::int64_t to = std::min((end - product.firstUnit) * unitRows, rows);
        if (from >= to)
            continue;
        const Activations &output = product.output;
        if (product.packed)
            m_fastKernels.matmul(*product.packed, m_quantized.data(), input.rows, output.data, output.columns,
                                 from / unitRows, unitsOf(to));
        else
            m_kernels.matmul(product.matrix, input.data, input.columns, input.rows, output.data,
                             output.columns, from, to);
        if (!product.bias)
            continue;
        for (std::int64_t token = 0; token < output.rows; ++token)
            m_kernels.add(product.bias + from, to - from, output.data + token * output.columns + from);
    }
}

Status CpuBackend::multiply(Activations input, std::span<const Projection> projections)
{
    const bool isHead = !projections.empty() && projections.front().weight == m_head;
    const OperationWatch::Scope counted(m_watch, isHead ? Operation::Head : Operation::Product);
    if (Status good = prepareProducts(input, projections); !good)
        return good;
    if (m_products.empty())
        return {};
    if (std::any_of(m_products.begin(), m_products.end(), [](const Product &p) { return p.packed; }))
        quantizeInput(input);
    const Product &last = m_products.back();
    const std::int64_t units = last.firstUnit + unitsOf(last.matrix.rows);
    // One region for all matrices of the call: they lie behind each other as one long stretch of rows.
    const bool streams = input.rows == 1 && m_packed;
    if (streams)
        learnOrder(units);
    share(units, unitRows * input.columns * input.rows,
          [&](int, std::int64_t begin, std::int64_t end) { multiplyUnits(input, begin, end); });
    if (streams)
        fetchNext();
    return {};
}

} // namespace tokenloupe
