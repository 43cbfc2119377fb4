// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"
#include "tests/cache/plaincache.h"
#include "tests/support/testmain.h"

#include <algorithm>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Tokens = PlainCache::Tokens;

Tokens tokensOf(std::initializer_list<std::uint32_t> ids)
{
    Tokens tokens;
    for (const std::uint32_t id : ids)
        tokens.emplace_back(id);
    return tokens;
}

} // namespace

class TestKvCache : public QObject
{
    Q_OBJECT

private slots:
    void branchesCopyOnWrite();
    void foundBlocksAreCopiedOnWrite();
    void adoptPrefersWhatItHas();
    void evictsTheLeastRecent();
    void fullCacheSaysTheNumbers();
    void windowsLeaveBlocksBehind();
    void rewindsIntoWhatTheWindowLeft();
    void failedPassesAreNeverFound();
    void discardedSequencesAreNotFound();
    void droppedBlocks();
    void droppedContextsAreNeverFound();
    void countsWhatHappens();
    void viewsOfMovedCaches();
    void refusesImpossibleSettings();
};

void TestKvCache::branchesCopyOnWrite()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 32, 4));
    KvCache &cache = plain.cache();
    const SequenceId trunk = plain.open();
    QVERIFY(plain.append(trunk, range(0, 10)));
    const SequenceId branch = plain.fork(trunk, 10);
    const SequenceId shorter = plain.fork(trunk, 6);
    QCOMPARE(cache.pools()[0].freeBlocks(), 32U - 3);
    QCOMPARE(cache.sequence(branch).tables, cache.sequence(trunk).tables);
    // The first to write gets the copy, the last one may keep the block.
    QVERIFY(plain.append(branch, range(100, 1)));
    QCOMPARE(cache.counters().copiedBlocks, std::uint64_t(1));
    QVERIFY(plain.append(trunk, range(200, 1)));
    QCOMPARE(cache.counters().copiedBlocks, std::uint64_t(1));
    QVERIFY(plain.append(shorter, range(300, 5)));
    QCOMPARE(cache.counters().copiedBlocks, std::uint64_t(2));
    TOKENLOUPE_VERIFY_SAME(plain);
    QCOMPARE(cache.sequence(branch).tables[0][1], cache.sequence(trunk).tables[0][1]);
    const CacheSnapshot shown = cache.snapshot(branch);
    QCOMPARE(shown.sequences.front().id, branch);
    QCOMPARE(shown.savedBySharingBytes(), (2 + 1) * cache.pools()[0].blockBytes()); // block 0 of 3, 1 of 2
}

void TestKvCache::foundBlocksAreCopiedOnWrite()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 32, 4));
    KvCache &cache = plain.cache();
    const SequenceId first = plain.open();
    QVERIFY(plain.append(first, range(0, 10)));
    plain.close(first);
    const SequenceId second = plain.open();
    Tokens wanted = range(0, 7);
    wanted.push_back(TokenId(55));
    QCOMPARE(plain.adopt(second, wanted), 7U); // three tokens of the second block
    QVERIFY(plain.append(second, tokensOf({55, 56})));
    QCOMPARE(cache.counters().copiedBlocks, std::uint64_t(1));
    TOKENLOUPE_VERIFY_SAME(plain);
    // The first one's is all still there, its partly filled block too.
    const SequenceId third = plain.open();
    QCOMPARE(plain.adopt(third, range(0, 12)), 10U);
    QVERIFY(plain.append(third, range(10, 2)));
    TOKENLOUPE_VERIFY_SAME(plain);
    const CacheSnapshot shown = cache.snapshot(third);
    for (std::size_t index = 0; index < 3; ++index) {
        const BlockId block = cache.sequence(third).tables[0][index];
        QVERIFY(shown.pools[0].blocks[block.value()].prefixHit);
        QCOMPARE(shown.pools[0].blocks[block.value()].firstPosition, static_cast<std::uint32_t>(4 * index));
    }
}

void TestKvCache::adoptPrefersWhatItHas()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 32, 4));
    const SequenceId id = plain.open();
    QVERIFY(plain.append(id, range(0, 10)));
    const BlockTables before = plain.cache().sequence(id).tables;
    QCOMPARE(plain.adopt(id, range(0, 15)), 10U);
    QVERIFY(plain.cache().sequence(id).tables == before);
    QVERIFY(plain.append(id, range(10, 1))); // nobody else can see the block: nothing to copy
    QCOMPARE(plain.cache().counters().copiedBlocks, std::uint64_t(0));
    // A view of its own tokens is a prompt too.
    const std::span<const TokenId> own = plain.cache().tokenIds(id).first(9);
    QCOMPARE(plain.cache().adopt(id, own), 9U);
    QCOMPARE(plain.cache().adopt(id, {}), 0U);
    QCOMPARE(plain.cache().usedBlocks(id), 0U);
}

void TestKvCache::evictsTheLeastRecent()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 16, 2)); // 8 blocks
    KvCache &cache = plain.cache();
    for (const std::uint32_t first : {100U, 200U, 300U}) {
        const SequenceId id = plain.open();
        QVERIFY(plain.append(id, range(first, 8)));
        plain.close(id);
    }
    QCOMPARE(cache.pools()[0].freeBlocks(), 2U);
    const SequenceId user = plain.open();
    QCOMPARE(plain.adopt(user, range(100, 8)), 8U); // used again: the second is the oldest now
    const SequenceId eater = plain.open();
    QVERIFY(plain.append(eater, range(400, 12))); // two free blocks and one more
    QCOMPARE(cache.counters().evictedBlocks, std::uint64_t(1));
    TOKENLOUPE_VERIFY_SAME(plain);
    const SequenceId probe = plain.open();
    QCOMPARE(plain.adopt(probe, range(200, 8)), 4U); // its end went first
    QCOMPARE(plain.adopt(probe, range(300, 8)), 8U);
    QCOMPARE(plain.adopt(probe, range(100, 8)), 8U);
    const CacheSnapshot shown = cache.snapshot({});
    const auto evicted = std::count_if(shown.pools[0].blocks.begin(), shown.pools[0].blocks.end(),
                                       [&](const CacheBlock &block) { return block.evictedAt > 0; });
    QCOMPARE(evicted, std::ptrdiff_t(1));
}

void TestKvCache::fullCacheSaysTheNumbers()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 16, 2)); // 8 blocks
    KvCache &cache = plain.cache();
    const SequenceId first = plain.open();
    const SequenceId second = plain.open();
    const SequenceId third = plain.open();
    QVERIFY(plain.append(first, range(0, 16)));
    QVERIFY(plain.append(second, range(100, 9)));
    const BlockTables before = cache.sequence(third).tables;
    const Status tooLong = cache.append(first, range(16, 3));
    QVERIFY(!tooLong);
    QCOMPARE(tooLong.error().code, ErrorCode::ContextFull);
    QVERIFY(tooLong.error().message.find("3 more tokens after 16") != std::string::npos);
    const Status noRoom = cache.append(third, range(200, 6));
    QVERIFY(!noRoom);
    QCOMPARE(noRoom.error().code, ErrorCode::ContextFull);
    QVERIFY(noRoom.error().message.find("need 2 blocks, of 8 only 1 are not in use") != std::string::npos);
    QVERIFY(cache.sequence(third).tables == before);
    QCOMPARE(cache.largestAppend(third), 4U);
    QVERIFY(plain.append(third, range(200, 4)));
    QCOMPARE(cache.largestAppend(third), 0U);
    QCOMPARE(cache.largestAppend(second), 3U); // what its last block still takes
    TOKENLOUPE_VERIFY_SAME(plain);
}

void TestKvCache::windowsLeaveBlocksBehind()
{
    PlainCache plain = cacheOf(settingsOf({0, 10}, 4, 400, 1, 6));
    KvCache &cache = plain.cache();
    QCOMPARE(cache.pools().size(), std::size_t(2));
    QCOMPARE(cache.pools()[1].capacity(), 256U / 4);
    const SequenceId id = plain.open();
    for (std::uint32_t position = 0; position < 60; position += 6) {
        QVERIFY(plain.append(id, range(position, 6)));
        TOKENLOUPE_VERIFY_SAME(plain);
        const std::uint32_t seen = position >= 9 ? position - 9 : 0;
        QCOMPARE(cache.view(id).firstHeld(LayerIndex(1)), seen / 4 * 4);
        QCOMPARE(cache.view(id).firstHeld(LayerIndex(0)), 0U);
    }
    QCOMPARE(cache.usedBlocks(id), 15U + 15 - 11); // 45 positions are left behind: 11 whole blocks
    QCOMPARE(cache.usedBytes(id), 15 * cache.pools()[0].blockBytes() + 4 * cache.pools()[1].blockBytes());
    const CacheSnapshot shown = cache.snapshot(id);
    QVERIFY(!shown.sequences[0].tables[1][10].isValid());
    QVERIFY(shown.sequences[0].tables[1][11].isValid());
    QCOMPARE(shown.usedBytes(), cache.usedBytes(id));
    QCOMPARE(shown.cachedBytes(), 11 * cache.pools()[1].blockBytes());
}

void TestKvCache::rewindsIntoWhatTheWindowLeft()
{
    PlainCache plain = cacheOf(settingsOf({0, 10}, 4, 800, 1, 6));
    KvCache &cache = plain.cache();
    const SequenceId id = plain.open();
    for (std::uint32_t position = 0; position < 120; position += 6)
        QVERIFY(plain.append(id, range(position, 6)));
    QCOMPARE(plain.truncate(id, 50), 50U); // the index still has it
    TOKENLOUPE_VERIFY_SAME(plain);
    QVERIFY(plain.append(id, range(500, 6)));
    TOKENLOUPE_VERIFY_SAME(plain);
    // 64 blocks are for the window: hundreds of tokens later the beginning is gone.
    for (std::uint32_t position = 0; position < 480; position += 6)
        QVERIFY(plain.append(id, range(1000 + position, 6)));
    QVERIFY(cache.counters().evictedBlocks > 0);
    const std::uint32_t kept = plain.truncate(id, 40);
    QVERIFY(kept < 40);
    TOKENLOUPE_VERIFY_SAME(plain);
    QVERIFY(plain.append(id, range(2000, 6)));
    TOKENLOUPE_VERIFY_SAME(plain);
}

void TestKvCache::failedPassesAreNeverFound()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 32, 2));
    const SequenceId id = plain.open();
    QVERIFY(plain.append(id, range(0, 6)));
    plain.failToAppend(id, range(6, 9));
    TOKENLOUPE_VERIFY_SAME(plain);
    const SequenceId other = plain.open();
    QCOMPARE(plain.adopt(other, range(0, 15)), 4U);
    // Nor when the sequence is closed before it knows.
    QVERIFY(plain.cache().append(id, range(6, 9)));
    plain.cache().close(id);
    QCOMPARE(plain.cache().adopt(other, range(0, 15)), 6U);
}

void TestKvCache::discardedSequencesAreNotFound()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 32, 3));
    KvCache &cache = plain.cache();
    const SequenceId kept = plain.open();
    QVERIFY(plain.append(kept, range(0, 9)));
    const SequenceId gone = plain.open();
    QVERIFY(plain.append(gone, range(0, 13))); // shares two blocks by their tokens
    QCOMPARE(cache.pools()[0].freeBlocks(), 24U - 3 - 2);
    plain.discard(gone);
    QCOMPARE(cache.pools()[0].freeBlocks(), 24U - 3);
    TOKENLOUPE_VERIFY_SAME(plain);
    const SequenceId probe = plain.open();
    QCOMPARE(cache.adopt(probe, range(0, 13)), 8U);
}

void TestKvCache::droppedBlocks()
{
    KvCacheSettings settings = settingsOf({0, 0}, 4, 64);
    PlainCache rotated = cacheOf(settings);
    const SequenceId fixed = rotated.open();
    QVERIFY(rotated.append(fixed, range(0, 20)));
    const Status refused = rotated.cache().dropBlocks(fixed, 1, 1);
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::Unsupported);

    settings.keyPhase = KeyPhase::Unrotated;
    settings.shape.layers[1].window = 10;
    PlainCache plain = cacheOf(settings);
    KvCache &cache = plain.cache();
    const SequenceId id = plain.open();
    for (std::uint32_t position = 0; position < 36; position += 6)
        QVERIFY(plain.append(id, range(position, 6)));
    QVERIFY(plain.append(id, range(36, 2)));
    // Nothing, what is not there, what is not full.
    for (const auto &[first, count] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
             {0, 0}, {9, 1}, {8, 2}, {40, 1}, {1, 0xffffffffU}}) {
        const Status wrong = cache.dropBlocks(id, first, count);
        QVERIFY(!wrong);
        QCOMPARE(wrong.error().code, ErrorCode::InvalidArgument);
    }
    // Taken from the end, the window would reach back to what it left behind.
    QVERIFY(!cache.dropBlocks(id, 7, 2));
    TOKENLOUPE_VERIFY_SAME(plain);
    QVERIFY(plain.drop(id, 1, 3));
    TOKENLOUPE_VERIFY_SAME(plain);
    QCOMPARE(cache.tokens(id), 26U);
    QVERIFY(cache.tokenIds(id)[4] == TokenId(16));
    QCOMPARE(cache.snapshot(id).sequences[0].tables[0].size(), std::size_t(7));
    QVERIFY(plain.append(id, range(100, 6)));
    TOKENLOUPE_VERIFY_SAME(plain);
}

void TestKvCache::droppedContextsAreNeverFound()
{
    KvCacheSettings settings = settingsOf({0}, 4, 64, 3);
    settings.keyPhase = KeyPhase::Unrotated;
    PlainCache plain = cacheOf(settings);
    KvCache &cache = plain.cache();
    const SequenceId id = plain.open();
    QVERIFY(plain.append(id, range(0, 18)));
    QVERIFY(plain.drop(id, 1, 1)); // 0 to 3, 8 to 17
    QVERIFY(plain.append(id, range(18, 7)));
    Tokens held(cache.tokenIds(id).begin(), cache.tokenIds(id).end());
    const SequenceId probe = plain.open();
    QCOMPARE(plain.adopt(probe, held), 4U);
    QCOMPARE(plain.adopt(probe, range(0, 25)), 16U); // as they were computed before
    const SequenceId branch = plain.fork(id, 20);
    QCOMPARE(cache.tokens(branch), 20U);
    plain.close(branch);
    plain.truncate(id, 15);
    plain.close(id);
    QCOMPARE(plain.adopt(probe, held), 4U);
    TOKENLOUPE_VERIFY_SAME(plain);
    // Its own are no prefix either, until it is back before the gap.
    const SequenceId again = plain.open();
    QVERIFY(plain.append(again, range(0, 12)));
    QVERIFY(plain.drop(again, 1, 1));
    QCOMPARE(plain.truncate(again, 4), 4U);
    QVERIFY(plain.append(again, range(50, 3)));
    held.assign(cache.tokenIds(again).begin(), cache.tokenIds(again).end());
    QCOMPARE(plain.adopt(again, held), 7U);
    TOKENLOUPE_VERIFY_SAME(plain);
}

void TestKvCache::countsWhatHappens()
{
    PlainCache plain = cacheOf(settingsOf({0}, 4, 16, 2));
    KvCache &cache = plain.cache();
    const SequenceId id = plain.open();
    cache.setRun(id, RunId(7));
    QVERIFY(plain.append(id, range(0, 6)));
    QVERIFY(plain.append(id, range(6, 1)));
    QCOMPARE(cache.clock(), std::uint64_t(2));
    CacheSnapshot shown = cache.snapshot(id);
    QCOMPARE(shown.clock, std::uint64_t(2));
    QCOMPARE(shown.sequences[0].run, RunId(7));
    QCOMPARE(shown.sequences[0].tokens, 7U);
    const auto blockOf = [&](std::size_t index) -> const CacheBlock & {
        return shown.pools[0].blocks[shown.sequences[0].tables[0][index].value()];
    };
    QCOMPARE(blockOf(0).writtenAt, std::uint64_t(1));
    QCOMPARE(blockOf(1).writtenAt, std::uint64_t(2));
    QCOMPARE(blockOf(1).fill, 3U);
    QVERIFY(!blockOf(1).prefixHit);
    QCOMPARE(shown.unfilledBytes(), cache.pools()[0].blockBytes() / 4);
    QCOMPARE(shown.contextTokens, 16U);
    QCOMPARE(plain.adopt(id, range(0, 5)), 5U);
    CacheCounters expected;
    expected.promptTokens = 5;
    expected.hitTokens = 5;
    expected.writtenTokens = 7;
    QVERIFY(cache.counters() == expected);
    QVERIFY(cache.snapshot(id).counters == expected);
    QVERIFY(cache.snapshot(id).pools[0].blocks[0].prefixHit);
    QVERIFY(!cache.snapshot({}).pools[0].blocks[0].prefixHit); // of no run that is shown
    QVERIFY(!cache.isOpen(SequenceId(99)));
    QCOMPARE(cache.openSequences(), 1U);
}

void TestKvCache::viewsOfMovedCaches()
{
    Result<KvCache> first = KvCache::create(settingsOf({0}, 4, 16));
    QVERIFY(first);
    const SequenceId id = first->open();
    QVERIFY(first->append(id, range(0, 5)));
    const std::byte *row = first->view(id).keys(LayerIndex(0), 0, 4).data;
    first->markWritten(id);
    KvCache second = std::move(*first);
    QCOMPARE(second.view(id).keys(LayerIndex(0), 0, 4).data, row);
    QCOMPARE(second.view(id).keys(LayerIndex(0), 0, 1).count, 3U);
    QCOMPARE(second.view(id).tokens(), 5U);
    QCOMPARE(second.view(id).contextTokens(), 16U);
    second.close(id);
    const SequenceId other = second.open();
    QCOMPARE(second.adopt(other, range(0, 5)), 5U);
}

void TestKvCache::refusesImpossibleSettings()
{
    const auto codeOf = [](const KvCacheSettings &settings) {
        const Result<KvCache> cache = KvCache::create(settings);
        return cache ? ErrorCode::Cancelled : cache.error().code;
    };
    QCOMPARE(codeOf(settingsOf({0}, 16, 0)), ErrorCode::InvalidArgument);
    QCOMPARE(codeOf(settingsOf({0}, 0, 16)), ErrorCode::InvalidArgument);
    QCOMPARE(codeOf(settingsOf({0}, 16, 16, 0)), ErrorCode::InvalidArgument);
    QCOMPARE(codeOf(settingsOf({0}, 16, 16, 1, 0)), ErrorCode::InvalidArgument);
    QCOMPARE(codeOf(settingsOf({}, 16, 16)), ErrorCode::InvalidArgument);
    QCOMPARE(codeOf(settingsOf({0}, 16, 16)), ErrorCode::Cancelled);
    KvCacheSettings wide = settingsOf({0}, 16, 0xffffffffU);
    wide.shape.layers[0].keySize = wide.shape.layers[0].valueSize = 1 << 20;
    QCOMPARE(codeOf(wide), ErrorCode::OutOfMemory);
    KvCacheSettings thin = settingsOf({0}, 16, 16);
    thin.shape.valueType = KvType::Q8_0; // of one number
    QCOMPARE(codeOf(thin), ErrorCode::InvalidArgument);
    KvCacheSettings recurrent = settingsOf({0, 0}, 16, 16); // a layer that keeps nothing is fine
    recurrent.shape.layers[0] = {};
    QCOMPARE(codeOf(recurrent), ErrorCode::Cancelled);
}

TOKENLOUPE_TEST_MAIN(TestKvCache)
#include "tst_kvcache.moc"
