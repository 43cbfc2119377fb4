// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/logitkernels.h"
#include "kernels/cpu/readkernel.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace tokenloupe;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float notANumber = std::numeric_limits<float>::quiet_NaN();

std::vector<float> randomRow(std::size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, 4.0F);
    std::vector<float> row(n);
    for (float &value : row)
        value = random() % 20 == 0 ? -infinity : random() % 20 == 1 ? 1.0F : normal(random);
    return row;
}

} // namespace

/// Every instruction set against plain loops.
class TestLogitKernels : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void everySet_data()
    {
        QTest::addColumn<int>("level");
        QTest::addColumn<std::size_t>("n");
        for (const IsaLevel level : {IsaLevel::Portable, IsaLevel::Avx2, IsaLevel::Avx512}) {
            if (!logitKernelsFor(level))
                continue;
            for (const std::size_t n : {1, 15, 16, 17, 31, 32, 63, 64, 65, 1000, 4099})
                QTest::addRow("%s %zu", logitKernelsFor(level)->name, n) << int(level) << n;
        }
    }
    void everySet()
    {
        QFETCH(int, level);
        QFETCH(std::size_t, n);
        const LogitKernels &kernels = *logitKernelsFor(static_cast<IsaLevel>(level));
        const auto size = static_cast<std::int64_t>(n);
        std::vector<float> row = randomRow(n, unsigned(n));
        row[n / 2] = 2.5F;
        const float maximum = *std::max_element(row.begin(), row.end());
        LogitKernels::Scan scan = kernels.scan(row.data(), size);
        QCOMPARE(scan.maximum, maximum);
        QCOMPARE(scan.hasNan, 0);

        for (const float low : {-infinity, -1.0F, 1.0F, 2.5F, 100.0F}) {
            for (const float high : {infinity, 3.0F, std::nextafter(1.0F, 2.0F)}) {
                for (const std::int64_t room : {std::int64_t(3), size}) {
                    std::vector<std::uint32_t> indices(std::size_t(room) + 64);
                    std::vector<float> values(indices.size());
                    std::vector<std::uint32_t> found;
                    for (std::int64_t from = 0; from < size;) {
                        LogitKernels::Found part{indices.data(), values.data(), 0, room};
                        from = kernels.gather(row.data(), from, size, low, high, &part);
                        for (std::int64_t i = 0; i < part.count; ++i) {
                            QCOMPARE(values[std::size_t(i)], row[indices[std::size_t(i)]]);
                            found.push_back(indices[std::size_t(i)]);
                        }
                    }
                    std::vector<std::uint32_t> expected;
                    for (std::size_t i = 0; i < n; ++i) {
                        if (row[i] >= low && row[i] < high)
                            expected.push_back(std::uint32_t(i));
                    }
                    QCOMPARE(found, expected);
                }
                std::vector<float> selected(n + 16);
                selected.resize(std::size_t(kernels.select(row.data(), size, low, high, selected.data())));
                std::vector<float> wanted;
                std::copy_if(row.begin(), row.end(), std::back_inserter(wanted),
                             [&](float x) { return x >= low && x < high; });
                QCOMPARE(selected, wanted);
            }
            QCOMPARE(kernels.countAtLeast(row.data(), size, low),
                     std::int64_t(std::count_if(row.begin(), row.end(), [&](float x) { return x >= low; })));
        }

        std::vector<float> divided(n);
        for (const float floor : {-infinity, 0.5F}) {
            kernels.divide(row.data(), floor, 0.7F, size, divided.data());
            for (std::size_t i = 0; i < n; ++i)
                QVERIFY(divided[i] == (row[i] < floor ? -infinity : row[i] / 0.7F));
        }
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            sum += std::exp(double(row[i]) - double(maximum));
        }
        QVERIFY(qAbs(kernels.weightSum(row.data(), size, maximum) / sum - 1.0) < 2e-7);

        for (const std::size_t at : {std::size_t(0), n / 2, n - 1}) {
            std::vector<float> flawed = row;
            flawed[at] = notANumber;
            scan = kernels.scan(flawed.data(), size);
            QVERIFY(scan.hasNan != 0);
            float rest = -infinity;
            for (const float value : flawed)
                rest = value > rest ? value : rest;
            QCOMPARE(scan.maximum, rest);
            flawed[at] = infinity;
            QCOMPARE(kernels.scan(flawed.data(), size).maximum, infinity);
        }
    }

    void readingTouchesEveryByte()
    {
        std::vector<float> values(4096, 0.5F);
        const auto *bytes = reinterpret_cast<const std::byte *>(values.data());
        const std::int64_t size = std::int64_t(values.size() * sizeof(float));
        QCOMPARE(readAll(bytes, size), 2048.0F);
        for (std::size_t at = 0; at < values.size(); at += 97) {
            values[at] = 1.5F;
            QCOMPARE(readAll(bytes, size), 2049.0F);
            values[at] = 0.5F;
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestLogitKernels)
#include "tst_logitkernels.moc"
