// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/codebooks.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/quantize.h"
#include "tests/support/testmain.h"

#include <QByteArray>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

struct Bytes
{
    int at;
    const char *hex;
};
struct Value
{
    int column;
    float value;
};
/// A block of zeros but for `bytes`, and what some of its columns then are.
struct HandMade
{
    const char *what;
    TensorType type;
    std::vector<Bytes> bytes;
    std::vector<Value> values;
};

// 0038 is the half 0.5, 00bc is -1.
const std::vector<HandMade> handMade = {
    // Scales 3, 1, 2, 4, 6, 5 and minima 2, 0, 1, 0, 0, 15 for the groups 0, 1, 2, 4, 6, 15.
    {"Q2_K",
     TensorType::Q2_K,
     {{0, "23011200040006"}, {15, "f5"}, {16, "e4"}, {32, "03"}, {79, "80"}, {80, "003800bc"}},
     {{0, 2.0F}, {16, 1.5F}, {32, 2.0F}, {64, 4.0F}, {96, 9.0F}, {255, 20.0F}}},
    // Scales 17, 37 and 63, less 32, for the groups 0, 8 and 15.
    {"Q3_K",
     TensorType::Q3_K,
     {{0, "11"},
      {31, "80"},
      {32, "03"},
      {64, "02"},
      {95, "c0"},
      {96, "51"},
      {103, "f0"},
      {104, "21"},
      {107, "c0"},
      {108, "0038"}},
     {{0, -22.5F}, {32, 64.0F}, {128, 5.0F}, {255, 46.5F}}},
    // Scales 3, 5, 49 and 46, minima 2, 0, 23 and 0 for the pieces 0, 3, 4 and 7.
    {"Q4_K",
     TensorType::Q4_K,
     {{0, "003800bc"},
      {4, "c3"},
      {7, "85"},
      {8, "42"},
      {12, "71"},
      {15, "0e"},
      {16, "a5"},
      {48, "20"},
      {80, "0f"},
      {143, "90"}},
     {{0, 9.5F}, {32, 0.0F}, {96, 5.0F}, {128, 390.5F}, {223, 0.0F}, {255, 207.0F}}},
    {"Q5_K",
     TensorType::Q5_K,
     {{0, "003800bc"},
      {4, "c3"},
      {7, "85"},
      {8, "42"},
      {12, "71"},
      {15, "0e"},
      {16, "11"},
      {47, "80"},
      {48, "a5"},
      {80, "20"},
      {112, "0f"},
      {175, "90"}},
     {{0, 33.5F}, {32, 0.0F}, {96, 5.0F}, {128, 782.5F}, {223, 0.0F}, {255, 575.0F}}},
    // Scales 3, 4, -2 and 1 for the groups 0, 2, 4 and 15.
    {"Q6_K",
     TensorType::Q6_K,
     {{0, "5a"},
      {32, "0f"},
      {127, "20"},
      {128, "1d"},
      {191, "80"},
      {192, "030004"},
      {196, "fe"},
      {207, "01"},
      {208, "0038"}},
     {{0, -9.0F}, {32, 62.0F}, {64, 11.0F}, {255, 1.0F}}},
    {"Q8_K", TensorType::Q8_K, {{0, "0000803e"}, {4, "80"}, {259, "7fff"}}, {{0, -32.0F}, {255, 31.75F}}},
    {"IQ4_NL",
     TensorType::IQ4_NL,
     {{0, "0038"}, {2, "f0"}, {17, "78"}},
     {{0, -63.5F}, {15, 0.5F}, {16, 56.5F}, {31, -5.0F}}},
    // Scales 19 and 37, less 32, for the pieces 0 and 7.
    {"IQ4_XS",
     TensorType::IQ4_XS,
     {{0, "0038"}, {2, "0180"}, {4, "03"}, {7, "50"}, {8, "f0"}, {135, "18"}},
     {{0, 825.5F}, {16, -734.5F}, {239, 2.5F}, {255, -260.0F}}},
    {"MXFP4",
     TensorType::MXFP4,
     {{0, "80f1"}, {16, "27"}},
     {{0, 1.0F}, {15, 12.0F}, {16, -12.0F}, {31, 2.0F}}},
    {"MXFP4, smallest exponent",
     TensorType::MXFP4,
     {{0, "00f1"}},
     {{0, 0x1p-128F}, {16, -0x1.8p-125F}, {31, 0.0F}}},
    // Scales 1, "not a number" (taken for 0), 2^-9, 2.25.
    {"NVFP4",
     TensorType::NVFP4,
     {{0, "387f0141"}, {4, "f1"}, {12, "77"}, {20, "07"}, {35, "35"}},
     {{0, 0.5F}, {8, -6.0F}, {16, 0.0F}, {24, 0.0F}, {32, 0x6p-9F}, {55, 6.75F}, {63, 3.375F}}},
    // The first group of every codebook is its smallest value, eight or four times.
    {"IQ2_XXS",
     TensorType::IQ2_XXS,
     {{0, "0038"}, {6, "01000020"}},
     {{0, -2.5F}, {1, 2.5F}, {7, -2.5F}, {8, 2.5F}, {255, 0.5F}}},
    {"IQ2_XS",
     TensorType::IQ2_XS,
     {{0, "00380002"}, {66, "31"}},
     {{0, -1.5F}, {1, 1.5F}, {7, -1.5F}, {16, 3.5F}, {255, 0.5F}}},
    {"IQ2_S",
     TensorType::IQ2_S,
     {{0, "0038"}, {34, "81"}, {74, "31"}},
     {{0, -1.5F}, {1, 1.5F}, {7, -1.5F}, {16, 3.5F}, {255, 0.5F}}},
    {"IQ3_XXS",
     TensorType::IQ3_XXS,
     {{0, "0038"}, {66, "01000020"}},
     {{0, -2.5F}, {1, 2.5F}, {7, -2.5F}, {8, 2.5F}, {255, 0.5F}}},
    {"IQ3_S",
     TensorType::IQ3_S,
     {{0, "0038"}, {74, "81"}, {106, "21"}},
     {{0, -1.5F}, {1, 1.5F}, {7, -1.5F}, {32, 2.5F}, {255, 0.5F}}},
    {"IQ1_S",
     TensorType::IQ1_S,
     {{0, "0038"}, {34, "00a0"}},
     {{0, -2.8125F}, {31, -2.8125F}, {32, -0.4375F}, {255, -0.4375F}}},
    {"IQ1_M",
     TensorType::IQ1_M,
     {{32, "08"}, {48, "02"}, {53, "80"}, {55, "30"}},
     {{0, -2.8125F}, {7, -2.8125F}, {8, -2.1875F}, {16, -0.4375F}, {255, -0.4375F}}},
    // cd: digits 2 1 0 1 2; bb: digits 2 0 1 2.
    {"TQ1_0",
     TensorType::TQ1_0,
     {{0, "cd"}, {47, "cd"}, {51, "bb"}, {52, "0038"}},
     {{0, 0.5F},
      {32, 0.0F},
      {64, -0.5F},
      {96, 0.0F},
      {128, 0.5F},
      {175, 0.5F},
      {191, 0.0F},
      {207, -0.5F},
      {223, 0.0F},
      {239, 0.5F},
      {243, 0.5F},
      {247, -0.5F},
      {251, 0.0F},
      {255, 0.5F}}},
    {"TQ2_0",
     TensorType::TQ2_0,
     {{0, "24"}, {63, "c0"}, {64, "0038"}},
     {{0, -0.5F}, {32, 0.0F}, {64, 0.5F}, {96, -0.5F}, {255, 1.0F}}},
};

template <class Group, int size>
std::uint64_t fingerprint(const Codebook<Group, size> &book)
{
    std::uint64_t hash = 0xCBF29CE484222325ULL; // FNV-1a over the values in order
    for (const Group group : book.groups) {
        for (unsigned i = 0; i < sizeof(Group); ++i)
            hash = (hash ^ (group >> (8 * i) & 255U)) * 0x100000001B3ULL;
    }
    return hash;
}

} // namespace

class TestSuperBlocks : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void handMadeBlocks_data() { addIsaRows(); }
    void handMadeBlocks();
    void handMadeRowsThroughProducts_data() { addIsaRows(); }
    void handMadeRowsThroughProducts();
    void codebooks();
    void quantisedValuesComeBack();

private:
    static void store(const HandMade &block, FencedMemory<std::byte> &bytes)
    {
        std::memset(bytes.data(), 0, bytes.size());
        for (const auto &[at, hex] : block.bytes) {
            const QByteArray part = QByteArray::fromHex(hex);
            std::memcpy(bytes.data() + at, part.constData(), std::size_t(part.size()));
        }
    }
};

void TestSuperBlocks::handMadeBlocks()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const HandMade &block : handMade) {
        FencedMemory<std::byte> bytes(traitsOf(block.type).blockBytes);
        store(block, bytes);
        const std::int64_t columns = traitsOf(block.type).blockValues;
        FencedMemory<float> out{std::size_t(columns)};
        kernels.dequantizeRow({block.type, 1, columns, bytes.data()}, 0, out.data());
        QVERIFY(out.isBandIntact());
        for (const auto &[column, value] : block.values)
            QVERIFY2(out[std::size_t(column)] == value,
                     qPrintable(QStringLiteral("%1, column %2: %3 instead of %4")
                                    .arg(QString::fromLatin1(block.what))
                                    .arg(column)
                                    .arg(double(out[std::size_t(column)]))
                                    .arg(double(value))));
    }
}

// A token that is 1 in one column and 0 elsewhere picks that weight out, alone and in a batch.
void TestSuperBlocks::handMadeRowsThroughProducts()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const HandMade &block : handMade) {
        FencedMemory<std::byte> bytes(traitsOf(block.type).blockBytes);
        store(block, bytes);
        const std::int64_t columns = traitsOf(block.type).blockValues;
        const std::size_t tokens = block.values.size();
        FencedMemory<float> x(tokens * std::size_t(columns));
        std::fill(x.begin(), x.end(), 0.0F);
        for (std::size_t t = 0; t < tokens; ++t)
            x[t * std::size_t(columns) + std::size_t(block.values[t].column)] = 1.0F;
        std::vector<float> y(tokens);
        const WeightMatrix w{block.type, 1, columns, bytes.data()};
        kernels.matmul(w, x.data(), columns, std::int64_t(tokens), y.data(), 1, 0, 1);
        for (std::size_t t = 0; t < tokens; ++t) {
            float alone = 0;
            kernels.matmul(w, x.data() + t * std::size_t(columns), columns, 1, &alone, 1, 0, 1);
            QVERIFY2(y[t] == block.values[t].value && alone == block.values[t].value, block.what);
        }
    }
}

void TestSuperBlocks::codebooks()
{
    QCOMPARE(fingerprint(iq2xxsCodebook), std::uint64_t(0xBB4EE025B5AC6E8EULL));
    QCOMPARE(fingerprint(iq2xsCodebook), std::uint64_t(0xC9B1EE61E79909BDULL));
    QCOMPARE(fingerprint(iq2sCodebook), std::uint64_t(0x123EDD38A3B62B90ULL));
    QCOMPARE(fingerprint(iq3xxsCodebook), std::uint64_t(0xDFA5DC83D6A155D5ULL));
    QCOMPARE(fingerprint(iq3sCodebook), std::uint64_t(0xFA37020C25B44829ULL));
    QCOMPARE(fingerprint(iq1Codebook), std::uint64_t(0x81C12AE918D508CDULL));
}

// What tests store their models with: as near as the number of bits promises.
void TestSuperBlocks::quantisedValuesComeBack()
{
    constexpr std::size_t columns = 2048;
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    std::vector<float> values(columns);
    for (std::size_t c = 0; c < columns; ++c)
        values[c] = normal(random) * std::ldexp(1.0F, int(c / 256) - 4); // each block has its own range
    const std::vector<std::pair<TensorType, double>> bounds = {
        {TensorType::Q2_K, 0.4},    {TensorType::Q3_K, 0.25},   {TensorType::Q4_K, 0.09},
        {TensorType::Q5_K, 0.045},  {TensorType::Q6_K, 0.03},   {TensorType::Q8_K, 0.01},
        {TensorType::IQ4_NL, 0.12}, {TensorType::IQ4_XS, 0.12}, {TensorType::MXFP4, 0.2},
        {TensorType::TQ2_0, 0.95}};
    const CpuKernels &kernels = *cpuKernelsFor(IsaLevel::Portable);
    for (const auto &[type, bound] : bounds) {
        const std::vector<std::byte> bytes = storeAs(std::uint32_t(type), values);
        QCOMPARE(bytes.size(), columns / traitsOf(type).blockValues * traitsOf(type).blockBytes);
        std::vector<float> back(columns);
        kernels.dequantizeRow({type, 1, std::int64_t(columns), bytes.data()}, 0, back.data());
        for (std::size_t block = 0; block < columns; block += 256) {
            double error = 0;
            double power = 0;
            for (std::size_t c = block; c < block + 256; ++c) {
                error += std::pow(double(back[c]) - double(values[c]), 2);
                power += std::pow(double(values[c]), 2);
            }
            const double share = std::sqrt(error / power);
            QVERIFY2(share < bound && share > bound / 20,
                     qPrintable(QStringLiteral("%1, block %2: off by %3")
                                    .arg(QString::fromLatin1(traitsOf(type).name))
                                    .arg(block / 256)
                                    .arg(share)));
        }
    }
    // Nothing but zeros.
    const std::vector<float> zeros(256, 0.0F);
    for (const auto &[type, bound] : bounds) {
        const std::vector<std::byte> bytes = storeAs(std::uint32_t(type), zeros);
        std::vector<float> back(256, 1.0F);
        kernels.dequantizeRow({type, 1, 256, bytes.data()}, 0, back.data());
        QVERIFY2(std::count(back.begin(), back.end(), 0.0F) == 256, traitsOf(type).name);
    }
}

TOKENLOUPE_TEST_MAIN(TestSuperBlocks)
#include "tst_superblocks.moc"
