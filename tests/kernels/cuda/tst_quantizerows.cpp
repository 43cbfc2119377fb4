// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowops.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/deviceplanes.h"
#include "tests/support/testmain.h"

#include <array>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

class TestQuantizeRows : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup()
    {
        cudahost::checkMemory();
        QCOMPARE(cudahost::takeFaults(), std::vector<std::string>());
    }
    void equalsTheCpu_data();
    void equalsTheCpu();
    void halvesGoToEven();
    void smallAndBadRows();
    void planesInOnePiece();
    void refusesWrongShapes();
};

void TestQuantizeRows::equalsTheCpu_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    for (const int columns : {32, 64, 96, 128, 512, 544, 576, 1024, 4096, 4128, 14336, 16384, 16416, 32768})
        QTest::addRow("%d", columns) << (columns > 4096 ? 2 : 8) << columns;
    QTest::newRow("many short") << 131 << 64;
}

void TestQuantizeRows::equalsTheCpu()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    std::vector<float> x = randomFloats(std::size_t(rows * columns), 3.0F, 1);
    for (std::size_t i = 0; i < x.size(); i += std::size_t(columns))
        x[i + i % 7] *= 50.0F; // as activations are: a few stand out
    for (const int padding : {0, 3}) {
        const PaddedRows input(x, columns, padding, padding);
        for (const std::uint64_t seed : {1, 2, 3}) {
            cudahost::setSeed(seed);
            const DevicePlanes planes(rows, columns);
            QCOMPARE(quantizeRows(input.view(), planes.view(), nullptr), cudaSuccess);
            QVERIFY(planes.areOf(x));
        }
    }
}

void TestQuantizeRows::halvesGoToEven()
{
    std::vector<float> x(64);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = float(i) * 0.5F - 16.0F;
    x[63] = 16256.0F; // the scale is 1
    const PaddedRows input(x, 64);
    const DevicePlanes planes(1, 64);
    QCOMPARE(quantizeRows(input.view(), planes.view(), nullptr), cudaSuccess);
    QCOMPARE(planes.scales(), std::vector<float>{1.0F});
    QVERIFY(planes.areOf(x));
}

/// Planes behind each other, aligned, none over another, and as many bytes as are said.
void TestQuantizeRows::planesInOnePiece()
{
    for (const auto &[rows, columns] : {std::pair{1, 32}, {3, 96}, {8, 4096}, {4096, 768}}) {
        const std::uint64_t bytes = quantizedRowsBytes(rows, columns);
        const DeviceValues<std::byte> memory{std::size_t(bytes)};
        const QuantizedRows planes = quantizedRowsAt(memory.data(), rows, columns);
        const std::int64_t codes = std::int64_t(rows) * columns;
        const std::array<std::pair<const void *, std::int64_t>, 5> parts = {
            {{planes.high, codes},
             {planes.low, codes},
             {planes.scales, rows * std::int64_t(sizeof(float))},
             {planes.sums, codes / 16 * std::int64_t(sizeof(std::int32_t))},
             {memory.data() + bytes, 0}}};
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            const auto *begin = static_cast<const std::byte *>(parts[i].first);
            QCOMPARE((begin - memory.data()) % 256, 0);
            QVERIFY(begin + parts[i].second <= static_cast<const std::byte *>(parts[i + 1].first));
        }
        QCOMPARE(planes.rows, rows);
        QCOMPARE(planes.columns, columns);
    }
}

void TestQuantizeRows::smallAndBadRows()
{
    const int columns = 96;
    std::vector<float> x(5 * 96);
    for (std::size_t i = 0; i < 96; ++i) {
        x[96 + i] = float(i) * 1e-33F;
        x[2 * 96 + i] = float(i) * 1e-31F;
        x[3 * 96 + i] = x[4 * 96 + i] = float(i);
    }
    x[3 * 96 + 40] = std::numeric_limits<float>::quiet_NaN();
    x[4 * 96 + 40] = -std::numeric_limits<float>::infinity();
    const PaddedRows input(x, columns);
    const DevicePlanes planes(5, columns);
    QCOMPARE(quantizeRows(input.view(), planes.view(), nullptr), cudaSuccess);
    const std::vector<float> scales = planes.scales();
    QCOMPARE(scales[0], 0.0F);
    QCOMPARE(scales[1], 0.0F);
    QVERIFY(scales[2] > 0.0F);
    QVERIFY(std::isnan(scales[3]) && std::isnan(scales[4]));

    const std::vector<float> finite(x.begin(), x.begin() + 3 * 96);
    const PaddedRows finiteInput(finite, columns);
    const DevicePlanes finitePlanes(3, columns);
    QCOMPARE(quantizeRows(finiteInput.view(), finitePlanes.view(), nullptr), cudaSuccess);
    QVERIFY(finitePlanes.areOf(finite));
}

void TestQuantizeRows::refusesWrongShapes()
{
    const PaddedRows rows(2, 64);
    const DevicePlanes others(2, 96);
    QCOMPARE(quantizeRows(rows.view(), others.view(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(quantizeRows(rows.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(quantizeRows({}, others.view(), nullptr), cudaErrorInvalidValue);
    const PaddedRows odd(2, 40);
    const DevicePlanes oddPlanes(2, 40);
    QCOMPARE(quantizeRows(odd.view(), oddPlanes.view(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), 0);
}

TOKENLOUPE_TEST_MAIN(TestQuantizeRows)
#include "tst_quantizerows.moc"
