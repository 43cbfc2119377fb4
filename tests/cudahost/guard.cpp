// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/guard.h"

#include <algorithm>
#include <array>

namespace cudahost {

namespace {

constexpr std::uint64_t guardWord = 0xFFFBFFFDFFFBFFFD;
constexpr std::size_t stretch = 512;
// Which byte lies where depends on the address alone; with eight bytes more there is a stretch for each.
using Pattern = std::array<std::byte, stretch + 8>;

constexpr Pattern makePattern()
{
    Pattern pattern{};
    for (std::size_t i = 0; i < pattern.size(); ++i)
        pattern[i] = static_cast<std::byte>(guardWord >> (i % 8 * 8));
    return pattern;
}

constexpr Pattern pattern = makePattern();

const std::byte *patternAt(const std::byte *data)
{
    return pattern.data() + reinterpret_cast<std::uintptr_t>(data) % 8;
}

} // namespace

void setGuard(std::byte *data, std::size_t bytes)
{
    removeGuard(data, bytes);
    for (std::size_t done = 0; done < bytes; done += stretch)
        std::memcpy(data + done, patternAt(data), std::min(stretch, bytes - done));
#ifdef __SANITIZE_ADDRESS__
    ASAN_POISON_MEMORY_REGION(data, bytes);
#endif
}

std::size_t intactGuard([[maybe_unused]] const std::byte *data, std::size_t bytes)
{
#ifndef __SANITIZE_ADDRESS__
    const std::byte *expected = patternAt(data);
    for (std::size_t done = 0; done < bytes; done += stretch) {
        const std::size_t count = std::min(stretch, bytes - done);
        if (std::memcmp(data + done, expected, count) != 0)
            return done + static_cast<std::size_t>(
                              std::mismatch(expected, expected + count, data + done).first - expected);
    }
#endif
    return bytes;
}

} // namespace cudahost
