// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/cpukernels.h"
#include "tests/compute/attentionfixture.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;

Q_DECLARE_METATYPE(Shape)

class TestAttention : public QObject
{
    Q_OBJECT

private slots:
    void agreesWithPlainLoops_data();
    void agreesWithPlainLoops();
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

void TestAttention::batchesAndThreadsGiveTheSameBits()
{
    Sequence sequence{Shape()};
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const SequenceId id = cache->open();
    const Floats expected = sequence.attend(*cpu(1), *cache, id, sequence.shape.tokens);
    QVERIFY(!expected.empty());
    const std::vector<std::pair<std::uint32_t, int>> ways = {{1, 2}, {3, 3}, {7, 1}, {64, 2}, {64, 3}};
    for (const auto &[batch, threads] : ways) {
        cache->truncate(id, 0);
        QVERIFY(sequence.attend(*cpu(threads), *cache, id, batch) == expected);
    }
}

void TestAttention::weightsChangeNothing()
{
    Sequence sequence{Shape()};
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const SequenceId id = cache->open();
    const Floats expected = sequence.attend(*cpu(2), *cache, id, 20);
    cache->truncate(id, 0);
    std::vector<Floats> weights;
    QVERIFY(sequence.attend(*cpu(2), *cache, id, 20, &weights) == expected);
    QCOMPARE(weights.size(), std::size_t(30));
}

/// A half-precision cache is the same as full precision over keys and values that were rounded before.
void TestAttention::halvesAreRoundedOnce()
{
    Sequence sequence{Shape()};
    Result<KvCache> halves = sequence.cache(16, KvType::F16);
    QVERIFY(halves);
    const SequenceId small = halves->open();
    const Floats got = sequence.attend(*cpu(2), *halves, small, 40);
    for (Floats *values : {&sequence.keys, &sequence.values}) {
        std::vector<std::uint16_t> rounded(values->size());
        const auto count = static_cast<std::int64_t>(values->size());
        cpuKernels().toHalf(values->data(), count, rounded.data());
        cpuKernels().fromHalf(rounded.data(), count, values->data());
    }
    Result<KvCache> full = sequence.cache(16);
    QVERIFY(full);
    const SequenceId exact = full->open();
    QVERIFY(sequence.attend(*cpu(2), *full, exact, 40) == got);
    QCOMPARE(halves->usedBytes(small) * 2, full->usedBytes(exact));
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
    const SequenceId id = cache->open();
    QVERIFY(cache->append(id, Sequence::freshTokens(4)));
    const auto backend = cpu(1);
    const auto attend = [&](AttentionParams params, std::int64_t rows, std::int64_t missing) {
        Floats output(std::size_t(rows) * shape.heads * shape.valueHeadSize);
        return backend
            ->attend({sequence.queries.data(), rows, shape.heads * shape.headSize - missing}, cache->view(id),
                     params, {output.data(), rows, shape.heads * shape.valueHeadSize})
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
                      {sequence.values.data(), 2, shape.kvHeads * shape.valueHeadSize}, layer, first,
                      cache->view(id))
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
