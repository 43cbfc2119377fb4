// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/blockpool.h"
#include "engine/compute/cuda/cudaqueue.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tokenloupe {

/// By what two forward passes are the same work on the same memory: then the launches of one serve for the
/// other, as what differs is read from the device.
struct PassKey
{
    std::int64_t rows = 0;
    std::int64_t logitRows = 0;
    std::int32_t longestContext = 0; ///< positions that the launches cover
    std::uint32_t contextTokens = 0; ///< of the cache
    const std::byte *scratch = nullptr;
    const float *logits = nullptr;
    const std::byte *inputs = nullptr;
    const std::byte *tables = nullptr;
    std::vector<KvBlockPlaces> places; ///< of each layer that keeps something there
    std::uint32_t blockTokens = 0;

    bool operator==(const PassKey &) const = default;
};

/// The launches of whole forward passes, remembered by the driver as graphs: one call starts all of them. A
/// pass is remembered the second time it comes, when everything that it needs has been made.
class PassGraphs
{
public:
    enum class Step : std::uint8_t { Run, Capture, Replayed };

    explicit PassGraphs(std::shared_ptr<CudaQueue> queue)
        : m_queue(std::move(queue))
    {}
    ~PassGraphs();
    PassGraphs(const PassGraphs &) = delete;
    PassGraphs &operator=(const PassGraphs &) = delete;

    /// Replayed: it was started. Capture: what is launched from now on is remembered instead of run.
    Result<Step> begin(const PassKey &key);
    /// Starts what was captured. False: it could not be remembered, and nothing ran; no pass will be.
    Result<bool> end();
    void abandon();
    bool isCapturing() const { return m_isCapturing; }

    void forget(); ///< another model: every pass is new
    void drop();   ///< memory that the launches use moves: they are remembered again the next time
    void turnOff() { m_isOn = false; }
    std::size_t count() const;
    std::uint64_t replays() const { return m_replays; }

private:
    struct Entry
    {
        PassKey key;
        cudaGraphExec_t launches = nullptr; ///< null: seen once
        std::uint64_t usedAt = 0;
    };

    Entry &entryFor(const PassKey &key);
    Status start(Entry &entry);

    std::shared_ptr<CudaQueue> m_queue;
    std::vector<Entry> m_entries;
    std::size_t m_captured = 0; // entry that is being captured
    std::uint64_t m_clock = 0;
    std::uint64_t m_replays = 0;
    bool m_isCapturing = false;
    bool m_isOn = true;
};

} // namespace tokenloupe
