// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/allocations.h"

#include "tests/cudahost/guard.h"

#include <new>

namespace cudahost {

namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t guardBytes = 512; // on each side
constexpr std::size_t edgeBytes = 512;  // of a freed block
constexpr std::size_t keptFreedBytes = std::size_t{16} << 20;

std::uintptr_t address(const void *data)
{
    return reinterpret_cast<std::uintptr_t>(data);
}

} // namespace

Allocations::Allocations(std::string kind)
    : m_kind(std::move(kind))
{}

Allocations::~Allocations()
{
    clear();
}

std::string Allocations::name(const Block &block) const
{
    return m_kind + " allocation " + std::to_string(block.number) + " of " + std::to_string(block.bytes) +
           " bytes";
}

void *Allocations::allocate(std::size_t bytes)
{
    Block block;
    block.room.reset(new (std::nothrow) std::byte[bytes + 2 * guardBytes + 2 * alignment]);
    if (block.room == nullptr)
        return nullptr;
    block.data = block.room.get() + guardBytes;
    block.data += (alignment + 2 * alignment - address(block.data) % (2 * alignment)) % (2 * alignment);
    block.bytes = bytes;
    block.number = ++m_number;
    fillUndefined(block.data, bytes);
    setGuard(block.data - guardBytes, guardBytes);
    setGuard(block.data + bytes, guardBytes);
    m_bytes += bytes;
    std::byte *data = block.data;
    m_blocks.emplace(address(data), std::move(block));
    return data;
}

bool Allocations::release(void *data, std::optional<std::string> &fault)
{
    const auto found = m_blocks.find(address(data));
    if (found == m_blocks.end())
        return false;
    fault = checkGuards(found->second);
    m_bytes -= found->second.bytes;
    setGuard(found->second.data, found->second.bytes);
    m_freedBytes += found->second.bytes;
    m_freed.push_back(std::move(found->second));
    m_blocks.erase(found);
    if (const std::optional<std::string> late = forgetFreed(keptFreedBytes); late && !fault)
        fault = late;
    return true;
}

std::optional<std::string> Allocations::forgetFreed(std::size_t keep)
{
    std::optional<std::string> fault;
    while (m_freedBytes > keep) {
        Block &oldest = m_freed.front();
        if (!fault)
            fault = checkFreed(oldest, Extent::All);
        removeGuard(oldest.data - guardBytes, oldest.bytes + 2 * guardBytes);
        m_freedBytes -= oldest.bytes;
        m_freed.pop_front();
    }
    return fault;
}

void Allocations::clear()
{
    for (const auto &[begin, block] : m_blocks)
        removeGuard(block.data - guardBytes, block.bytes + 2 * guardBytes);
    for (const Block &block : m_freed)
        removeGuard(block.data - guardBytes, block.bytes + 2 * guardBytes);
    m_blocks.clear();
    m_freed.clear();
    m_freedBytes = 0;
    m_bytes = 0;
    m_number = 0;
}

bool Allocations::contains(const void *data, std::size_t bytes) const
{
    auto next = m_blocks.upper_bound(address(data));
    if (next == m_blocks.begin())
        return false;
    const Block &block = std::prev(next)->second;
    const std::size_t offset = address(data) - address(block.data);
    return offset <= block.bytes && bytes <= block.bytes - offset;
}

bool Allocations::touches(const void *data, std::size_t bytes) const
{
    const auto meets = [&](const Block &block) {
        return address(data) < address(block.data) + block.bytes &&
               address(block.data) < address(data) + bytes;
    };
    for (const Block &block : m_freed)
        if (meets(block))
            return true;
    const auto next = m_blocks.lower_bound(address(data));
    return (next != m_blocks.end() && meets(next->second)) ||
           (next != m_blocks.begin() && meets(std::prev(next)->second));
}

std::optional<std::string> Allocations::check(Extent extent)
{
    std::optional<std::string> fault;
    for (const auto &[begin, block] : m_blocks) {
        std::optional<std::string> found = checkGuards(block);
        if (!found)
            continue;
        setGuard(block.data - guardBytes, guardBytes);
        setGuard(block.data + block.bytes, guardBytes);
        if (!fault)
            fault = std::move(found);
    }
    for (const Block &block : m_freed) {
        std::optional<std::string> found = checkFreed(block, extent);
        if (!found)
            continue;
        setGuard(block.data, block.bytes);
        if (!fault)
            fault = std::move(found);
    }
    return fault;
}

std::optional<std::string> Allocations::checkGuards(const Block &block) const
{
    const std::size_t above = intactGuard(block.data + block.bytes, guardBytes);
    if (above != guardBytes)
        return name(block) + " was written to past its end, at byte " + std::to_string(block.bytes + above);
    const std::size_t below = intactGuard(block.data - guardBytes, guardBytes);
    if (below != guardBytes)
        return name(block) + " was written to before its beginning, at byte -" +
               std::to_string(guardBytes - below);
    return std::nullopt;
}

std::optional<std::string> Allocations::checkFreed(const Block &block, Extent extent) const
{
    std::size_t written = block.bytes;
    if (extent == Extent::All || block.bytes <= 2 * edgeBytes) {
        written = intactGuard(block.data, block.bytes);
    } else {
        const std::size_t end = block.bytes - edgeBytes;
        if (const std::size_t intact = intactGuard(block.data, edgeBytes); intact != edgeBytes)
            written = intact;
        else
            written = end + intactGuard(block.data + end, edgeBytes);
    }
    if (written == block.bytes)
        return std::nullopt;
    return name(block) + " was written to after it was freed, at byte " + std::to_string(written);
}

} // namespace cudahost
