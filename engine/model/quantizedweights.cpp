// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/quantizedweights.h"

#include "engine/base/mappedfile.h"
#include "engine/compute/stretchqueue.h"
#include "kernels/cpu/cpukernels.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tokenloupe {

namespace {

constexpr std::uint64_t lineBytes = 64;
// Of what is stored: converted between two looks at the stop token, then given back.
constexpr std::int64_t pieceBytes = std::int64_t(8) << 20;

std::uint64_t wholeLines(std::uint64_t bytes)
{
    return (bytes + lineBytes - 1) / lineBytes * lineBytes;
}

bool isBefore(const std::byte *a, const std::byte *b)
{
    return std::less<>()(a, b);
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b)
{
    return isBefore(a.data(), b.data() + b.size()) && isBefore(b.data(), a.data() + a.size());
}

} // namespace

Result<std::shared_ptr<QuantizedWeights>> QuantizedWeights::create(QuantizationPlan plan,
                                                                   ReleaseStored releaseStored)
{
    std::shared_ptr<QuantizedWeights> created(
        new QuantizedWeights(std::move(plan), std::move(releaseStored)));
    std::uint64_t total = 0;
    for (const MatrixConversion &conversion : created->m_plan.matrices)
        total += wholeLines(conversion.bytes);
    auto region = HostRegion::reserve(total, "quantised weights");
    if (!region)
        return tl::unexpected(region.error());
    created->m_region = std::move(*region);
    std::byte *out = created->m_region.data();
    for (const MatrixConversion &conversion : created->m_plan.matrices) {
        const Weight &stored = conversion.stored;
        created->m_matrices.push_back(
            {stored, {conversion.type, stored.rows, stored.columns, {out, conversion.bytes}}, out, {}});
        out += wholeLines(conversion.bytes);
    }
    std::vector<std::uint32_t> &order = created->m_byStored;
    order.resize(created->m_matrices.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return isBefore(created->m_matrices[a].stored.data.data(), created->m_matrices[b].stored.data.data());
    });
    return created;
}

Status QuantizedWeights::convert(WorkerPool &pool, Progress *progress, const std::stop_token &stop)
{
    for (Matrix &matrix : m_matrices) {
        if (Status done = convertRows(matrix, 0, matrix.stored.rows, pool, progress, stop); !done)
            return done;
    }
    return {};
}

Status QuantizedWeights::convertRows(Matrix &matrix, std::int64_t begin, std::int64_t end, WorkerPool &pool,
                                     Progress *progress, const std::stop_token &stop) const
{
    const CpuKernels &kernels = cpuKernels();
    const Weight &stored = matrix.stored;
    const WeightMatrix source{stored.type, stored.rows, stored.columns, stored.data.data()};
    const std::int64_t storedBytes = matrix.storedRowBytes();
    const std::int64_t piece = std::max<std::int64_t>(1, pieceBytes / storedBytes);
    StretchQueue queue(pool.threads());
    for (std::int64_t first = begin; first < end; first += piece) {
        if (stop.stop_requested())
            return makeError(ErrorCode::Cancelled, "quantise the weights", "cancelled");
        const std::int64_t last = std::min(first + piece, end);
        const auto bytes = static_cast<std::size_t>((last - first) * storedBytes);
        const auto range = stored.data.subspan(static_cast<std::size_t>(first * storedBytes), bytes);
        // Errors of the disk come here, not as a signal.
        if (Status read = readAhead(range); !read)
            return read;
        queue.reset(last - first, 1);
        pool.run([&](int worker) {
            std::vector<float> row(static_cast<std::size_t>(stored.columns));
            for (Stretch part = queue.next(worker); !part.isEmpty(); part = queue.next(worker)) {
                for (std::int64_t r = first + part.begin; r < first + part.end; ++r) {
                    kernels.dequantizeRow(source, r, row.data());
                    kernels.quantizeWeights(matrix.quantized.type, row.data(), stored.columns,
                                            matrix.out + r * matrix.quantizedRowBytes());
                }
            }
        });
        m_releaseStored(range);
        if (progress)
            progress->advance(bytes);
    }
    return {};
}

const Weight *QuantizedWeights::find(const Weight &stored) const
{
    const auto found = std::lower_bound(m_byStored.begin(), m_byStored.end(), stored.data.data(),
                                        [this](std::uint32_t index, const std::byte *data) {
                                            return isBefore(m_matrices[index].stored.data.data(), data);
                                        });
    if (found == m_byStored.end())
        return nullptr;
    const Matrix &matrix = m_matrices[*found];
    return matrix.stored.data.data() == stored.data.data() && matrix.stored.rows == stored.rows
               ? &matrix.quantized
               : nullptr;
}

const Weight *QuantizedWeights::storedOf(const Weight &quantized) const
{
    const auto found = std::lower_bound(
        m_matrices.begin(), m_matrices.end(), quantized.data.data(),
        [](const Matrix &matrix, const std::byte *data) { return isBefore(matrix.out, data); });
    return found != m_matrices.end() && found->out == quantized.data.data() ? &found->stored : nullptr;
}

std::vector<std::span<const std::byte>>
QuantizedWeights::partsOutside(std::span<const std::byte> stored) const
{
    std::vector<std::span<const std::byte>> parts;
    const std::byte *at = stored.data();
    const std::byte *const end = stored.data() + stored.size();
    const auto first = std::lower_bound(m_byStored.begin(), m_byStored.end(), at,
                                        [this](std::uint32_t index, const std::byte *data) {
                                            return isBefore(m_matrices[index].stored.data.data(), data);
                                        });
    for (auto matrix = first; matrix != m_byStored.end(); ++matrix) {
        const std::span<const std::byte> inside = m_matrices[*matrix].stored.data;
        if (!isBefore(inside.data(), end))
            break;
        if (isBefore(at, inside.data()))
            parts.emplace_back(at, inside.data());
        at = inside.data() + inside.size();
    }
    if (isBefore(at, end))
        parts.emplace_back(at, end);
    return parts;
}

QuantizedWeights::Rows QuantizedWeights::rowsAt(std::span<const std::byte> quantized)
{
    const auto behind = std::upper_bound(
        m_matrices.begin(), m_matrices.end(), quantized.data(),
        [](const std::byte *data, const Matrix &matrix) { return isBefore(data, matrix.out); });
    if (behind == m_matrices.begin())
        return {};
    Matrix &matrix = *(behind - 1);
    const std::int64_t rowBytes = matrix.quantizedRowBytes();
    const std::int64_t begin = (quantized.data() - matrix.out) / rowBytes;
    const std::int64_t count = static_cast<std::int64_t>(quantized.size()) / rowBytes;
    return {&matrix, begin, std::min(begin + count, matrix.stored.rows)};
}

void QuantizedWeights::release(std::span<const std::byte> rows)
{
    const std::lock_guard lock(m_mutex);
    if (isHeld(rows))
        m_waiting.push_back(rows);
    else
        releaseNow(rows);
}

bool QuantizedWeights::isHeld(std::span<const std::byte> rows) const
{
    return std::any_of(m_holds.begin(), m_holds.end(), [rows](const auto &hold) {
        return std::any_of(hold.second.begin(), hold.second.end(),
                           [rows](std::span<const std::byte> kept) { return overlap(kept, rows); });
    });
}

void QuantizedWeights::endHold(std::uint64_t id)
{
    const std::lock_guard lock(m_mutex);
    m_holds.erase(id);
    std::erase_if(m_waiting, [this](std::span<const std::byte> rows) {
        const bool goes = !isHeld(rows);
        if (goes)
            releaseNow(rows);
        return goes;
    });
}

void QuantizedWeights::releaseNow(std::span<const std::byte> rows)
{
    const Rows given = rowsAt(rows);
    if (!given.matrix)
        return;
    std::vector<bool> &missing = given.matrix->missing;
    missing.resize(static_cast<std::size_t>(given.matrix->stored.rows));
    std::fill(missing.begin() + given.begin, missing.begin() + given.end, true);
    m_region.release(rows);
}

Status QuantizedWeights::restoreRows(const Rows &rows, WorkerPool &pool, Progress *progress,
                                     const std::stop_token &stop)
{
    std::vector<bool> &missing = rows.matrix->missing;
    if (missing.empty())
        return {};
    const auto last = missing.begin() + rows.end;
    for (auto begin = std::find(missing.begin() + rows.begin, last, true); begin != last;) {
        const auto end = std::find(begin, last, false);
        if (Status done = convertRows(*rows.matrix, begin - missing.begin(), end - missing.begin(), pool,
                                      progress, stop);
            !done)
            return done;
        std::fill(begin, end, false);
        begin = std::find(end, last, true);
    }
    return {};
}

Status QuantizedWeights::restore(std::span<const std::byte> rows, WorkerPool &pool)
{
    const std::lock_guard lock(m_mutex);
    // Whoever asks is about to read them.
    std::erase_if(m_waiting, [rows](std::span<const std::byte> waiting) { return overlap(waiting, rows); });
    const Rows wanted = rowsAt(rows);
    return wanted.matrix ? restoreRows(wanted, pool, nullptr, {}) : Status();
}

Result<WeightsHold> QuantizedWeights::hold(std::vector<std::span<const std::byte>> kept, WorkerPool &pool,
                                           Progress *progress, const std::stop_token &stop)
{
    const std::lock_guard lock(m_mutex);
    const auto isKept = [&kept](std::span<const std::byte> rows) {
        return std::any_of(kept.begin(), kept.end(),
                           [rows](std::span<const std::byte> some) { return overlap(some, rows); });
    };
    std::vector<Matrix *> wanted;
    std::int64_t bytes = 0;
    for (Matrix &matrix : m_matrices) {
        if (!isKept(matrix.quantized.data))
            continue;
        wanted.push_back(&matrix);
        bytes += std::count(matrix.missing.begin(), matrix.missing.end(), true) * matrix.storedRowBytes();
    }
    if (progress)
        progress->start(static_cast<std::uint64_t>(bytes));
    for (Matrix *matrix : wanted) {
        if (Status done = restoreRows({matrix, 0, matrix->stored.rows}, pool, progress, stop); !done)
            return tl::unexpected(done.error());
    }
    std::erase_if(m_waiting, isKept);
    const std::uint64_t id = m_nextHold++;
    m_holds.emplace(id, std::move(kept));
    return WeightsHold(this, [self = shared_from_this(), id](const void *) { self->endHold(id); });
}

} // namespace tokenloupe
