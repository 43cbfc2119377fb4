// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace cudahost {

/// Blocks of memory between guard bands. Freed ones are kept for a while to see whether somebody still writes
/// there.
class Allocations
{
public:
    explicit Allocations(std::string kind);
    ~Allocations();
    Allocations(const Allocations &) = delete;
    Allocations &operator=(const Allocations &) = delete;

    /// Filled with NaNs; aligned to 256 bytes, as cudaMalloc promises, and to no more. Null: the host has no
    /// more.
    void *allocate(std::size_t bytes);
    /// False: no block begins here. `fault`: what its guard bands say.
    bool release(void *data, std::optional<std::string> &fault);
    void clear();

    /// Whether [data, data + bytes) lies within one block.
    bool contains(const void *data, std::size_t bytes) const;
    /// Whether any byte of it lies in a block, or in one that was freed.
    bool touches(const void *data, std::size_t bytes) const;

    /// All: also the whole of what was freed. Edges: only its beginnings and ends, which is quick.
    enum class Extent { All, Edges };
    /// What was written where nothing may be; it is restored.
    std::optional<std::string> check(Extent extent);

    std::size_t bytes() const { return m_bytes; }
    std::size_t count() const { return m_blocks.size(); }

private:
    struct Block
    {
        std::unique_ptr<std::byte[]> room;
        std::byte *data = nullptr;
        std::size_t bytes = 0;
        std::uint64_t number = 0; ///< the how many-th it was
    };

    std::optional<std::string> checkGuards(const Block &block) const;
    std::optional<std::string> checkFreed(const Block &block, Extent extent) const;
    std::optional<std::string> forgetFreed(std::size_t keep);
    std::string name(const Block &block) const;

    std::string m_kind;
    std::map<std::uintptr_t, Block> m_blocks; ///< by where they begin
    std::deque<Block> m_freed;
    std::size_t m_freedBytes = 0;
    std::size_t m_bytes = 0;
    std::uint64_t m_number = 0;
};

} // namespace cudahost
