// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/cachesnapshot.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;

class TestCacheSnapshot : public QObject
{
    Q_OBJECT

private slots:
    void countsBytes();
    void emptyIsNothing();
};

void TestCacheSnapshot::countsBytes()
{
    CacheSnapshot shown;
    shown.shape.blockTokens = 4;
    const auto block = [](BlockOwnership ownership, std::uint32_t fill, std::uint32_t sequences) {
        CacheBlock made;
        made.ownership = ownership;
        made.fill = fill;
        made.sequences = sequences;
        return made;
    };
    CachePool full;
    full.blockBytes = 400;
    full.blocks = {block(BlockOwnership::Active, 4, 3), block(BlockOwnership::Active, 1, 1),
                   block(BlockOwnership::Cached, 2, 0), block(BlockOwnership::Free, 0, 0)};
    CachePool window;
    window.blockBytes = 40;
    window.blocks = {block(BlockOwnership::Active, 2, 2), block(BlockOwnership::Cached, 4, 0)};
    shown.pools = {full, window};
    QCOMPARE(shown.usedBytes(), std::uint64_t(2 * 400 + 40));
    QCOMPARE(shown.cachedBytes(), std::uint64_t(400 + 40));
    QCOMPARE(shown.poolBytes(), std::uint64_t(4 * 400 + 2 * 40));
    QCOMPARE(shown.unfilledBytes(), std::uint64_t(300 + 20));
    QCOMPARE(shown.savedBySharingBytes(), std::uint64_t(2 * 400 + 40));
}

void TestCacheSnapshot::emptyIsNothing()
{
    const CacheSnapshot shown;
    QCOMPARE(shown.usedBytes() + shown.cachedBytes() + shown.poolBytes() + shown.unfilledBytes() +
                 shown.savedBySharingBytes(),
             std::uint64_t(0));
}

TOKENLOUPE_TEST_MAIN(TestCacheSnapshot)
#include "tst_cachesnapshot.moc"
