// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// What is known of each block of one pool besides its contents; for the window.
class BlockNotes
{
public:
    struct Note
    {
        std::uint32_t fill = 0;          ///< tokens inside
        std::uint32_t firstPosition = 0; ///< of its first slot, in the sequence that wrote it
        std::uint64_t writtenAt = 0;     ///< clock of the last write; 0: never
        std::uint64_t evictedAt = 0;     ///< clock of the last eviction; 0: never
    };

    BlockNotes(std::uint32_t blocks, std::uint32_t blockTokens);

    const Note &of(BlockId block) const { return m_notes[block.value()]; }
    Note &of(BlockId block) { return m_notes[block.value()]; }
    std::span<const TokenId> tokens(BlockId block) const; ///< `fill` of them
    /// The block stands for these tokens from slot `slot` on; nothing follows them.
    void setTokens(BlockId block, std::uint32_t slot, std::span<const TokenId> tokens);

private:
    std::uint32_t m_blockTokens;
    std::vector<Note> m_notes;
    std::vector<TokenId> m_tokens; // (blocks × blockTokens)
};

} // namespace tokenloupe
