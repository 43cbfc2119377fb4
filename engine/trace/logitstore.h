// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tokenloupe {

/// Raw logits of steps, float32, (vocabulary) each. Keeps the newest in memory up to a byte budget; older rows go
/// to an unlinked temporary file that is memory-mapped; when that fails (disk full) they are dropped and
/// counted. Thread-safe: the engine thread puts, views get.
class LogitStore
{
public:
    using Row = std::shared_ptr<const std::vector<float>>;

    explicit LogitStore(std::uint64_t memoryBudgetBytes);
    ~LogitStore();

    void put(StepRef step, std::span<const float> logits);
    /// The row, read back from the file if need be; nullptr when it was dropped or never stored.
    Row get(StepRef step) const;
    /// Forgets the steps of `run` from `from` on (a rewind).
    void truncate(RunId run, StepIndex from);
    void erase(RunId run);

    std::uint64_t memoryBytes() const;
    std::uint64_t spilledBytes() const;
    std::uint64_t droppedRows() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace tokenloupe
