// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/poolblocks.h"

#include "widgets/models/runstore.h"
#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr std::uint64_t flashPasses = 4; // an eviction is marked for so many forward passes

struct CachePoolText
{
    Q_DECLARE_TR_FUNCTIONS(CachePoolText)
};

QString passesAgo(std::uint64_t passes)
{
    if (passes == 0)
        return CachePoolText::tr("written by the newest pass");
    return passes == 1 ? CachePoolText::tr("written 1 pass ago")
                       : CachePoolText::tr("written %1 passes ago").arg(formatCount(passes));
}

QString layersText(std::size_t count)
{
    return counted(count, CachePoolText::tr("layer"), CachePoolText::tr("layers"));
}

} // namespace

const CacheSequence *sequenceOf(const CacheSnapshot &snapshot, RunId run)
{
    if (!run.isValid())
        return nullptr;
    const auto found = std::find_if(snapshot.sequences.begin(), snapshot.sequences.end(),
                                    [run](const CacheSequence &sequence) { return sequence.run == run; });
    return found == snapshot.sequences.end() ? nullptr : &*found;
}

std::vector<Block> poolBlocks(const CacheSnapshot &snapshot, std::size_t pool, const PoolFocus &focus)
{
    const std::vector<CacheBlock> &blocks = snapshot.pools[pool].blocks;
    const float perBlock = static_cast<float>(std::max(1U, snapshot.shape.blockTokens));
    std::vector<Block> result(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const CacheBlock &block = blocks[i];
        Block &shown = result[i];
        if (block.evictedAt > 0 && snapshot.clock - block.evictedAt < flashPasses)
            shown.flags |= BlockFlag::Evicted;
        if (block.ownership == BlockOwnership::Free)
            continue;
        shown.state = block.ownership == BlockOwnership::Active ? BlockState::Active : BlockState::Cached;
        shown.fill = static_cast<float>(block.fill) / perBlock;
        shown.shared = block.sequences;
        if (block.prefixHit)
            shown.flags |= BlockFlag::PrefixHit;
        if (block.writtenAt > 0 && block.writtenAt == snapshot.clock)
            shown.flags |= BlockFlag::Written;
    }
    const CacheSequence *own = sequenceOf(snapshot, focus.run);
    if (!own || pool >= own->tables.size())
        return result;
    const std::vector<BlockId> &table = own->tables[pool];
    if (snapshot.sequences.size() > 1) {
        for (Block &block : result)
            block.flags.setFlag(BlockFlag::Other, block.state == BlockState::Active);
        for (const BlockId id : table)
            if (id.isValid() && id.value() < result.size()) {
                result[id.value()].flags.setFlag(BlockFlag::Other, false);
                result[id.value()].flags |= BlockFlag::Own;
            }
    }
    if (focus.position && own->tokens > 0) {
        // the newest token is not in the cache yet: the block that it will follow in
        const std::uint32_t position = std::min(*focus.position, own->tokens - 1);
        const std::size_t index = position / std::max(1U, snapshot.shape.blockTokens);
        if (index < table.size() && table[index].isValid() && table[index].value() < result.size())
            result[table[index].value()].flags |= BlockFlag::Selected;
    }
    return result;
}

QString poolTitle(const CacheSnapshot &snapshot, std::size_t pool)
{
    const CachePool &shown = snapshot.pools[pool];
    if (snapshot.pools.size() == 1 && shown.window == 0)
        return CachePoolText::tr("Blocks of %1 tokens").arg(snapshot.shape.blockTokens);
    const QString title = shown.window == 0
                              ? CachePoolText::tr("Sees all · %1").arg(layersText(shown.layers.size()))
                              : CachePoolText::tr("Window %1 · %2")
                                    .arg(formatCount(shown.window), layersText(shown.layers.size()));
    if (snapshot.shape.splitLayer == 0)
        return title;
    return shown.isOnHost ? CachePoolText::tr("%1 · CPU").arg(title)
                          : CachePoolText::tr("%1 · device").arg(title);
}

QString poolSummary(const CacheSnapshot &snapshot, std::size_t pool)
{
    const std::vector<CacheBlock> &blocks = snapshot.pools[pool].blocks;
    std::size_t active = 0;
    std::size_t cached = 0;
    std::size_t shared = 0;
    std::size_t hits = 0;
    for (const CacheBlock &block : blocks) {
        active += block.ownership == BlockOwnership::Active ? 1 : 0;
        cached += block.ownership == BlockOwnership::Cached ? 1 : 0;
        shared += block.sequences > 1 ? 1 : 0;
        hits += block.prefixHit && block.ownership != BlockOwnership::Free ? 1 : 0;
    }
    QStringList parts{CachePoolText::tr("%1 of %2").arg(formatCount(active), formatCount(blocks.size()))};
    if (shared > 0)
        parts << CachePoolText::tr("%1 shared").arg(formatCount(shared));
    if (hits > 0)
        parts << CachePoolText::tr("%1 found ready").arg(formatCount(hits));
    if (cached > 0)
        parts << CachePoolText::tr("%1 kept").arg(formatCount(cached));
    return parts.join(QStringLiteral(" · "));
}

QString blockText(const CacheSnapshot &snapshot, std::size_t pool, std::size_t block)
{
    const CacheBlock &shown = snapshot.pools[pool].blocks[block];
    QStringList parts;
    switch (shown.ownership) {
    case BlockOwnership::Free:
        parts << CachePoolText::tr("block %1: free").arg(formatCount(block));
        break;
    case BlockOwnership::Active:
        parts << CachePoolText::tr("block %1: in use").arg(formatCount(block));
        break;
    case BlockOwnership::Cached:
        parts << CachePoolText::tr("block %1: kept for later").arg(formatCount(block));
        break;
    }
    if (shown.ownership != BlockOwnership::Free) {
        if (shown.fill > 1)
            parts << CachePoolText::tr("positions %1 to %2")
                         .arg(formatCount(shown.firstPosition),
                              formatCount(shown.firstPosition + shown.fill - 1));
        else if (shown.fill == 1)
            parts << CachePoolText::tr("position %1").arg(formatCount(shown.firstPosition));
        if (shown.sequences > 1)
            parts << CachePoolText::tr("shared by %1").arg(formatCount(shown.sequences));
        if (shown.prefixHit)
            parts << CachePoolText::tr("prefix hit");
        if (shown.writtenAt > 0)
            parts << passesAgo(snapshot.clock - shown.writtenAt);
    }
    if (shown.evictedAt > 0)
        parts
            << CachePoolText::tr("evicted %1 passes ago").arg(formatCount(snapshot.clock - shown.evictedAt));
    return parts.join(QStringLiteral(" · "));
}

std::optional<std::uint32_t> positionOf(const Run &run, StepIndex step)
{
    if (step.value() >= run.steps.size())
        return std::nullopt;
    std::int64_t position = run.steps[step.value()].kvTokens;
    for (std::size_t later = step.value() + 1; later < run.steps.size(); ++later)
        position -= run.steps[later].droppedTokens;
    if (position < 0)
        return std::nullopt;
    return static_cast<std::uint32_t>(position);
}

std::optional<StepIndex> firstStepIn(const Run &run, const CacheBlock &block)
{
    if (block.ownership == BlockOwnership::Free || block.fill == 0 || run.steps.empty())
        return std::nullopt;
    // from the newest step back: what was dropped after a step is summed on the way
    std::int64_t dropped = 0;
    std::optional<StepIndex> first;
    for (std::size_t i = run.steps.size(); i-- > 0;) {
        const StepRecord &step = run.steps[i];
        const std::int64_t slot = static_cast<std::int64_t>(step.kvTokens) - dropped - block.firstPosition;
        dropped += step.droppedTokens;
        if (slot < 0)
            break;
        if (slot >= block.fill)
            continue;
        const auto index = static_cast<std::size_t>(slot);
        if (index < block.tokens.size() && block.tokens[index] != step.token)
            return std::nullopt; // another run's tokens
        first = StepIndex(static_cast<std::uint32_t>(i));
    }
    if (first)
        return first;
    const bool inPrompt = block.firstPosition + block.fill <= run.start.prompt.size();
    return inPrompt ? std::optional(StepIndex(0)) : std::nullopt;
}

} // namespace tokenloupe
