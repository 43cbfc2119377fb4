// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFlags>
#include <QRectF>
#include <cstdint>
#include <vector>

class QPainter;

namespace tokenloupe {

enum class BlockState : std::uint8_t {
    Free,
    Active, ///< in use
    Cached, ///< of nobody, kept because its content may come again
};

enum class BlockFlag : std::uint8_t {
    PrefixHit = 1, ///< found ready instead of computed
    Written = 2,   ///< by the newest pass
    Evicted = 4,   ///< gave its former content up a moment ago
    Own = 8,       ///< of the sequence that is looked at
    Other = 16,    ///< of other sequences only
    Selected = 32, ///< holds what is selected
};
Q_DECLARE_FLAGS(BlockFlags, BlockFlag)
Q_DECLARE_OPERATORS_FOR_FLAGS(BlockFlags)

struct Block
{
    BlockState state = BlockState::Free;
    float fill = 0.0F; ///< 0 … 1
    BlockFlags flags;
    std::uint32_t shared = 0; ///< sequences that hold it; marked from 2 on
    bool operator==(const Block &) const = default;
};

/// Several blocks that are drawn as one square: the liveliest state, all marks, the mean fill.
Block mergedBlock(const Block *first, const Block *last);

/// One square. Marks: fill from the bottom (blue in use, green found ready, grey and hatched kept for later,
/// paler when of other sequences only), a cut corner top left for a prefix hit, a bar at the level for just
/// written, an orange corner bottom right for just evicted, the number of owners or a dot for shared, an
/// outline for one's own, a ring in the accent colour for the selected one. `gap` is the room around the
/// square that outlines may use.
void paintBlock(QPainter &painter, const QRectF &rect, const Block &block, int gap);

/// What a legend names: kinds that occur among the blocks, in a fixed order.
enum class BlockMark : std::uint8_t { Active, Own, Other, PrefixHit, Shared, Written, Evicted, Cached, Free };
std::vector<BlockMark> marksIn(const std::vector<Block> &blocks);
/// A block that shows the mark and nothing else.
Block sampleOf(BlockMark mark);

} // namespace tokenloupe
