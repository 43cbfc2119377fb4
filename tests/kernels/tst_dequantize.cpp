// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/blocks.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QByteArray>
#include <array>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

/// A JSON number, or "inf", "-inf", "nan" as text.
double number(const nlohmann::json &value)
{
    return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

std::vector<float> dequantized(const CpuKernels &kernels, TensorType type, const QByteArray &bytes)
{
    const TensorTypeTraits &traits = traitsOf(type);
    FencedMemory<std::byte> stored(std::size_t(bytes.size()));
    std::memcpy(stored.data(), bytes.constData(), stored.size());
    const std::size_t columns = stored.size() / traits.blockBytes * traits.blockValues;
    FencedMemory<float> out(columns);
    kernels.dequantizeRow({type, 1, std::int64_t(columns), stored.data()}, 0, out.data());
    return {out.begin(), out.end()};
}

bool isSame(double got, double expected, double tolerance)
{
    if (std::isnan(expected))
        return std::isnan(got);
    if (std::isinf(expected) || expected == 0)
        return got == expected;
    return std::abs(got - expected) <= tolerance * std::abs(expected);
}

QString mismatch(std::size_t at, double got, double expected)
{
    return QStringLiteral("value %1: %2 instead of %3")
        .arg(at)
        .arg(got, 0, 'g', 12)
        .arg(expected, 0, 'g', 12);
}

} // namespace

class TestDequantize : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void handMadeBlocks_data();
    void handMadeBlocks();
    void matchesDoubleLoops_data() { addIsaRows(); }
    void matchesDoubleLoops();
    void setsAgree();
    void referenceBlocks_data() { addIsaRows(); }
    void referenceBlocks();
    void referenceSixteenBitFloats_data() { addIsaRows(); }
    void referenceSixteenBitFloats();
};

void TestDequantize::handMadeBlocks_data()
{
    QTest::addColumn<IsaLevel>("isa");
    QTest::addColumn<TensorType>("type");
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QVector<float>>("expected"); // of the columns 0, 1, 15, 16, 17, 31
    for (const IsaLevel level : isaLevels) {
        const auto add = [level](const char *what, TensorType type, const QByteArray &hex,
                                 const QVector<float> &expected) {
            const QByteArray name = QByteArray(isaName(level)) + ' ' + what;
            QTest::newRow(name.constData()) << level << type << QByteArray::fromHex(hex) << expected;
        };
        // 0x3800 is 0.5, 0xBC00 is -1; bytes of q: 21, fe, then 77, the last 08.
        add("Q4_0", TensorType::Q4_0,
            "0038"
            "21fe"
            "77777777777777777777777777"
            "08",
            {-3.5F, 3.0F, 0.0F, -3.0F, 3.5F, -4.0F});
        add("Q4_1", TensorType::Q4_1,
            "003800bc"
            "21fe"
            "77777777777777777777777777"
            "08",
            {-0.5F, 6.0F, 3.0F, 0.0F, 6.5F, -1.0F});
        // Fifth bits of the columns 0, 16 and 31.
        add("Q5_0", TensorType::Q5_0,
            "0038"
            "01000180"
            "21fe"
            "77777777777777777777777777"
            "08",
            {0.5F, -1.0F, -4.0F, 1.0F, -0.5F, 0.0F});
        add("Q5_1", TensorType::Q5_1,
            "003800bc"
            "01000180"
            "21fe"
            "77777777777777777777777777"
            "08",
            {7.5F, 6.0F, 3.0F, 8.0F, 6.5F, 7.0F});
        add("Q8_0", TensorType::Q8_0,
            "0038"
            "7f80"
            "00000000000000000000000000"
            "02"
            "ff01"
            "00000000000000000000000000"
            "fe",
            {63.5F, -64.0F, 1.0F, -0.5F, 0.5F, -1.0F});
        add("Q8_0, smallest scale", TensorType::Q8_0,
            "0100"
            "7f80"
            "00000000000000000000000000"
            "02"
            "ff01"
            "00000000000000000000000000"
            "fe",
            {0x7Fp-24F, -0x80p-24F, 0x2p-24F, -0x1p-24F, 0x1p-24F, -0x2p-24F});
    }
}

void TestDequantize::handMadeBlocks()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    QFETCH(TensorType, type);
    QFETCH(QByteArray, bytes);
    QFETCH(QVector<float>, expected);
    QCOMPARE(bytes.size(), qsizetype(traitsOf(type).blockBytes));
    const std::vector<float> values = dequantized(kernels, type, bytes);
    constexpr std::array<std::size_t, 6> columns = {0, 1, 15, 16, 17, 31};
    for (std::size_t i = 0; i < columns.size(); ++i)
        TOKENLOUPE_COMPARE_EXACT(values[columns[i]], expected[qsizetype(i)]);
}

void TestDequantize::matchesDoubleLoops()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const TensorType type : computableTypes) {
        const int blockValues = int(traitsOf(type).blockValues);
        for (const int columns : {1, 15, 16, 33, 172, 32, 64, 256, 576, 1280, 2048, 2080}) {
            if (columns % blockValues != 0)
                continue;
            const RandomMatrix weights(type, 3, columns, 11U);
            for (int r = 0; r < 3; ++r) {
                const auto size = std::size_t(columns);
                FencedMemory<float> out(size);
                kernels.dequantizeRow(weights.matrix(), r, out.data());
                QVERIFY(out.isBandIntact());
                const std::vector<double> expected = weights.referenceRow(r);
                for (std::size_t c = 0; c < expected.size(); ++c)
                    TOKENLOUPE_COMPARE_EXACT(
                        out[c],
                        float(expected[c])); // one rounding: scale · q is exact in float32
            }
        }
    }
}

void TestDequantize::setsAgree()
{
    for (const TensorType type : computableTypes) {
        const std::size_t columns = traitsOf(type).blockValues > 32 ? 2048 : 2080;
        const RandomMatrix weights(type, 1, std::int64_t(columns), 12U);
        FencedMemory<float> expected(columns);
        cpuKernelsFor(IsaLevel::Portable)->dequantizeRow(weights.matrix(), 0, expected.data());
        for (const IsaLevel level : isaLevels) {
            if (const CpuKernels *kernels = cpuKernelsFor(level)) {
                FencedMemory<float> out(columns);
                kernels->dequantizeRow(weights.matrix(), 0, out.data());
                QVERIFY2(sameBits(out, expected), isaName(level));
            }
        }
    }
}

void TestDequantize::referenceBlocks()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    TOKENLOUPE_NEED_SHARED(path, "quants/dequant_cases.json");
    const nlohmann::json cases = readJson(path);
    int compared = 0;
    for (const auto &entry : cases.at("cases")) {
        const TensorTypeTraits *traits = tensorTypeTraits(entry.at("ggml_type_id").get<std::uint32_t>());
        QVERIFY(traits && traits->computable);
        QCOMPARE(QByteArray(traits->name), QByteArray::fromStdString(entry.at("type").get<std::string>()));
        const auto type = TensorType(entry.at("ggml_type_id").get<std::uint32_t>());
        for (const char *part : {"random_blocks", "quantised_vector"}) {
            if (!entry.contains(part)) // of types without a quantiser there are random blocks only
                continue;
            const auto &data = entry.at(part);
            const auto hex = QByteArray::fromStdString(data.at("bytes_hex").get<std::string>());
            const std::vector<float> values = dequantized(kernels, type, QByteArray::fromHex(hex));
            QCOMPARE(values.size(), data.at("expected").size());
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double expected = number(data.at("expected").at(i));
                QVERIFY2(isSame(double(values[i]), expected, 1e-6),
                         qPrintable(QString::fromLatin1(traits->name) + u' ' +
                                    mismatch(i, double(values[i]), expected)));
            }
            ++compared;
        }
    }
    QCOMPARE(compared, 23 + 8); // every block type, and those with a quantiser once more
}

void TestDequantize::referenceSixteenBitFloats()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    TOKENLOUPE_NEED_SHARED(path, "quants/dequant_cases.json");
    const nlohmann::json cases = readJson(path);
    const auto compare = [&](const char *list, const char *key, TensorType type) {
        QByteArray bytes;
        for (const auto &entry : cases.at(list)) {
            const QByteArray bigEndian =
                QByteArray::fromHex(QByteArray::fromStdString(entry.at(key).get<std::string>()));
            bytes += bigEndian[1];
            bytes += bigEndian[0];
        }
        const std::vector<float> values = dequantized(kernels, type, bytes);
        QCOMPARE(values.size(), cases.at(list).size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double expected = number(cases.at(list).at(i).at("value"));
            QVERIFY2(isSame(double(values[i]), expected, 0),
                     qPrintable(mismatch(i, double(values[i]), expected)));
            QVERIFY(std::isnan(expected) || std::signbit(values[i]) == std::signbit(expected));
        }
    };
    compare("f16", "f16_hex", TensorType::F16);
    compare("bf16", "bf16_hex", TensorType::BF16);
    for (const auto &entry : cases.at("f32_to_bf16_round_to_nearest_even")) {
        const auto expected = std::stoul(entry.at("bf16_hex").get<std::string>(), nullptr, 16);
        QCOMPARE(unsigned(floatToBfloat(entry.at("f32").get<float>())), unsigned(expected));
    }
}

TOKENLOUPE_TEST_MAIN(TestDequantize)
#include "tst_dequantize.moc"
