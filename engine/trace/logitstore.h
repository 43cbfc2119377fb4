// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace tokenloupe {

/// Where rows go that no longer fit into memory.
struct SpillSettings
{
    std::filesystem::path directory; ///< empty: $TMPDIR, else /var/tmp (on disk), else /tmp
    std::uint64_t maximumBytes = std::uint64_t(4) << 30;
};

/// Raw logits of steps, float32, (vocabulary) each. Keeps the newest in memory up to a byte budget; older
/// rows go to an unlinked temporary file; when that fails (no folder for it, disk full, maximum reached) they
/// are dropped and counted. Thread-safe: the engine thread puts, views get.
class LogitStore
{
public:
    using Row = std::shared_ptr<const std::vector<float>>;

    explicit LogitStore(std::uint64_t memoryBudgetBytes, SpillSettings spill = {});
    ~LogitStore();
    LogitStore(const LogitStore &) = delete;
    LogitStore &operator=(const LogitStore &) = delete;

    /// A row that is already there is replaced.
    void put(StepRef step, std::span<const float> logits);
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
