// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/attentionkernels.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr std::int64_t widths[] = {1, 15, 16, 20, 64, 80, 131};
constexpr TensorType plainTypes[] = {TensorType::F32, TensorType::F16, TensorType::BF16};

std::int64_t roundedUp(std::int64_t n)
{
    return (n + 15) / 16 * 16;
}

/// Keys or values as attention reads them, and the same as float32.
struct StoredRows
{
    StoredRows(const CpuKernels &kernels, TensorType storedType, std::int64_t rowCount, std::int64_t columns,
               unsigned seed)
        : type(storedType)
        , count(rowCount)
        , width(columns)
        , bytes(std::size_t(rowCount * columns) * (storedType == TensorType::F32 ? 4 : 2))
        , floats(std::size_t(rowCount * columns))
    {
        fillRandom(floats, 2.0F, seed);
        kernels.quantizeRow(type, floats.data(), count * width, bytes.data());
        kernels.dequantizeRow({type, 1, count * width, bytes.data()}, 0, floats.data());
    }
    WeightMatrix matrix() const { return {type, count, width, bytes.data()}; }
    const float *row(std::int64_t i) const { return floats.data() + i * width; }

    TensorType type;
    std::int64_t count;
    std::int64_t width;
    FencedMemory<std::byte> bytes;
    FencedMemory<float> floats;
};

} // namespace

/// The kernels of attention against those that it is defined by, to the bit, and against plain loops.
class TestAttentionKernels : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void scoresAreDotProducts_data() { addIsaRows(); }
    void scoresAreDotProducts();
    void tilesAreDotProducts_data() { addIsaRows(); }
    void tilesAreDotProducts();
    void turnsRows_data() { addIsaRows(); }
    void turnsRows();
    void weighsInTurn_data() { addIsaRows(); }
    void weighsInTurn();
    void softmaxOfAPiece_data() { addIsaRows(); }
    void softmaxOfAPiece();
    void mergesSums_data() { addIsaRows(); }
    void mergesSums();
    void avx2EqualsAvx512();
};

void TestAttentionKernels::scoresAreDotProducts()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const AttentionKernels &attention = *attentionKernelsFor(kernels.level);
    for (const TensorType type : plainTypes) {
        for (const std::int64_t width : widths) {
            const std::int64_t stride = roundedUp(width);
            for (const std::int64_t keys : {1, 4, 7}) {
                const StoredRows stored(kernels, type, keys, width, unsigned(width));
                for (std::int64_t lanes = 1; lanes <= 8; ++lanes) {
                    FencedMemory<float> queries(std::size_t((lanes - 1) * stride + width));
                    fillRandom(queries, 2.0F, unsigned(lanes));
                    const std::int64_t scoreStride = keys + 2;
                    FencedMemory<float> scores(std::size_t((lanes - 1) * scoreStride + keys));
                    attention.scoreRows(stored.matrix(), queries.data(), stride, lanes, scores.data(),
                                        scoreStride);
                    QVERIFY(scores.isBandIntact());
                    for (std::int64_t lane = 0; lane < lanes; ++lane) {
                        for (std::int64_t i = 0; i < keys; ++i) {
                            const float expected =
                                kernels.dot(queries.data() + lane * stride, stored.row(i), width);
                            TOKENLOUPE_COMPARE_EXACT(scores[std::size_t(lane * scoreStride + i)], expected);
                        }
                        if (lane + 1 < lanes)
                            QVERIFY(scores.isUntouched(std::size_t(lane * scoreStride + keys)));
                    }
                }
            }
        }
    }
}

void TestAttentionKernels::tilesAreDotProducts()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const AttentionKernels &attention = *attentionKernelsFor(kernels.level);
    for (const std::int64_t width : widths) {
        const std::int64_t columns = roundedUp(width);
        for (const std::int64_t keys : {1, 16, 20, 32, 48}) {
            const StoredRows stored(kernels, TensorType::F16, keys, width, unsigned(width));
            const std::int64_t stride = roundedUp(keys);
            FencedMemory<float> turned(std::size_t(columns * stride));
            std::fill(turned.begin(), turned.end(), std::numeric_limits<float>::quiet_NaN());
            attention.transposeRows(stored.matrix(), turned.data(), stride);
            for (const std::int64_t lanes : {1, 2, 5}) {
                FencedMemory<float> queries(std::size_t(lanes * columns));
                fillRandom(queries, 2.0F, unsigned(lanes));
                for (std::int64_t lane = 0; lane < lanes; ++lane)
                    std::fill_n(queries.data() + lane * columns + width, columns - width, 0.0F);
                FencedMemory<float> scores(std::size_t(lanes * stride));
                attention.scoreTile(turned.data(), stride, columns, queries.data(), columns, lanes,
                                    scores.data(), stride);
                QVERIFY(scores.isBandIntact());
                for (std::int64_t lane = 0; lane < lanes; ++lane) {
                    for (std::int64_t i = 0; i < keys; ++i) {
                        const float expected =
                            kernels.dot(queries.data() + lane * columns, stored.row(i), width);
                        TOKENLOUPE_COMPARE_EXACT(scores[std::size_t(lane * stride + i)], expected);
                    }
                }
            }
        }
    }
}

void TestAttentionKernels::turnsRows()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const AttentionKernels &attention = *attentionKernelsFor(kernels.level);
    for (const TensorType type : plainTypes) {
        for (const std::int64_t width : widths) {
            for (const std::int64_t rows : {1, 9, 16, 33}) {
                const StoredRows stored(kernels, type, rows, width, 3U);
                const std::int64_t stride = rows + 3;
                FencedMemory<float> out(std::size_t((roundedUp(width) - 1) * stride + rows));
                attention.transposeRows(stored.matrix(), out.data(), stride);
                QVERIFY(out.isBandIntact());
                for (std::int64_t c = 0; c < roundedUp(width); ++c) {
                    for (std::int64_t r = 0; r < rows; ++r) {
                        const float expected = c < width ? stored.row(r)[c] : 0.0F;
                        TOKENLOUPE_COMPARE_EXACT(out[std::size_t(c * stride + r)], expected);
                    }
                    if (c > 0)
                        QVERIFY(out.isUntouched(std::size_t(c * stride - 1)));
                }
            }
        }
    }
}

void TestAttentionKernels::weighsInTurn()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const AttentionKernels &attention = *attentionKernelsFor(kernels.level);
    for (const TensorType type : plainTypes) {
        for (const std::int64_t width : widths) {
            for (const std::int64_t rows : {0, 1, 7}) {
                const StoredRows stored(kernels, type, rows, width, 7U);
                for (std::int64_t lanes = 1; lanes <= 8; ++lanes) {
                    const std::int64_t stride = width + 1;
                    FencedMemory<float> weights(std::size_t(lanes * 8));
                    FencedMemory<float> out(std::size_t(lanes * stride - 1));
                    FencedMemory<float> expected(std::size_t(lanes * stride - 1));
                    fillRandom(weights, 1.0F, 5U);
                    fillRandom(out, 2.0F, 6U);
                    std::copy(out.begin(), out.end(), expected.begin());
                    for (std::int64_t lane = 0; lane < lanes; ++lane) {
                        for (std::int64_t i = 0; i < rows; ++i)
                            kernels.axpy(weights[std::size_t(lane * 8 + i)], stored.row(i), width,
                                         expected.data() + lane * stride);
                    }
                    attention.weighRows(stored.matrix(), weights.data(), 8, lanes, out.data(), stride);
                    QVERIFY(out.isBandIntact());
                    QVERIFY(sameBits(out, expected));
                }
            }
        }
    }
}

void TestAttentionKernels::softmaxOfAPiece()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const AttentionKernels &attention = *attentionKernelsFor(kernels.level);
    for (const std::size_t n : {1U, 2U, 15U, 16U, 17U, 100U, 128U, 256U}) {
        FencedMemory<float> x(n);
        fillRandom(x, 60.0F, unsigned(n));
        if (n > 2)
            x[n / 2] = -std::numeric_limits<float>::infinity();
        const std::vector<float> given(x.begin(), x.end());
        float largest = 0.0F;
        float sum = 0.0F;
        attention.softmaxPiece(x.data(), std::int64_t(n), &largest, &sum);
        QVERIFY(x.isBandIntact());
        TOKENLOUPE_COMPARE_EXACT(largest, *std::max_element(given.begin(), given.end()));
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double expected = std::exp(double(given[i] - largest));
            QVERIFY(std::abs(double(x[i]) - expected) <= 1.3e-7 * expected + 1e-45);
            total += double(x[i]);
        }
        QVERIFY(std::abs(double(sum) - total) <= 1e-6 * total);
    }
}

void TestAttentionKernels::mergesSums()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const AttentionKernels &attention = *attentionKernelsFor(kernels.level);
    for (const std::int64_t width : widths) {
        const std::size_t size = std::size_t(16 + roundedUp(width));
        FencedMemory<float> total(size);
        FencedMemory<float> part(size);
        // Nothing yet: the first part is taken as it is.
        std::fill(total.begin(), total.end(), 0.0F);
        total[0] = -std::numeric_limits<float>::infinity();
        fillRandom(part, 2.0F, 9U);
        part[1] = 1.5F;
        attention.mergeSums(part.data(), total.data(), width);
        QVERIFY(total.isBandIntact());
        QVERIFY(std::equal(part.begin() + 16, part.begin() + 16 + width, total.begin() + 16));
        QCOMPARE(total[0], part[0]);
        QCOMPARE(total[1], 1.5F);
        for (const float difference : {-3.0F, 0.0F, 2.5F, 200.0F}) {
            const std::vector<float> before(total.begin(), total.end());
            part[0] = before[0] + difference;
            attention.mergeSums(part.data(), total.data(), width);
            const double top = double(std::max(before[0], part[0]));
            const double a = std::exp(double(before[0]) - top);
            const double b = std::exp(double(part[0]) - top);
            TOKENLOUPE_COMPARE_EXACT(total[0], top);
            for (std::size_t i = 1; i < std::size_t(16 + width); i = i == 1 ? 16 : i + 1) {
                const double expected = a * double(before[i]) + b * double(part[i]);
                QVERIFY(std::abs(double(total[i]) - expected) <=
                        4e-7 * (std::abs(a * double(before[i])) + std::abs(b * double(part[i]))));
            }
        }
    }
}

void TestAttentionKernels::avx2EqualsAvx512()
{
    const CpuKernels *narrow = cpuKernelsFor(IsaLevel::Avx2);
    const CpuKernels *wide = cpuKernelsFor(IsaLevel::Avx512);
    if (!narrow || !wide)
        QSKIP("this processor does not have both instruction sets");
    for (const std::int64_t width : widths) {
        const StoredRows stored(*wide, TensorType::F16, 35, width, unsigned(width));
        const std::int64_t columns = roundedUp(width);
        FencedMemory<float> queries(std::size_t(3 * columns));
        fillRandom(queries, 3.0F, 1U);
        for (std::int64_t lane = 0; lane < 3; ++lane)
            std::fill_n(queries.data() + lane * columns + width, columns - width, 0.0F);
        const auto run = [&](const CpuKernels &kernels, FencedMemory<float> &sums) {
            const AttentionKernels &attention = *attentionKernelsFor(kernels.level);
            std::fill(sums.begin(), sums.end(), 0.0F);
            std::vector<float> turned(std::size_t(columns * 48));
            std::vector<float> scores(3 * 48);
            attention.transposeRows(stored.matrix(), turned.data(), 48);
            attention.scoreTile(turned.data(), 48, columns, queries.data(), columns, 3, scores.data(), 48);
            for (std::size_t lane = 0; lane < 3; ++lane) {
                float *sum = sums.data() + lane * std::size_t(16 + columns);
                attention.softmaxPiece(scores.data() + lane * 48, 35, sum, sum + 1);
            }
            attention.weighRows(stored.matrix(), scores.data(), 48, 3, sums.data() + 16, 16 + columns);
            attention.mergeSums(sums.data(), sums.data() + 16 + columns, width);
        };
        FencedMemory<float> first(std::size_t(3 * (16 + columns)));
        FencedMemory<float> second(std::size_t(3 * (16 + columns)));
        run(*narrow, first);
        run(*wide, second);
        QVERIFY(sameBits(first, second));
    }
}

TOKENLOUPE_TEST_MAIN(TestAttentionKernels)
#include "tst_attentionkernels.moc"
