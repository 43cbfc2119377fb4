// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/blocknotes.h"

#include <algorithm>
#include <cassert>

namespace tokenloupe {

BlockNotes::BlockNotes(std::uint32_t blocks, std::uint32_t blockTokens)
    : m_blockTokens(blockTokens)
    , m_notes(blocks)
    , m_tokens(std::size_t(blocks) * blockTokens)
{}

std::span<const TokenId> BlockNotes::tokens(BlockId block) const
{
    return {m_tokens.data() + std::size_t(block.value()) * m_blockTokens, of(block).fill};
}

void BlockNotes::setTokens(BlockId block, std::uint32_t slot, std::span<const TokenId> tokens)
{
    assert(slot + tokens.size() <= m_blockTokens);
    std::copy(tokens.begin(), tokens.end(),
              m_tokens.begin() +
                  static_cast<std::ptrdiff_t>(std::size_t(block.value()) * m_blockTokens + slot));
    of(block).fill = slot + static_cast<std::uint32_t>(tokens.size());
}

} // namespace tokenloupe
