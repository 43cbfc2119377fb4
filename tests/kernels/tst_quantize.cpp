// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/cpukernels.h"
#include "kernels/formats/blocks.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float largestFloat = std::numeric_limits<float>::max();

std::size_t bytesFor(TensorType type, std::size_t values)
{
    return values / traitsOf(type).blockValues * traitsOf(type).blockBytes;
}

/// Rows that are nothing special, and rows that are.
std::vector<std::vector<float>> rows()
{
    std::vector<std::vector<float>> all;
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (const float range : {1.0F, 1e-4F, 300.0F, 1e-7F, 1e6F}) {
        std::vector<float> row(320);
        for (float &value : row)
            value = normal(random) * range;
        all.push_back(row);
    }
    const auto filled = [](float value) { return std::vector<float>(32, value); };
    for (const float value :
         {0.0F, -0.0F, 3.0F, -3.0F, 1e-30F, largestFloat, -largestFloat, 1e-42F, 65504.0F})
        all.push_back(filled(value));
    std::vector<float> mixed = filled(1.0F); // all of one sign, far from 0, one that stands out
    mixed[7] = 1.5F;
    all.push_back(mixed);
    std::vector<float> opposite = filled(0.0F); // two of the same magnitude
    opposite[3] = -2.0F;
    opposite[20] = 2.0F;
    all.push_back(opposite);
    std::vector<float> wide = filled(0.0F);
    wide[0] = -largestFloat;
    wide[31] = largestFloat;
    all.push_back(wide);
    return all;
}

/// The values that a row of this block's scale may be stored as.
std::vector<double> levelsOf(TensorType type, const std::byte *block)
{
    const auto half = [block](std::size_t at) {
        return referenceHalf(std::uint16_t(std::to_integer<unsigned>(block[at]) |
                                           std::to_integer<unsigned>(block[at + 1]) << 8));
    };
    const double d = half(0);
    const bool hasOffset = type == TensorType::Q4_1 || type == TensorType::Q5_1;
    const double m = hasOffset ? half(2) : 0.0;
    const int count = type == TensorType::Q8_0                               ? 256
                      : type == TensorType::Q5_0 || type == TensorType::Q5_1 ? 32
                                                                             : 16;
    std::vector<double> levels;
    // -128 has no counterpart above 0 and is not used.
    for (int code = type == TensorType::Q8_0 ? 1 : 0; code < count; ++code)
        levels.push_back(d * (hasOffset ? code : code - count / 2) + m);
    return levels;
}

constexpr TensorType blockTypes[] = {TensorType::Q4_0, TensorType::Q4_1, TensorType::Q5_0, TensorType::Q5_1,
                                     TensorType::Q8_0};

} // namespace

class TestQuantize : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void handMadeBlocks_data() { addIsaRows(); }
    void handMadeBlocks();
    void codesAreTheNearest_data() { addIsaRows(); }
    void codesAreTheNearest();
    void scalesReachTheEnds_data() { addIsaRows(); }
    void scalesReachTheEnds();
    void plainTypesAreRoundedOnce_data() { addIsaRows(); }
    void plainTypesAreRoundedOnce();
    void oddNumbersGiveNumbers_data() { addIsaRows(); }
    void oddNumbersGiveNumbers();
    void setsAgree();
};

void TestQuantize::handMadeBlocks()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const auto quantized = [&kernels](TensorType type, const std::vector<float> &values) {
        QByteArray bytes(qsizetype(bytesFor(type, values.size())), '\xee');
        kernels.quantizeRow(type, values.data(), std::int64_t(values.size()),
                            reinterpret_cast<std::byte *>(bytes.data()));
        return bytes.toHex();
    };
    // The extreme is -4, so d = 0.5 (0x3800); others lie on codes: 1 -> 10, 0 -> 8, 3.5 -> 15, 4 -> 15 (16 is
    // none).
    std::vector<float> values(32, 0.0F);
    values[0] = 1.0F;
    values[1] = -4.0F;
    values[15] = 3.5F;
    values[16] = 4.0F - 0.01F;
    QCOMPARE(quantized(TensorType::Q4_0, values), QByteArray("0038"
                                                             "fa"
                                                             "80"
                                                             "88888888888888888888888888"
                                                             "8f"));
    // An extreme above 0 gives a scale below it: d = -0.25 (0xb400), 4 -> 0, -3.75 -> 31, 0 -> 16.
    values.assign(32, 0.0F);
    values[2] = 4.0F;
    values[30] = -3.75F;
    QCOMPARE(quantized(TensorType::Q5_0, values), QByteArray("00b4"
                                                             "fbffffff"
                                                             "0000"
                                                             "00"
                                                             "0000000000000000000000"
                                                             "f0"
                                                             "00"));
    // From 1 to 16: d = m = 1 (0x3c00).
    values.assign(32, 1.0F);
    values[0] = 16.0F;
    values[1] = 4.4F;
    values[17] = 4.6F;
    QCOMPARE(quantized(TensorType::Q4_1, values), QByteArray("003c"
                                                             "003c"
                                                             "0f"
                                                             "43"
                                                             "0000000000000000000000000000"));
    // From -1 to 30: d = 1, m = -1 (0xbc00); 16 of the codes need the fifth bit.
    for (std::size_t i = 0; i < 32; ++i)
        values[i] = float(i) - 1.0F;
    QCOMPARE(quantized(TensorType::Q5_1, values), QByteArray("003c"
                                                             "00bc"
                                                             "0000ffff"
                                                             "00112233445566778899aabbccddeeff"));
    // The largest is 254: d = 2 (0x4000).
    values.assign(32, 0.0F);
    values[0] = -254.0F;
    values[1] = 253.5F;
    values[31] = 2.9F;
    QCOMPARE(quantized(TensorType::Q8_0, values), QByteArray("0040"
                                                             "81"
                                                             "7f") +
                                                      QByteArray(58, '0') + QByteArray("01"));
}

void TestQuantize::codesAreTheNearest()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const TensorType type : blockTypes) {
        for (const std::vector<float> &row : rows()) {
            FencedMemory<float> values(row.size());
            std::copy(row.begin(), row.end(), values.begin());
            FencedMemory<std::byte> bytes(bytesFor(type, row.size()));
            kernels.quantizeRow(type, values.data(), std::int64_t(row.size()), bytes.data());
            QVERIFY(bytes.isBandIntact());
            const std::vector<double> back = referenceValues(type, bytes.data(), std::int64_t(row.size()));
            std::vector<float> read(row.size());
            kernels.dequantizeRow({type, 1, std::int64_t(row.size()), bytes.data()}, 0, read.data());
            for (std::size_t i = 0; i < row.size(); ++i) {
                TOKENLOUPE_COMPARE_EXACT(read[i], float(back[i]));
                const std::byte *block = bytes.data() + i / 32 * traitsOf(type).blockBytes;
                double nearest = std::numeric_limits<double>::infinity();
                for (const double level : levelsOf(type, block))
                    nearest = std::min(nearest, std::abs(level - double(row[i])));
                // Where a value lies between two codes, the division's rounding may choose either.
                const double error = std::abs(back[i] - double(row[i]));
                QVERIFY2(error <= nearest * (1 + 1e-5) + std::abs(double(row[i])) * 1e-6,
                         qPrintable(QStringLiteral("%1: %2 became %3")
                                        .arg(QString::fromLatin1(traitsOf(type).name))
                                        .arg(double(row[i]))
                                        .arg(back[i])));
            }
        }
    }
}

/// The nearest code is only good when the codes lie where the values are.
void TestQuantize::scalesReachTheEnds()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const std::vector<float> row = rows().front();
    for (std::size_t first = 0; first < row.size(); first += 32) {
        const auto [low, high] = std::minmax_element(row.begin() + std::ptrdiff_t(first),
                                                     row.begin() + std::ptrdiff_t(first) + 32);
        const double largest = double(std::max(-*low, *high));
        const double range = double(*high) - double(*low);
        for (const auto &[type, step] :
             {std::pair(TensorType::Q4_0, largest / 8), std::pair(TensorType::Q4_1, range / 15),
              std::pair(TensorType::Q5_0, largest / 16), std::pair(TensorType::Q5_1, range / 31),
              std::pair(TensorType::Q8_0, largest / 127)}) {
            std::vector<std::byte> bytes(traitsOf(type).blockBytes);
            kernels.quantizeRow(type, row.data() + first, 32, bytes.data());
            const std::vector<double> levels = levelsOf(type, bytes.data());
            QVERIFY(std::abs(std::abs(levels[1] - levels[0]) - step) <= step * 0x1p-10);
            const double extreme = double(-*low > *high ? *low : *high);
            double nearest = std::numeric_limits<double>::infinity();
            for (const double level : levels)
                nearest = std::min(nearest, std::abs(level - extreme));
            QVERIFY(nearest <= largest * 0x1p-9);
        }
    }
}

void TestQuantize::plainTypesAreRoundedOnce()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    std::vector<float> values = rows().front();
    values.insert(values.end(), {0.0F, -0.0F, infinity, -infinity, 1e-8F, 70000.0F, -1e-45F});
    for (const std::size_t count : {std::size_t(1), std::size_t(15), std::size_t(33), values.size()}) {
        FencedMemory<float> in(count);
        std::copy_n(values.end() - std::ptrdiff_t(count), count, in.begin());
        FencedMemory<float> floats(count);
        kernels.quantizeRow(TensorType::F32, in.data(), std::int64_t(count),
                            reinterpret_cast<std::byte *>(floats.data()));
        QVERIFY(sameBits(floats, in));
        FencedMemory<std::uint16_t> halves(count);
        kernels.quantizeRow(TensorType::F16, in.data(), std::int64_t(count),
                            reinterpret_cast<std::byte *>(halves.data()));
        FencedMemory<std::uint16_t> bfloats(count);
        kernels.quantizeRow(TensorType::BF16, in.data(), std::int64_t(count),
                            reinterpret_cast<std::byte *>(bfloats.data()));
        for (std::size_t i = 0; i < count; ++i) {
            QCOMPARE(halves[i], floatToHalf(in[i]));
            QCOMPARE(bfloats[i], floatToBfloat(in[i]));
        }
    }
}

void TestQuantize::oddNumbersGiveNumbers()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const float odd : {notANumber, -notANumber, infinity, -infinity}) {
        for (const std::size_t oddOnes : {std::size_t(1), std::size_t(5), std::size_t(32)}) {
            std::vector<float> values(32);
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = i < oddOnes ? odd : float(i) - 12.0F;
            for (const TensorType type : blockTypes) {
                std::vector<std::byte> bytes(traitsOf(type).blockBytes);
                kernels.quantizeRow(type, values.data(), 32, bytes.data());
                for (const double back : referenceValues(type, bytes.data(), 32))
                    QVERIFY2(std::isfinite(back), traitsOf(type).name);
            }
        }
    }
}

void TestQuantize::setsAgree()
{
    std::vector<std::vector<float>> all = rows();
    for (const float odd : {notANumber, infinity, -infinity}) {
        std::vector<float> row = all.front();
        for (std::size_t i = 0; i < row.size(); i += 11)
            row[i] = odd;
        all.push_back(row);
        all.push_back(std::vector<float>(32, odd));
    }
    for (const TensorType type : computableTypes) {
        for (const std::vector<float> &row : all) {
            FencedMemory<std::byte> expected(bytesFor(type, row.size()));
            cpuKernelsFor(IsaLevel::Portable)
                ->quantizeRow(type, row.data(), std::int64_t(row.size()), expected.data());
            for (const IsaLevel level : isaLevels) {
                if (const CpuKernels *kernels = cpuKernelsFor(level)) {
                    FencedMemory<std::byte> out(expected.size());
                    kernels->quantizeRow(type, row.data(), std::int64_t(row.size()), out.data());
                    QVERIFY2(sameBits(out, expected), isaName(level));
                }
            }
        }
    }
}

TOKENLOUPE_TEST_MAIN(TestQuantize)
#include "tst_quantize.moc"
