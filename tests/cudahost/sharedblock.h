// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <vector>

namespace cudahost {

/// A block's shared memory: just as large as the launch asked, and between guard bands.
class SharedBlock
{
public:
    SharedBlock() = default;
    ~SharedBlock();
    SharedBlock(const SharedBlock &) = delete;
    SharedBlock &operator=(const SharedBlock &) = delete;

    void resize(std::size_t bytes);
    /// For a new block: every number is a NaN.
    void fill();
    /// Whether nothing was written outside of it. Restores what was.
    bool isIntact();

    std::byte *data() { return m_room.data() + m_begin; }
    std::size_t size() const { return m_bytes; }

private:
    void protect();

    std::vector<std::byte> m_room;
    std::size_t m_begin = 0;
    std::size_t m_bytes = 0;
};

} // namespace cudahost
