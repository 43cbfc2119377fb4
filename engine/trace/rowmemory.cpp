// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/rowmemory.h"

#include <sys/mman.h>

namespace tokenloupe {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t page = 4096;
constexpr std::size_t rowsTogether = 16;

std::size_t roundedUp(std::size_t bytes, std::size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/// All pages at once: one after the other, as they are written to, would take several times as long. Small
/// ones, which are used over and over: the host of a virtual machine often has yet to find memory for large
/// ones, and then each of them holds up a token for as long as the token itself takes.
std::shared_ptr<std::byte> map(std::size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_POPULATE
    flags |= MAP_POPULATE;
#endif
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    return {static_cast<std::byte *>(memory), [bytes](std::byte *begin) { munmap(begin, bytes); }};
}

} // namespace

std::shared_ptr<float[]> RowMemory::take(std::size_t floats)
{
    const std::size_t bytes = roundedUp(floats * sizeof(float), line);
    if (!m_stretch || m_bytes - m_used < bytes) {
        m_bytes = roundedUp(rowsTogether * bytes, page);
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
