// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowops.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/deviceplanes.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

struct Case
{
    RowNorm kind = RowNorm::Rms;
    int rows = 1;
    int columns = 1;
    bool isAdding = false;
    bool isBiased = false;
    bool isPadded = false; ///< strides and addresses that allow no 16-byte loads
    float gainOffset = 0.0F;
};

} // namespace

Q_DECLARE_METATYPE(Case)

class TestNorm : public QObject
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
    void farFromZero();
    void badNumbersSpoilTheirRowOnly();
    void refusesWrongShapes();
};

void TestNorm::matchesReference_data()
{
    QTest::addColumn<Case>("norm");
    const int columns[] = {1, 3, 31, 64, 128, 132, 512, 513, 576, 1000, 4096, 4099, 16384, 16388, 32768};
    for (const int count : columns) {
        for (const RowNorm kind : {RowNorm::Rms, RowNorm::Layer}) {
            const int rows = count > 4096 ? 1 : count > 512 ? 3 : 9;
            const bool isOdd = count % 2 != 0;
            for (const bool isAdding : {false, true}) {
                QTest::addRow("%s %d x %d%s", kind == RowNorm::Rms ? "rms" : "layer", rows, count,
                              isAdding ? " adding" : "")
                    << Case{kind,
                            rows,
                            count,
                            isAdding,
                            kind == RowNorm::Layer && isAdding,
                            isOdd && isAdding,
                            isAdding ? 1.0F : 0.0F};
            }
        }
    }
    QTest::newRow("one row") << Case{RowNorm::Rms, 1, 2048, true, false, false, 0.0F};
    QTest::newRow("heads") << Case{RowNorm::Rms, 8 * 33, 64, false, false, false, 0.0F};
    QTest::newRow("padded") << Case{RowNorm::Layer, 3, 640, true, true, true, 0.0F};
    QTest::newRow("padded short") << Case{RowNorm::Rms, 5, 80, true, false, true, 0.0F};
}

void TestNorm::matchesReference()
{
    QFETCH(const Case, norm);
    const auto columns = std::size_t(norm.columns);
    const std::size_t count = std::size_t(norm.rows) * columns;
    std::vector<float> x = randomFloats(count, 3.0F, 1);
    const std::vector<float> more = randomFloats(count, 2.0F, 2);
    const std::vector<float> gain = randomFloats(columns, 2.0F, 3);
    const std::vector<float> bias = randomFloats(columns, 2.0F, 4);
    const int padding = norm.isPadded ? 3 : 4;
    const int offset = norm.isPadded ? 1 : 0;
    const DeviceValues<float> deviceGain(gain);
    const DeviceValues<float> deviceBias(bias);
    const PaddedRows addend(more, norm.columns, padding, offset);
    RowNormParams params;
    params.kind = norm.kind;
    params.gain = deviceGain.data();
    params.bias = norm.isBiased ? deviceBias.data() : nullptr;
    params.epsilon = 1e-3F;
    params.gainOffset = norm.gainOffset;

    std::vector<float> sums = x;
    std::vector<float> first;
    for (std::size_t i = 0; norm.isAdding && i < count; ++i)
        sums[i] += more[i];
    for (const std::uint64_t seed : {1, 2}) {
        cudahost::setSeed(seed);
        const PaddedRows input(x, norm.columns, padding, offset);
        const PaddedRows output(norm.rows, norm.columns, padding, offset);
        QCOMPARE(normRows(input.view(), norm.isAdding ? addend.view() : DeviceRows(), params, output.view(),
                          {}, nullptr),
                 cudaSuccess);
        QCOMPARE(input.read(), sums);
        QVERIFY(output.isPaddingIntact());
        QVERIFY(input.isPaddingIntact());
        if (first.empty())
            first = output.read();
        QCOMPARE(output.read(), first); // whatever the order of the threads
        QCOMPARE(normRows(input.view(), {}, params, input.view(), {}, nullptr), cudaSuccess);
        QCOMPARE(input.read(), first); // in place
    }

    for (std::size_t row = 0; row < std::size_t(norm.rows); ++row) {
        const float *values = sums.data() + row * columns;
        double mean = 0;
        for (std::size_t c = 0; norm.kind == RowNorm::Layer && c < columns; ++c)
            mean += double(values[c]) / norm.columns;
        double squares = 0;
        for (std::size_t c = 0; c < columns; ++c)
            squares += (double(values[c]) - mean) * (double(values[c]) - mean);
        const double scale = 1 / std::sqrt(squares / norm.columns + double(params.epsilon));
        for (std::size_t c = 0; c < columns; ++c) {
            const double factor = double(gain[c] + norm.gainOffset);
            const double scaled = (double(values[c]) - mean) * scale * factor;
            const double expected = scaled + (norm.isBiased ? double(bias[c]) : 0.0);
            // Units of 6e-8: the mean and the difference from it (its size), the scale and two products
            // (the result's), and the bias.
            const double rounding =
                6e-8 * (std::abs((2 * std::abs(mean) + std::abs(double(values[c]))) * scale * factor) *
                            (norm.kind == RowNorm::Layer ? 1 : 0) +
                        3.5 * std::abs(scaled) + std::abs(expected)) +
                1e-30;
            QVERIFY2(std::abs(double(first[row * columns + c]) - expected) <= rounding,
                     qPrintable(QStringLiteral("%1, %2: %3 instead of %4")
                                    .arg(row)
                                    .arg(c)
                                    .arg(double(first[row * columns + c]), 0, 'g', 10)
                                    .arg(expected, 0, 'g', 10)));
        }
    }
}

void TestNorm::roundsWhatItWrites_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    for (const int columns : {32, 64, 128, 160, 512, 544, 2048, 4096, 4128, 16384, 16416, 32768})
        QTest::addRow("%d", columns) << (columns > 4096 ? 1 : 5) << columns;
}

void TestNorm::roundsWhatItWrites()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    const std::vector<float> x = randomFloats(std::size_t(rows * columns), 3.0F, 5);
    const PaddedRows addend(randomFloats(x.size(), 1.0F, 6), columns);
    const DeviceValues<float> gain(randomFloats(std::size_t(columns), 2.0F, 7));
    RowNormParams params;
    params.gain = gain.data();
    for (const RowNorm kind : {RowNorm::Rms, RowNorm::Layer}) {
        params.kind = kind;
        const PaddedRows input(x, columns);
        const PaddedRows output(rows, columns);
        const DevicePlanes both(rows, columns);
        QCOMPARE(normRows(input.view(), addend.view(), params, output.view(), both.view(), nullptr),
                 cudaSuccess);
        QVERIFY(both.areOf(output.read()));
        const DevicePlanes alone(rows, columns);
        QCOMPARE(normRows(input.view(), {}, params, {}, alone.view(), nullptr), cudaSuccess);
        QVERIFY(alone.areOf(output.read()));
    }
}

void TestNorm::farFromZero()
{
    // The variance is that of the differences, and small values beside large ones count.
    const int columns = 3000;
    std::vector<float> x(std::size_t(columns), 4000.0F);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] += i % 3 == 0 ? -2.0F : 1.0F; // mean 4000, variance 2
    const PaddedRows input(x, columns);
    const DeviceValues<float> gain(std::vector<float>(std::size_t(columns), 1.0F));
    RowNormParams params;
    params.kind = RowNorm::Layer;
    params.gain = gain.data();
    params.epsilon = 0.0F;
    QCOMPARE(normRows(input.view(), {}, params, input.view(), {}, nullptr), cudaSuccess);
    const std::vector<float> y = input.read();
    for (std::size_t i = 0; i < y.size(); ++i)
        QVERIFY(std::abs(double(y[i]) - (i % 3 == 0 ? -2.0 : 1.0) / std::sqrt(2.0)) < 2e-7);
}

void TestNorm::badNumbersSpoilTheirRowOnly()
{
    const int columns = 96;
    std::vector<float> x = randomFloats(3 * 96, 1.0F, 8);
    const std::vector<float> good(x.begin(), x.begin() + columns);
    x[96 + 50] = std::numeric_limits<float>::quiet_NaN();
    x[2 * 96 + 7] = std::numeric_limits<float>::infinity();
    const DeviceValues<float> gain(std::vector<float>(std::size_t(columns), 1.0F));
    RowNormParams params;
    params.gain = gain.data();
    const PaddedRows input(x, columns);
    const PaddedRows alone(good, columns);
    const DevicePlanes planes(3, columns);
    QCOMPARE(normRows(input.view(), {}, params, input.view(), planes.view(), nullptr), cudaSuccess);
    QCOMPARE(normRows(alone.view(), {}, params, alone.view(), {}, nullptr), cudaSuccess);
    const std::vector<float> y = input.read();
    QCOMPARE(std::vector<float>(y.begin(), y.begin() + columns), alone.read());
    for (std::size_t i = std::size_t(columns); i < y.size(); ++i)
        QVERIFY(std::isnan(y[i]));
    QVERIFY(planes.scales()[0] > 0.0F);
    QVERIFY(std::isnan(planes.scales()[1]));
    QVERIFY(std::isnan(planes.scales()[2]));
}

void TestNorm::refusesWrongShapes()
{
    const PaddedRows rows(2, 40);
    const PaddedRows others(2, 36);
    const DeviceValues<float> gain(40);
    RowNormParams params;
    params.gain = gain.data();
    QCOMPARE(normRows({}, {}, params, rows.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(normRows(rows.view(), others.view(), params, rows.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(normRows(rows.view(), {}, params, others.view(), {}, nullptr), cudaErrorInvalidValue);
    const DevicePlanes planes(2, 64);
    QCOMPARE(normRows(rows.view(), {}, params, {}, planes.view(), nullptr), cudaErrorInvalidValue);
    params.gain = nullptr;
    QCOMPARE(normRows(rows.view(), {}, params, rows.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), 0);
}

TOKENLOUPE_TEST_MAIN(TestNorm)
#include "tst_norm.moc"
