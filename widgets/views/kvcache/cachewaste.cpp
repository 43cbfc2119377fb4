// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/cachewaste.h"

#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <algorithm>

namespace tokenloupe {

namespace {

struct CacheWasteText
{
    Q_DECLARE_TR_FUNCTIONS(CacheWasteText)
};

double shareOf(std::uint64_t part, std::uint64_t whole)
{
    return whole == 0 ? std::nan("") : static_cast<double>(part) / static_cast<double>(whole);
}

// What stays empty of a contiguous reservation.
WasteRow reservationRow(const QString &name, std::uint64_t bytes, std::uint64_t filled,
                        const QString &explanation)
{
    return {name, formatBytes(bytes), shareOf(bytes - std::min(filled, bytes), bytes),
            CacheWasteText::tr("stays empty"), explanation};
}

void appendCounters(std::vector<WasteRow> &rows, const CacheSnapshot &snapshot,
                    const ReservedTokens &reserved)
{
    const CacheCounters &counters = snapshot.counters;
    rows.push_back(
        {CacheWasteText::tr("Prefix hits"),
         counted(counters.hitTokens, CacheWasteText::tr("token"), CacheWasteText::tr("tokens")),
         shareOf(counters.hitTokens, counters.promptTokens), CacheWasteText::tr("of prompt tokens"),
         CacheWasteText::tr("Of %1 prompt tokens: those whose keys and values were found ready instead of "
                            "computed.")
             .arg(formatCount(counters.promptTokens))});
    rows.push_back(
        {CacheWasteText::tr("Computed and stored"),
         counted(counters.writtenTokens, CacheWasteText::tr("token"), CacheWasteText::tr("tokens")),
         std::nan(""),
         {},
         CacheWasteText::tr("Tokens that forward passes wrote into the cache since it was made.")});
    rows.push_back(
        {CacheWasteText::tr("Copies on write"),
         counted(counters.copiedBlocks, CacheWasteText::tr("block"), CacheWasteText::tr("blocks")),
         std::nan(""),
         {},
         CacheWasteText::tr("Shared blocks that were copied because one of their owners went on in them.")});
    rows.push_back(
        {CacheWasteText::tr("Evictions"),
         counted(counters.evictedBlocks, CacheWasteText::tr("block"), CacheWasteText::tr("blocks")),
         std::nan(""),
         {},
         CacheWasteText::tr("Blocks kept for later whose content was given up for another.")});
    rows.push_back(
        {CacheWasteText::tr("Dropped at overflow"),
         counted(counters.droppedTokens, CacheWasteText::tr("token"), CacheWasteText::tr("tokens")),
         std::nan(""),
         {},
         CacheWasteText::tr("Tokens that left the context because it was full.")});
    const std::uint64_t turns = std::max<std::uint64_t>(counters.droppedTurns, reserved.droppedTurns);
    rows.push_back(
        {CacheWasteText::tr("Turns dropped"),
         counted(turns, CacheWasteText::tr("turn"), CacheWasteText::tr("turns")),
         std::nan(""),
         {},
         CacheWasteText::tr("Turns of the conversation that were left out because the context was full.")});
}

} // namespace

std::uint64_t contiguousBytes(const KvShape &shape, std::uint64_t tokens)
{
    std::uint64_t bytes = 0;
    for (std::uint32_t layer = 0; layer < shape.layers.size(); ++layer) {
        const std::uint64_t window = shape.layers[layer].window;
        bytes += shape.bytesPerToken(layer) * (window == 0 ? tokens : std::min(window, tokens));
    }
    return bytes;
}

std::vector<WasteRow> wasteRows(const CacheSnapshot &snapshot, const ReservedTokens &reserved)
{
    std::vector<WasteRow> rows;
    const std::uint64_t used = snapshot.usedBytes();
    const std::uint64_t unfilled = snapshot.unfilledBytes();
    const std::uint64_t filled = used - std::min(unfilled, used);
    const std::uint64_t pool = snapshot.poolBytes();
    rows.push_back({CacheWasteText::tr("Blocks in use"), formatBytes(used), shareOf(used, pool),
                    CacheWasteText::tr("of the pool"),
                    CacheWasteText::tr("Blocks in the tables of open sequences, each counted once.")});
    rows.push_back({CacheWasteText::tr("Unfilled slots"), formatBytes(unfilled), shareOf(unfilled, used),
                    CacheWasteText::tr("of blocks in use"),
                    CacheWasteText::tr("Internal waste: slots of the last blocks that hold no token yet.")});
    rows.push_back(
        {CacheWasteText::tr("Between blocks"), formatBytes(0), 0.0, CacheWasteText::tr("of the pool"),
         CacheWasteText::tr("External waste: blocks of a pool are equal and every free one serves every "
                            "sequence, so no gap is too small to be used.")});
    const std::uint64_t sequences = std::max<std::size_t>(1, snapshot.sequences.size());
    rows.push_back(reservationRow(
        CacheWasteText::tr("One stretch, context"),
        contiguousBytes(snapshot.shape, snapshot.contextTokens) * sequences, filled,
        CacheWasteText::tr(
            "What reserving the whole context of %1 tokens in one piece for every open sequence would take.")
            .arg(formatCount(snapshot.contextTokens))));
    if (reserved.most > 0) {
        const std::uint64_t tokens =
            std::min<std::uint64_t>(std::uint64_t(reserved.prompt) + reserved.most, snapshot.contextTokens);
        rows.push_back(reservationRow(
            CacheWasteText::tr("One stretch, request"), contiguousBytes(snapshot.shape, tokens) * sequences,
            filled,
            CacheWasteText::tr(
                "What reserving prompt and longest reply, %1 tokens, in one piece for every open sequence "
                "would take.")
                .arg(formatCount(tokens))));
    }
    rows.push_back({CacheWasteText::tr("Kept for later"), formatBytes(snapshot.cachedBytes()),
                    shareOf(snapshot.cachedBytes(), pool), CacheWasteText::tr("of the pool"),
                    CacheWasteText::tr("Blocks of no open sequence whose tokens may come again.")});
    const std::uint64_t saved = snapshot.savedBySharingBytes();
    rows.push_back({CacheWasteText::tr("Saved by sharing"), formatBytes(saved), shareOf(saved, used + saved),
                    CacheWasteText::tr("of all copies"),
                    CacheWasteText::tr(
                        "What open sequences would take on top if each had its own copy of shared blocks.")});
    appendCounters(rows, snapshot, reserved);
    return rows;
}

} // namespace tokenloupe
