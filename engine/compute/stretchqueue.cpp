// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/stretchqueue.h"

#include <algorithm>
#include <cassert>

namespace tokenloupe {

namespace {

std::uint64_t pack(std::int64_t begin, std::int64_t end)
{
    return (static_cast<std::uint64_t>(begin) << 32) | static_cast<std::uint64_t>(end);
}

Stretch unpack(std::uint64_t range)
{
    return {static_cast<std::int64_t>(range >> 32), static_cast<std::int64_t>(range & 0xffffffffU)};
}

} // namespace

StretchQueue::StretchQueue(int workers)
    : m_workers(workers)
    , m_shares(std::make_unique<Share[]>(static_cast<std::size_t>(workers)))
{}

void StretchQueue::reset(std::int64_t units, std::int64_t grain)
{
    assert(units >= 0 && units < (std::int64_t(1) << 32));
    m_grain = std::max<std::int64_t>(grain, 1);
    for (int worker = 0; worker < m_workers; ++worker) {
        const std::int64_t begin = firstUnit(worker, m_workers, units);
        const std::int64_t end = firstUnit(worker + 1, m_workers, units);
        m_shares[static_cast<std::size_t>(worker)].range.store(pack(begin, end), std::memory_order_relaxed);
    }
}

// Relaxed order is enough in both: the numbers themselves are all that is handed over here; the data they
// stand for is made visible by the pool at the start and the end of a run.

Stretch StretchQueue::takeFront(Share &share) const
{
    std::uint64_t seen = share.range.load(std::memory_order_relaxed);
    for (;;) {
        const Stretch left = unpack(seen);
        if (left.isEmpty())
            return {};
        const std::int64_t count = left.end - left.begin;
        const std::int64_t middle = left.begin + std::min(count, std::max(m_grain, (count + 2) / 3));
        if (share.range.compare_exchange_weak(seen, pack(middle, left.end), std::memory_order_relaxed))
            return {left.begin, middle};
    }
}

Stretch StretchQueue::takeBack(Share &share) const
{
    std::uint64_t seen = share.range.load(std::memory_order_relaxed);
    for (;;) {
        const Stretch left = unpack(seen);
        if (left.isEmpty())
            return {};
        const std::int64_t count = left.end - left.begin;
        const std::int64_t middle = left.end - std::min(count, std::max(m_grain, (count + 2) / 3));
        if (share.range.compare_exchange_weak(seen, pack(left.begin, middle), std::memory_order_relaxed))
            return {middle, left.end};
    }
}

Stretch StretchQueue::next(int worker)
{
    if (const Stretch own = takeFront(m_shares[static_cast<std::size_t>(worker)]); !own.isEmpty())
        return own;
    for (int other = 1; other < m_workers; ++other) {
        const auto victim = static_cast<std::size_t>((worker + other) % m_workers);
        if (const Stretch stolen = takeBack(m_shares[victim]); !stolen.isEmpty())
            return stolen;
    }
    return {};
}

} // namespace tokenloupe
