// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <QString>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

struct Shape
{
    int rows;
    int columns;
    int tokens;
};

// Odd widths (tails), single rows, more blocks than scales are converted at a time (2080 = 65 blocks), more
// columns and tokens than an unpacked tile has.
const std::vector<Shape> plainShapes = {{1, 1, 1},    {3, 5, 2},    {5, 15, 1},   {9, 16, 3},  {17, 17, 5},
                                        {6, 172, 1},  {13, 172, 4}, {4, 576, 7},  {2, 785, 2}, {5, 1600, 3},
                                        {11, 47, 97}, {8, 1553, 1}, {3, 172, 200}};
const std::vector<Shape> blockShapes = {{1, 32, 1},   {3, 32, 2},   {9, 64, 3},   {17, 96, 5},
                                        {6, 576, 1},  {13, 576, 4}, {4, 800, 7},  {5, 1568, 2},
                                        {3, 2080, 3}, {7, 2080, 1}, {11, 64, 97}, {3, 96, 200}};
// For blocks of 64 and 256: one block, more than an unpacked tile (768), the same in numbers that are not its
// multiples.
const std::vector<Shape> superShapes = {{1, 256, 1},   {3, 256, 2},  {9, 512, 3},  {6, 768, 1},
                                        {13, 768, 4},  {4, 1280, 7}, {7, 2304, 1}, {5, 1024, 2},
                                        {11, 256, 97}, {3, 512, 100}};

/// Input and output with gaps between the tokens, the output's rows from 2 on.
struct Call
{
    static constexpr int xGap = 3;
    static constexpr int yGap = 5;

    Call(const Shape &shape)
        : xStride(shape.columns + xGap)
        , yStride(shape.rows + yGap)
        , x(std::size_t(xStride * (shape.tokens - 1) + shape.columns))
    {
        fillRandom(x, 1.0F, 7U);
    }

    std::size_t outputSize(const Shape &shape) const
    {
        return std::size_t(yStride * (shape.tokens - 1) + shape.rows);
    }

    int xStride;
    int yStride;
    FencedMemory<float> x;
};

} // namespace

class TestMatmul : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void matchesDoubleLoops_data() { addRows(); }
    void matchesDoubleLoops();
    void writesOnlyItsRows_data() { addRows(); }
    void writesOnlyItsRows();
    void tokensDoNotMeet_data() { addRows(); }
    void tokensDoNotMeet();
    void tokenCountsDoNotMatter_data() { addIsaRows(); }
    void tokenCountsDoNotMatter();
    void rowSplitsDoNotMatter_data() { addRows(); }
    void rowSplitsDoNotMatter();
    void avx2EqualsAvx512_data() { addShapeRows(); }
    void avx2EqualsAvx512();
    void followsTheOrderOfSummation_data() { addIsaRows(); }
    void followsTheOrderOfSummation();
    void noTokensWriteNothing_data() { addIsaRows(); }
    void noTokensWriteNothing();
    void oneTokensNanStaysThere_data() { addIsaRows(); }
    void oneTokensNanStaysThere();

private:
    static void addShapes(const QByteArray &name, TensorType type, const IsaLevel *level)
    {
        const auto blockValues = traitsOf(type).blockValues;
        for (const Shape &shape : blockValues == 1    ? plainShapes
                                  : blockValues == 32 ? blockShapes
                                                      : superShapes) {
            const QByteArray row = name + ' ' + traitsOf(type).name + ' ' + QByteArray::number(shape.rows) +
                                   'x' + QByteArray::number(shape.columns) + " t" +
                                   QByteArray::number(shape.tokens);
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
            for (const TensorType type : computableTypes)
                addShapes(isaName(level), type, &level);
        }
    }
    static void addShapeRows()
    {
        addShapeColumns();
        for (const TensorType type : computableTypes)
            addShapes("both", type, nullptr);
    }
};

#define FETCH_SHAPE()                                                                                        \
    QFETCH(TensorType, type);                                                                                \
    QFETCH(int, rows);                                                                                       \
    QFETCH(int, columns);                                                                                    \
    QFETCH(int, tokens);                                                                                     \
    const Shape shape{rows, columns, tokens};                                                                \
    const RandomMatrix weights(type, rows, columns, 3U);                                                     \
    const Call call(shape)

void TestMatmul::matchesDoubleLoops()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    FETCH_SHAPE();
    FencedMemory<float> y(call.outputSize(shape));
    kernels.matmul(weights.matrix(), call.x.data(), call.xStride, tokens, y.data(), call.yStride, 0, rows);
    QVERIFY(y.isBandIntact());
    for (int r = 0; r < rows; ++r) {
        const std::vector<double> w = weights.referenceRow(r);
        for (int t = 0; t < tokens; ++t) {
            double expected = 0;
            double magnitude = 0;
            for (int c = 0; c < columns; ++c) {
                const double product = w[std::size_t(c)] * double(call.x[std::size_t(t * call.xStride + c)]);
                expected += product;
                magnitude += std::abs(product);
            }
            // Each of columns / 16 additions, the four of the tree, the weight and the product round by
            // 2^-24.
            const double bound = (columns / 16 + 7) * std::ldexp(magnitude, -24) * 1.01;
            const double got = double(y[std::size_t(t * call.yStride + r)]);
            QVERIFY2(std::abs(got - expected) <= bound,
                     qPrintable(QStringLiteral("row %1 token %2: %3 instead of %4")
                                    .arg(r)
                                    .arg(t)
                                    .arg(got, 0, 'g', 10)
                                    .arg(expected, 0, 'g', 10)));
        }
    }
}

void TestMatmul::writesOnlyItsRows()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    FETCH_SHAPE();
    const int begin = rows / 3;
    const int end = rows - rows / 4;
    FencedMemory<float> y(call.outputSize(shape));
    kernels.matmul(weights.matrix(), call.x.data(), call.xStride, tokens, y.data(), call.yStride, begin, end);
    QVERIFY(y.isBandIntact());
    for (std::size_t i = 0; i < y.size(); ++i) {
        const int row = int(i) % call.yStride;
        QCOMPARE(y.isUntouched(i), row < begin || row >= end);
    }
}

void TestMatmul::tokensDoNotMeet()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    FETCH_SHAPE();
    FencedMemory<float> together(call.outputSize(shape));
    FencedMemory<float> alone(call.outputSize(shape));
    const WeightMatrix w = weights.matrix();
    kernels.matmul(w, call.x.data(), call.xStride, tokens, together.data(), call.yStride, 0, rows);
    for (int t = 0; t < tokens; ++t)
        kernels.matmul(w, call.x.data() + t * call.xStride, call.xStride, 1, alone.data() + t * call.yStride,
                       call.yStride, 0, rows);
    QVERIFY(sameBits(together, alone));
}

void TestMatmul::tokenCountsDoNotMatter()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const Shape shape{7, 256, 40};
    const Call call(shape);
    for (const TensorType type : computableTypes) {
        const RandomMatrix weights(type, shape.rows, shape.columns, 9U);
        const WeightMatrix w = weights.matrix();
        FencedMemory<float> all(call.outputSize(shape));
        kernels.matmul(w, call.x.data(), call.xStride, shape.tokens, all.data(), call.yStride, 0, shape.rows);
        for (int tokens = 1; tokens < shape.tokens; ++tokens) {
            FencedMemory<float> some(call.outputSize({shape.rows, shape.columns, tokens}));
            kernels.matmul(w, call.x.data(), call.xStride, tokens, some.data(), call.yStride, 0, shape.rows);
            QVERIFY2(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)) == 0,
                     qPrintable(QStringLiteral("%1, %2 tokens")
                                    .arg(QString::fromLatin1(traitsOf(type).name))
                                    .arg(tokens)));
        }
    }
}

void TestMatmul::rowSplitsDoNotMatter()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    FETCH_SHAPE();
    FencedMemory<float> whole(call.outputSize(shape));
    const WeightMatrix w = weights.matrix();
    kernels.matmul(w, call.x.data(), call.xStride, tokens, whole.data(), call.yStride, 0, rows);
    for (const int part : {1, 2, 3, 5}) {
        FencedMemory<float> parts(call.outputSize(shape));
        for (int begin = 0; begin < rows; begin += part)
            kernels.matmul(w, call.x.data(), call.xStride, tokens, parts.data(), call.yStride, begin,
                           std::min(begin + part, rows));
        QVERIFY2(sameBits(whole, parts), qPrintable(QStringLiteral("in parts of %1 rows").arg(part)));
    }
}

void TestMatmul::avx2EqualsAvx512()
{
    const CpuKernels *narrow = cpuKernelsFor(IsaLevel::Avx2);
    const CpuKernels *wide = cpuKernelsFor(IsaLevel::Avx512);
    if (!narrow || !wide)
        QSKIP("this processor does not have both instruction sets");
    FETCH_SHAPE();
    FencedMemory<float> a(call.outputSize(shape));
    FencedMemory<float> b(call.outputSize(shape));
    narrow->matmul(weights.matrix(), call.x.data(), call.xStride, tokens, a.data(), call.yStride, 0, rows);
    wide->matmul(weights.matrix(), call.x.data(), call.xStride, tokens, b.data(), call.yStride, 0, rows);
    QVERIFY(sameBits(a, b));
}

// Values so far apart that every other order gives another sum.
void TestMatmul::followsTheOrderOfSummation()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    constexpr int columns = 40;
    FencedMemory<float> w(columns);
    FencedMemory<float> x(columns);
    for (std::size_t c = 0; c < columns; ++c) {
        w[c] = 1.0F;
        x[c] = std::ldexp(c % 3 == 0 ? -1.0F : 1.0F, int(c * 13 % 47));
    }
    float lanes[16] = {};
    for (std::size_t c = 0; c < columns; ++c)
        lanes[c % 16] += x[c];
    for (int width = 8; width > 0; width /= 2) {
        for (int l = 0; l < width; ++l)
            lanes[l] += lanes[l + width];
    }
    const WeightMatrix matrix{TensorType::F32, 1, columns, reinterpret_cast<const std::byte *>(w.data())};
    float y[2] = {};
    kernels.matmul(matrix, x.data(), columns, 1, y, 1, 0, 1);
    TOKENLOUPE_COMPARE_EXACT(y[0], lanes[0]);
    kernels.matmul(matrix, x.data(), 0, 2, y, 1, 0, 1);
    TOKENLOUPE_COMPARE_EXACT(y[0], lanes[0]);
    TOKENLOUPE_COMPARE_EXACT(y[1], lanes[0]);
    TOKENLOUPE_COMPARE_EXACT(kernels.dot(w.data(), x.data(), columns), lanes[0]);
}

void TestMatmul::noTokensWriteNothing()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const RandomMatrix weights(TensorType::Q4_1, 4, 64, 1U);
    FencedMemory<float> x(64);
    FencedMemory<float> y(4);
    kernels.matmul(weights.matrix(), x.data(), 64, 0, y.data(), 4, 0, 4);
    kernels.matmul(weights.matrix(), x.data(), 64, 1, y.data(), 4, 2, 2);
    kernels.matmul(weights.matrix(), x.data(), 64, 2, y.data(), 0, 3, 3);
    for (std::size_t i = 0; i < y.size(); ++i)
        QVERIFY(y.isUntouched(i));
}

void TestMatmul::oneTokensNanStaysThere()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    constexpr int rows = 9;
    constexpr int columns = 256;
    constexpr int tokens = 5;
    for (const TensorType type : computableTypes) {
        const RandomMatrix weights(type, rows, columns, 2U);
        FencedMemory<float> x(columns * tokens);
        fillRandom(x, 1.0F, 5U);
        x[3 * columns + 50] = std::numeric_limits<float>::quiet_NaN();
        FencedMemory<float> y(rows * tokens);
        kernels.matmul(weights.matrix(), x.data(), columns, tokens, y.data(), rows, 0, rows);
        for (std::size_t i = 0; i < y.size(); ++i)
            QCOMPARE(std::isnan(y[i]), i / rows == 3);
    }
}

TOKENLOUPE_TEST_MAIN(TestMatmul)
#include "tst_matmul.moc"
