// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/attentioncases.h"
#include "tests/kernels/cuda/deviceplanes.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <tuple>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

// What float32 loses in sums of some hundred products, as a share of the largest value.
constexpr double tolerance = 1e-5;

AttentionCase with(const std::function<void(AttentionCase &)> &change)
{
    AttentionCase attention;
    change(attention);
    return attention;
}

/// attendDecode over rows [first, first + count), which must fit in exactly the scratch that it asked for,
/// with anything in it.
std::vector<float> decode(AttentionWorld &world, int first, int count, const QuantizedRows &planes = {})
{
    const DeviceRows queries = world.queries(first, count);
    const KvLayerView view = world.view();
    const AttentionShape shape = world.shape();
    const std::int32_t columns = shape.heads * view.valueSize;
    const std::size_t scratchBytes = attentionScratchBytes(shape, view, queries.rows);
    const DeviceValues<std::byte> scratch(std::vector<std::byte>(scratchBytes, std::byte(0xA5)));
    DeviceValues<float> output(static_cast<std::size_t>(queries.rows) * static_cast<std::size_t>(columns));
    world.setFirstRow(first);
    const DeviceRows rows{output.data(), queries.rows, columns, columns};
    if (attendDecode(queries, view, shape, world.state(), scratch.data(), rows, planes, nullptr) !=
        cudaSuccess)
        return {};
    cudahost::checkMemory();
    return output.read();
}

} // namespace

class TestAttentionDecode : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { QVERIFY(cudahost::takeFaults().empty()); }

    void attends_data();
    void attends();
    void rowsAreAsAlone_data();
    void rowsAreAsAlone();
    void laterInfinitiesAreNotSeen();
    void roundsItsOutput_data();
    void roundsItsOutput();
    void refusesWrongShapes();
};

void TestAttentionDecode::attends_data()
{
    QTest::addColumn<AttentionCase>("attention");
    const char *names[] = {"f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"};
    for (int type = 0; type < 8; ++type) {
        AttentionCase attention;
        attention.keyType = KvElement(type);
        attention.valueType = KvElement(7 - type);
        attention.keySize = attention.valueSize = 32;
        QTest::addRow("%s keys, %s values", names[type], names[7 - type]) << attention;
        attention.group = 12; // other kernels read four values at a time
        attention.kvHeads = 1;
        QTest::addRow("%s keys, %s values, 12 heads", names[type], names[7 - type]) << attention;
    }
    for (const int size : {8, 16, 40, 80, 96, 112, 128, 192, 256, 512}) {
        QTest::addRow("heads of %d", size) << with([size](AttentionCase &c) {
            c.keySize = c.valueSize = size;
            c.first = 70;
        });
    }
    QTest::newRow("keys longer than values")
        << with([](AttentionCase &c) { c.keySize = 192, c.valueSize = 128; });
    QTest::newRow("values longer than keys")
        << with([](AttentionCase &c) { c.keySize = 24, c.valueSize = 72; });
    for (const int group : {1, 3, 4, 5, 7, 8, 11, 16, 17, 35}) {
        QTest::addRow("%d heads share keys", group) << with([group](AttentionCase &c) {
            c.group = group;
            c.kvHeads = 1;
            c.keySize = c.valueSize = 32;
        });
    }
    for (const int rows : {2, 3, 5, 8}) {
        for (const int group : {1, 4, 6}) {
            QTest::addRow("%d rows, group of %d", rows, group) << with([rows, group](AttentionCase &c) {
                c.rows = rows;
                c.group = group;
                c.kvHeads = 1;
                c.first = 61;
                c.keySize = c.valueSize = 16;
            });
        }
    }
    for (const int first : {0, 1, 15, 16, 63, 64, 127, 128, 700}) {
        QTest::addRow("position %d", first) << with([first](AttentionCase &c) {
            c.first = first;
            c.kvHeads = 1;
            c.keySize = c.valueSize = 16;
        });
    }
    for (const int blockTokens : {1, 3, 64, 1024}) {
        QTest::addRow("blocks of %d", blockTokens) << with([blockTokens](AttentionCase &c) {
            c.blockTokens = blockTokens;
            c.keySize = c.valueSize = 16;
        });
    }
    for (const int window : {1, 5, 64, 90, 150, 1000}) {
        QTest::addRow("window of %d", window) << with([window](AttentionCase &c) {
            c.window = window;
            c.first = 300;
            c.rows = 3;
            c.kvHeads = 1;
            c.keySize = c.valueSize = 16;
        });
    }
    QTest::newRow("soft cap") << with([](AttentionCase &c) { c.softCap = 2.0F; });
    QTest::newRow("slopes") << with([](AttentionCase &c) { c.slopes = 1; });
    QTest::newRow("all of it") << with([](AttentionCase &c) {
        c.softCap = 3.0F;
        c.slopes = 1;
        c.window = 77;
        c.rows = 4;
        c.rotated = 32;
        c.keyType = KvElement::Q8_0;
    });
    QTest::newRow("room for more") << with([](AttentionCase &c) { c.longest = 5000, c.kvHeads = 1; });
    for (const int stretches : {34, 130}) { // more than a warp, and than a block, merges at a time
        QTest::addRow("%d stretches", stretches) << with([stretches](AttentionCase &c) {
            c.first = 64 * stretches - 5;
            c.kvHeads = c.group = 1;
            c.keySize = c.valueSize = 8;
        });
    }
    QTest::newRow("long stretches") << with([](AttentionCase &c) {
        c.first = 1500; // more than its eight stretches of a tile hold
        c.longest = 512;
        c.kvHeads = 1;
        c.group = 1;
        c.keySize = c.valueSize = 8;
    });
    for (const RotaryPairs pairs : {RotaryPairs::Neighbours, RotaryPairs::Halves}) {
        for (const int rotated : {2, 24, 64}) {
            const char *name = pairs == RotaryPairs::Neighbours ? "neighbours" : "halves";
            QTest::addRow("unturned keys, %d of %s", rotated, name)
                << with([pairs, rotated](AttentionCase &c) {
                       c.rotated = rotated;
                       c.pairs = pairs;
                       c.group = rotated / 2 % 5 + 1;
                   });
        }
    }
}

void TestAttentionDecode::attends()
{
    QFETCH(const AttentionCase, attention);
    AttentionWorld world(attention);
    std::vector<float> before;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        cudahost::setSeed(seed);
        const std::vector<float> output = decode(world, 0, attention.rows);
        const double error = worstError(output, world.expected(), world.largestValue());
        QVERIFY2(error <= tolerance, qPrintable(QString::number(error)));
        QVERIFY(before.empty() || before == output); // the order of threads changes nothing
        before = output;
    }
}

void TestAttentionDecode::rowsAreAsAlone_data()
{
    QTest::addColumn<AttentionCase>("attention");
    for (const auto &[group, window] :
         {std::pair{1, 0}, std::pair{2, 0}, std::pair{5, 0}, std::pair{3, 40}}) {
        QTest::addRow("group of %d, window of %d", group, window) << with([group, window](AttentionCase &c) {
            c.window = window;
            c.rows = 7;
            c.group = group;
            c.kvHeads = 1;
            c.keySize = 40;
            c.valueSize = 24;
            c.first = 124; // rows see tiles that others do not
            c.longest = 200;
        });
    }
}

void TestAttentionDecode::rowsAreAsAlone()
{
    QFETCH(const AttentionCase, attention);
    AttentionWorld world(attention);
    const std::vector<float> together = decode(world, 0, attention.rows);
    std::vector<float> alone;
    for (int row = 0; row < attention.rows; ++row) {
        const std::vector<float> one = decode(world, row, 1);
        alone.insert(alone.end(), one.begin(), one.end());
    }
    QVERIFY(!together.empty() && together == alone);
}

void TestAttentionDecode::laterInfinitiesAreNotSeen()
{
    const AttentionCase attention = with([](AttentionCase &c) {
        c.rows = 4;
        c.keySize = c.valueSize = 16;
    });
    AttentionWorld world(attention);
    world.makeInfinite(attention.first + 3);
    const std::vector<float> output = decode(world, 0, attention.rows);
    const auto seen = static_cast<std::ptrdiff_t>(output.size() / 4 * 3);
    std::vector<double> expected = world.expected();
    expected.resize(static_cast<std::size_t>(seen));
    const double error = worstError({output.begin(), output.begin() + seen}, expected, world.largestValue());
    QVERIFY2(error <= tolerance, qPrintable(QString::number(error)));
    QVERIFY(std::isinf(output.back()));
}

void TestAttentionDecode::roundsItsOutput_data()
{
    QTest::addColumn<AttentionCase>("attention");
    for (const auto &[kvHeads, group, valueSize] :
         {std::tuple{1, 1, 32}, {1, 4, 8}, {2, 6, 64}, {9, 1, 32}, {1, 16, 16}, {2, 2, 512}}) {
        for (const int rows : {1, 2, 5, 8}) {
            const int values = valueSize;
            QTest::addRow("%d x %d heads of %d, %d rows", kvHeads, group, valueSize, rows)
                << with([&, kv = kvHeads, heads = group](AttentionCase &c) {
                       c.kvHeads = kv;
                       c.group = heads;
                       c.keySize = 16;
                       c.valueSize = values;
                       c.rows = rows;
                   });
        }
    }
}

/// The same output, and of it the planes that the CPU makes, whichever block comes last.
void TestAttentionDecode::roundsItsOutput()
{
    QFETCH(const AttentionCase, attention);
    AttentionWorld world(attention);
    const std::vector<float> plain = decode(world, 0, attention.rows);
    const int columns = attention.heads() * attention.valueSize;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        cudahost::setSeed(seed);
        const DevicePlanes planes(attention.rows, columns);
        const std::vector<float> output = decode(world, 0, attention.rows, planes.view());
        QVERIFY(!output.empty() && output == plain);
        QVERIFY(planes.areOf(output));
    }
    // A row that cannot be rounded says so; the others do not notice.
    world.makeInfinite(attention.positions() - 1);
    const DevicePlanes planes(attention.rows, columns);
    const std::vector<float> output = decode(world, 0, attention.rows, planes.view());
    QVERIFY(planes.areOf(output));
    QVERIFY(std::isnan(planes.scales().back()));
    QVERIFY(attention.rows == 1 || !std::isnan(planes.scales().front()));
}

void TestAttentionDecode::refusesWrongShapes()
{
    AttentionWorld world(with([](AttentionCase &) {}));
    DeviceValues<std::byte> scratch(attentionScratchBytes(world.shape(), world.view(), 1));
    DeviceValues<float> output(4 * 64 + 1);
    const DevicePlanes rounded(1, 4 * 64);
    QuantizedRows planes = rounded.view();
    const auto status = [&](const auto &change) {
        DeviceRows queries = world.queries();
        KvLayerView view = world.view();
        AttentionShape shape = world.shape();
        DeviceRows out{output.data(), 1, 4 * 64, 4 * 64};
        change(queries, view, shape, out);
        return attendDecode(queries, view, shape, world.state(), scratch.data(), out, planes, nullptr);
    };
    QCOMPARE(status([](auto &, auto &, auto &, auto &) {}), cudaSuccess);
    QCOMPARE(status([](auto &queries, auto &, auto &, auto &out) { queries.rows = out.rows = 9; }),
             cudaErrorInvalidValue);
    QCOMPARE(status([](auto &queries, auto &, auto &, auto &out) { queries.rows = out.rows = 0; }),
             cudaErrorInvalidValue);
    QCOMPARE(status([](auto &queries, auto &, auto &, auto &) { --queries.columns; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &queries, auto &, auto &, auto &) { ++queries.data; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &view, auto &, auto &) { view.keySize = 60; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &view, auto &, auto &) { view.values += 2; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &view, auto &, auto &) { view.blockTokens = 0; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &view, auto &, auto &) { view.kvHeads = 3; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &, auto &shape, auto &) { shape.window = -1; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &, auto &shape, auto &) { shape.keyRotation.rotated = 3; }),
             cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &, auto &, auto &out) { out.columns = 32; }), cudaErrorInvalidValue);
    QCOMPARE(status([](auto &, auto &, auto &, auto &out) { ++out.data; }), cudaErrorInvalidValue);
    planes.rows = 2;
    QCOMPARE(status([](auto &, auto &, auto &, auto &) {}), cudaErrorInvalidValue);
    planes = rounded.view();
    planes.sums = nullptr;
    QCOMPARE(status([](auto &, auto &, auto &, auto &) {}), cudaErrorInvalidValue);
    planes = {};
    QCOMPARE(status([](auto &, auto &, auto &, auto &out) { ++out.data; }), cudaSuccess);
}

TOKENLOUPE_TEST_MAIN(TestAttentionDecode)
#include "tst_attentiondecode.moc"
