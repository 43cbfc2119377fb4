// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/blockpool.h"
#include "engine/cache/hostmemory.h"
#include "engine/memory/memoryplan.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

using namespace tokenloupe;

namespace {

KvShape shapeOf(const std::vector<std::uint32_t> &heads, std::uint32_t keySize, std::uint32_t valueSize,
                std::uint32_t blockTokens = 16)
{
    KvShape shape;
    for (const std::uint32_t count : heads)
        shape.layers.push_back({count, keySize, valueSize, 0});
    shape.blockTokens = blockTokens;
    return shape;
}

Result<BlockPool> poolOf(const KvShape &shape, std::uint32_t blocks)
{
    KvLayerGroup group;
    for (std::uint32_t layer = 0; layer < shape.layers.size(); ++layer)
        group.layers.push_back(layer);
    return BlockPool::create(shape, group, blocks);
}

} // namespace

class TestBlockPool : public QObject
{
    Q_OBJECT

private slots:
    void takesLikeASet();
    void placesDoNotOverlap_data();
    void placesDoNotOverlap();
    void copiesTheFirstSlots();
    void refusesImpossibleSizes_data();
    void refusesImpossibleSizes();
    void isResidentOnlyWhereWritten();
    void isAllResidentWhenCommitted();
    void refusesHeadsThatAreNoWholeBlocks();
    void movedPoolKeepsItsMemory();
};

/// The plain model: how many references each block has. A block is free when it has none.
void TestBlockPool::takesLikeASet()
{
    constexpr std::uint32_t blocks = 37;
    Result<BlockPool> pool = poolOf(shapeOf({1}, 4, 4), blocks);
    QVERIFY(pool);
    std::vector<std::uint32_t> references(blocks, 0);
    std::set<std::uint32_t> free;
    for (std::uint32_t id = 0; id < blocks; ++id)
        free.insert(id);
    std::vector<std::uint32_t> held; // one entry for each reference
    std::mt19937 random(11);
    int refused = 0;
    for (int i = 0; i < 6000; ++i) {
        // Long runs in one direction, so that the pool is empty and full now and then.
        const bool taking = (i / 60) % 2 == 0 ? random() % 4 != 0 : random() % 4 == 0;
        if (taking && !held.empty() && random() % 4 == 0) {
            const std::uint32_t shared = held[random() % held.size()];
            pool->share(BlockId(shared));
            ++references[shared];
            held.push_back(shared);
        } else if (taking) {
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
            references[block->value()] = 1;
        } else if (!held.empty()) {
            const std::size_t which = random() % held.size();
            pool->release(BlockId(held[which]));
            if (--references[held[which]] == 0)
                free.insert(held[which]);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        }
        QCOMPARE(pool->freeBlocks(), static_cast<std::uint32_t>(free.size()));
        for (std::uint32_t block = 0; block < blocks; ++block)
            QCOMPARE(pool->references(BlockId(block)), references[block]);
    }
    QVERIFY(refused > 0);
    QCOMPARE(pool->capacity(), blocks);
}

void TestBlockPool::placesDoNotOverlap_data()
{
    QTest::addColumn<int>("keyType");
    QTest::addColumn<int>("valueType");
    for (const KvType keys : kvTypes()) {
        for (const KvType values : kvTypes())
            QTest::addRow("%s keys, %s values", kvTypeName(keys).data(), kvTypeName(values).data())
                << static_cast<int>(keys) << static_cast<int>(values);
    }
}

/// Every place gets a pattern of its own; if two shared a byte, one of them would be found changed. Layer 1
/// is another group's.
void TestBlockPool::placesDoNotOverlap()
{
    QFETCH(int, keyType);
    QFETCH(int, valueType);
    KvShape shape = shapeOf({2, 5, 1, 3}, 32, 64, 5);
    shape.keyType = static_cast<KvType>(keyType);
    shape.valueType = static_cast<KvType>(valueType);
    constexpr std::uint32_t blocks = 3;
    Result<BlockPool> pool = BlockPool::create(shape, {0, {0, 2, 3}}, blocks);
    QVERIFY(pool);
    const std::uint64_t keyBytes = kvRowBytes(shape.keyType, 32) * shape.blockTokens;
    const std::uint64_t valueBytes = kvRowBytes(shape.valueType, 64) * shape.blockTokens;
    const auto eachPlace = [&](const auto &visit) {
        unsigned char pattern = 1;
        for (std::uint32_t block = 0; block < blocks; ++block) {
            for (const std::uint32_t layer : pool->group().layers) {
                for (std::uint32_t head = 0; head < shape.layers[layer].heads; ++head) {
                    visit(pool->keys(BlockId(block), LayerIndex(layer), head), keyBytes, shape.keyType,
                          pattern++);
                    visit(pool->values(BlockId(block), LayerIndex(layer), head), valueBytes, shape.valueType,
                          pattern++);
                }
            }
        }
    };
    std::uint64_t total = 0;
    eachPlace([&](std::byte *place, std::uint64_t bytes, KvType type, unsigned char pattern) {
        const std::uintptr_t alignment = type == KvType::F32 ? 4 : 2;
        QCOMPARE(reinterpret_cast<std::uintptr_t>(place) % alignment, std::uintptr_t(0));
        std::memset(place, pattern, bytes);
        total += bytes;
    });
    QCOMPARE(total, pool->bytes());
    QCOMPARE(total, blocks * pool->blockBytes());
    const auto unchanged = [&](const std::byte *place, std::uint64_t bytes, KvType, unsigned char pattern) {
        for (std::uint64_t i = 0; i < bytes; ++i)
            QCOMPARE(std::to_integer<unsigned char>(place[i]), pattern);
    };
    eachPlace(unchanged);
    pool->commit(); // contents stay
    eachPlace(unchanged);
}

void TestBlockPool::copiesTheFirstSlots()
{
    KvShape shape = shapeOf({2, 3}, 32, 64, 5);
    shape.keyType = KvType::Q4_1;
    Result<BlockPool> pool = poolOf(shape, 4);
    QVERIFY(pool);
    const BlockId from = *pool->take();
    const BlockId other = *pool->take();
    const BlockId to = *pool->take();
    const auto eachRow = [&](BlockId block, const auto &visit) {
        for (std::uint32_t layer = 0; layer < 2; ++layer) {
            for (std::uint32_t head = 0; head < shape.layers[layer].heads; ++head) {
                for (std::uint32_t slot = 0; slot < shape.blockTokens; ++slot) {
                    const int mark = static_cast<int>(1 + slot + 5 * (head + 3 * layer));
                    visit(pool->keys(block, LayerIndex(layer), head) + slot * 20, std::size_t(20), mark,
                          slot);
                    visit(pool->values(block, LayerIndex(layer), head) + slot * 256, std::size_t(256),
                          mark + 60, slot);
                }
            }
        }
    };
    eachRow(from, [](std::byte *row, std::size_t bytes, int mark, std::uint32_t) {
        std::memset(row, mark, bytes);
    });
    for (const BlockId block : {other, to})
        eachRow(block,
                [](std::byte *row, std::size_t bytes, int, std::uint32_t) { std::memset(row, 0xee, bytes); });
    pool->copySlots(from, to, 3);
    const auto allAre = [](const std::byte *row, std::size_t bytes, int mark) {
        return std::all_of(row, row + bytes, [mark](std::byte byte) { return byte == std::byte(mark); });
    };
    eachRow(to, [&](const std::byte *row, std::size_t bytes, int mark, std::uint32_t slot) {
        QVERIFY(allAre(row, bytes, slot < 3 ? mark : 0xee));
    });
    eachRow(from, [&](const std::byte *row, std::size_t bytes, int mark, std::uint32_t) {
        QVERIFY(allAre(row, bytes, mark));
    });
    eachRow(other, [&](const std::byte *row, std::size_t bytes, int, std::uint32_t) {
        QVERIFY(allAre(row, bytes, 0xee));
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
    const Result<BlockPool> pool = poolOf(shapeOf({kvHeads}, headSize, headSize, blockTokens), blocks);
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
    Result<BlockPool> pool = poolOf(shapeOf({16}, 256, 256), 2048); // 1 GiB
    QVERIFY(pool);
    QCOMPARE(pool->bytes(), 1024 * mebibyte);
    QVERIFY(processMemory().residentBytes < before + 64 * mebibyte);
    for (int i = 0; i < 256; ++i) { // 128 MiB
        const Result<BlockId> block = pool->take();
        QVERIFY(block);
        for (std::uint32_t head = 0; head < 16; ++head) {
            std::memset(pool->keys(*block, LayerIndex(0), head), 1, pool->blockBytes() / 32);
            std::memset(pool->values(*block, LayerIndex(0), head), 1, pool->blockBytes() / 32);
        }
    }
    QVERIFY(processMemory().residentBytes > before + 100 * mebibyte);
    QVERIFY(processMemory().residentBytes < before + 256 * mebibyte);
}

void TestBlockPool::isAllResidentWhenCommitted()
{
    constexpr std::uint64_t mebibyte = 1 << 20;
    const std::uint64_t before = processMemory().residentBytes;
    if (before == 0)
        QSKIP("this system does not tell resident memory");
    Result<BlockPool> pool = poolOf(shapeOf({16}, 256, 256), 128); // 64 MiB
    QVERIFY(pool);
    pool->commit();
    QVERIFY(processMemory().residentBytes > before + 60 * mebibyte);
}

void TestBlockPool::refusesHeadsThatAreNoWholeBlocks()
{
    KvShape shape = shapeOf({1}, 32, 20);
    shape.keyType = KvType::Q8_0;
    QVERIFY(poolOf(shape, 2));
    shape.valueType = KvType::Q4_0;
    const Result<BlockPool> pool = poolOf(shape, 2);
    QVERIFY(!pool);
    QCOMPARE(pool.error().code, ErrorCode::InvalidArgument);
    QVERIFY(pool.error().message.find("value heads") != std::string::npos);
}

void TestBlockPool::movedPoolKeepsItsMemory()
{
    Result<BlockPool> first = poolOf(shapeOf({1}, 4, 4), 4);
    QVERIFY(first);
    const BlockId block = *first->take();
    std::byte *place = first->keys(block, LayerIndex(0), 0);
    *place = std::byte(42);
    BlockPool second = std::move(*first);
    QCOMPARE(second.keys(block, LayerIndex(0), 0), place);
    QCOMPARE(std::to_integer<int>(*place), 42);
    QCOMPARE(second.freeBlocks(), 3U);
    Result<BlockPool> third = poolOf(shapeOf({1}, 4, 4), 9);
    QVERIFY(third);
    *third = std::move(second);
    QCOMPARE(third->capacity(), 4U);
    QCOMPARE(std::to_integer<int>(*third->keys(block, LayerIndex(0), 0)), 42);
}

TOKENLOUPE_TEST_MAIN(TestBlockPool)
#include "tst_blockpool.moc"
