// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>

namespace tokenloupe {

/// Bytes of [begin, begin + bytes) that are resident in this process, by the kernel's page table; pages at
/// the edges count as far as they lie within. Nothing where the system does not tell.
std::optional<std::uint64_t> residentBytes(const void *begin, std::uint64_t bytes);

/// Resident memory of this process by what it maps.
struct MappedMemory
{
    std::uint64_t anonymous = 0; ///< heap, stacks, caches
    std::uint64_t files = 0;     ///< program, libraries, the model's file
};
/// Zeros where the system does not tell.
MappedMemory mappedMemory();

} // namespace tokenloupe
