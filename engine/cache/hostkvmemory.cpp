// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/hostmemory.h"
#include "engine/cache/kvmemory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace tokenloupe {

namespace {

/// An anonymous mapping.
class HostKvMemory final : public KvMemory
{
public:
    HostKvMemory(std::byte *memory, std::uint64_t bytes)
        : m_memory(memory)
        , m_bytes(bytes)
    {}
    ~HostKvMemory() override { ::munmap(m_memory, m_bytes); }
    HostKvMemory(const HostKvMemory &) = delete;
    HostKvMemory &operator=(const HostKvMemory &) = delete;

    Reader reader() const override { return Reader::Host; }
    std::byte *data() const override { return m_memory; }
    std::uint64_t bytes() const override { return m_bytes; }
    void copyWithin(std::uint64_t from, std::uint64_t to, std::uint64_t count) override
    {
        std::memcpy(m_memory + to, m_memory + from, count);
    }
    void commit() override
    {
        const auto page = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
        for (std::uint64_t at = 0; at < m_bytes; at += page) {
            // A read alone would map the one page of zeros that all processes share.
            volatile std::byte *touched = m_memory + at;
            *touched = *touched;
        }
    }

private:
    std::byte *m_memory;
    std::uint64_t m_bytes;
};

} // namespace

Result<std::unique_ptr<KvMemory>> hostKvMemory(std::uint64_t bytes)
{
    if (exceedsHostMemory(bytes))
        return outOfHostMemory("KV cache", bytes);
    void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return outOfHostMemory("KV cache", bytes);
#ifdef MADV_HUGEPAGE
    // A token reads a little of each of many blocks: with small pages their addresses cost more than they do.
    ::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return std::make_unique<HostKvMemory>(static_cast<std::byte *>(memory), bytes);
}

} // namespace tokenloupe
