// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowops.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/devicerows.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

class TestElementwise : public QObject
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
    void extremes();
    void refusesWrongShapes();
};

void TestElementwise::matchesReference_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    QTest::addColumn<int>("padding");
    for (const int columns : {1, 5, 64, 1024, 1027, 4096})
        for (const int rows : {1, 2, 9})
            for (const int padding : {0, 1, 4})
                QTest::addRow("%d x %d + %d", rows, columns, padding) << rows << columns << padding;
}

void TestElementwise::matchesReference()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    QFETCH(const int, padding);
    const std::size_t count = std::size_t(rows) * std::size_t(columns);
    const std::vector<float> x = randomFloats(count, 40.0F, 1);
    const std::vector<float> y = randomFloats(count, 40.0F, 2);
    const PaddedRows input(y, columns, padding % 3, padding % 3);
    const PaddedRows rowsToChange(x, columns, padding, padding);
    const DeviceRows target = rowsToChange.view();

    std::vector<float> expected = x;
    QCOMPARE(addRows(input.view(), target, nullptr), cudaSuccess);
    for (std::size_t i = 0; i < count; ++i)
        expected[i] += y[i];
    QCOMPARE(rowsToChange.read(), expected);

    QCOMPARE(scaleRows(target, 0.7F, nullptr), cudaSuccess);
    for (float &value : expected)
        value *= 0.7F;
    QCOMPARE(rowsToChange.read(), expected);

    QCOMPARE(clampRows(target, 20.0F, nullptr), cudaSuccess);
    for (float &value : expected)
        value = std::clamp(value, -20.0F, 20.0F);
    QCOMPARE(rowsToChange.read(), expected);

    QCOMPARE(softCapRows(target, 15.0F, nullptr), cudaSuccess);
    const std::vector<float> capped = rowsToChange.read();
    for (std::size_t i = 0; i < count; ++i)
        QVERIFY(std::abs(double(capped[i]) - 15.0 * std::tanh(double(expected[i]) / 15.0)) <= 2e-7 * 15.0);
    QVERIFY(rowsToChange.isPaddingIntact());
}

void TestElementwise::extremes()
{
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, -0.0F,
                                  1e-40F};
    const PaddedRows clamped(x, int(x.size()));
    QCOMPARE(clampRows(clamped.view(), 3.0F, nullptr), cudaSuccess);
    const std::vector<float> y = clamped.read();
    QVERIFY(std::isnan(y[0]));
    QCOMPARE(y[1], 3.0F);
    QCOMPARE(y[2], -3.0F);
    QVERIFY(std::signbit(y[3]) && y[3] == 0.0F);
    QVERIFY(y[4] == 1e-40F);
    const PaddedRows capped(x, int(x.size()));
    QCOMPARE(softCapRows(capped.view(), 3.0F, nullptr), cudaSuccess);
    const std::vector<float> z = capped.read();
    QVERIFY(std::isnan(z[0]));
    QCOMPARE(z[1], 3.0F);
    QCOMPARE(z[2], -3.0F);
}

void TestElementwise::refusesWrongShapes()
{
    const PaddedRows rows(2, 64);
    const PaddedRows others(2, 36);
    QCOMPARE(addRows(others.view(), rows.view(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(addRows({}, rows.view(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(addRows(rows.view(), {}, nullptr), cudaErrorInvalidValue);
    QCOMPARE(scaleRows({}, 2.0F, nullptr), cudaErrorInvalidValue);
    DeviceRows overlapping = rows.view();
    overlapping.stride = 60;
    QCOMPARE(scaleRows(overlapping, 2.0F, nullptr), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), 0);
}

TOKENLOUPE_TEST_MAIN(TestElementwise)
#include "tst_elementwise.moc"
