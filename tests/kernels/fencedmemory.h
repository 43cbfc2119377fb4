// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace tokenloupe::test {

/// `count` values of T that end where a page begins that nobody may touch, so that reading or writing one
/// behind the end is a crash in every build. In front of them lies a band of known bytes. As the end is what
/// is aligned, the values begin at any multiple of the size of T: what vector loads call unaligned.
template <class T>
class FencedMemory
{
public:
    explicit FencedMemory(std::size_t count)
        : m_count(count)
    {
        const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
        m_usable = (bandBytes + count * sizeof(T) + page - 1) / page * page;
        m_mapping = static_cast<std::byte *>(
            mmap(nullptr, m_usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(m_mapping + m_usable, page, PROT_NONE);
        m_mappedBytes = m_usable + page;
        std::memset(m_mapping, bandByte, m_usable);
    }
    ~FencedMemory() { munmap(m_mapping, m_mappedBytes); }
    FencedMemory(const FencedMemory &) = delete;
    FencedMemory &operator=(const FencedMemory &) = delete;

    T *data() { return reinterpret_cast<T *>(m_mapping + m_usable - m_count * sizeof(T)); }
    const T *data() const { return reinterpret_cast<const T *>(m_mapping + m_usable - m_count * sizeof(T)); }
    T &operator[](std::size_t i) { return data()[i]; }
    const T &operator[](std::size_t i) const { return data()[i]; }
    std::size_t size() const { return m_count; }
    T *begin() { return data(); }
    T *end() { return data() + m_count; }
    const T *begin() const { return data(); }
    const T *end() const { return data() + m_count; }

    /// Value i was never written since the memory was made.
    bool isUntouched(std::size_t i) const
    {
        unsigned char bytes[sizeof(T)];
        std::memcpy(bytes, data() + i, sizeof(T));
        for (const unsigned char byte : bytes) {
            if (byte != bandByte)
                return false;
        }
        return true;
    }
    /// Nothing was written in front of the values.
    bool isBandIntact() const
    {
        for (const std::byte *p = reinterpret_cast<const std::byte *>(data()) - bandBytes;
             p != reinterpret_cast<const std::byte *>(data()); ++p) {
            if (*p != std::byte(bandByte))
                return false;
        }
        return true;
    }

private:
    static constexpr std::size_t bandBytes = 256;
    static constexpr unsigned char bandByte = 0xA5;

    std::size_t m_count;
    std::size_t m_usable = 0;
    std::size_t m_mappedBytes = 0;
    std::byte *m_mapping = nullptr;
};

} // namespace tokenloupe::test
