// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/rowmemory.h"

#include <algorithm>
#include <cstdint>
#include <sys/mman.h>

namespace tokenloupe {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t largePage = std::size_t(2) << 20;
constexpr std::size_t rowsTogether = 16;

std::size_t roundedUp(std::size_t bytes, std::size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/// Whole large pages on their own boundary where `bytes` is some of them.
std::shared_ptr<std::byte> map(std::size_t bytes)
{
    const std::size_t room = bytes >= largePage ? bytes + largePage : bytes;
    void *memory = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    auto *first = static_cast<std::byte *>(memory);
    if (room > bytes) {
        const std::size_t skipped = roundedUp(reinterpret_cast<std::uintptr_t>(first), largePage) -
                                    reinterpret_cast<std::uintptr_t>(first);
        if (skipped > 0)
            munmap(first, skipped);
        if (skipped < largePage)
            munmap(first + skipped + bytes, largePage - skipped);
        first += skipped;
#ifdef MADV_HUGEPAGE
        madvise(first, bytes, MADV_HUGEPAGE);
#endif
    }
    return {first, [bytes](std::byte *begin) { munmap(begin, bytes); }};
}

} // namespace

std::shared_ptr<float[]> RowMemory::take(std::size_t floats)
{
    const std::size_t bytes = roundedUp(floats * sizeof(float), line);
    if (!m_stretch || m_bytes - m_used < bytes) {
        const std::size_t wanted = rowsTogether * bytes;
        m_bytes = roundedUp(wanted, wanted >= largePage ? largePage : std::size_t(4096));
        m_used = 0;
        m_stretch = map(m_bytes);
        if (!m_stretch)
            return nullptr;
    }
    auto *row = reinterpret_cast<float *>(m_stretch.get() + m_used);
    m_used += bytes;
    return {m_stretch, row};
}

} // namespace tokenloupe
