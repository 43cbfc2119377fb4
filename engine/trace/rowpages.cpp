// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/rowpages.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <vector>

namespace tokenloupe {

namespace {

constexpr std::size_t largePage = std::size_t(2) << 20;

/// All pages at once: one after the other, as they are written to, would take several times as long. Large
/// ones where the system has them: what is used again after a while is then found again with few look-ups.
std::byte *map(std::size_t bytes)
{
    const std::size_t room = bytes + largePage;
    void *memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    auto *all = static_cast<std::byte *>(memory);
    const std::size_t skipped = (largePage - reinterpret_cast<std::uintptr_t>(all) % largePage) % largePage;
    if (skipped > 0)
        munmap(all, skipped);
    std::byte *begin = all + skipped;
    if (room - skipped > bytes)
        munmap(begin + bytes, room - skipped - bytes);
#ifdef MADV_HUGEPAGE
    madvise(begin, bytes, MADV_HUGEPAGE);
#endif
#ifdef MADV_POPULATE_WRITE
    madvise(begin, bytes, MADV_POPULATE_WRITE); // where the system cannot, it does so page by page later
#endif
    return begin;
}

} // namespace

struct RowPages::Unused
{
    struct Stretch
    {
        std::byte *begin = nullptr;
        std::size_t bytes = 0;
    };

    explicit Unused(std::uint64_t mostBytes)
        : most(mostBytes)
    {}
    Unused(const Unused &) = delete;
    Unused &operator=(const Unused &) = delete;
    ~Unused()
    {
        for (const Stretch &stretch : stretches)
            munmap(stretch.begin, stretch.bytes);
    }

    std::byte *take(std::size_t wanted)
    {
        const std::lock_guard lock(mutex);
        // The newest first: the caches may know it.
        const auto found = std::find_if(stretches.rbegin(), stretches.rend(),
                                        [&](const Stretch &stretch) { return stretch.bytes == wanted; });
        if (found == stretches.rend())
            return nullptr;
        std::byte *begin = found->begin;
        bytes -= wanted;
        stretches.erase(std::next(found).base());
        return begin;
    }

    void give(Stretch given)
    {
        const std::lock_guard lock(mutex);
        stretches.push_back(given);
        bytes += given.bytes;
        // What was given up longest ago is of a model that is no longer used, if it is of another size.
        while (bytes > most) {
            const Stretch oldest = stretches.front();
            munmap(oldest.begin, oldest.bytes);
            bytes -= oldest.bytes;
            stretches.erase(stretches.begin());
        }
    }

    const std::uint64_t most;
    mutable std::mutex mutex;       // guards what follows
    std::vector<Stretch> stretches; // in the order in which they were given up
    std::uint64_t bytes = 0;
};

RowPages::RowPages(std::uint64_t mostUnusedBytes)
    : m_unused(std::make_shared<Unused>(mostUnusedBytes))
{}

RowPages::~RowPages() = default;

std::shared_ptr<std::byte> RowPages::take(std::size_t bytes)
{
    std::byte *begin = m_unused->take(bytes);
    if (!begin)
        begin = map(bytes);
    if (!begin)
        return nullptr;
    return {begin, [unused = m_unused, bytes](std::byte *given) { unused->give({given, bytes}); }};
}

std::uint64_t RowPages::unusedBytes() const
{
    const std::lock_guard lock(m_unused->mutex);
    return m_unused->bytes;
}

RowPages &RowPages::shared()
{
    // About what a few hundred tokens of a large vocabulary take.
    static RowPages pages(std::uint64_t(128) << 20);
    return pages;
}

} // namespace tokenloupe
