// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/productrows.h"
#include "kernels/formats/blocks.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/devicerows.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

class TestProductRows : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup()
    {
        cudahost::checkMemory();
        QCOMPARE(cudahost::takeFaults(), std::vector<std::string>());
    }
    void halvesTimesScales_data();
    void halvesTimesScales();
    void smallAndBadRows();
    void finishes_data();
    void finishes();
    void refusesWrongShapes();
};

void TestProductRows::halvesTimesScales_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    QTest::addColumn<float>("size");
    for (const int columns : {1, 7, 32, 64, 512, 513, 576, 4096, 4100, 16385})
        for (const float size : {1e-25F, 3.0F, 1e30F})
            QTest::addRow("%d, %g", columns, double(size)) << (columns > 1000 ? 2 : 9) << columns << size;
}

void TestProductRows::halvesTimesScales()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    QFETCH(const float, size);
    const std::vector<float> x = randomFloats(std::size_t(rows * columns), size, 1);
    const PaddedRows input(x, columns, 3, 1);
    const int stride = (columns + 7) / 8 * 8;
    const DeviceValues<std::uint16_t> half(std::size_t(rows * stride));
    const DeviceValues<float> scales{std::size_t(rows)};
    for (const std::uint64_t seed : {1, 2}) {
        cudahost::setSeed(seed);
        QCOMPARE(scaleToHalf(input.view(), half.data(), stride, scales.data(), nullptr), cudaSuccess);
        const std::vector<std::uint16_t> halves = half.read();
        const std::vector<float> factors = scales.read();
        for (int row = 0; row < rows; ++row) {
            float largest = 0.0F;
            int power = 0;
            for (int c = 0; c < columns; ++c)
                largest = std::max(largest, std::abs(x[std::size_t(row * columns + c)]));
            std::frexp(largest, &power);
            QCOMPARE(factors[std::size_t(row)], std::ldexp(1.0F, power - 15));
            for (int c = 0; c < columns; ++c) {
                const float wanted = x[std::size_t(row * columns + c)] / factors[std::size_t(row)];
                QCOMPARE(halves[std::size_t(row * stride + c)], floatToHalf(wanted));
            }
        }
    }
}

void TestProductRows::smallAndBadRows()
{
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> x(4 * 64, 1.0F);
    for (std::size_t i = 0; i < 64; ++i) {
        x[i] = 0.0F;
        x[64 + i] = 1e-44F;
    }
    x[2 * 64 + 3] = std::numeric_limits<float>::quiet_NaN();
    x[3 * 64 + 60] = -infinity;
    const PaddedRows input(x, 64);
    const DeviceValues<std::uint16_t> half(4 * 64);
    const DeviceValues<float> scales(4);
    QCOMPARE(scaleToHalf(input.view(), half.data(), 64, scales.data(), nullptr), cudaSuccess);
    const std::vector<float> factors = scales.read();
    const std::vector<std::uint16_t> halves = half.read();
    QVERIFY(std::isfinite(factors[0]) && std::isfinite(factors[1]));
    for (std::size_t i = 0; i < 128; ++i)
        QVERIFY(std::abs(double(halfToFloat(halves[i])) * double(factors[i / 64]) - double(x[i])) <= 1e-45);
    QVERIFY(std::isnan(factors[2]) && std::isnan(factors[3]));
}

void TestProductRows::finishes_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    QTest::addColumn<int>("padding");
    for (const int columns : {1, 6, 64, 1025, 2048})
        for (const int padding : {0, 1})
            QTest::addRow("%d + %d", columns, padding) << 5 << columns << padding;
}

void TestProductRows::finishes()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    QFETCH(const int, padding);
    const std::vector<float> y = randomFloats(std::size_t(rows * columns), 3.0F, 1);
    const std::vector<float> scales = randomFloats(std::size_t(rows), 3.0F, 2);
    const std::vector<float> bias = randomFloats(std::size_t(columns), 3.0F, 3);
    const DeviceValues<float> deviceScales(scales);
    const DeviceValues<float> deviceBias(bias);
    for (const int which : {1, 2, 3}) {
        const float *scale = (which & 1) != 0 ? deviceScales.data() : nullptr;
        const float *offset = (which & 2) != 0 ? deviceBias.data() : nullptr;
        const PaddedRows target(y, columns, padding, padding);
        QCOMPARE(finishProduct(target.view(), scale, offset, nullptr), cudaSuccess);
        std::vector<float> expected = y;
        for (std::size_t i = 0; i < y.size(); ++i) {
            expected[i] *= scale ? scales[i / std::size_t(columns)] : 1.0F;
            expected[i] += offset ? bias[i % std::size_t(columns)] : 0.0F;
        }
        QCOMPARE(target.read(), expected);
        QVERIFY(target.isPaddingIntact());
    }
}

void TestProductRows::refusesWrongShapes()
{
    const PaddedRows rows(2, 64);
    const DeviceValues<std::uint16_t> half(2 * 64);
    const DeviceValues<float> scales(2);
    QCOMPARE(scaleToHalf({}, half.data(), 64, scales.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(scaleToHalf(rows.view(), nullptr, 64, scales.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(scaleToHalf(rows.view(), half.data(), 62, scales.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(scaleToHalf(rows.view(), half.data(), 65, scales.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(scaleToHalf(rows.view(), half.data(), 64, nullptr, nullptr), cudaErrorInvalidValue);
    QCOMPARE(finishProduct(rows.view(), nullptr, nullptr, nullptr), cudaErrorInvalidValue);
    QCOMPARE(finishProduct({}, scales.data(), nullptr, nullptr), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), 0);
}

TOKENLOUPE_TEST_MAIN(TestProductRows)
#include "tst_productrows.moc"
