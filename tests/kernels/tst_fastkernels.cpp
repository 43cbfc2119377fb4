// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/fastkernels.h"
#include "kernels/formats/superblocks.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QString>
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

struct Shape
{
    int rows;
    int columns;
    int tokens;
};

// Single rows, stripes that are not full, odd numbers of blocks (the scales end within a line), more tokens
// than are worked on together.
const std::vector<Shape> shapes = {{1, 32, 1},   {3, 32, 2},   {16, 64, 3},   {17, 96, 9},   {48, 576, 1},
                                   {33, 576, 8}, {21, 800, 7}, {5, 1568, 17}, {40, 1536, 4}, {31, 160, 100},
                                   {3, 256, 2},  {17, 768, 9}, {33, 512, 1},  {50, 2304, 5}, {16, 256, 197}};

std::vector<TensorType> packableTypes()
{
    std::vector<TensorType> types;
    for (const TensorType type : computableTypes) {
        if (isPackable(type))
            types.push_back(type);
    }
    return types;
}

std::size_t packedSize(const WeightMatrix &w)
{
    return std::size_t(packedBytes(w.type, w.rows, w.columns));
}

/// Rows of very different size.
struct Input : FencedMemory<float>
{
    explicit Input(const Shape &shape)
        : FencedMemory<float>(std::size_t(shape.columns) * std::size_t(shape.tokens))
    {
        fillRandom(*this, 1.0F, 7U);
        for (std::size_t i = 0; i < size(); ++i)
            (*this)[i] *= std::ldexp(1.0F, int(i / std::size_t(shape.columns)) % 40 - 20);
    }
};

struct Quantized : FencedMemory<std::byte>
{
    Quantized(const FastKernels &kernels, const FencedMemory<float> &x, const Shape &shape)
        : FencedMemory<std::byte>(std::size_t(activationRowBytes(shape.columns) * shape.tokens))
    {
        for (int t = 0; t < shape.tokens; ++t)
            kernels.quantizeRow(x.data() + std::ptrdiff_t(t) * shape.columns, shape.columns,
                                data() + t * activationRowBytes(shape.columns));
    }
};

/// A block whose weights are all as far from zero as the type allows with 1.0 as its binary16 scales.
std::vector<std::byte> largestBlock(TensorType type)
{
    const TensorTypeTraits &traits = traitsOf(type);
    const bool zeros = type == TensorType::Q3_K || type == TensorType::Q6_K || type == TensorType::IQ4_NL ||
                       type == TensorType::IQ4_XS; // stand for the lowest number
    std::vector<std::byte> block(traits.blockBytes, std::byte(zeros ? 0 : 0xFF));
    const auto setOne = [&](std::size_t at) {
        block[at] = std::byte(0x00);
        block[at + 1] = std::byte(0x3C);
    };
    switch (type) {
    case TensorType::Q2_K:
        setOne(offsetof(BlockQ2_K, d));
        setOne(offsetof(BlockQ2_K, dmin));
        std::memset(block.data(), 0x0F, 16); // scales; no minima, which would take away from the rest
        break;
    case TensorType::Q3_K:
        setOne(offsetof(BlockQ3_K, d));
        break;
    case TensorType::Q4_K:
    case TensorType::Q5_K:
        setOne(0);
        setOne(2);
        std::memset(block.data() + 8, 0x00, 4); // the minima
        std::memset(block.data() + 12, 0x0F, 4);
        break;
    case TensorType::Q6_K:
        setOne(offsetof(BlockQ6_K, d));
        std::memset(block.data() + offsetof(BlockQ6_K, scales), 0x80, 16);
        break;
    case TensorType::Q8_0:
        setOne(0);
        std::memset(block.data() + 2, 0x80, 32);
        break;
    case TensorType::MXFP4:
        block[0] = std::byte(128);
        break;
    case TensorType::Q4_1:
    case TensorType::Q5_1:
        setOne(0);
        setOne(2);
        break;
    default:
        setOne(0);
    }
    return block;
}

/// What an ActivationRow stands for.
std::vector<double> valuesOf(const std::byte *row, int columns)
{
    ActivationRow head;
    std::memcpy(&head, row, sizeof head);
    std::vector<double> values;
    for (int c = 0; c < columns; ++c) {
        ActivationBlock block;
        std::memcpy(&block, row + sizeof head + c / 32 * std::ptrdiff_t(sizeof block), sizeof block);
        values.push_back(double(head.scale) * (128 * block.high[c % 32] + block.low[c % 32]));
    }
    return values;
}

} // namespace

#define FETCH_FAST_KERNELS(variable)                                                                         \
    QFETCH(IsaLevel, isa);                                                                                   \
    const FastKernels *variable##Found = fastKernelsFor(isa);                                                \
    if (!variable##Found)                                                                                    \
        QSKIP("this processor does not have the instruction set");                                           \
    const FastKernels &variable = *variable##Found

#define FETCH_SHAPE()                                                                                        \
    QFETCH(TensorType, type);                                                                                \
    QFETCH(int, rows);                                                                                       \
    QFETCH(int, columns);                                                                                    \
    QFETCH(int, tokens);                                                                                     \
    const Shape shape{rows, columns, tokens};                                                                \
    const RandomMatrix weights(type, rows, columns, 3U);                                                     \
    FencedMemory<std::byte> stripes(packedSize(weights.matrix()));                                           \
    packStripes(weights.matrix(), 0, stripesOf(rows), stripes.data());                                       \
    const PackedMatrix matrix                                                                                \
    {                                                                                                        \
        type, rows, columns, stripes.data()                                                                  \
    }

class TestFastKernels : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void packingLosesNothing_data() { addShapeRows(); }
    void packingLosesNothing();
    void quantizesToTheNearest_data() { addIsaRows(); }
    void quantizesToTheNearest();
    void rowsWithoutAScale_data() { addIsaRows(); }
    void rowsWithoutAScale();
    void matchesDoubleLoops_data() { addRows(); }
    void matchesDoubleLoops();
    void writesOnlyItsStripes_data() { addRows(); }
    void writesOnlyItsStripes();
    void tokensDoNotMeet_data() { addRows(); }
    void tokensDoNotMeet();
    void allSetsGiveTheSameBits_data() { addShapeRows(); }
    void allSetsGiveTheSameBits();
    void largestNumbersStayExact_data() { addRows(); }
    void largestNumbersStayExact();

private:
    static void addShapes(const QByteArray &name, TensorType type, const IsaLevel *level)
    {
        for (const Shape &shape : shapes) {
            const QByteArray row = name + ' ' + traitsOf(type).name + ' ' + QByteArray::number(shape.rows) +
                                   'x' + QByteArray::number(shape.columns) + " t" +
                                   QByteArray::number(shape.tokens);
            if (shape.columns % int(traitsOf(type).blockValues) != 0)
                continue;
            QTestData &data = QTest::newRow(row.constData());
            if (level)
                data << *level;
            data << type << shape.rows << shape.columns << shape.tokens;
        }
    }
    static void addShapeColumns()
    {
        QTest::addColumn<TensorType>("type");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("columns");
        QTest::addColumn<int>("tokens");
    }
    static void addRows()
    {
        QTest::addColumn<IsaLevel>("isa");
        addShapeColumns();
        for (const IsaLevel level : isaLevels) {
            for (const TensorType type : packableTypes())
                addShapes(isaName(level), type, &level);
        }
    }
    static void addShapeRows()
    {
        addShapeColumns();
        for (const TensorType type : packableTypes())
            addShapes("all", type, nullptr);
    }
};

void TestFastKernels::packingLosesNothing()
{
    FETCH_SHAPE();
    QVERIFY(stripes.isBandIntact());
    for (std::size_t i = 0; i < stripes.size(); i += 64) {
        // Every line is written: nothing of what was in memory before shows.
        bool untouched = true;
        for (std::size_t k = 0; k < 64; ++k)
            untouched = untouched && stripes.isUntouched(i + k);
        QVERIFY(!untouched);
    }
    const std::size_t rowBytes =
        std::size_t(columns) / traitsOf(type).blockValues * traitsOf(type).blockBytes;
    for (int r = 0; r < rows; ++r) {
        FencedMemory<std::byte> row(rowBytes);
        unpackRow(matrix, r, row.data());
        QVERIFY(row.isBandIntact());
        QVERIFY(std::memcmp(row.data(), weights.matrix().data + std::size_t(r) * rowBytes, rowBytes) == 0);
    }
    // In parts it is the same.
    FencedMemory<std::byte> parts(packedSize(weights.matrix()));
    for (std::int64_t s = stripesOf(rows); s-- > 0;)
        packStripes(weights.matrix(), s, s + 1, parts.data());
    QVERIFY(sameBits(stripes, parts));
    Q_UNUSED(tokens);
    Q_UNUSED(shape);
}

void TestFastKernels::quantizesToTheNearest()
{
    FETCH_FAST_KERNELS(kernels);
    const Shape shape{1, 608, 40};
    const Input x(shape);
    const Quantized rows(kernels, x, shape);
    QVERIFY(rows.isBandIntact());
    for (int t = 0; t < shape.tokens; ++t) {
        const float *values = x.data() + std::ptrdiff_t(t) * shape.columns;
        const std::byte *row = rows.data() + t * activationRowBytes(shape.columns);
        double largest = 0;
        for (int c = 0; c < shape.columns; ++c)
            largest = std::max(largest, std::abs(double(values[c])));
        const double step = largest / (127 * 128);
        const std::vector<double> read = valuesOf(row, shape.columns);
        for (int c = 0; c < shape.columns; ++c)
            QVERIFY(std::abs(read[std::size_t(c)] - double(values[c])) <=
                    0.503 * step); // the rest: float32 of 15 bits
        for (int b = 0; b < shape.columns / 32; ++b) {
            ActivationBlock block;
            std::memcpy(&block, row + sizeof(ActivationRow) + std::size_t(b) * sizeof block, sizeof block);
            int sums[2] = {0, 0};
            for (int i = 0; i < 32; ++i) {
                QVERIFY(block.low[i] >= -64 && block.low[i] <= 63 && block.high[i] >= -127);
                sums[i / 16] += 128 * block.high[i] + block.low[i];
            }
            QCOMPARE(block.halfSum[0], sums[0]);
            QCOMPARE(block.halfSum[1], sums[1]);
            QCOMPARE(block.sum, sums[0] + sums[1]);
            TOKENLOUPE_COMPARE_EXACT(block.floatSum, block.sum);
            ActivationWords words;
            std::memcpy(&words, row + activationWordsAt(shape.columns) + std::size_t(b) * sizeof words,
                        sizeof words);
            for (int i = 0; i < 32; i += 4) {
                for (const auto &[at, value] : {std::pair(0, 0), {1, 2}, {2, 1}, {3, 3}})
                    QCOMPARE(int(words.value[i + at]), 128 * block.high[i + value] + block.low[i + value]);
            }
            ActivationSums floatSums;
            std::memcpy(&floatSums, row + activationSumsAt(shape.columns) + std::size_t(b) * sizeof floatSums,
                        sizeof floatSums);
            TOKENLOUPE_COMPARE_EXACT(floatSums.half[0], sums[0]);
            TOKENLOUPE_COMPARE_EXACT(floatSums.half[1], sums[1]);
            TOKENLOUPE_COMPARE_EXACT(floatSums.whole, block.sum);
        }
    }
}

void TestFastKernels::rowsWithoutAScale()
{
    FETCH_FAST_KERNELS(kernels);
    const RandomMatrix weights(TensorType::Q4_1, 16, 64, 3U);
    FencedMemory<std::byte> stripes(packedSize(weights.matrix()));
    packStripes(weights.matrix(), 0, 1, stripes.data());
    const auto product = [&](float special, std::size_t at) {
        const Shape shape{16, 64, 1};
        FencedMemory<float> x(64);
        fillRandom(x, special == 0.0F ? 0.0F : 1.0F, 7U);
        x[at] = special;
        const Quantized row(kernels, x, shape);
        std::vector<float> y(16);
        kernels.matmul({TensorType::Q4_1, 16, 64, stripes.data()}, row.data(), 1, y.data(), 16, 0, 1);
        return y;
    };
    for (const float y : product(0.0F, 0))
        QVERIFY(y == 0.0F);
    for (const float y : product(1e-38F, 63)) // too small beside the rest to count, but no harm
        QVERIFY(std::isfinite(y));
    for (const float special : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
        for (const float y : product(special, 33))
            QVERIFY(std::isnan(y));
    }
}

void TestFastKernels::matchesDoubleLoops()
{
    FETCH_FAST_KERNELS(kernels);
    FETCH_SHAPE();
    const Input x(shape);
    const Quantized input(kernels, x, shape);
    const int yStride = rows + 5;
    FencedMemory<float> y(std::size_t(yStride * (tokens - 1) + rows));
    kernels.matmul(matrix, input.data(), tokens, y.data(), yStride, 0, stripesOf(rows));
    QVERIFY(y.isBandIntact());
    for (int t = 0; t < tokens; ++t) {
        const std::vector<double> values = valuesOf(input.data() + t * activationRowBytes(columns), columns);
        for (int r = 0; r < rows; ++r) {
            const std::vector<double> w = weights.referenceRow(r);
            double expected = 0;
            double magnitude = 0;
            for (int c = 0; c < columns; ++c) {
                expected += w[std::size_t(c)] * values[std::size_t(c)];
                magnitude += std::abs(w[std::size_t(c)] * values[std::size_t(c)]);
            }
            // What a float32 sum of the blocks may lose.
            const double allowed = 1e-6 * magnitude + 1e-30;
            const double got = double(y[std::size_t(t * yStride + r)]);
            QVERIFY2(std::abs(got - expected) <= allowed,
                     qPrintable(QStringLiteral("row %1 token %2: %3 instead of %4")
                                    .arg(r)
                                    .arg(t)
                                    .arg(got, 0, 'g', 9)
                                    .arg(expected, 0, 'g', 9)));
        }
    }
}

void TestFastKernels::writesOnlyItsStripes()
{
    FETCH_FAST_KERNELS(kernels);
    FETCH_SHAPE();
    const Input x(shape);
    const Quantized input(kernels, x, shape);
    const int yStride = rows + 5;
    const std::size_t size = std::size_t(yStride * (tokens - 1) + rows);
    FencedMemory<float> whole(size);
    kernels.matmul(matrix, input.data(), tokens, whole.data(), yStride, 0, stripesOf(rows));
    FencedMemory<float> parts(size);
    for (std::int64_t s = stripesOf(rows); s-- > 0;) {
        kernels.matmul(matrix, input.data(), tokens, parts.data(), yStride, s, s + 1);
        for (int t = 0; t < tokens; ++t) {
            for (int r = 0; r < rows; ++r)
                QCOMPARE(parts.isUntouched(std::size_t(t * yStride + r)), r < 16 * s);
        }
    }
    QVERIFY(sameBits(whole, parts));
    for (std::size_t i = 0; i < size; ++i) {
        if (int(i) % yStride >= rows)
            QVERIFY(whole.isUntouched(i));
    }
}

void TestFastKernels::tokensDoNotMeet()
{
    FETCH_FAST_KERNELS(kernels);
    FETCH_SHAPE();
    const Input x(shape);
    const Quantized input(kernels, x, shape);
    FencedMemory<float> together(std::size_t(rows * tokens));
    kernels.matmul(matrix, input.data(), tokens, together.data(), rows, 0, stripesOf(rows));
    FencedMemory<float> alone(std::size_t(rows * tokens));
    for (int t = 0; t < tokens; ++t)
        kernels.matmul(matrix, input.data() + t * activationRowBytes(columns), 1, alone.data() + t * rows,
                       rows, 0, stripesOf(rows));
    QVERIFY(sameBits(together, alone));
}

void TestFastKernels::allSetsGiveTheSameBits()
{
    FETCH_SHAPE();
    const Input x(shape);
    const FastKernels &portable = *fastKernelsFor(IsaLevel::Portable);
    const Quantized input(portable, x, shape);
    FencedMemory<float> expected(std::size_t(rows * tokens));
    portable.matmul(matrix, input.data(), tokens, expected.data(), rows, 0, stripesOf(rows));
    for (const IsaLevel level : isaLevels) {
        const FastKernels *kernels = fastKernelsFor(level);
        if (!kernels)
            continue;
        const std::int64_t rowBytes = activationRowBytes(columns);
        const std::size_t used = sizeof(ActivationRow) + std::size_t(columns / 32) * sizeof(ActivationBlock);
        const Quantized own(*kernels, x, shape);
        for (int t = 0; t < tokens; ++t)
            QVERIFY(std::memcmp(own.data() + t * rowBytes, input.data() + t * rowBytes, used) == 0);
        FencedMemory<float> y(std::size_t(rows * tokens));
        kernels->matmul(matrix, own.data(), tokens, y.data(), rows, 0, stripesOf(rows));
        QVERIFY2(sameBits(y, expected), kernels->name);
    }
}

/// Codes and activations as large as they get: nothing saturates, nothing wraps round.
void TestFastKernels::largestNumbersStayExact()
{
    FETCH_FAST_KERNELS(kernels);
    FETCH_SHAPE();
    const std::size_t rowBytes =
        std::size_t(columns) / traitsOf(type).blockValues * traitsOf(type).blockBytes;
    std::vector<std::byte> file;
    const std::vector<std::byte> block = largestBlock(type);
    while (file.size() < rowBytes * std::size_t(rows))
        file.insert(file.end(), block.begin(), block.end());
    packStripes({type, rows, columns, file.data()}, 0, stripesOf(rows), stripes.data());
    for (const float sign : {1.0F, -1.0F}) {
        FencedMemory<float> x(std::size_t(columns * tokens));
        for (float &value : x)
            value = sign * 16256.0F;
        const Quantized input(kernels, x, shape);
        FencedMemory<float> y(std::size_t(rows * tokens));
        kernels.matmul(matrix, input.data(), tokens, y.data(), rows, 0, stripesOf(rows));
        const std::vector<double> w = referenceValues(type, file.data(), columns);
        double expected = 0;
        for (const double value : w)
            expected += value * double(sign) * 16256.0;
        for (const float got : y)
            QVERIFY(std::abs(double(got) - expected) <= 1e-6 * std::abs(expected));
    }
}

TOKENLOUPE_TEST_MAIN(TestFastKernels)
#include "tst_fastkernels.moc"
