// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/cudahost/examplekernels.h"
#include "tests/support/testmain.h"

using namespace cudahost::test;

/// Kernels of a .cu file, which is compiled as the program's are.
class TstExampleKernels : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void sumsRows_data();
    void sumsRows();
    void addsWithoutWaiting();
};

void TstExampleKernels::sumsRows_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    QTest::addColumn<unsigned int>("threads");
    for (const int rows : {1, 3, 8})
        for (const int columns : {1, 31, 576, 1000})
            for (const unsigned int threads : {32U, 96U, 256U, 1024U})
                QTest::addRow("%d x %d by %u", rows, columns, threads) << rows << columns << threads;
}

void TstExampleKernels::sumsRows()
{
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    QFETCH(const unsigned int, threads);
    std::vector<float> input(static_cast<std::size_t>(rows * columns));
    std::vector<float> sums(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < input.size(); ++i) {
        input[i] = static_cast<float>(i % 17) - 5.0F;
        sums[i / static_cast<std::size_t>(columns)] += input[i];
    }
    const DeviceValues<float> deviceInput(input);
    const DeviceValues<float> output(sums.size());
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        cudahost::setSeed(seed);
        QCOMPARE(sumRows(deviceInput.data(), rows, columns, output.data(), threads, nullptr), cudaSuccess);
        QCOMPARE(output.read(), sums);
    }
    QVERIFY(cudahost::takeFaults().empty());
}

void TstExampleKernels::addsWithoutWaiting()
{
    constexpr std::size_t count = 1001;
    std::vector<float> numbers(count);
    for (std::size_t i = 0; i < count; ++i)
        numbers[i] = static_cast<float>(i);
    const DeviceValues<float> source(numbers);
    const DeviceValues<float> target(std::vector<float>(count, 1.0F));
    QCOMPARE(addScaled(source.data(), 2.0F, count, target.data(), nullptr), cudaSuccess);
    numbers = target.read();
    for (std::size_t i = 0; i < count; ++i)
        QCOMPARE(numbers[i], 1.0F + 2.0F * static_cast<float>(i));
}

TOKENLOUPE_TEST_MAIN(TstExampleKernels)
#include "tst_examplekernels.moc"
