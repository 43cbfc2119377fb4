// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/blockpool.h"
#include "engine/cache/hostmemory.h"
#include "engine/memory/memoryplan.h"
#include "tests/support/testmain.h"

#include <cstring>
#include <random>
#include <set>

using namespace tokenloupe;

namespace {

KvShape shapeOf(std::vector<std::uint32_t> kvHeads, std::uint32_t headSize, std::uint32_t blockTokens = 16)
{
    KvShape shape;
    shape.kvHeads = std::move(kvHeads);
    shape.headSize = headSize;
    shape.valueHeadSize = headSize;
    shape.blockTokens = blockTokens;
    return shape;
}

} // namespace

class TestBlockPool : public QObject
{
    Q_OBJECT

private slots:
    void typeNames();
    void shapeCountsBytes();
    void takesLikeASet();
    void placesDoNotOverlap_data();
    void placesDoNotOverlap();
    void refusesImpossibleSizes_data();
    void refusesImpossibleSizes();
    void isResidentOnlyWhereWritten();
    void movedPoolKeepsItsMemory();
};

void TestBlockPool::typeNames()
{
    QCOMPARE(*kvTypeOf("f16"), KvType::F16);
    QCOMPARE(*kvTypeOf(kvTypeName(KvType::F32)), KvType::F32);
    const auto unknown = kvTypeOf("q9_9");
    QVERIFY(!unknown);
    QCOMPARE(unknown.error().code, ErrorCode::InvalidArgument);
    QVERIFY(unknown.error().message.find("q9_9") != std::string::npos);
}

void TestBlockPool::shapeCountsBytes()
{
    KvShape shape = shapeOf({3, 1, 2}, 64);
    QCOMPARE(shape.bytesPerToken(0), std::uint64_t(3 * (64 + 64) * 4));
    QCOMPARE(shape.bytesPerToken(), std::uint64_t(6 * (64 + 64) * 4));
    shape.keyType = KvType::F16;
    shape.valueHeadSize = 32;
    QCOMPARE(shape.bytesPerToken(1), std::uint64_t(64 * 2 + 32 * 4));
    QCOMPARE(shape.blockBytes(), 16 * shape.bytesPerToken());
}

void TestBlockPool::takesLikeASet()
{
    constexpr std::uint32_t blocks = 37;
    Result<BlockPool> pool = BlockPool::create(shapeOf({1}, 4), blocks);
    QVERIFY(pool);
    std::set<std::uint32_t> free;
    for (std::uint32_t id = 0; id < blocks; ++id)
        free.insert(id);
    std::vector<std::uint32_t> held;
    std::mt19937 random(11);
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
        // Long runs in one direction, so that the pool is empty and full now and then.
        const bool taking = (i / 60) % 2 == 0 ? random() % 4 != 0 : random() % 4 == 0;
        if (taking) {
            const Result<BlockId> block = pool->take();
            if (free.empty()) {
                QVERIFY(!block);
                QCOMPARE(block.error().code, ErrorCode::ContextFull);
                ++refused;
                continue;
            }
            QVERIFY(block);
            QCOMPARE(block->value(), *free.begin());
            free.erase(free.begin());
            held.push_back(block->value());
        } else if (!held.empty()) {
            const std::size_t which = random() % held.size();
            pool->give(BlockId(held[which]));
            free.insert(held[which]);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        }
        QCOMPARE(pool->freeBlocks(), static_cast<std::uint32_t>(free.size()));
    }
    QVERIFY(refused > 0);
    QCOMPARE(pool->capacity(), blocks);
}

void TestBlockPool::placesDoNotOverlap_data()
{
    QTest::addColumn<int>("keyType");
    QTest::addColumn<int>("valueType");
    QTest::newRow("f32") << 0 << 0;
    QTest::newRow("f16") << 1 << 1;
    QTest::newRow("f16 keys, f32 values") << 1 << 0;
    QTest::newRow("f32 keys, f16 values") << 0 << 1;
}

void TestBlockPool::placesDoNotOverlap()
{
    QFETCH(int, keyType);
    QFETCH(int, valueType);
    KvShape shape = shapeOf({2, 1, 3}, 5, 6);
    shape.valueHeadSize = 7;
    shape.keyType = static_cast<KvType>(keyType);
    shape.valueType = static_cast<KvType>(valueType);
    constexpr std::uint32_t blocks = 3;
    Result<BlockPool> pool = BlockPool::create(shape, blocks);
    QVERIFY(pool);

    // Every place gets a pattern of its own; if two shared a byte, one of them would be found changed.
    const auto eachPlace = [&](const auto &visit) {
        unsigned char pattern = 1;
        for (std::uint32_t block = 0; block < blocks; ++block) {
            for (std::uint32_t layer = 0; layer < shape.layers(); ++layer) {
                for (std::uint32_t head = 0; head < shape.kvHeads[layer]; ++head) {
                    std::byte *keys = pool->keys(BlockId(block), LayerIndex(layer), head);
                    std::byte *values = pool->values(BlockId(block), LayerIndex(layer), head);
                    visit(keys, shape.headSize, kvTypeBytes(shape.keyType), pattern++);
                    visit(values, shape.valueHeadSize, kvTypeBytes(shape.valueType), pattern++);
                }
            }
        }
    };
    std::uint64_t total = 0;
    eachPlace([&](std::byte *place, std::uint32_t width, std::uint32_t bytes, unsigned char pattern) {
        QCOMPARE(reinterpret_cast<std::uintptr_t>(place) % bytes, std::uintptr_t(0));
        std::memset(place, pattern, std::size_t(width) * bytes * shape.blockTokens);
        total += std::uint64_t(width) * bytes * shape.blockTokens;
    });
    QCOMPARE(total, blocks * shape.blockBytes());
    eachPlace([&](const std::byte *place, std::uint32_t width, std::uint32_t bytes, unsigned char pattern) {
        for (std::size_t i = 0; i < std::size_t(width) * bytes * shape.blockTokens; ++i)
            QCOMPARE(std::to_integer<unsigned char>(place[i]), pattern);
    });
}

void TestBlockPool::refusesImpossibleSizes_data()
{
    QTest::addColumn<quint32>("kvHeads");
    QTest::addColumn<quint32>("headSize");
    QTest::addColumn<quint32>("blockTokens");
    QTest::addColumn<quint32>("blocks");
    QTest::addColumn<int>("code");
    const auto wrong = static_cast<int>(ErrorCode::InvalidArgument);
    const auto memory = static_cast<int>(ErrorCode::OutOfMemory);
    const quint32 huge = 0xffffffffU;
    QTest::newRow("no heads") << 0U << 8U << 16U << 1U << wrong;
    QTest::newRow("no width") << 1U << 0U << 16U << 1U << wrong;
    QTest::newRow("no slots") << 1U << 8U << 0U << 1U << wrong;
    QTest::newRow("no blocks") << 1U << 8U << 16U << 0U << wrong;
    QTest::newRow("wraps in one token") << huge << huge << 16U << 1U << wrong;
    QTest::newRow("wraps over blocks") << huge << 1024U << 1024U << huge << wrong;
    QTest::newRow("more than there is") << 1024U << 1024U << 16U << 0x00ffffffU << memory;
}

void TestBlockPool::refusesImpossibleSizes()
{
    QFETCH(quint32, kvHeads);
    QFETCH(quint32, headSize);
    QFETCH(quint32, blockTokens);
    QFETCH(quint32, blocks);
    QFETCH(int, code);
    const Result<BlockPool> pool = BlockPool::create(shapeOf({kvHeads}, headSize, blockTokens), blocks);
    QVERIFY(!pool);
    QCOMPARE(static_cast<int>(pool.error().code), code);
    QVERIFY(!pool.error().text().empty());
    if (pool.error().code == ErrorCode::OutOfMemory) {
        const std::uint64_t wanted = std::uint64_t(kvHeads) * headSize * 8 * blockTokens * blocks;
        QVERIFY(pool.error().message.find(std::to_string(wanted)) != std::string::npos);
    }
}

void TestBlockPool::isResidentOnlyWhereWritten()
{
    constexpr std::uint64_t mebibyte = 1 << 20;
    const std::uint64_t before = processMemory().residentBytes;
    if (before == 0)
        QSKIP("this system does not tell resident memory");
    Result<BlockPool> pool = BlockPool::create(shapeOf({16}, 256), 2048); // 1 GiB
    QVERIFY(pool);
    QCOMPARE(pool->shape().blockBytes() * pool->capacity(), 1024 * mebibyte);
    QVERIFY(processMemory().residentBytes < before + 64 * mebibyte);
    for (int i = 0; i < 256; ++i) { // 128 MiB
        const Result<BlockId> block = pool->take();
        QVERIFY(block);
        std::memset(pool->keys(*block, LayerIndex(0), 0), 1, pool->shape().blockBytes());
    }
    QVERIFY(processMemory().residentBytes > before + 100 * mebibyte);
    QVERIFY(processMemory().residentBytes < before + 256 * mebibyte);
}

void TestBlockPool::movedPoolKeepsItsMemory()
{
    Result<BlockPool> first = BlockPool::create(shapeOf({1}, 4), 4);
    QVERIFY(first);
    const BlockId block = *first->take();
    std::byte *place = first->keys(block, LayerIndex(0), 0);
    *place = std::byte(42);
    BlockPool second = std::move(*first);
    QCOMPARE(second.keys(block, LayerIndex(0), 0), place);
    QCOMPARE(std::to_integer<int>(*place), 42);
    QCOMPARE(second.freeBlocks(), 3U);
    Result<BlockPool> third = BlockPool::create(shapeOf({1}, 4), 9);
    QVERIFY(third);
    *third = std::move(second);
    QCOMPARE(third->capacity(), 4U);
    QCOMPARE(std::to_integer<int>(*third->keys(block, LayerIndex(0), 0)), 42);
}

TOKENLOUPE_TEST_MAIN(TestBlockPool)
#include "tst_blockpool.moc"
