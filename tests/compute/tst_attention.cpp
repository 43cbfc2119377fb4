// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/backend.h"
#include "kernels/cpu/cpukernels.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace tokenloupe;

namespace {

using Floats = std::vector<float>;

Floats randomFloats(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Floats values(count);
    for (float &value : values)
        value = normal(random);
    return values;
}

struct Shape
{
    std::uint32_t heads = 6;
    std::uint32_t kvHeads = 2;
    std::uint32_t headSize = 20;
    std::uint32_t valueHeadSize = 12;
    std::uint32_t tokens = 600; // several pieces of 256 positions
    std::optional<std::uint32_t> window;
};

/// Queries, keys and values of a whole sequence, and the ways to attend over them.
struct Sequence
{
    explicit Sequence(const Shape &given)
        : shape(given)
        , queries(randomFloats(std::size_t(shape.tokens) * shape.heads * shape.headSize, 1))
        , keys(randomFloats(std::size_t(shape.tokens) * shape.kvHeads * shape.headSize, 2))
        , values(randomFloats(std::size_t(shape.tokens) * shape.kvHeads * shape.valueHeadSize, 3))
    {}

    Result<KvCache> cache(std::uint32_t blockTokens, KvType type = KvType::F32) const
    {
        KvShape kv;
        kv.kvHeads = {1, shape.kvHeads};
        kv.headSize = shape.headSize;
        kv.valueHeadSize = shape.valueHeadSize;
        kv.keyType = kv.valueType = type;
        kv.blockTokens = blockTokens;
        return KvCache::create(kv, shape.tokens);
    }

    /// Appends and attends in batches; returns the outputs of all tokens, and their weights where asked for.
    Floats attend(Backend &backend, KvCache &cache, std::uint32_t batch,
                  std::vector<Floats> *weights = nullptr)
    {
        const LayerIndex layer(1);
        Floats output(std::size_t(shape.tokens) * shape.heads * shape.valueHeadSize, 99.0F);
        for (std::uint32_t first = 0; first < shape.tokens; first += batch) {
            const std::uint32_t rows = std::min(batch, shape.tokens - first);
            const auto view = [&](Floats &all, std::uint32_t columns) {
                return Activations{all.data() + std::size_t(first) * columns, rows, columns};
            };
            AttentionParams params;
            params.layer = layer;
            params.heads = shape.heads;
            params.firstPosition = first;
            params.scale = 0.3F;
            params.window = shape.window;
            Floats taken(weights ? std::size_t(rows) * shape.heads * (first + rows) : 0, 99.0F);
            if (weights)
                params.weights = taken.data();
            const Status done =
                !cache.append(rows)
                    ? Status(makeError(ErrorCode::ContextFull, "test"))
                    : backend
                          .storeKv(view(keys, shape.kvHeads * shape.headSize),
                                   view(values, shape.kvHeads * shape.valueHeadSize), layer, first, cache)
                          .and_then([&] {
                              return backend.attend(view(queries, shape.heads * shape.headSize), cache,
                                                    params, view(output, shape.heads * shape.valueHeadSize));
                          });
            if (!done)
                return {};
            if (weights)
                weights->push_back(taken);
        }
        return output;
    }

    /// The same by plain loops in double precision; the weights of one token and head.
    std::vector<double> weightsOf(std::uint32_t token, std::uint32_t head) const
    {
        const std::uint32_t begin = shape.window && token + 1 > *shape.window ? token + 1 - *shape.window : 0;
        std::vector<double> all(token + 1, 0.0);
        const float *query = queries.data() + (std::size_t(token) * shape.heads + head) * shape.headSize;
        double top = -1e300;
        for (std::uint32_t seen = begin; seen <= token; ++seen) {
            const float *key =
                keys.data() +
                (std::size_t(seen) * shape.kvHeads + head / (shape.heads / shape.kvHeads)) * shape.headSize;
            double dot = 0;
            for (std::uint32_t i = 0; i < shape.headSize; ++i)
                dot += static_cast<double>(query[i]) * static_cast<double>(key[i]);
            all[seen] = dot * static_cast<double>(0.3F);
            top = std::max(top, all[seen]);
        }
        double sum = 0;
        for (std::uint32_t seen = begin; seen <= token; ++seen)
            sum += all[seen] = std::exp(all[seen] - top);
        for (double &weight : all)
            weight /= sum;
        return all;
    }

    Shape shape;
    Floats queries;
    Floats keys;
    Floats values;
};

std::shared_ptr<Backend> cpu(int threads)
{
    const auto backend = makeCpuBackend(threads);
    return backend ? *backend : nullptr;
}

} // namespace

Q_DECLARE_METATYPE(Shape)

class TestAttention : public QObject
{
    Q_OBJECT

private slots:
    void agreesWithPlainLoops_data();
    void agreesWithPlainLoops();
    void scatteredBlocksGiveTheSameBits();
    void batchesAndThreadsGiveTheSameBits();
    void weightsChangeNothing();
    void halvesAreRoundedOnce();
    void largeScoresDoNotOverflow();
    void refusesWrongShapes();
};

void TestAttention::agreesWithPlainLoops_data()
{
    QTest::addColumn<Shape>("shape");
    QTest::newRow("grouped") << Shape();
    Shape plain;
    plain.kvHeads = plain.heads;
    plain.tokens = 70;
    QTest::newRow("a KV head each") << plain;
    Shape wide;
    wide.heads = 35;
    wide.kvHeads = 1;
    wide.tokens = 40;
    QTest::newRow("a group of 35") << wide;
    Shape window;
    window.window = 100;
    QTest::newRow("window of 100") << window;
    Shape narrow;
    narrow.window = 1;
    narrow.tokens = 300;
    QTest::newRow("window of 1") << narrow;
    Shape broad;
    broad.window = 300;
    QTest::newRow("window over pieces") << broad;
}

void TestAttention::agreesWithPlainLoops()
{
    QFETCH(Shape, shape);
    Sequence sequence(shape);
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    std::vector<Floats> weights;
    const std::uint32_t batch = 50;
    const Floats output = sequence.attend(*cpu(2), *cache, batch, &weights);
    QVERIFY(!output.empty());
    const std::uint32_t group = shape.heads / shape.kvHeads;
    for (std::uint32_t token = 0; token < shape.tokens; token += 7) {
        for (std::uint32_t head = 0; head < shape.heads; ++head) {
            const std::vector<double> expected = sequence.weightsOf(token, head);
            const std::uint32_t first = token / batch * batch;
            const std::uint32_t positions = std::min(first + batch, shape.tokens);
            const float *taken =
                weights[token / batch].data() + (std::size_t(token - first) * shape.heads + head) * positions;
            for (std::uint32_t seen = 0; seen < positions; ++seen) {
                const double want = seen <= token ? expected[seen] : 0.0;
                QVERIFY(std::abs(static_cast<double>(taken[seen]) - want) < 1e-5 * want + 1e-9);
            }
            for (std::uint32_t i = 0; i < shape.valueHeadSize; ++i) {
                double sum = 0;
                for (std::uint32_t seen = 0; seen <= token; ++seen)
                    sum += expected[seen] *
                           static_cast<double>(
                               sequence.values[(std::size_t(seen) * shape.kvHeads + head / group) *
                                                   shape.valueHeadSize +
                                               i]);
                const float got = output[(std::size_t(token) * shape.heads + head) * shape.valueHeadSize + i];
                QVERIFY(std::abs(static_cast<double>(got) - sum) < 1e-5);
            }
        }
    }
}

void TestAttention::scatteredBlocksGiveTheSameBits()
{
    for (const auto &window : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(77)}) {
        Shape shape;
        shape.window = window;
        Sequence sequence(shape);
        const auto backend = cpu(2);
        Result<KvCache> contiguous = sequence.cache(shape.tokens); // one block holds everything
        QVERIFY(contiguous);
        const Floats expected = sequence.attend(*backend, *contiguous, 37);
        QVERIFY(!expected.empty());
        QCOMPARE(contiguous->usedBlocks(), 1U);
        for (const std::uint32_t blockTokens : {1U, 7U, 16U, 100U}) {
            Result<KvCache> cache = sequence.cache(blockTokens);
            QVERIFY(cache);
            // Blocks come back in a shuffled order, filled with what must not be read.
            BlockPool &pool = cache->pool();
            std::vector<BlockId> foreign;
            while (pool.freeBlocks() > 0) {
                foreign.push_back(*pool.take());
                std::memset(pool.keys(foreign.back(), LayerIndex(0), 0), 0xff, pool.shape().blockBytes());
            }
            std::shuffle(foreign.begin(), foreign.end(), std::mt19937(blockTokens));
            for (std::uint32_t token = 0; token < shape.tokens; ++token) {
                if (token % blockTokens == 0) {
                    pool.give(foreign.back());
                    foreign.pop_back();
                }
                QVERIFY(cache->append(1));
            }
            if (blockTokens < 100)
                QVERIFY(!std::is_sorted(cache->table().blocks.begin(), cache->table().blocks.end()));
            const std::uint32_t columns = shape.heads * shape.headSize;
            Floats output(std::size_t(shape.tokens) * shape.heads * shape.valueHeadSize);
            AttentionParams params;
            params.layer = LayerIndex(1);
            params.heads = shape.heads;
            params.scale = 0.3F;
            params.window = shape.window;
            QVERIFY(
                backend->storeKv({sequence.keys.data(), shape.tokens, shape.kvHeads * shape.headSize},
                                 {sequence.values.data(), shape.tokens, shape.kvHeads * shape.valueHeadSize},
                                 params.layer, 0, *cache));
            QVERIFY(backend->attend({sequence.queries.data(), shape.tokens, columns}, *cache, params,
                                    {output.data(), shape.tokens, shape.heads * shape.valueHeadSize}));
            QVERIFY(output == expected);
        }
    }
}

void TestAttention::batchesAndThreadsGiveTheSameBits()
{
    Sequence sequence{Shape()};
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const Floats expected = sequence.attend(*cpu(1), *cache, sequence.shape.tokens);
    QVERIFY(!expected.empty());
    const std::vector<std::pair<std::uint32_t, int>> ways = {{1, 2}, {3, 3}, {7, 1}, {64, 2}, {64, 3}};
    for (const auto &[batch, threads] : ways) {
        cache->truncate(0);
        QVERIFY(sequence.attend(*cpu(threads), *cache, batch) == expected);
    }
}

void TestAttention::weightsChangeNothing()
{
    Sequence sequence{Shape()};
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const Floats expected = sequence.attend(*cpu(2), *cache, 20);
    cache->truncate(0);
    std::vector<Floats> weights;
    QVERIFY(sequence.attend(*cpu(2), *cache, 20, &weights) == expected);
    QCOMPARE(weights.size(), std::size_t(30));
}

/// A half-precision cache is the same as full precision over keys and values that were rounded before.
void TestAttention::halvesAreRoundedOnce()
{
    Sequence sequence{Shape()};
    Result<KvCache> halves = sequence.cache(16, KvType::F16);
    QVERIFY(halves);
    const Floats got = sequence.attend(*cpu(2), *halves, 40);
    for (Floats *values : {&sequence.keys, &sequence.values}) {
        std::vector<std::uint16_t> rounded(values->size());
        const auto count = static_cast<std::int64_t>(values->size());
        cpuKernels().toHalf(values->data(), count, rounded.data());
        cpuKernels().fromHalf(rounded.data(), count, values->data());
    }
    Result<KvCache> full = sequence.cache(16);
    QVERIFY(full);
    QVERIFY(sequence.attend(*cpu(2), *full, 40) == got);
    QCOMPARE(halves->usedBytes() * 2, full->usedBytes());
}

void TestAttention::largeScoresDoNotOverflow()
{
    Sequence sequence{Shape()};
    for (float &key : sequence.keys)
        key *= 1e4F;
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const Floats output = sequence.attend(*cpu(2), *cache, 64);
    QVERIFY(!output.empty());
    QVERIFY(std::all_of(output.begin(), output.end(), [](float value) { return std::isfinite(value); }));
}

void TestAttention::refusesWrongShapes()
{
    Sequence sequence{Shape()};
    const Shape &shape = sequence.shape;
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    QVERIFY(cache->append(4));
    const auto backend = cpu(1);
    const auto attend = [&](AttentionParams params, std::int64_t rows, std::int64_t missing) {
        Floats output(std::size_t(rows) * shape.heads * shape.valueHeadSize);
        return backend
            ->attend({sequence.queries.data(), rows, shape.heads * shape.headSize - missing}, *cache, params,
                     {output.data(), rows, shape.heads * shape.valueHeadSize})
            .has_value();
    };
    AttentionParams params;
    params.layer = LayerIndex(1);
    params.heads = shape.heads;
    QVERIFY(attend(params, 4, 0));
    QVERIFY(!attend(params, 5, 0)); // only 4 tokens in the cache
    QVERIFY(!attend(params, 4, 1));
    params.window = 0;
    QVERIFY(!attend(params, 4, 0));
    params.window.reset();
    params.layer = LayerIndex(2);
    QVERIFY(!attend(params, 4, 0));
    params.layer = LayerIndex(1);
    params.heads = 5;
    QVERIFY(!attend(params, 4, 0));

    const auto store = [&](LayerIndex layer, std::uint32_t first, std::int64_t missing) {
        return backend
            ->storeKv({sequence.keys.data(), 2, shape.kvHeads * shape.headSize - missing},
                      {sequence.values.data(), 2, shape.kvHeads * shape.valueHeadSize}, layer, first, *cache)
            .has_value();
    };
    QVERIFY(store(LayerIndex(1), 2, 0));
    QVERIFY(!store(LayerIndex(1), 3, 0));
    QVERIFY(!store(LayerIndex(1), 2, 1));
    QVERIFY(!store(LayerIndex(5), 2, 0));
    QVERIFY(!store(LayerIndex(0), 2, 0)); // that layer has one KV head
}

TOKENLOUPE_TEST_MAIN(TestAttention)
#include "tst_attention.moc"
