// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

namespace tokenloupe {

/// Where rows go that no longer fit into memory.
struct SpillSettings
{
    std::filesystem::path directory; ///< empty: $TMPDIR, else /var/tmp (on disk), else /tmp
    std::uint64_t maximumBytes = std::uint64_t(4) << 30;
};

/// One stored row; shares its memory with the rows that came before and after it.
class LogitRow
{
public:
    LogitRow(std::shared_ptr<const float[]> memory, std::size_t size)
        : m_memory(std::move(memory))
        , m_size(size)
    {}

    std::size_t size() const { return m_size; }
    const float *data() const { return m_memory.get(); }
    const float *begin() const { return data(); }
    const float *end() const { return data() + m_size; }
    float operator[](std::size_t i) const { return m_memory[i]; }
    operator std::span<const float>() const { return {data(), m_size}; } // as a vector does
    friend bool operator==(const LogitRow &a, std::span<const float> b)
    {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend bool operator==(const LogitRow &a, const LogitRow &b) { return a == std::span<const float>(b); }

private:
    std::shared_ptr<const float[]> m_memory;
    std::size_t m_size = 0;
};

/// Raw logits of steps, float32, (vocabulary) each. Keeps the newest in memory up to a byte budget; older
/// rows go to an unlinked temporary file; when that fails (no folder for it, disk full, maximum reached) they
/// are dropped and counted. Thread-safe: the engine thread puts, views get.
class LogitStore
{
public:
    using Row = std::shared_ptr<const LogitRow>;

    /// Memory for a row that is yet to be computed; empty when there is none.
    class Space
    {
    public:
        Space() = default;
        std::span<float> floats() const { return {m_memory.get(), m_size}; }

    private:
        friend class LogitStore;
        std::shared_ptr<float[]> m_memory;
        std::size_t m_size = 0;
    };

    explicit LogitStore(std::uint64_t memoryBudgetBytes, SpillSettings spill = {});
    ~LogitStore();
    LogitStore(const LogitStore &) = delete;
    LogitStore &operator=(const LogitStore &) = delete;

    /// For a row that is written where it will stay: then keep() it. The thread that puts.
    Space space(std::size_t floats);
    /// What was written to the space.
    Row keep(StepRef step, Space row);
    /// A row that is already there is replaced. The stored copy, which lives on for who holds it; null when
    /// there is no memory for it.
    Row put(StepRef step, std::span<const float> logits);
    /// The row, read back from the file if need be; nullptr when it was dropped or never stored.
    Row get(StepRef step) const;
    /// The first `steps` rows of one run are rows of another too (a branch). They count for both.
    void share(RunId from, RunId to, std::uint32_t steps);
    /// Forgets the steps of `run` from `from` on (a rewind).
    void truncate(RunId run, StepIndex from);
    void erase(RunId run);

    std::uint64_t memoryBytes() const;
    std::uint64_t spilledBytes() const;
    std::uint64_t droppedRows() const; ///< since the store was made

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace tokenloupe
