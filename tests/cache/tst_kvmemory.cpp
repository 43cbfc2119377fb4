// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"
#include "engine/cache/kvplan.h"
#include "tests/support/testmain.h"

#include <cstring>
#include <vector>

using namespace tokenloupe;

namespace {

struct Copy
{
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t count = 0;
};

/// Memory that only its own operations may follow, as a device's; what was asked of it is noted.
class FarMemory final : public KvMemory
{
public:
    FarMemory(std::uint64_t bytes, std::vector<Copy> &copies)
        : m_bytes(bytes)
        , m_copies(copies)
    {}

    Reader reader() const override { return Reader::Device; }
    std::byte *data() const override { return m_data; }
    std::uint64_t bytes() const override { return m_bytes.size(); }
    void copyWithin(std::uint64_t from, std::uint64_t to, std::uint64_t count) override
    {
        m_copies.push_back({from, to, count});
        std::memmove(m_bytes.data() + to, m_bytes.data() + from, count);
    }
    void commit() override {}

private:
    std::vector<std::byte> m_bytes;
    std::byte *m_data = m_bytes.data();
    std::vector<Copy> &m_copies;
};

KvCacheSettings settingsOf(KvType keys, KvType values)
{
    KvCacheSettings settings;
    settings.shape.layers = {{2, 32, 64, 0}, {3, 64, 32, 0}, {2, 32, 32, 20}};
    settings.shape.keyType = keys;
    settings.shape.valueType = values;
    settings.shape.blockTokens = 8;
    settings.contextTokens = 64;
    settings.batchTokens = 16;
    return settings;
}

std::vector<TokenId> ids(std::uint32_t first, std::uint32_t count)
{
    std::vector<TokenId> tokens;
    for (std::uint32_t i = 0; i < count; ++i)
        tokens.emplace_back(first + i);
    return tokens;
}

} // namespace

/// A cache whose memory comes from outside.
class TestKvMemory : public QObject
{
    Q_OBJECT

private slots:
    void init() { m_copies.clear(); }
    void takesWhatThePlanSays();
    void placesAreApart_data();
    void placesAreApart();
    void copiesWholeBlocks();
    void refusalIsPassedOn();
    void hostsIsReadInPlace();
    void groupsStayInOneMemory();
    void splitMemoriesAreOneCache();

private:
    KvAllocator far()
    {
        return [this](std::uint64_t bytes) -> Result<std::unique_ptr<KvMemory>> {
            return std::make_unique<FarMemory>(bytes, m_copies);
        };
    }

    std::vector<Copy> m_copies;
};

void TestKvMemory::takesWhatThePlanSays()
{
    const KvCacheSettings settings = settingsOf(KvType::F16, KvType::F16);
    const Result<KvCache> cache = KvCache::create(settings, far());
    QVERIFY(cache);
    KvPlanSettings room;
    room.contextTokens = settings.contextTokens;
    room.batchTokens = settings.batchTokens;
    const Result<KvPlan> plan = planKv(settings.shape, room);
    QVERIFY(plan);
    std::uint64_t bytes = 0;
    for (const BlockPool &pool : cache->pools()) {
        QVERIFY(!pool.isOnHost());
        bytes += pool.bytes();
    }
    QCOMPARE(bytes, plan->bytes);
}

void TestKvMemory::placesAreApart_data()
{
    QTest::addColumn<int>("keys");
    QTest::addColumn<int>("values");
    QTest::addColumn<int>("alignment");
    QTest::newRow("halves") << int(KvType::F16) << int(KvType::F16) << 16;
    QTest::newRow("blocks and floats") << int(KvType::Q8_0) << int(KvType::F32) << 16;
    QTest::newRow("blocks and halves") << int(KvType::Q4_0) << int(KvType::BF16) << 16;
    QTest::newRow("floats and blocks") << int(KvType::F32) << int(KvType::Q5_1) << 16;
}

/// No two rows share a byte, none lies outside, and what is read by wide words is aligned for it.
void TestKvMemory::placesAreApart()
{
    QFETCH(int, keys);
    QFETCH(int, values);
    QFETCH(int, alignment);
    const KvCacheSettings settings = settingsOf(static_cast<KvType>(keys), static_cast<KvType>(values));
    const KvShape &shape = settings.shape;
    const Result<KvCache> cache = KvCache::create(settings, far());
    QVERIFY(cache);
    for (const BlockPool &pool : cache->pools()) {
        std::vector<int> uses(pool.bytes(), 0);
        const std::byte *start = nullptr;
        for (const std::uint32_t number : pool.group().layers) {
            const KvBlockPlaces places = pool.places(LayerIndex(number));
            const std::byte *first = std::min(places.keys, places.values, std::less<>());
            start = start ? std::min(start, first, std::less<>()) : first;
        }
        const auto use = [&](const std::byte *row, KvType type, std::uint32_t size) {
            const std::uint64_t bytes = kvRowBytes(type, size);
            QVERIFY(row >= start && row + bytes <= start + pool.bytes());
            if (type == KvType::F32 || type == KvType::F16 || type == KvType::BF16)
                QCOMPARE((row - start) % alignment, std::ptrdiff_t(0));
            for (std::uint64_t i = 0; i < bytes; ++i)
                ++uses[static_cast<std::size_t>(row - start) + i];
        };
        for (const std::uint32_t number : pool.group().layers) {
            const KvLayerShape &layer = shape.layers[number];
            const KvBlockPlaces places = pool.places(LayerIndex(number));
            for (std::uint32_t block = 0; block < pool.capacity(); ++block) {
                for (std::uint32_t head = 0; head < layer.heads; ++head) {
                    for (std::uint32_t slot = 0; slot < shape.blockTokens; ++slot) {
                        use(places.keys + block * places.keyBlockStride + head * places.keyHeadStride +
                                slot * kvRowBytes(shape.keyType, layer.keySize),
                            shape.keyType, layer.keySize);
                        use(places.values + block * places.valueBlockStride + head * places.valueHeadStride +
                                slot * kvRowBytes(shape.valueType, layer.valueSize),
                            shape.valueType, layer.valueSize);
                    }
                }
            }
        }
        QVERIFY(std::all_of(uses.begin(), uses.end(), [](int count) { return count == 1; }));
    }
}

/// A block that two sequences are in is copied by its pool's own means before one of them writes.
void TestKvMemory::copiesWholeBlocks()
{
    KvCacheSettings settings = settingsOf(KvType::F16, KvType::F16);
    settings.sequences = 2;
    Result<KvCache> cache = KvCache::create(settings, far());
    QVERIFY(cache);
    const SequenceId source = cache->open();
    QVERIFY(cache->append(source, ids(0, 13)));
    cache->markWritten(source);
    const BlockPool &pool = cache->pools().front();
    const BlockId shared = cache->sequence(source).tables[0][1];
    const KvBlockPlaces places = pool.places(LayerIndex(1));
    std::memset(places.keys + shared.value() * places.keyBlockStride, 0x5a, 64);
    const SequenceId branch = cache->fork(source, 11);
    QVERIFY(m_copies.empty());
    QVERIFY(cache->append(branch, ids(100, 1)));
    const BlockId own = cache->sequence(branch).tables[0][1];
    QVERIFY(own != shared);
    QCOMPARE(m_copies.size(), std::size_t(4)); // keys and values of two pools
    QCOMPARE(m_copies[0].count, places.keyBlockStride);
    QCOMPARE(m_copies[1].count, places.valueBlockStride);
    QCOMPARE(std::to_integer<int>(places.keys[own.value() * places.keyBlockStride]), 0x5a);
}

void TestKvMemory::refusalIsPassedOn()
{
    int asked = 0;
    const Result<KvCache> cache = KvCache::create(
        settingsOf(KvType::F16, KvType::F16), [&](std::uint64_t bytes) -> Result<std::unique_ptr<KvMemory>> {
            if (++asked == 1)
                return std::make_unique<FarMemory>(bytes, m_copies);
            return makeError(ErrorCode::OutOfMemory, "a small device", "full");
        });
    QVERIFY(!cache);
    QCOMPARE(asked, 2);
    QCOMPARE(cache.error().text(), std::string("a small device: full"));
}

void TestKvMemory::hostsIsReadInPlace()
{
    Result<KvCache> cache = KvCache::create(settingsOf(KvType::F32, KvType::F32));
    QVERIFY(cache);
    const SequenceId id = cache->open();
    QVERIFY(cache->append(id, ids(0, 3)));
    const KvView view = cache->view(id);
    QVERIFY(view.isOnHost(LayerIndex(0)));
    QCOMPARE(std::to_integer<int>(*view.keys(LayerIndex(0), 1, 2).data), 0);
    QCOMPARE(view.tables(), 2U);
    QCOMPARE(view.tableOf(LayerIndex(2)), 1U);
    QCOMPARE(view.blocks(0).size(), std::size_t(1));
}

void TestKvMemory::groupsStayInOneMemory()
{
    KvShape shape;
    shape.layers = {{1, 8, 8, 4}, {1, 8, 8, 0}, {0, 8, 8, 0}, {1, 8, 8, 4}, {1, 8, 8, 0}, {1, 8, 8, 4}};
    QCOMPARE(shape.groups().size(), std::size_t(2));
    QCOMPARE(shape.memories(), 1U);
    for (std::uint32_t split = 1; split < shape.layers.size(); ++split) {
        shape.splitLayer = split;
        QCOMPARE(shape.memories(), 2U);
        std::size_t layers = 0;
        for (const KvLayerGroup &group : shape.groups()) {
            for (const std::uint32_t layer : group.layers) {
                QCOMPARE(shape.memoryOf(layer), group.memory);
                QCOMPARE(group.memory, layer < split ? 0U : 1U);
                QCOMPARE(shape.layers[layer].window, group.window);
            }
            layers += group.layers.size();
        }
        QCOMPARE(layers, std::size_t(5)); // one keeps nothing
        QCOMPARE(shape.groups().size(), std::size_t(split == 1 ? 3 : split == 5 ? 3 : 4));
    }
}

/// The first layer far away, the others here: sequences share, copy and evict in both alike.
void TestKvMemory::splitMemoriesAreOneCache()
{
    KvCacheSettings settings = settingsOf(KvType::F16, KvType::F16);
    settings.shape.splitLayer = 1;
    settings.sequences = 2;
    Result<KvCache> cache = KvCache::create(settings, std::vector<KvAllocator>{far(), hostKvMemory});
    QVERIFY(cache);
    QCOMPARE(cache->pools().size(), std::size_t(3));
    std::uint64_t bytes = 0;
    for (const BlockPool &pool : cache->pools()) {
        QCOMPARE(pool.isOnHost(), pool.group().layers.front() > 0);
        bytes += pool.bytes();
    }
    KvPlanSettings room;
    room.contextTokens = settings.contextTokens;
    room.sequences = settings.sequences;
    room.batchTokens = settings.batchTokens;
    QCOMPARE(bytes, planKv(settings.shape, room)->bytes);

    const SequenceId source = cache->open();
    QVERIFY(cache->append(source, ids(0, 13)));
    cache->markWritten(source);
    const KvView view = cache->view(source);
    QVERIFY(!view.isOnHost(LayerIndex(0)));
    QVERIFY(view.isOnHost(LayerIndex(1)) && view.isOnHost(LayerIndex(2)));
    QVERIFY(view.places(LayerIndex(0)).keys != nullptr);
    QVERIFY(view.tableOf(LayerIndex(0)) != view.tableOf(LayerIndex(1)));
    std::memset(view.keys(LayerIndex(1), 0, 12).data, 0x3c, 8);
    const SequenceId branch = cache->fork(source, 13);
    QVERIFY(cache->append(branch, ids(100, 1)));
    QCOMPARE(m_copies.size(), std::size_t(2)); // keys and values of the far one
    QCOMPARE(cache->counters().copiedBlocks, std::uint64_t(3));
    QCOMPARE(std::to_integer<int>(*cache->view(branch).keys(LayerIndex(1), 0, 12).data), 0x3c);
    const CacheSnapshot shown = cache->snapshot(branch);
    for (std::size_t pool = 0; pool < shown.pools.size(); ++pool)
        QCOMPARE(shown.pools[pool].isOnHost, cache->pools()[pool].isOnHost());
    QCOMPARE(shown.poolBytes(), bytes);
    QVERIFY(shown.touchedBytes() > 0 && shown.touchedBytes() < shown.usedBytes());
}

TOKENLOUPE_TEST_MAIN(TestKvMemory)
#include "tst_kvmemory.moc"
