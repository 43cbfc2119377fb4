// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <cstdint>

namespace tokenloupe {

/// How far a long piece of work is. Written by the engine thread, read by any thread, never waited for.
/// Units are the work's own (bytes, tokens, tensors); `total` 0 means that the amount is not known yet.
struct Progress
{
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> total{0};

    void start(std::uint64_t amount)
    {
        done.store(0, std::memory_order_relaxed);
        total.store(amount, std::memory_order_relaxed);
    }
    void advance(std::uint64_t amount) { done.fetch_add(amount, std::memory_order_relaxed); }
};

} // namespace tokenloupe
