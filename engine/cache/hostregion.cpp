// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/hostregion.h"

#include "engine/cache/hostmemory.h"

#include <functional>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace tokenloupe {

namespace {

constexpr std::uint64_t hugePage = std::uint64_t(2) << 20;

std::uint64_t wholePages(std::uint64_t bytes)
{
    return (bytes + hugePage - 1) / hugePage * hugePage;
}

} // namespace

Result<HostRegion> HostRegion::reserve(std::uint64_t bytes, std::string_view what)
{
    HostRegion region;
    if (bytes == 0)
        return region;
    if (exceedsHostMemory(bytes))
        return outOfHostMemory(what, bytes);
    void *memory =
        ::mmap(nullptr, wholePages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return outOfHostMemory(what, bytes);
    region.m_data = static_cast<std::byte *>(memory);
    region.m_bytes = bytes;
#ifdef MADV_HUGEPAGE
    ::madvise(memory, wholePages(bytes), MADV_HUGEPAGE); // fewer look-ups of addresses; only a wish
#endif
    return region;
}

HostRegion::~HostRegion()
{
    if (m_data)
        ::munmap(m_data, wholePages(m_bytes));
}

HostRegion::HostRegion(HostRegion &&other) noexcept
    : m_data(std::exchange(other.m_data, nullptr))
    , m_bytes(std::exchange(other.m_bytes, 0))
{}

HostRegion &HostRegion::operator=(HostRegion &&other) noexcept
{
    std::swap(m_data, other.m_data);
    std::swap(m_bytes, other.m_bytes);
    return *this;
}

bool HostRegion::contains(std::span<const std::byte> range) const
{
    const std::less_equal<const std::byte *> notBehind;
    return m_data && notBehind(m_data, range.data()) &&
           notBehind(range.data() + range.size(), m_data + m_bytes);
}

void HostRegion::release(std::span<const std::byte> range) const
{
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(range.data());
    const std::uintptr_t begin = (first + page - 1) & ~(page - 1);
    const std::uintptr_t end = (first + range.size()) & ~(page - 1);
    if (begin < end)
        ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

} // namespace tokenloupe
