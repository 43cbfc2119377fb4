// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tokenloupe {

/// A large stretch of memory of its own, which begins on a page and asks for huge ones. It takes room only
/// where it was written to. Zero at first.
class HostRegion
{
public:
    HostRegion() = default;
    /// OutOfMemory names `what` and the sizes. No bytes: an empty region.
    static Result<HostRegion> reserve(std::uint64_t bytes, std::string_view what);
    ~HostRegion();
    HostRegion(HostRegion &&other) noexcept;
    HostRegion &operator=(HostRegion &&other) noexcept;

    std::byte *data() const { return m_data; }
    std::uint64_t bytes() const { return m_bytes; }
    bool contains(std::span<const std::byte> range) const;
    /// Gives the whole pages within `range` back to the system: they are zero again.
    void release(std::span<const std::byte> range) const;

private:
    std::byte *m_data = nullptr;
    std::uint64_t m_bytes = 0;
};

} // namespace tokenloupe
