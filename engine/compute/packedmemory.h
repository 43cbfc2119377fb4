// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace tokenloupe {

/// How long large pages are waited for.
struct PagePatience
{
    double slowMs = 1.5; ///< clearing 2 MiB takes a quarter of one; finding them on a host four and more
    std::uint32_t slowUnits = 2;                  ///< that many may come slowly before small pages are taken
    std::chrono::milliseconds beforeJoining{300}; ///< the first token does not wait for it
};

/// Memory for packed weights. Large pages (2 MiB) are what they are read fastest from. They are also the
/// quickest to get, unless the machine is a virtual one whose host has yet to find memory for them: then
/// small pages, which are used over and over, come many times faster. So large ones are taken as long as they
/// come quickly; what had to be taken in small pages is joined into large ones later, beside the first
/// tokens.
class PackedMemory
{
public:
    static constexpr std::uint64_t unitBytes = std::uint64_t(2) << 20; ///< a large page

    /// Address space only; nothing is taken yet.
    static Result<std::unique_ptr<PackedMemory>> reserve(std::uint64_t bytes,
                                                         const PagePatience &patience = {});
    ~PackedMemory();
    PackedMemory(const PackedMemory &) = delete;
    PackedMemory &operator=(const PackedMemory &) = delete;

    std::byte *data() const { return m_data; }
    std::uint64_t units() const { return m_units; }
    /// Takes memory for one unit, before it is written to. From any thread, each unit once.
    void take(std::uint64_t unit);
    /// Once everything is written: from now on small pages are joined, in a thread of its own.
    void joinSmallPages();

private:
    PackedMemory(std::byte *data, std::uint64_t units, const PagePatience &patience)
        : m_patience(patience)
        , m_data(data)
        , m_units(units)
    {}
    std::byte *unitData(std::uint64_t unit) const { return m_data + unit * unitBytes; }
    void join(const std::stop_token &stop) const;

    const PagePatience m_patience;
    std::byte *const m_data;
    const std::uint64_t m_units;
    std::atomic<std::uint32_t> m_slow{0};                       // units that came slowly
    std::atomic<std::uint64_t> m_firstSmall{~std::uint64_t(0)}; // of the units in small pages
    std::jthread m_joiner;                                      // last: it ends before the memory goes
};

} // namespace tokenloupe
