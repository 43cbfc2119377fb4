// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowops.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/deviceplanes.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

double reference(RowActivation activation, double x)
{
    switch (activation) {
    case RowActivation::Silu:
        return x / (1 + std::exp(-x));
    case RowActivation::GeluTanh:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case RowActivation::Gelu:
        return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    }
    return 0;
}

constexpr RowActivation activations[] = {RowActivation::Silu, RowActivation::GeluTanh, RowActivation::Gelu};

} // namespace

class TestActivate : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup()
    {
        cudahost::checkMemory();
        QCOMPARE(cudahost::takeFaults(), std::vector<std::string>());
    }
    void matchesReference_data();
    void matchesReference();
    void roundsWhatItWrites_data();
    void roundsWhatItWrites();
    void extremes();
    void refusesWrongShapes();
};

void TestActivate::matchesReference_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    QTest::addColumn<int>("padding");
    for (const int columns : {1, 2, 7, 32, 576, 1023, 1536, 2050})
        for (const int rows : {1, 3})
            for (const int padding : {0, 1})
                QTest::addRow("%d x %d + %d", rows, columns, padding) << rows << columns << padding;
}

void TestActivate::matchesReference()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    QFETCH(const int, padding);
    const std::size_t count = std::size_t(rows) * std::size_t(columns);
    const std::vector<float> gate = randomFloats(count, 8.0F, 1);
    const std::vector<float> up = randomFloats(count, 3.0F, 2);
    for (const RowActivation activation : activations) {
        for (const bool isGated : {true, false}) {
            const PaddedRows gateRows(gate, columns, padding, padding);
            const PaddedRows upRows(up, columns, padding, padding);
            const PaddedRows output(rows, columns, padding, padding);
            const DeviceRows factor = isGated ? upRows.view() : DeviceRows();
            QCOMPARE(activateRows(activation, gateRows.view(), factor, output.view(), {}, nullptr),
                     cudaSuccess);
            QVERIFY(output.isPaddingIntact());
            const std::vector<float> y = output.read();
            for (std::size_t i = 0; i < count; ++i) {
                const double expected =
                    reference(activation, double(gate[i])) * (isGated ? double(up[i]) : 1.0);
                // The exponential's argument is rounded, and with it a few units of what is near 0.
                const double rounding = 3e-7 * std::abs(double(gate[i]) * (isGated ? double(up[i]) : 1.0));
                QVERIFY2(std::abs(double(y[i]) - expected) <= rounding,
                         qPrintable(QStringLiteral("%1: %2 instead of %3")
                                        .arg(double(gate[i]))
                                        .arg(double(y[i]), 0, 'g', 10)
                                        .arg(expected, 0, 'g', 10)));
            }
            QCOMPARE(activateRows(activation, gateRows.view(), factor, gateRows.view(), {}, nullptr),
                     cudaSuccess);
            QCOMPARE(gateRows.read(), y); // in place
        }
    }
}

void TestActivate::roundsWhatItWrites_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    for (const int columns : {32, 128, 512, 1536, 4096, 14336, 16416})
        QTest::addRow("%d", columns) << (columns > 4096 ? 1 : 8) << columns;
}

void TestActivate::roundsWhatItWrites()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    const PaddedRows up(randomFloats(std::size_t(rows * columns), 3.0F, 3), columns);
    for (const RowActivation activation : activations) {
        for (const std::uint64_t seed : {1, 2}) {
            cudahost::setSeed(seed);
            const PaddedRows gate(randomFloats(std::size_t(rows * columns), 8.0F, 4), columns);
            const PaddedRows plain(rows, columns);
            const DevicePlanes alone(rows, columns);
            const DevicePlanes both(rows, columns);
            QCOMPARE(activateRows(activation, gate.view(), up.view(), plain.view(), {}, nullptr),
                     cudaSuccess);
            QCOMPARE(activateRows(activation, gate.view(), up.view(), {}, alone.view(), nullptr),
                     cudaSuccess);
            QCOMPARE(activateRows(activation, gate.view(), up.view(), gate.view(), both.view(), nullptr),
                     cudaSuccess);
            QCOMPARE(gate.read(), plain.read());
            QVERIFY(alone.areOf(plain.read()));
            QVERIFY(both.areOf(plain.read()));
        }
    }
}

void TestActivate::extremes()
{
    const std::vector<float> x = {0.0F, 1000.0F, -1000.0F, 3e38F, std::numeric_limits<float>::quiet_NaN()};
    for (const RowActivation activation : activations) {
        const PaddedRows rows(x, int(x.size()));
        QCOMPARE(activateRows(activation, rows.view(), {}, rows.view(), {}, nullptr), cudaSuccess);
        const std::vector<float> y = rows.read();
        QCOMPARE(y[0], 0.0F);
        QCOMPARE(y[1], 1000.0F);
        QVERIFY(std::abs(y[2]) < 1e-30F);
        QCOMPARE(y[3], 3e38F);
        QVERIFY(std::isnan(y[4]));
    }
}

void TestActivate::refusesWrongShapes()
{
    const PaddedRows rows(2, 64);
    const PaddedRows others(2, 36);
    const DevicePlanes planes(3, 64);
    const auto silu = RowActivation::Silu;
    QCOMPARE(activateRows(silu, {}, {}, rows.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(activateRows(silu, rows.view(), others.view(), rows.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(activateRows(silu, rows.view(), {}, others.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(activateRows(silu, rows.view(), {}, {}, {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(activateRows(silu, rows.view(), {}, {}, planes.view(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), 0);
}

TOKENLOUPE_TEST_MAIN(TestActivate)
#include "tst_activate.moc"
