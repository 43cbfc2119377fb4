// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

// What lies around memory that kernels may touch. Its content is a NaN as half, bfloat16, float and double,
// so that reading it shows, and is compared later, so that writing it does. The address sanitizer sees both
// at once.

namespace cudahost {

/// Every number is a NaN and every index far out of range.
inline void fillUndefined(std::byte *data, std::size_t bytes)
{
    std::memset(data, 0xFF, bytes);
}

void setGuard(std::byte *data, std::size_t bytes);

inline void removeGuard([[maybe_unused]] const std::byte *data, [[maybe_unused]] std::size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
#endif
}

/// Bytes from `data` on that are as they were; `bytes` where all are.
std::size_t intactGuard(const std::byte *data, std::size_t bytes);

} // namespace cudahost
