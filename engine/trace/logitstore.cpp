// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/logitstore.h"

#include "engine/trace/rowmemory.h"
#include "engine/trace/spillfile.h"

#include <cstring>
#include <list>
#include <map>
#include <mutex>

namespace tokenloupe {

struct LogitStore::Impl
{
    struct Entry
    {
        Row row;                          ///< null once it is in the file
        SpillFile::Extent extent;         ///< when row is null
        std::list<StepRef>::iterator age; ///< place in `inMemory` when row is not null
    };
    using Entries = std::map<StepRef, Entry>;

    Impl(std::uint64_t budgetBytes, SpillSettings spill)
        : budget(budgetBytes)
        , file(std::move(spill))
    {}

    static std::uint64_t bytesOf(const Row &row) { return row->size() * sizeof(float); }

    Entries::iterator forget(Entries::iterator entry)
    {
        if (entry->second.row) {
            memory -= bytesOf(entry->second.row);
            inMemory.erase(entry->second.age);
        } else {
            file.release(entry->second.extent);
        }
        return entries.erase(entry);
    }

    void insert(StepRef step, Row row)
    {
        if (const auto old = entries.find(step); old != entries.end())
            forget(old);
        memory += bytesOf(row);
        const auto age = inMemory.insert(inMemory.end(), step);
        entries.emplace(step, Entry{std::move(row), {}, age});
        while (memory > budget)
            spillOldest();
    }

    void spillOldest()
    {
        const auto entry = entries.find(inMemory.front());
        Result<SpillFile::Extent> extent = file.write(*entry->second.row);
        if (!extent) {
            forget(entry);
            ++dropped;
            return;
        }
        memory -= bytesOf(entry->second.row);
        inMemory.pop_front();
        entry->second.row = nullptr;
        entry->second.extent = *extent;
    }

    RowMemory rows;             ///< of the thread that puts
    const std::uint64_t budget; ///< bytes
    mutable std::mutex mutex;   ///< guards everything below
    Entries entries;
    std::list<StepRef> inMemory; ///< oldest first
    std::uint64_t memory = 0;    ///< bytes
    std::uint64_t dropped = 0;
    SpillFile file;
};

LogitStore::LogitStore(std::uint64_t memoryBudgetBytes, SpillSettings spill)
    : m_impl(std::make_unique<Impl>(memoryBudgetBytes, std::move(spill)))
{}

LogitStore::~LogitStore() = default;

LogitStore::Row LogitStore::put(StepRef step, std::span<const float> logits)
{
    if (!step.isValid() || logits.empty())
        return nullptr;
    Space room = space(logits.size());
    if (room.floats().empty()) {
        const std::lock_guard lock(m_impl->mutex);
        ++m_impl->dropped;
        return nullptr;
    }
    std::memcpy(room.floats().data(), logits.data(), logits.size_bytes());
    return keep(step, std::move(room));
}

LogitStore::Space LogitStore::space(std::size_t floats)
{
    Space space;
    space.m_memory = m_impl->rows.take(floats);
    space.m_size = space.m_memory ? floats : 0;
    return space;
}

LogitStore::Row LogitStore::keep(StepRef step, Space space)
{
    if (!step.isValid() || space.floats().empty())
        return nullptr;
    auto row = std::make_shared<const LogitRow>(std::move(space.m_memory), space.m_size);
    const std::lock_guard lock(m_impl->mutex);
    m_impl->insert(step, row);
    return row;
}

LogitStore::Row LogitStore::get(StepRef step) const
{
    const std::lock_guard lock(m_impl->mutex);
    const auto entry = m_impl->entries.find(step);
    if (entry == m_impl->entries.end())
        return nullptr;
    if (entry->second.row)
        return entry->second.row;
    const std::size_t size = entry->second.extent.bytes / sizeof(float);
    const auto memory = std::make_shared_for_overwrite<float[]>(size);
    if (!m_impl->file.read(entry->second.extent, {memory.get(), size}))
        return nullptr;
    return std::make_shared<const LogitRow>(memory, size);
}

void LogitStore::share(RunId from, RunId to, std::uint32_t steps)
{
    for (std::uint32_t step = 0; step < steps; ++step) {
        Row row = get({from, StepIndex(step)});
        if (!row)
            continue;
        const std::lock_guard lock(m_impl->mutex);
        m_impl->insert({to, StepIndex(step)}, std::move(row));
    }
}

void LogitStore::truncate(RunId run, StepIndex from)
{
    const std::lock_guard lock(m_impl->mutex);
    auto entry = m_impl->entries.lower_bound(StepRef{run, from});
    while (entry != m_impl->entries.end() && entry->first.run == run)
        entry = m_impl->forget(entry);
}

void LogitStore::erase(RunId run)
{
    truncate(run, StepIndex(0));
}

std::uint64_t LogitStore::memoryBytes() const
{
    const std::lock_guard lock(m_impl->mutex);
    return m_impl->memory;
}

std::uint64_t LogitStore::spilledBytes() const
{
    const std::lock_guard lock(m_impl->mutex);
    return m_impl->file.usedBytes();
}

std::uint64_t LogitStore::droppedRows() const
{
    const std::lock_guard lock(m_impl->mutex);
    return m_impl->dropped;
}

} // namespace tokenloupe
