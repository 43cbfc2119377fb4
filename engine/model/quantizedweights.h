// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/cache/hostregion.h"
#include "engine/compute/workerpool.h"
#include "engine/model/quantizationplan.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

namespace tokenloupe {

/// Proof that somebody reads weights where they are: as long as it lives none of these is given back.
using WeightsHold = std::shared_ptr<const void>;

/// The matrices that were quantised at load, in one stretch of memory, each on a 64-byte line. What is stored
/// stays mapped: who has a copy of the quantised rows in a form of its own gives them back, and they are
/// made again from the file, the same bytes, when somebody wants them in place. May be used by any thread.
class QuantizedWeights : public std::enable_shared_from_this<QuantizedWeights>
{
public:
    /// Gives back pages of what is stored.
    using ReleaseStored = std::function<void(std::span<const std::byte>)>;

    /// Reserves the room; nothing is converted yet.
    static Result<std::shared_ptr<QuantizedWeights>> create(QuantizationPlan plan,
                                                            ReleaseStored releaseStored);

    /// Converts all, piece by piece: at no time is more than a piece of what is stored in memory on account
    /// of this. Progress advances by stored bytes.
    Status convert(WorkerPool &pool, Progress *progress, const std::stop_token &stop);

    const QuantizationPlan &plan() const { return m_plan; }
    std::span<const std::byte> memory() const { return {m_region.data(), m_region.bytes()}; }
    /// The quantised form of a stored matrix; null when it has none.
    const Weight *find(const Weight &stored) const;
    /// The other way round.
    const Weight *storedOf(const Weight &quantized) const;
    /// The parts of a stored tensor that have no quantised form.
    std::vector<std::span<const std::byte>> partsOutside(std::span<const std::byte> stored) const;

    bool contains(std::span<const std::byte> quantized) const { return m_region.contains(quantized); }
    /// Whole rows of a quantised matrix that are not needed in place any more; kept until nobody holds them.
    void release(std::span<const std::byte> rows);
    /// Makes such rows again where they are missing.
    Status restore(std::span<const std::byte> rows, WorkerPool &pool);
    /// Makes what is missing of whole quantised matrices (or of all of memory()) and keeps them.
    Result<WeightsHold> hold(std::vector<std::span<const std::byte>> kept, WorkerPool &pool,
                             Progress *progress, const std::stop_token &stop);

private:
    struct Matrix
    {
        Weight stored;
        Weight quantized;
        std::byte *out = nullptr;
        std::vector<bool> missing; ///< a flag for each row; empty: none is

        std::int64_t storedRowBytes() const { return rowBytes(stored); }
        std::int64_t quantizedRowBytes() const { return rowBytes(quantized); }
        static std::int64_t rowBytes(const Weight &weight)
        {
            return static_cast<std::int64_t>(weight.data.size()) / weight.rows;
        }
    };
    struct Rows
    {
        Matrix *matrix = nullptr;
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };

    QuantizedWeights(QuantizationPlan plan, ReleaseStored releaseStored)
        : m_plan(std::move(plan))
        , m_releaseStored(std::move(releaseStored))
    {}
    Rows rowsAt(std::span<const std::byte> quantized);
    void releaseNow(std::span<const std::byte> rows);
    bool isHeld(std::span<const std::byte> rows) const;
    void endHold(std::uint64_t id);
    Status convertRows(Matrix &matrix, std::int64_t begin, std::int64_t end, WorkerPool &pool,
                       Progress *progress, const std::stop_token &stop) const;
    Status restoreRows(const Rows &rows, WorkerPool &pool, Progress *progress, const std::stop_token &stop);

    QuantizationPlan m_plan;
    ReleaseStored m_releaseStored;
    HostRegion m_region;
    std::vector<Matrix> m_matrices;        // by where the quantised form lies
    std::vector<std::uint32_t> m_byStored; // the same by where the stored form lies
    std::mutex m_mutex;                    // of `missing` and what follows
    std::map<std::uint64_t, std::vector<std::span<const std::byte>>> m_holds; // what each keeps
    std::uint64_t m_nextHold = 0;
    std::vector<std::span<const std::byte>> m_waiting; // to be released when nobody holds them
};

} // namespace tokenloupe
