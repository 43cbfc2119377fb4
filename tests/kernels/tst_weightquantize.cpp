// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/cpukernels.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/quantize.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>
#include <cstring>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr TensorType searchedTypes[] = {TensorType::Q4_0, TensorType::Q5_0, TensorType::Q4_K,
                                        TensorType::Q5_K, TensorType::Q6_K};

std::size_t bytesFor(TensorType type, std::size_t values)
{
    return values / traitsOf(type).blockValues * traitsOf(type).blockBytes;
}

/// Root of the mean squared difference.
double errorOf(TensorType type, const std::vector<std::byte> &bytes, const std::vector<float> &values)
{
    const std::vector<double> stored = referenceValues(type, bytes.data(), std::int64_t(values.size()));
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i)
        sum += (stored[i] - double(values[i])) * (stored[i] - double(values[i]));
    return std::sqrt(sum / double(values.size()));
}

std::vector<std::byte> quantized(const CpuKernels &kernels, TensorType type, const std::vector<float> &values)
{
    FencedMemory<std::byte> out(bytesFor(type, values.size()));
    kernels.quantizeWeights(type, values.data(), std::int64_t(values.size()), out.data());
    return {out.data(), out.data() + out.size()};
}

std::vector<float> normalRow(std::size_t count, unsigned seed, float deviation, float mean = 0.0F)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float> row(count);
    for (float &value : row)
        value = normal(random);
    return row;
}

} // namespace

class TestWeightQuantize : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void errorOfNormalRows_data();
    void errorOfNormalRows();
    void betterThanByRange_data() { addIsaRows(); }
    void betterThanByRange();
    void valuesOnTheGridStay_data() { addIsaRows(); }
    void valuesOnTheGridStay();
    void noCodeIsBetter_data() { addIsaRows(); }
    void noCodeIsBetter();
    void oddNumbersGiveNumbers_data() { addIsaRows(); }
    void oddNumbersGiveNumbers();
    void othersAreRounded_data() { addIsaRows(); }
    void othersAreRounded();
    void setsAgree();
};

/// For a normal distribution the error is known from the distance of the codes; the bounds are what a
/// careful search reaches. Plain rounding by range is at 8.6, 4.3, 7.9, 3.8 and 1.9 %.
void TestWeightQuantize::errorOfNormalRows_data()
{
    QTest::addColumn<TensorType>("type");
    QTest::addColumn<double>("percent");
    QTest::newRow("Q4_0") << TensorType::Q4_0 << 8.15;
    QTest::newRow("Q5_0") << TensorType::Q5_0 << 4.05;
    QTest::newRow("Q4_K") << TensorType::Q4_K << 7.05;
    QTest::newRow("Q5_K") << TensorType::Q5_K << 3.47;
    QTest::newRow("Q6_K") << TensorType::Q6_K << 1.71;
    QTest::newRow("Q8_0") << TensorType::Q8_0 << 0.545;
}

void TestWeightQuantize::errorOfNormalRows()
{
    QFETCH(TensorType, type);
    QFETCH(double, percent);
    for (const float deviation : {0.02F, 1.0F, 30.0F}) {
        const std::vector<float> row = normalRow(16384, 3, deviation);
        const double error = 100.0 * errorOf(type, quantized(cpuKernels(), type, row), row) / deviation;
        QVERIFY2(error < percent, qPrintable(QString::number(error)));
        QVERIFY2(error > 0.85 * percent, qPrintable(QString::number(error))); // nothing can be that good
    }
}

void TestWeightQuantize::betterThanByRange()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const TensorType type : searchedTypes) {
        for (const float mean : {0.0F, 0.3F, -0.3F}) {
            std::vector<float> row = normalRow(2048, 7, 0.1F, mean);
            for (std::size_t i = 0; i < row.size(); i += 97)
                row[i] *= 4.0F; // some that stand out
            const auto byRange = storeAs(static_cast<std::uint32_t>(type), row);
            const double error = errorOf(type, quantized(kernels, type, row), row);
            QVERIFY2(error < 0.97 * errorOf(type, byRange, row), traitsOf(type).name);
        }
    }
}

void TestWeightQuantize::valuesOnTheGridStay()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    std::mt19937 random(11);
    const auto grid = [&random](int lowest, int highest, float unit) {
        std::vector<float> row(256);
        for (std::size_t i = 0; i < row.size(); ++i)
            row[i] = unit * float(std::uniform_int_distribution<int>(lowest, highest)(random));
        for (std::size_t i = 0; i < row.size(); i += 16) { // both ends in each run
            row[i] = unit * float(lowest);
            row[i + 1] = unit * float(highest);
        }
        return row;
    };
    const std::vector<float> four = grid(-8, 7, 0.25F);
    const std::vector<float> five = grid(-16, 15, 0.5F);
    const std::vector<float> six = grid(-32, 31, 0.125F);
    QCOMPARE(errorOf(TensorType::Q4_0, quantized(kernels, TensorType::Q4_0, four), four), 0.0);
    QCOMPARE(errorOf(TensorType::Q5_0, quantized(kernels, TensorType::Q5_0, five), five), 0.0);
    QCOMPARE(errorOf(TensorType::Q6_K, quantized(kernels, TensorType::Q6_K, six), six), 0.0);
    // Here the units are 63rds, rounded to a half.
    QVERIFY(errorOf(TensorType::Q4_K, quantized(kernels, TensorType::Q4_K, four), four) < 2e-3);
    QVERIFY(errorOf(TensorType::Q5_K, quantized(kernels, TensorType::Q5_K, five), five) < 4e-3);
}

/// With the scales as they were chosen, every value has the code that is nearest to it.
void TestWeightQuantize::noCodeIsBetter()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const std::vector<float> row = normalRow(256, 19, 1.0F, 0.2F);
    std::vector<std::byte> bytes = quantized(kernels, TensorType::Q4_K, row);
    const std::size_t codes = 16; // behind d, dmin and the scales
    const auto squared = [&](std::size_t i) {
        const double difference = referenceValues(TensorType::Q4_K, bytes.data(), 256)[i] - double(row[i]);
        return difference * difference;
    };
    for (std::size_t i = 0; i < 256; ++i) {
        const std::size_t at = codes + i / 64 * 32 + i % 32;
        const int shift = i / 32 % 2 == 0 ? 0 : 4;
        const std::byte before = bytes[at];
        const double chosen = squared(i);
        for (int code = 0; code < 16; ++code) {
            bytes[at] = (before & std::byte(shift == 0 ? 0xf0 : 0x0f)) | std::byte(code << shift);
            QVERIFY(squared(i) >= chosen * (1.0 - 1e-5));
        }
        bytes[at] = before;
    }
}

void TestWeightQuantize::oddNumbersGiveNumbers()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float most = std::numeric_limits<float>::max();
    for (const TensorType type : searchedTypes) {
        for (const float value : {0.0F, -0.0F, 1e-42F, -1e-42F, 1e-20F, 3.0F, -3.0F, 70000.0F, most, -most,
                                  infinity, -infinity, nan}) {
            for (const float other : {0.0F, 1.0F, -1e-30F, nan}) {
                std::vector<float> row(256, value);
                row[40] = other;
                const auto bytes = quantized(kernels, type, row);
                const std::vector<double> stored = referenceValues(type, bytes.data(), 256);
                for (const double number : stored)
                    QVERIFY2(std::isfinite(number), traitsOf(type).name);
                if (std::abs(value) <= 1e-20F || std::isnan(value))
                    QVERIFY(std::abs(stored[200]) < 1e-4);
                if (std::abs(value) == 3.0F)
                    QVERIFY(std::abs(stored[200] - double(value)) < 0.02);
            }
        }
    }
}

void TestWeightQuantize::othersAreRounded()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const std::vector<float> row = normalRow(320, 23, 1.0F);
    for (const TensorType type : {TensorType::F32, TensorType::F16, TensorType::BF16, TensorType::Q4_1,
                                  TensorType::Q5_1, TensorType::Q8_0}) {
        std::vector<std::byte> plain(bytesFor(type, row.size()));
        kernels.quantizeRow(type, row.data(), std::int64_t(row.size()), plain.data());
        QVERIFY(quantized(kernels, type, row) == plain);
    }
}

void TestWeightQuantize::setsAgree()
{
    for (unsigned seed = 0; seed < 8; ++seed) {
        std::vector<float> row = normalRow(1024, seed, 0.05F, seed % 3 == 0 ? 0.04F : 0.0F);
        row[seed * 13] = 2.0F;
        for (const TensorType type : searchedTypes) {
            const auto portable = quantized(*cpuKernelsFor(IsaLevel::Portable), type, row);
            for (const IsaLevel level : isaLevels) {
                if (const CpuKernels *kernels = cpuKernelsFor(level))
                    QVERIFY2(quantized(*kernels, type, row) == portable, isaName(level));
            }
        }
    }
}

TOKENLOUPE_TEST_MAIN(TestWeightQuantize)
#include "tst_weightquantize.moc"
