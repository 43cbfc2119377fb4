// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/weightlayout.h"

#include "kernels/cuda/weightplanes.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

/// Reads single values out of the planes, by what weightplanes.h says and with loops that share nothing with
/// the packing.
struct PlaneReader
{
    const std::byte *data;
    PlaneShape shape;
    PlaneOffsets offsets;

    int byte(std::uint64_t at) const { return std::to_integer<int>(data[at]); }
    int signedByte(std::uint64_t at) const { return byte(at) < 128 ? byte(at) : byte(at) - 256; }
    double half(std::uint64_t at) const
    {
        return referenceHalf(std::uint16_t(byte(at) + 256 * byte(at + 1)));
    }
    std::uint64_t codes(std::uint64_t unit) const { return unit * std::uint64_t(shape.codes) / 8; }
    std::uint64_t extra(std::uint64_t unit) const
    {
        return offsets.extra + unit * std::uint64_t(shape.extra) / 8;
    }
    std::uint64_t scales(std::uint64_t unit) const
    {
        return offsets.scales + unit * std::uint64_t(shape.scales) / 8;
    }
    std::uint64_t supers(std::uint64_t unit) const
    {
        return offsets.supers + unit / 8 * std::uint64_t(shape.supers);
    }
    /// Columns in halves, in order, in two bits, in one bit.
    int halves(std::uint64_t at, int i) const
    {
        return byte(at + std::uint64_t(i % 16)) >> (i / 16 * 4) & 15;
    }
    int inOrder(std::uint64_t at, int i) const { return byte(at + std::uint64_t(i / 2)) >> (i % 2 * 4) & 15; }
    int twoBits(std::uint64_t at, int i) const
    {
        return byte(at + std::uint64_t(i / 16 * 4 + i % 4)) >> (i / 4 % 4 * 2) & 3;
    }
    int oneBit(std::uint64_t at, int i) const { return byte(at + std::uint64_t(i % 4)) >> (i / 4) & 1; }
    int wholeByte(std::uint64_t unit, int i) const
    {
        return signedByte((i < 16 ? codes(unit) : extra(unit)) + std::uint64_t(i % 16));
    }
};

constexpr int levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr double fourBitFloats[16] = {0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6};

/// Column i of a unit.
double planeValue(TensorType type, const PlaneReader &p, std::uint64_t u, int i)
{
    const std::uint64_t codes = p.codes(u);
    const std::uint64_t scales = p.scales(u);
    const std::uint64_t sixteenth = scales + std::uint64_t(i / 16);
    switch (type) {
    case TensorType::Q4_0:
        return p.half(scales) * (p.halves(codes, i) - 8);
    case TensorType::Q4_1:
        return p.half(scales) * p.halves(codes, i) + p.half(scales + 2);
    case TensorType::Q5_0:
        return p.half(scales) * (p.halves(codes, i) + 16 * p.oneBit(p.extra(u), i) - 16);
    case TensorType::Q5_1:
        return p.half(scales) * (p.halves(codes, i) + 16 * p.oneBit(p.extra(u), i)) + p.half(scales + 2);
    case TensorType::Q8_0:
        return p.half(scales) * p.wholeByte(u, i);
    case TensorType::Q2_K:
        return p.half(p.supers(u)) * (p.byte(sixteenth) & 15) * p.twoBits(codes, i) -
               p.half(p.supers(u) + 2) * (p.byte(sixteenth) >> 4);
    case TensorType::Q3_K:
        return p.half(p.supers(u)) * p.signedByte(sixteenth) *
               (p.twoBits(codes, i) + 4 * p.oneBit(p.extra(u), i) - 4);
    case TensorType::Q4_K:
        return p.half(p.supers(u)) * p.byte(scales) * p.halves(codes, i) -
               p.half(p.supers(u) + 2) * p.byte(scales + 1);
    case TensorType::Q5_K:
        return p.half(p.supers(u)) * p.byte(scales) * (p.halves(codes, i) + 16 * p.oneBit(p.extra(u), i)) -
               p.half(p.supers(u) + 2) * p.byte(scales + 1);
    case TensorType::Q6_K:
        return p.half(p.supers(u)) * p.signedByte(sixteenth) *
               (p.halves(codes, i) + 16 * p.twoBits(p.extra(u), i) - 32);
    case TensorType::Q8_K: {
        float d = 0;
        std::memcpy(&d, p.data + p.supers(u), sizeof d);
        return double(d) * p.wholeByte(u, i);
    }
    case TensorType::IQ4_NL:
        return p.half(scales) * levels[p.inOrder(codes, i)];
    case TensorType::IQ4_XS:
        return p.half(p.supers(u)) * p.signedByte(scales) * levels[p.inOrder(codes, i)];
    case TensorType::MXFP4:
        return std::ldexp(fourBitFloats[p.inOrder(codes, i)], p.byte(scales) - 127);
    case TensorType::NVFP4: {
        const int scale = p.byte(sixteenth);
        const double d = scale == 127          ? 0
                         : scale / 8 % 16 == 0 ? std::ldexp(scale % 8, -9)
                                               : std::ldexp(8 + scale % 8, scale / 8 % 16 - 10);
        return d * fourBitFloats[p.inOrder(codes, i)];
    }
    case TensorType::TQ2_0:
        return p.half(p.supers(u)) * (p.twoBits(codes, i) - 1);
    default:
        return std::nan("");
    }
}

std::size_t fileBytes(TensorType type, std::int64_t rows, std::int64_t columns)
{
    return std::size_t(rows * columns) / traitsOf(type).blockValues * traitsOf(type).blockBytes;
}

std::vector<std::byte> packed(const RandomMatrix &file)
{
    const WeightMatrix matrix = file.matrix();
    std::vector<std::byte> image(std::size_t(deviceWeightBytes(matrix.type, matrix.rows, matrix.columns)));
    packDeviceRows(matrix.type, matrix.rows, matrix.columns, 0, matrix.rows, matrix.data, image.data());
    return image;
}

void addTypeRows()
{
    QTest::addColumn<TensorType>("type");
    for (const TensorType type : computableTypes)
        QTest::newRow(traitsOf(type).name) << type;
}

} // namespace

class TestWeightLayout : public QObject
{
    Q_OBJECT

private slots:
    void sizes_data() { addTypeRows(); }
    void sizes();
    void wrongShapes_data() { addTypeRows(); }
    void wrongShapes();
    void otherTypes();
    void planesHoldTheValues_data();
    void planesHoldTheValues();
    void partsMakeTheWhole_data() { addTypeRows(); }
    void partsMakeTheWhole();
    void largeMatrices();
};

/// No type takes much more on the device than in the file.
void TestWeightLayout::sizes()
{
    QFETCH(TensorType, type);
    const auto file = double(fileBytes(type, 512, 4096));
    const auto device = double(deviceWeightBytes(type, 512, 4096));
    QVERIFY2(device <= 1.04 * file + 4 * 256, qPrintable(QString::number(device / file)));
    // Q8_K's sums are not needed.
    QVERIFY2(device >= (type == TensorType::Q8_K ? 0.89 : 1.0) * file,
             qPrintable(QString::number(device / file)));
}

void TestWeightLayout::wrongShapes()
{
    QFETCH(TensorType, type);
    const std::int64_t columns = traitsOf(type).blockValues;
    QVERIFY(deviceWeightBytes(type, 1, columns) > 0);
    QCOMPARE(deviceWeightBytes(type, 0, columns), std::uint64_t(0));
    QCOMPARE(deviceWeightBytes(type, -1, columns), std::uint64_t(0));
    QCOMPARE(deviceWeightBytes(type, 1, 0), std::uint64_t(0));
    QCOMPARE(deviceWeightBytes(type, 1, -columns), std::uint64_t(0));
    QCOMPARE(deviceWeightBytes(type, std::int64_t(1) << 31, columns), std::uint64_t(0));
    QCOMPARE(deviceWeightBytes(type, 1, std::int64_t(1) << 31), std::uint64_t(0));
    QCOMPARE(hasQuantizedProduct(type, columns), columns > 1);
    if (columns > 1) {
        QCOMPARE(deviceWeightBytes(type, 1, columns - 1), std::uint64_t(0));
        QCOMPARE(deviceWeightBytes(type, 1, columns + 16), std::uint64_t(0));
        QCOMPARE(hasQuantizedProduct(type, columns + 16), false);
    }
    QCOMPARE(hasQuantizedProduct(type, 0), false);
}

void TestWeightLayout::otherTypes()
{
    for (const TensorType type : {TensorType::I8, TensorType::I32, TensorType::F64, TensorType::Q8_1}) {
        QCOMPARE(deviceWeightBytes(type, 4, 256), std::uint64_t(0));
        QCOMPARE(hasQuantizedProduct(type, 256), false);
    }
}

/// All but the types with codebooks and the ternary one in base 3, which tst_rowdecode reads back.
void TestWeightLayout::planesHoldTheValues_data()
{
    QTest::addColumn<TensorType>("type");
    for (const TensorType type :
         {TensorType::F32, TensorType::F16, TensorType::BF16, TensorType::Q4_0, TensorType::Q4_1,
          TensorType::Q5_0, TensorType::Q5_1, TensorType::Q8_0, TensorType::Q2_K, TensorType::Q3_K,
          TensorType::Q4_K, TensorType::Q5_K, TensorType::Q6_K, TensorType::Q8_K, TensorType::IQ4_NL,
          TensorType::IQ4_XS, TensorType::MXFP4, TensorType::NVFP4, TensorType::TQ2_0})
        QTest::newRow(traitsOf(type).name) << type;
}

void TestWeightLayout::planesHoldTheValues()
{
    QFETCH(TensorType, type);
    constexpr std::int64_t rows = 5;
    const std::int64_t columns = traitsOf(type).blockValues == 1 ? 173 : 512;
    const RandomMatrix file(type, rows, columns, 21U);
    const std::vector<std::byte> image = packed(file);
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::vector<double> expected = file.referenceRow(row);
        if (plainValueBytes(type) != 0) {
            const std::byte *line = image.data() + row * plainRowBytes(type, columns);
            QCOMPARE(referenceValues(type, line, columns), expected);
            QVERIFY(std::all_of(line + columns * plainValueBytes(type), line + plainRowBytes(type, columns),
                                [](std::byte byte) { return byte == std::byte(0); }));
            continue;
        }
        const PlaneShape shape = planeShapeOf(type);
        const PlaneReader reader{image.data(), shape,
                                 planeOffsetsOf(shape, std::uint64_t(rows * columns / 32))};
        for (std::int64_t column = 0; column < columns; ++column) {
            const auto unit = std::uint64_t(row * columns + column) / 32;
            const double got = planeValue(type, reader, unit, int(column % 32));
            if (std::isnan(got))
                QSKIP(
                    "of the types with codebooks the planes hold what the file holds; the device reads them");
            if (!(got == expected[std::size_t(column)]))
                QFAIL(qPrintable(QStringLiteral("column %1: %2 instead of %3")
                                     .arg(column)
                                     .arg(got)
                                     .arg(expected[std::size_t(column)])));
        }
    }
}

/// Threads may pack different rows in any order, and nothing but those is touched.
void TestWeightLayout::partsMakeTheWhole()
{
    QFETCH(TensorType, type);
    constexpr std::int64_t rows = 7;
    const std::int64_t columns = traitsOf(type).blockValues == 1 ? 31 : 256;
    const RandomMatrix file(type, rows, columns, 22U);
    const WeightMatrix matrix = file.matrix();
    const std::vector<std::byte> whole = packed(file);
    const std::size_t rowBytes = fileBytes(type, 1, columns);
    for (const std::byte fill : {std::byte(0), std::byte(0xA5)}) {
        std::vector<std::byte> parts(whole.size(), fill);
        packDeviceRows(type, rows, columns, 4, 3, matrix.data + 4 * rowBytes, parts.data());
        std::vector<std::byte> before = parts;
        packDeviceRows(type, rows, columns, 0, 1, matrix.data, parts.data());
        packDeviceRows(type, rows, columns, 1, 3, matrix.data + rowBytes, parts.data());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            // What was packed first is left alone, and all of it is as in one go (gaps between planes apart).
            QVERIFY(parts[i] == whole[i] || parts[i] == fill);
            QVERIFY(before[i] == parts[i] || before[i] == fill);
        }
        before = parts;
        packDeviceRows(type, rows, columns, 0, rows, matrix.data, parts.data());
        QVERIFY(parts == before);
    }
}

/// Sizes that 32 bits cannot hold.
void TestWeightLayout::largeMatrices()
{
    QCOMPARE(deviceWeightBytes(TensorType::F16, 262144, 16384), std::uint64_t(262144) * 16384 * 2);
    QCOMPARE(deviceWeightBytes(TensorType::Q8_0, 262144, 16384), std::uint64_t(262144) * 16384 / 32 * 34);
    QCOMPARE(deviceWeightBytes(TensorType::Q4_K, 262144, 16384), std::uint64_t(262144) * 16384 / 256 * 148);
    // The most units that have a number.
    QVERIFY(deviceWeightBytes(TensorType::Q4_0, 0x7FFFFFFF, 32) > 0);
    QCOMPARE(deviceWeightBytes(TensorType::Q4_0, 0x40000000, 64), std::uint64_t(0));
}

TOKENLOUPE_TEST_MAIN(TestWeightLayout)
#include "tst_weightlayout.moc"
