// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/attentioncases.h"
#include "tests/support/testmain.h"

#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

constexpr double plainTolerance = 1e-5; ///< of the largest value
constexpr double tensorTolerance = 4e-3;

/// attendPrefill over rows [first, first + count).
std::vector<float> prefill(AttentionWorld &world, std::int32_t tensorCores, int first, int count)
{
    const DeviceRows queries = world.queries(first, count);
    const KvLayerView view = world.view();
    const AttentionShape shape = world.shape();
    const std::int32_t columns = shape.heads * view.valueSize;
    DeviceValues<float> output(static_cast<std::size_t>(queries.rows) * static_cast<std::size_t>(columns));
    world.setFirstRow(first);
    const DeviceRows rows{output.data(), queries.rows, columns, columns};
    if (attendPrefill(queries, view, shape, tensorCores, world.state(), rows, nullptr) != cudaSuccess)
        return {};
    cudahost::checkMemory();
    return output.read();
}

} // namespace

class TestAttentionPrefill : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { QVERIFY(cudahost::takeFaults().empty()); }

    void attends_data();
    void attends();
    void batchesChangeNoBit_data();
    void batchesChangeNoBit();
    void laterInfinitiesAreNotSeen_data();
    void laterInfinitiesAreNotSeen();
    void weighs_data();
    void weighs();
};

/// Cases that both ways have to master.
static void addCases()
{
    QTest::addColumn<AttentionCase>("attention");
    const auto add = [](const QByteArray &name, const auto &change) {
        AttentionCase attention;
        attention.first = 37;
        attention.rows = 7;
        attention.kvHeads = 1;
        attention.keySize = attention.valueSize = 32;
        change(attention);
        QTest::newRow(name.constData()) << attention;
    };
    const char *names[] = {"f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"};
    for (int type = 0; type < 8; ++type) {
        add(QByteArray(names[type]) + " keys, " + names[7 - type] + " values", [type](AttentionCase &c) {
            c.keyType = KvElement(type);
            c.valueType = KvElement(7 - type);
        });
    }
    for (const int size : {8, 40, 64, 80, 112, 128, 192, 256, 512}) {
        add("heads of " + QByteArray::number(size), [size](AttentionCase &c) {
            c.keySize = c.valueSize = size;
            c.group = 1;
        });
    }
    add("keys longer than values", [](AttentionCase &c) { c.keySize = 192, c.valueSize = 128; });
    add("values longer than keys", [](AttentionCase &c) { c.keySize = 24, c.valueSize = 72; });
    for (const int group : {1, 3, 5, 16, 35, 71}) {
        add(QByteArray::number(group) + " heads share keys", [group](AttentionCase &c) {
            c.group = group;
            c.kvHeads = 1;
            c.keySize = c.valueSize = 16;
            c.rows = 5;
        });
    }
    for (const int first : {0, 1, 63, 64, 150}) {
        add("from position " + QByteArray::number(first), [first](AttentionCase &c) {
            c.first = first;
            c.rows = 70;
            c.group = 1;
            c.keySize = c.valueSize = 16;
        });
    }
    add("two KV heads", [](AttentionCase &c) { c.kvHeads = 2; });
    add("one row", [](AttentionCase &c) { c.rows = 1; });
    for (const int blockTokens : {1, 3, 64, 1024})
        add("blocks of " + QByteArray::number(blockTokens),
            [blockTokens](AttentionCase &c) { c.blockTokens = blockTokens; });
    for (const int window : {1, 5, 64, 90, 1000}) {
        add("window of " + QByteArray::number(window), [window](AttentionCase &c) {
            c.window = window;
            c.first = 130;
            c.rows = 33;
            c.keySize = c.valueSize = 16;
        });
    }
    add("soft cap", [](AttentionCase &c) { c.softCap = 2.0F; });
    add("slopes", [](AttentionCase &c) { c.slopes = 1; });
    add("all of it", [](AttentionCase &c) {
        c.softCap = 3.0F;
        c.slopes = 1;
        c.window = 30;
        c.rows = 40;
        c.rotated = 16;
        c.keyType = KvElement::Q8_0;
    });
    for (const RotaryPairs pairs : {RotaryPairs::Neighbours, RotaryPairs::Halves}) {
        for (const int rotated : {2, 24, 64}) {
            const char *name = pairs == RotaryPairs::Neighbours ? " neighbours" : " halves";
            add("unturned keys, " + QByteArray::number(rotated) + name, [pairs, rotated](AttentionCase &c) {
                c.keySize = 64;
                c.rotated = rotated;
                c.pairs = pairs;
            });
        }
    }
}

void TestAttentionPrefill::attends_data()
{
    addCases();
}

void TestAttentionPrefill::attends()
{
    QFETCH(const AttentionCase, attention);
    AttentionWorld world(attention);
    const std::vector<double> expected = world.expected();
    for (const std::int32_t tensorCores : {0, 1}) {
        // Heads that are too large for tensor cores are computed without them.
        const bool isPlain = tensorCores == 0 || attention.keySize > 256;
        std::vector<float> before;
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            cudahost::setSeed(seed);
            const std::vector<float> output = prefill(world, tensorCores, 0, attention.rows);
            const double error = worstError(output, expected, world.largestValue());
            QVERIFY2(error <= (isPlain ? plainTolerance : tensorTolerance),
                     qPrintable(QString::number(error)));
            QVERIFY(isPlain || error > plainTolerance / 100); // it did round
            QVERIFY(before.empty() || before == output);      // the order of threads changes nothing
            before = output;
        }
    }
}

void TestAttentionPrefill::batchesChangeNoBit_data()
{
    QTest::addColumn<AttentionCase>("attention");
    QTest::addColumn<int>("tensorCores");
    for (const int tensorCores : {0, 1}) {
        for (const int window : {0, 50}) {
            AttentionCase attention;
            attention.first = 20;
            attention.rows = 90;
            attention.window = window;
            attention.group = 3;
            attention.kvHeads = 1;
            attention.keySize = attention.valueSize = 24;
            QTest::addRow("%s, window of %d", tensorCores != 0 ? "tensor cores" : "plain", window)
                << attention << tensorCores;
        }
    }
}

void TestAttentionPrefill::batchesChangeNoBit()
{
    QFETCH(const AttentionCase, attention);
    QFETCH(const int, tensorCores);
    AttentionWorld world(attention);
    const std::vector<float> together = prefill(world, tensorCores, 0, attention.rows);
    std::vector<float> apart;
    int first = 0;
    for (const int rows : {1, 7, 30, 52}) {
        const std::vector<float> part = prefill(world, tensorCores, first, rows);
        apart.insert(apart.end(), part.begin(), part.end());
        first += rows;
    }
    QVERIFY(!together.empty() && together == apart);
}

void TestAttentionPrefill::laterInfinitiesAreNotSeen_data()
{
    QTest::addColumn<int>("tensorCores");
    QTest::newRow("plain") << 0;
    QTest::newRow("tensor cores") << 1;
}

void TestAttentionPrefill::laterInfinitiesAreNotSeen()
{
    QFETCH(const int, tensorCores);
    AttentionCase attention;
    attention.rows = 6;
    attention.keySize = attention.valueSize = 16;
    AttentionWorld world(attention);
    world.makeInfinite(attention.first + 5);
    std::vector<float> output = prefill(world, tensorCores, 0, attention.rows);
    std::vector<double> expected = world.expected();
    const std::size_t seen = output.size() / 6 * 5;
    QVERIFY(!output.empty() && std::abs(output[seen]) > 100.0F);
    output.resize(seen);
    expected.resize(seen);
    const double error = worstError(output, expected, world.largestValue());
    QVERIFY2(error <= (tensorCores == 0 ? plainTolerance : tensorTolerance),
             qPrintable(QString::number(error)));
}

void TestAttentionPrefill::weighs_data()
{
    addCases();
}

void TestAttentionPrefill::weighs()
{
    QFETCH(const AttentionCase, attention);
    AttentionWorld world(attention);
    const auto count = static_cast<std::size_t>(attention.rows) *
                       static_cast<std::size_t>(attention.heads() * attention.positions());
    DeviceValues<float> weights(count);
    QCOMPARE(attentionWeights(world.queries(), world.view(), world.shape(), world.state(),
                              attention.positions(), weights.data(), nullptr),
             cudaSuccess);
    cudahost::checkMemory();
    const std::vector<float> actual = weights.read();
    const std::vector<double> expected = world.expectedWeights();
    const double error = worstError(actual, expected, 1.0);
    QVERIFY2(error <= 2e-5, qPrintable(QString::number(error)));
    for (std::size_t i = 0; i < count; ++i)
        QVERIFY(expected[i] != 0.0 || actual[i] == 0.0F);
}

TOKENLOUPE_TEST_MAIN(TestAttentionPrefill)
#include "tst_attentionprefill.moc"
