// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/allocationcounter.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> totalBytes{0};
std::atomic<std::size_t> largestBytes{0};

void *allocate(std::size_t size)
{
    totalBytes += size;
    largestBytes = std::max(largestBytes.load(), size);
    void *memory = std::malloc(size ? size : 1);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

} // namespace

void *operator new(std::size_t size)
{
    return allocate(size);
}

void *operator new[](std::size_t size)
{
    return allocate(size);
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete[](void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

void operator delete[](void *memory, std::size_t) noexcept
{
    std::free(memory);
}

namespace tokenloupe::test {

AllocationCounter::AllocationCounter()
{
    totalBytes = 0;
    largestBytes = 0;
}

std::size_t AllocationCounter::total() const
{
    return totalBytes;
}

std::size_t AllocationCounter::largest() const
{
    return largestBytes;
}

} // namespace tokenloupe::test
