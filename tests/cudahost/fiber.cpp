// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/fiber.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace cudahost {

namespace {

constexpr std::size_t pageBytes = 4096;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t stackBytes = 256 * 1024;
#else
constexpr std::size_t stackBytes = 64 * 1024;
#endif

} // namespace

Fiber::~Fiber()
{
#ifdef __SANITIZE_THREAD__
    if (m_mapping != nullptr)
        __tsan_destroy_fiber(m_tracked);
#endif
    if (m_mapping != nullptr)
        munmap(m_mapping, pageBytes + stackBytes);
}

void Fiber::start(boost::context::detail::transfer_t from)
{
    Fiber &here = *static_cast<Fiber *>(from.data)->m_next;
    arrive(here, from);
    here.m_entry();
}

void Fiber::prepare(Entry entry, unsigned int number)
{
    if (m_mapping == nullptr) {
        void *mapping = mmap(nullptr, pageBytes + stackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED || mprotect(mapping, pageBytes, PROT_NONE) != 0) {
            std::fputs("cudahost: no memory for the stacks of a block's threads\n", stderr);
            std::abort();
        }
        m_mapping = static_cast<std::byte *>(mapping);
    }
#ifdef __SANITIZE_THREAD__
    if (m_tracked != nullptr)
        __tsan_destroy_fiber(m_tracked);
    m_tracked = __tsan_create_fiber(0);
#endif
    // Stacks that all begin at the same place of a page would fight for the same few lines of the cache.
    const std::size_t usable = stackBytes - (number * 5 % 64) * 64;
    std::byte *lowest = m_mapping + pageBytes;
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(lowest, stackBytes);
    m_fakeStack = nullptr;
    m_lowest = lowest;
    m_bytes = usable;
#endif
    m_entry = entry;
    m_context = boost::context::detail::make_fcontext(lowest + usable, usable, &Fiber::start);
}

} // namespace cudahost
