// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"
#include "tests/compute/cuda/cudafixture.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"

#include <QTemporaryDir>
#include <array>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

struct Shape
{
    std::uint32_t heads = 6;
    std::uint32_t kvHeads = 2;
    std::uint32_t keySize = 24;
    std::uint32_t valueSize = 16;
    std::uint32_t tokens = 45;
    std::uint32_t batch = 45;
    KvType type = KvType::F32;
    std::uint32_t window = 0;
    float softCap = 0.0F;
    bool hasSlopes = false;
    KeyPhase phase = KeyPhase::Rotated;
};

KvCacheSettings settingsOf(const Shape &shape)
{
    KvCacheSettings settings;
    settings.shape.layers = {{1, shape.keySize, shape.valueSize, 0},
                             {shape.kvHeads, shape.keySize, shape.valueSize, shape.window}};
    settings.shape.keyType = settings.shape.valueType = shape.type;
    settings.shape.blockTokens = 8;
    settings.contextTokens = 64;
    settings.batchTokens = shape.batch;
    settings.keyPhase = shape.phase;
    return settings;
}

std::vector<TokenId> freshTokens(std::uint32_t count)
{
    static std::uint32_t next = 0;
    std::vector<TokenId> tokens;
    for (std::uint32_t i = 0; i < count; ++i)
        tokens.emplace_back(next++);
    return tokens;
}

} // namespace

Q_DECLARE_METATYPE(Shape)

/// Stores and attends on the device and on the CPU, each with a cache of its own.
class TestCudaAttention : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void agrees_data();
    void agrees();
    void sharesBlocks();
    void attentionAndProductTogether();
    void cacheSaysWhereItIs();
    void refusesTheWrongMemory();
};

void TestCudaAttention::agrees_data()
{
    QTest::addColumn<Shape>("shape");
    const auto row = [](const char *name, const auto &change) {
        Shape shape;
        change(shape);
        QTest::newRow(name) << shape;
    };
    row("one at a time", [](Shape &s) { s.batch = 1; });
    row("three at a time", [](Shape &s) { s.batch = 3; });
    row("eight at a time", [](Shape &s) { s.batch = 8; });
    row("many at once", [](Shape &) {});
    row("in two batches", [](Shape &s) { s.batch = 23; });
    row("window, one at a time", [](Shape &s) { s.batch = 1, s.window = 10; });
    row("window, many", [](Shape &s) { s.batch = 15, s.window = 10; });
    row("soft cap", [](Shape &s) { s.batch = 4, s.softCap = 2.0F; });
    row("soft cap, many", [](Shape &s) { s.softCap = 2.0F; });
    row("slopes", [](Shape &s) { s.batch = 4, s.hasSlopes = true; });
    row("slopes, many", [](Shape &s) { s.hasSlopes = true; });
    row("unrotated keys", [](Shape &s) { s.batch = 4, s.phase = KeyPhase::Unrotated; });
    row("unrotated keys, many", [](Shape &s) { s.phase = KeyPhase::Unrotated; });
    for (const KvType type : kvTypes()) {
        row(qPrintable(QStringLiteral("%1, few").arg(QLatin1String(kvTypeName(type).data()))),
            [&](Shape &s) { s.type = type, s.keySize = 32, s.valueSize = 64, s.batch = 5, s.tokens = 30; });
        row(qPrintable(QStringLiteral("%1, many").arg(QLatin1String(kvTypeName(type).data()))),
            [&](Shape &s) { s.type = type, s.keySize = 32, s.valueSize = 64, s.batch = 30, s.tokens = 30; });
    }
}

void TestCudaAttention::agrees()
{
    QFETCH(Shape, shape);
    const auto cpu = *makeCpuBackend(1);
    const auto device = hostedBackend();
    Result<KvCache> hostCache = KvCache::create(settingsOf(shape));
    Result<KvCache> deviceCache = KvCache::create(settingsOf(shape), device->kvAllocator());
    QVERIFY(hostCache);
    QVERIFY(deviceCache);
    const SequenceId hostId = hostCache->open();
    const SequenceId deviceId = deviceCache->open();
    const Floats slopes = randomFloats(shape.heads, 9);
    const Floats frequencies = {1.0F, 0.3F, 0.1F, 0.03F};
    const LayerIndex layer(1);
    for (std::uint32_t first = 0; first < shape.tokens; first += shape.batch) {
        const std::uint32_t rows = std::min(shape.batch, shape.tokens - first);
        TwinRows queries(*device, rows, shape.heads * shape.keySize, 3 * first + 1);
        TwinRows keys(*device, rows, shape.kvHeads * shape.keySize, 3 * first + 2);
        TwinRows values(*device, rows, shape.kvHeads * shape.valueSize, 3 * first + 3);
        TwinRows output(*device, rows, shape.heads * shape.valueSize, 4);
        TwinRows weights(*device, rows, std::int64_t(shape.heads) * (first + rows), 5);
        AttentionParams params;
        params.layer = layer;
        params.heads = shape.heads;
        params.firstPosition = first;
        params.scale = 0.3F;
        if (shape.window > 0)
            params.window = shape.window;
        params.softCap = shape.softCap;
        if (shape.hasSlopes)
            params.slopes = slopes;
        params.keyRotation.headSize = shape.keySize;
        params.keyRotation.rotated = 8;
        params.keyRotation.inverseFrequencies = frequencies;
        const auto run = [&](Backend &on, KvCache &cache, SequenceId id, Activations q, Activations k,
                             Activations v, Activations out, float *taken) -> Status {
            if (Status room = cache.append(id, freshTokens(rows)); !room)
                return room;
            const KvView view = cache.view(id);
            params.weights = taken;
            Status done;
            if (shape.phase == KeyPhase::Rotated) {
                done = on.rope(q, first, params.keyRotation);
                done = done ? on.rope(k, first, params.keyRotation) : done;
            }
            done = done ? on.storeKv(k, v, layer, first, view) : done;
            done = done ? on.attend(q, view, params, out) : done;
            cache.markWritten(id);
            return done;
        };
        QVERIFY(run(*cpu, *hostCache, hostId, queries.onHost(), keys.onHost(), values.onHost(),
                    output.onHost(), weights.onHost().data));
        const Status done = run(*device, *deviceCache, deviceId, queries.onDevice(), keys.onDevice(),
                                values.onDevice(), output.onDevice(), weights.onDevice().data);
        QVERIFY2(done, done ? "" : done.error().text().c_str());
        TOKENLOUPE_COMPARE_TWINS(output, 2e-4);
        TOKENLOUPE_COMPARE_TWINS(weights, 2e-4);
        if (shape.phase == KeyPhase::Rotated)
            TOKENLOUPE_COMPARE_TWINS(queries, 1e-5);
    }
}

/// A branch reads what its source wrote, and writes to a copy of the block that both are in.
void TestCudaAttention::sharesBlocks()
{
    Shape shape;
    const auto device = hostedBackend();
    const auto cpu = *makeCpuBackend(1);
    KvCacheSettings settings = settingsOf(shape);
    settings.sequences = 2;
    std::vector<Floats> results;
    struct Side
    {
        Backend &backend;
        Result<KvCache> cache;
    };
    Side sides[] = {{*cpu, KvCache::create(settings)},
                    {*device, KvCache::create(settings, device->kvAllocator())}};
    for (Side &side : sides) {
        const bool isHost = &side == sides;
        KvCache &cache = *side.cache;
        const SequenceId source = cache.open();
        SequenceId branch;
        const auto write = [&](SequenceId id, std::uint32_t first, std::uint32_t count, unsigned seed) {
            TwinRows keys(*device, count, shape.kvHeads * shape.keySize, seed);
            TwinRows values(*device, count, shape.kvHeads * shape.valueSize, seed + 1);
            if (!cache.append(id, freshTokens(count)))
                return false;
            const bool isStored = side.backend
                                      .storeKv(isHost ? keys.onHost() : keys.onDevice(),
                                               isHost ? values.onHost() : values.onDevice(), LayerIndex(1),
                                               first, cache.view(id))
                                      .has_value() &&
                                  side.backend.synchronize().has_value();
            cache.markWritten(id);
            return isStored;
        };
        const auto look = [&](SequenceId id) {
            const std::uint32_t last = cache.tokens(id) - 1;
            TwinRows query(*device, 1, shape.heads * shape.keySize, 99);
            TwinRows output(*device, 1, shape.heads * shape.valueSize, 98);
            AttentionParams params;
            params.layer = LayerIndex(1);
            params.heads = shape.heads;
            params.firstPosition = last;
            params.scale = 0.3F;
            const Status done =
                side.backend.attend(isHost ? query.onHost() : query.onDevice(), cache.view(id), params,
                                    isHost ? output.onHost() : output.onDevice());
            return !done ? Floats() : isHost ? output.host : output.fromDevice();
        };
        QVERIFY(write(source, 0, 13, 10)); // a whole block, and 5 of the next
        branch = cache.fork(source, 11);
        QVERIFY(write(branch, 11, 2, 20));
        QCOMPARE(cache.counters().copiedBlocks, std::uint64_t(1)); // of the one group
        QVERIFY(write(source, 13, 1, 30));
        results.push_back(look(source));
        results.push_back(look(branch));
    }
    QVERIFY(!results[0].empty());
    QVERIFY(worstDifference(results[2], results[0]) < 1e-4);
    QVERIFY(worstDifference(results[3], results[1]) < 1e-4);
    QVERIFY(worstDifference(results[1], results[0]) > 1e-2);
}

/// In fast precision attention rounds its result for the product that comes next: the same numbers as when
/// somebody looks at it first.
void TestCudaAttention::attentionAndProductTogether()
{
    QTemporaryDir folder;
    TinyModelOptions options;
    options.type = TinyType::Q8_0;
    auto model = Model::load(writeTinyModel(folder.path().toStdString(), options));
    QVERIFY(model);
    const auto device = hostedBackend();
    QVERIFY(device->prepare(*model, Precision::Fast, {}, nullptr, {}));
    Shape shape; // that of the model
    shape.heads = options.heads;
    shape.keySize = shape.valueSize = options.embedding / options.heads;
    const Weight &weight = (*model)->weights().layers[1].output;
    enum class Look { No, Yes };
    std::vector<Floats> attended;
    std::vector<Floats> results;
    std::vector<std::int64_t> launches;
    for (const Look look : {Look::No, Look::Yes}) {
        Result<KvCache> cache = KvCache::create(settingsOf(shape), device->kvAllocator());
        QVERIFY(cache);
        const SequenceId id = cache->open();
        TwinRows keys(*device, 3, shape.kvHeads * shape.keySize, 1);
        TwinRows values(*device, 3, shape.kvHeads * shape.valueSize, 2);
        QVERIFY(cache->append(id, freshTokens(3)));
        const KvView view = cache->view(id);
        QVERIFY(device->storeKv(keys.onDevice(), values.onDevice(), LayerIndex(1), 0, view));
        TwinRows queries(*device, 3, options.embedding, 3);
        TwinRows output(*device, 3, options.embedding, 4);
        TwinRows product(*device, 3, weight.rows, 5);
        AttentionParams params;
        params.layer = LayerIndex(1);
        params.heads = shape.heads;
        params.scale = 0.3F;
        const std::int64_t before = cudahost::launchCount();
        const std::array<Projection, 1> projection = {Projection{&weight, nullptr, product.onDevice()}};
        QVERIFY(device->attend(queries.onDevice(), view, params, output.onDevice()));
        QVERIFY(look == Look::No || !output.fromDevice().empty());
        QVERIFY(device->multiply(output.onDevice(), projection));
        QVERIFY(device->synchronize());
        launches.push_back(cudahost::launchCount() - before);
        attended.push_back(output.fromDevice());
        results.push_back(product.fromDevice());
    }
    QVERIFY(attended[0] == attended[1]);
    QVERIFY(results[0] == results[1]);
    QCOMPARE(launches[0], std::int64_t(3)); // stretches, their join with the rounding, the product
    QCOMPARE(launches[1], std::int64_t(4));
}

void TestCudaAttention::cacheSaysWhereItIs()
{
    const auto device = hostedBackend();
    const std::size_t before = cudahost::allocatedBytes();
    {
        Result<KvCache> cache = KvCache::create(settingsOf({}), device->kvAllocator());
        QVERIFY(cache);
        const BlockPool &pool = cache->pools().front();
        QVERIFY(!pool.isOnHost());
        QCOMPARE(cudahost::allocatedBytes() - before >= pool.bytes(), true);
        const SequenceId id = cache->open();
        QVERIFY(cache->append(id, freshTokens(20)));
        const KvView view = cache->view(id);
        QVERIFY(!view.isOnHost(LayerIndex(0)));
        QCOMPARE(view.tables(), 1U);
        QCOMPARE(view.blocks(0).size(), std::size_t(3));
        const KvBlockPlaces places = view.places(LayerIndex(1));
        QCOMPARE(places.keyHeadStride, std::uint64_t(8 * 24 * 4));
        QCOMPARE(places.keyBlockStride, std::uint64_t(3 * 8 * 24 * 4)); // of both layers
        QCOMPARE(places.keys - view.places(LayerIndex(0)).keys, std::ptrdiff_t(8 * 24 * 4));
        QCOMPARE(pool.blockBytes(), places.keyBlockStride + places.valueBlockStride);
    }
    QCOMPARE(cudahost::allocatedBytes(), before);
}

void TestCudaAttention::refusesTheWrongMemory()
{
    const Shape shape;
    const auto device = hostedBackend();
    Result<KvCache> cache = KvCache::create(settingsOf(shape));
    QVERIFY(cache);
    const SequenceId id = cache->open();
    QVERIFY(cache->append(id, freshTokens(3)));
    TwinRows keys(*device, 3, shape.kvHeads * shape.keySize, 1);
    TwinRows values(*device, 3, shape.kvHeads * shape.valueSize, 2);
    const Status stored =
        device->storeKv(keys.onDevice(), values.onDevice(), LayerIndex(1), 0, cache->view(id));
    QVERIFY(!stored);
    QCOMPARE(stored.error().code, ErrorCode::InvalidArgument);
}

TOKENLOUPE_TEST_MAIN(TestCudaAttention)
#include "tst_cudaattention.moc"
