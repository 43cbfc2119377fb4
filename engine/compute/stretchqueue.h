// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace tokenloupe {

struct Stretch
{
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool isEmpty() const { return begin >= end; }
};

/// Shares out the numbers [0, units) among workers. Each owns one long contiguous stretch, because memory is
/// read fastest that way, and takes it from the front in shrinking pieces; who is done takes from the end of
/// what others still have, so that a core that is held up does not hold up all.
class StretchQueue
{
public:
    explicit StretchQueue(int workers);

    /// Where a worker's own stretch begins.
    static std::int64_t firstUnit(int worker, int workers, std::int64_t units)
    {
        return units * worker / workers;
    }

    /// Not while workers take. units < 2^32; `grain`: the smallest piece worth taking.
    void reset(std::int64_t units, std::int64_t grain);
    /// The next piece for `worker`; empty when nothing is left anywhere.
    Stretch next(int worker);

private:
    struct alignas(64) Share
    {
        std::atomic<std::uint64_t> range{0}; // begin in the upper half, end in the lower: one atomic step
    };

    Stretch takeFront(Share &share) const;
    Stretch takeBack(Share &share) const;

    int m_workers;
    std::int64_t m_grain = 1;
    std::unique_ptr<Share[]> m_shares;
};

} // namespace tokenloupe
