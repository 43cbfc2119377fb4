// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"
#include "tests/support/testmain.h"

#include <cstring>
#include <random>
#include <set>

using namespace tokenloupe;

namespace {

KvShape smallShape(std::uint32_t blockTokens)
{
    KvShape shape;
    shape.kvHeads = {2, 1};
    shape.headSize = 4;
    shape.valueHeadSize = 4;
    shape.blockTokens = blockTokens;
    return shape;
}

std::byte *slotOf(const KvCache &cache, std::uint32_t token)
{
    const std::uint32_t blockTokens = cache.shape().blockTokens;
    return cache.pool().keys(cache.table().blocks[token / blockTokens], LayerIndex(1), 0) +
           std::size_t(token % blockTokens) * cache.shape().headSize * 4;
}

} // namespace

class TestKvCache : public QObject
{
    Q_OBJECT

private slots:
    void followsAPlainModel_data();
    void followsAPlainModel();
    void sharesItsPoolWithOthers();
    void refusesImpossibleContexts();
};

void TestKvCache::followsAPlainModel_data()
{
    QTest::addColumn<quint32>("blockTokens");
    QTest::addColumn<quint32>("context");
    QTest::newRow("blocks of 16") << 16U << 200U;
    QTest::newRow("context is whole blocks") << 8U << 64U;
    QTest::newRow("blocks of 1") << 1U << 23U;
    QTest::newRow("one block") << 64U << 50U;
}

/// The plain model is the list of tokens itself; each token's number is written into its slot.
void TestKvCache::followsAPlainModel()
{
    QFETCH(quint32, blockTokens);
    QFETCH(quint32, context);
    Result<KvCache> cache = KvCache::create(smallShape(blockTokens), context);
    QVERIFY(cache);
    QCOMPARE(cache->contextTokens(), context);
    std::vector<std::uint32_t> tokens;
    std::mt19937 random(blockTokens * 1000 + context);
    int full = 0;
    for (int i = 0; i < 3000; ++i) {
        if (random() % 3 != 0) {
            const std::uint32_t count = random() % (context / 3 + 1);
            const Status status = cache->append(count);
            if (tokens.size() + count > context) {
                QVERIFY(!status);
                QCOMPARE(status.error().code, ErrorCode::ContextFull);
                ++full;
            } else {
                QVERIFY(status);
                for (std::uint32_t k = 0; k < count; ++k) {
                    tokens.push_back(random());
                    std::memcpy(slotOf(*cache, static_cast<std::uint32_t>(tokens.size() - 1)), &tokens.back(),
                                4);
                }
            }
        } else {
            const auto keep = static_cast<std::uint32_t>(random() % (tokens.size() + 1));
            cache->truncate(keep);
            tokens.resize(keep);
        }
        QCOMPARE(cache->tokens(), static_cast<std::uint32_t>(tokens.size()));
        const std::uint32_t blocks = (cache->tokens() + blockTokens - 1) / blockTokens;
        QCOMPARE(cache->usedBlocks(), blocks);
        QCOMPARE(cache->usedBytes(), blocks * cache->shape().blockBytes());
        QCOMPARE(cache->pool().freeBlocks() + blocks, cache->pool().capacity());
        std::set<std::uint32_t> distinct;
        for (const BlockId block : cache->table().blocks)
            distinct.insert(block.value());
        QCOMPARE(distinct.size(), cache->table().blocks.size());
        if (i % 16 != 0)
            continue;
        for (std::uint32_t token = 0; token < tokens.size(); ++token) {
            std::uint32_t stored = 0;
            std::memcpy(&stored, slotOf(*cache, token), 4);
            QCOMPARE(stored, tokens[token]);
        }
    }
    QVERIFY(full > 0);
}

void TestKvCache::sharesItsPoolWithOthers()
{
    Result<KvCache> cache = KvCache::create(smallShape(4), 16); // 4 blocks
    QVERIFY(cache);
    QVERIFY(cache->append(4));
    const BlockId taken = *cache->pool().take(); // somebody else's
    QVERIFY(cache->append(4));
    const Status tooMany = cache->append(8); // one of the two blocks is there: it must come back
    QVERIFY(!tooMany);
    QCOMPARE(tooMany.error().code, ErrorCode::ContextFull);
    QCOMPARE(cache->tokens(), 8U);
    QCOMPARE(cache->usedBlocks(), 2U);
    QCOMPARE(cache->pool().freeBlocks(), 1U);
    cache->pool().give(taken);
    QVERIFY(cache->append(8));
    QCOMPARE(cache->table().blocks[2].value(), taken.value()); // scattered: 0, 2, 1, 3
}

void TestKvCache::refusesImpossibleContexts()
{
    const auto codeOf = [](const KvShape &shape, std::uint32_t context) {
        const Result<KvCache> cache = KvCache::create(shape, context);
        return cache ? ErrorCode::Cancelled : cache.error().code;
    };
    QCOMPARE(codeOf(smallShape(16), 0), ErrorCode::InvalidArgument);
    QCOMPARE(codeOf(smallShape(0), 16), ErrorCode::InvalidArgument);
    KvShape wide = smallShape(16);
    wide.headSize = wide.valueHeadSize = 1 << 20;
    QCOMPARE(codeOf(wide, 0xffffffffU), ErrorCode::OutOfMemory);
    KvShape mixed = smallShape(5);
    mixed.valueType = KvType::F16;
    QCOMPARE(codeOf(mixed, 10), ErrorCode::InvalidArgument);
}

TOKENLOUPE_TEST_MAIN(TestKvCache)
#include "tst_kvcache.moc"
