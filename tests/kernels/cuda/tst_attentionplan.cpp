// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/attentioncheck.h"
#include "kernels/cuda/attentionplan.h"
#include "kernels/cuda/decodeblock.h"
#include "kernels/cuda/tensorblock.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <set>

using namespace tokenloupe::cuda;

namespace {

constexpr std::size_t smallestCard = 64 * 1024; ///< shared memory of a block with compute capability 7.5
constexpr std::size_t smallestTensorCard = 99 * 1024; ///< 8.6
constexpr std::size_t withoutAsking = 48 * 1024;

AttentionShape shapeOf(int heads, int longest, int window = 0)
{
    AttentionShape shape;
    shape.heads = heads;
    shape.longestContext = longest;
    shape.window = window;
    return shape;
}

KvLayerView viewOf(int kvHeads, int keySize, int valueSize)
{
    KvLayerView view;
    view.kvHeads = kvHeads;
    view.keySize = keySize;
    view.valueSize = valueSize;
    return view;
}

} // namespace

class TestAttentionPlan : public QObject
{
    Q_OBJECT

private slots:
    void everyLaneHasOnePlace();
    void decodeGridsFit();
    void decodeBlocksFit();
    void scratchIsCounted();
    void stretchesCover();
    void windowsHaveStretchesEnough();
    void prefillGridsFit();
    void tensorBlocksFit();
    void headRowsAreCovered();
};

void TestAttentionPlan::everyLaneHasOnePlace()
{
    for (const int most : {16, 64}) {
        for (const int kvHeads : {1, 3}) {
            for (int group = 1; group <= 130; ++group) {
                for (const int rows : {1, 2, 7, 8, 65, 200}) {
                    const LanePlan plan = planLanes(kvHeads * group, kvHeads, rows, most);
                    QCOMPARE(plan.group, group);
                    QVERIFY(plan.headsOfTile * plan.rowsOfTile <= most);
                    QVERIFY(plan.headsOfTile * plan.headParts >= group);
                    QVERIFY(plan.headsOfTile * (plan.headParts - 1) < group); // none is empty
                    QVERIFY(plan.rowsOfTile * plan.rowTiles >= rows);
                    QVERIFY(plan.rowsOfTile * (plan.rowTiles - 1) < rows);
                }
            }
        }
    }
}

void TestAttentionPlan::decodeGridsFit()
{
    for (const int heads : {1, 8, 32, 71, 128}) {
        for (const int kvHeads : {1, 2, 8, 32, 71, 128}) {
            if (heads % kvHeads != 0)
                continue;
            for (const int longest : {1, 64, 65, 4096, 131072, 1 << 24}) {
                for (int rows = 1; rows <= 8; ++rows) {
                    const DecodePlan plan =
                        planDecode(shapeOf(heads, longest), viewOf(kvHeads, 128, 128), rows);
                    QVERIFY(plan.stretches >= 1 && plan.stretches <= 256);
                    QVERIFY(plan.stretches <= (longest + 63) / 64);
                    QCOMPARE(int(plan.grid.x), plan.stretches);
                    QCOMPARE(int(plan.grid.y), kvHeads);
                    QCOMPARE(int(plan.grid.z), plan.lanes.headParts * plan.lanes.rowTiles);
                    QVERIFY(plan.grid.y <= largestGridYZ && plan.grid.z <= largestGridYZ);
                    QVERIFY(plan.lanes.headsOfTile * plan.lanes.rowsOfTile <= plan.laneLimit);
                    QVERIFY(std::set({1, 4, 8, 16}).count(plan.laneLimit) == 1);
                    // The rows of a call change nothing about the stretches.
                    QCOMPARE(plan.stretches,
                             planDecode(shapeOf(heads, longest), viewOf(kvHeads, 128, 128), 1).stretches);
                }
            }
        }
    }
    // Enough for large cards at a long context, and no more than there is to do at a short one.
    QCOMPARE(planDecode(shapeOf(32, 131072), viewOf(8, 128, 128), 1).stretches, 128);
    QCOMPARE(planDecode(shapeOf(32, 300), viewOf(8, 128, 128), 1).stretches, 5);
    // A window is all that there is to do.
    QCOMPARE(planDecode(shapeOf(32, 131072, 1024), viewOf(8, 128, 128), 1).stretches, 18);
}

void TestAttentionPlan::decodeBlocksFit()
{
    for (const int group : {1, 4, 8, 16, 35}) {
        for (const int keySize : {8, 64, 128, 256, 512}) {
            for (const int valueSize : {8, 40, 128, 256, 512}) {
                AttentionShape shape = shapeOf(group, 131072);
                const KvLayerView view = viewOf(1, keySize, valueSize);
                QVERIFY(planDecode(shape, view, 8).sharedBytes <= withoutAsking);
                shape.keyRotation.rotated = keySize;
                const DecodePlan plan = planDecode(shape, view, 8);
                QVERIFY(plan.sharedBytes <= smallestCard);
                // Queries and turned keys; sums of all threads.
                const std::size_t floats = (plan.sharedBytes - decodeBlockBytes(plan.laneLimit)) / 4;
                QVERIFY(floats >= std::size_t(plan.laneLimit + decodeTurnedKeys) * std::size_t(keySize));
                const ValueSplit split = splitValues(valueSize);
                QVERIFY(split.pieces * split.turns <= decodeThreads && split.turns >= 1);
                QVERIFY(floats >= std::size_t(split.turns * plan.laneLimit * valueSize));
            }
        }
    }
}

void TestAttentionPlan::scratchIsCounted()
{
    // 128 heads × 8 rows × 256 stretches × (128 sums, the largest score, the total): past 32 bits' reach is
    // far. And for each row how many of its heads are joined, and their largest value.
    QCOMPARE(attentionScratchBytes(shapeOf(128, 131072), viewOf(1, 128, 128), 8),
             std::uint64_t(128) * 8 * 256 * (128 + 2) * 4 + 8 * 2 * 4);
    QCOMPARE(attentionScratchBytes(shapeOf(32, 64), viewOf(8, 128, 64), 1),
             std::uint64_t(32) * (64 + 2) * 4 + 2 * 4);
    QCOMPARE(attentionScratchBytes(shapeOf(32, 64), viewOf(5, 128, 64), 1), std::uint64_t(0));
    QCOMPARE(attentionScratchBytes(shapeOf(32, 64), viewOf(8, 128, 64), 0), std::uint64_t(0));
}

void TestAttentionPlan::stretchesCover()
{
    for (const int most : {1, 2, 8, 128, 256}) {
        for (const int first : {0, 62, 63, 64, 4095, 131071, 131072, 2147483600}) {
            for (const int rows : {1, 8}) {
                for (const int window : {0, 1, 64, 1000, 4096, 2147483647}) {
                    const Stretches stretches = stretchesOf(first, rows, window, most);
                    const std::int64_t seen = window > 0 ? std::max(0LL, first + 1LL - window) : 0;
                    QVERIFY(stretches.base <= seen);
                    QVERIFY(stretches.begin(most) >= std::int64_t(first) + rows);
                    QCOMPARE(stretches.base % stretches.length, 0);
                    QCOMPARE(stretches.length % decodeTilePositions, 0);
                    // No longer than they have to be.
                    const std::int64_t half = stretches.length / 2;
                    QVERIFY(half < decodeTilePositions ||
                            seen / half * half + half * most < std::int64_t(first) + rows);
                }
            }
        }
    }
}

/// The launch of a window of any size covers every position by stretches of one tile, while there are blocks.
void TestAttentionPlan::windowsHaveStretchesEnough()
{
    for (const int window : {1, 57, 64, 65, 1000, 8000}) {
        const int most = planDecode(shapeOf(32, 131072, window), viewOf(8, 128, 128), 8).stretches;
        for (int first = 50000; first < 50200; ++first) {
            const std::int64_t length = stretchesOf(first, 8, window, most).length;
            QVERIFY(length == decodeTilePositions || most == 128);
        }
    }
}

void TestAttentionPlan::prefillGridsFit()
{
    for (const int heads : {1, 32, 71, 128}) {
        for (const int kvHeads : {1, 8, 128}) {
            if (heads % kvHeads != 0)
                continue;
            for (const int rows : {1, 64, 4096, 131072}) {
                const PrefillPlan plan = planPrefill(shapeOf(heads, 131072), viewOf(kvHeads, 128, 128), rows);
                QCOMPARE(int(plan.grid.x), plan.lanes.rowTiles);
                QCOMPARE(int(plan.grid.y), kvHeads * plan.lanes.headParts);
                QVERIFY(plan.grid.y <= largestGridYZ);
            }
        }
    }
    QCOMPARE(int(planPrefill(shapeOf(128, 131072), viewOf(8, 128, 128), 131072).grid.x), 32768);
}

void TestAttentionPlan::tensorBlocksFit()
{
    QVERIFY(tensorSharedBytes(64, 8, 64) <= withoutAsking);
    QVERIFY(tensorSharedBytes(128, 16, 64) <= smallestTensorCard);
    QVERIFY(tensorSharedBytes(256, 32, 32) <= smallestTensorCard);
    // Eight rows whose first words lie four banks apart, and four rows eight apart, meet in no bank.
    for (int size = 8; size <= 256; size += 8)
        QCOMPARE(tensorKeyStride(size) % 8, 4);
    for (const int tiles : {8, 16, 32})
        QCOMPARE(tensorValueStride(tiles) % 32, 8);
}

void TestAttentionPlan::headRowsAreCovered()
{
    QCOMPARE(headRowBlocks(1), 1);
    QCOMPARE(headRowBlocks(4), 1);
    QCOMPARE(headRowBlocks(5), 2);
    QVERIFY(headRowBlocks(std::int64_t(131072) * (128 + 128 + 128)) <= largestGridX);
}

TOKENLOUPE_TEST_MAIN(TestAttentionPlan)
#include "tst_attentionplan.moc"
