// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/packedmemory.h"

#include "engine/cache/hostmemory.h"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <sys/mman.h>
#include <system_error>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // of Linux 6.1; older headers do not name it, older systems refuse it
#endif

namespace tokenloupe {

namespace {

constexpr std::uint64_t unit = PackedMemory::unitBytes;

/// Of this thread, so that others who run meanwhile do not count.
double threadMs()
{
    timespec now = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

void advise(std::byte *data, std::uint64_t bytes, int advice)
{
    ::madvise(data, bytes, advice); // only a wish
}

} // namespace

Result<std::unique_ptr<PackedMemory>> PackedMemory::reserve(std::uint64_t bytes, const PagePatience &patience)
{
    if (exceedsHostMemory(bytes))
        return outOfHostMemory("packed weights", bytes);
    const std::uint64_t units = (bytes + unit - 1) / unit;
    const std::uint64_t room = (units + 1) * unit;
    void *memory = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return outOfHostMemory("packed weights", bytes);
    // Large pages begin at multiples of their size: what lies before and behind is given back.
    auto *const begin = static_cast<std::byte *>(memory);
    const std::uint64_t before = (unit - reinterpret_cast<std::uintptr_t>(begin) % unit) % unit;
    if (before > 0)
        ::munmap(begin, before);
    ::munmap(begin + before + units * unit, unit - before);
#ifdef MADV_HUGEPAGE
    advise(begin + before, units * unit, MADV_HUGEPAGE);
#endif
    return std::unique_ptr<PackedMemory>(new PackedMemory(begin + before, units, patience));
}

PackedMemory::~PackedMemory()
{
    m_joiner = {}; // stops and joins
    ::munmap(m_data, m_units * unit);
}

void PackedMemory::take(std::uint64_t index)
{
    if (m_slow >= m_patience.slowUnits)
        return;
    const double start = threadMs();
    *unitData(index) = std::byte(0); // the whole unit comes with its first byte
    if (threadMs() - start < m_patience.slowMs || ++m_slow != m_patience.slowUnits)
        return;
    const std::uint64_t firstSmall = index + 1;
    m_firstSmall = firstSmall;
#ifdef MADV_NOHUGEPAGE
    if (firstSmall < m_units)
        advise(unitData(firstSmall), (m_units - firstSmall) * unit, MADV_NOHUGEPAGE);
#endif
}

void PackedMemory::joinSmallPages()
{
    if (m_firstSmall >= m_units)
        return;
#ifdef MADV_HUGEPAGE
    advise(unitData(m_firstSmall), (m_units - m_firstSmall) * unit, MADV_HUGEPAGE);
    try {
        m_joiner = std::jthread([this](const std::stop_token &stop) { join(stop); });
    } catch (const std::system_error &) {
        // No thread to be had: the system itself joins them, if slowly.
    }
#endif
}

void PackedMemory::join(const std::stop_token &stop) const
{
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wait;
    wait.wait_for(lock, stop, m_patience.beforeJoining, [] { return false; });
    for (std::uint64_t index = m_firstSmall; index < m_units && !stop.stop_requested(); ++index)
        advise(unitData(index), unit, MADV_COLLAPSE);
}

} // namespace tokenloupe
