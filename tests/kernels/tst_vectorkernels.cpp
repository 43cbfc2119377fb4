// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

const std::vector<std::size_t> lengths = {0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 172, 576, 1000};

bool isNear(float got, double expected, double tolerance)
{
    return std::abs(double(got) - expected) <= tolerance;
}

} // namespace

/// The kernels that work on one or two vectors, but for those of softmax.
class TestVectorKernels : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void namesAndLevels();
    void rmsNorm_data() { addIsaRows(); }
    void rmsNorm();
    void rmsNormOfLargeAndSmallValues_data() { addIsaRows(); }
    void rmsNormOfLargeAndSmallValues();
    void addScaleAxpy_data() { addIsaRows(); }
    void addScaleAxpy();
    void dot_data() { addIsaRows(); }
    void dot();
    void siluMultiply_data() { addIsaRows(); }
    void siluMultiply();
    void siluOfExtremes_data() { addIsaRows(); }
    void siluOfExtremes();
    void avx2EqualsAvx512();
};

void TestVectorKernels::namesAndLevels()
{
    for (const IsaLevel level : isaLevels) {
        if (const CpuKernels *kernels = cpuKernelsFor(level)) {
            QCOMPARE(kernels->level, level);
            QCOMPARE(QByteArray(kernels->name), QByteArray(isaName(level)));
        }
    }
    QVERIFY(cpuKernelsFor(IsaLevel::Portable) != nullptr);
    // The best is the highest level that is there.
    IsaLevel best = IsaLevel::Portable;
    for (const IsaLevel level : isaLevels)
        best = cpuKernelsFor(level) ? level : best;
    QCOMPARE(cpuKernels().level, best);
}

void TestVectorKernels::rmsNorm()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : lengths) {
        if (n == 0)
            continue;
        FencedMemory<float> x(n);
        FencedMemory<float> weight(n);
        FencedMemory<float> y(n);
        fillRandom(x, 3.0F, unsigned(n));
        fillRandom(weight, 2.0F, unsigned(n) + 1);
        kernels.rmsNorm(x.data(), weight.data(), 1e-5F, std::int64_t(n), y.data());
        QVERIFY(y.isBandIntact());
        double squares = 0;
        for (const float v : x)
            squares += double(v) * double(v);
        const double scale = 1 / std::sqrt(squares / double(n) + double(1e-5F));
        for (std::size_t i = 0; i < n; ++i) {
            const double expected = double(x[i]) * scale * double(weight[i]);
            QVERIFY(isNear(y[i], expected, 2e-7 * std::abs(expected)));
        }
        kernels.rmsNorm(x.data(), weight.data(), 1e-5F, std::int64_t(n), x.data()); // in place
        QVERIFY(sameBits(x, y));
    }
}

void TestVectorKernels::rmsNormOfLargeAndSmallValues()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    // The squares of the first are beyond float32, those of the second below it.
    for (const float size : {1e30F, 1e-30F}) {
        std::vector<float> x(40, size);
        x[3] = -size;
        const std::vector<float> weight(40, 1.0F);
        std::vector<float> y(40);
        kernels.rmsNorm(x.data(), weight.data(), 0.0F, 40, y.data());
        for (std::size_t i = 0; i < y.size(); ++i)
            QVERIFY(isNear(y[i], i == 3 ? -1.0 : 1.0, 2e-7));
    }
    // Nothing but zeros: 0 / sqrt(eps).
    const std::vector<float> zeros(20, 0.0F);
    std::vector<float> y(20, 1.0F);
    kernels.rmsNorm(zeros.data(), zeros.data(), 1e-6F, 20, y.data());
    QVERIFY(y == zeros);
}

void TestVectorKernels::addScaleAxpy()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : lengths) {
        FencedMemory<float> x(n);
        FencedMemory<float> start(n);
        fillRandom(x, 3.0F, unsigned(n));
        fillRandom(start, 2.0F, unsigned(n) + 1);
        FencedMemory<float> y(n);
        std::copy(start.begin(), start.end(), y.begin());
        kernels.add(x.data(), std::int64_t(n), y.data());
        for (std::size_t i = 0; i < n; ++i)
            TOKENLOUPE_COMPARE_EXACT(y[i], start[i] + x[i]);
        std::copy(start.begin(), start.end(), y.begin());
        kernels.scale(-0.7F, std::int64_t(n), y.data());
        for (std::size_t i = 0; i < n; ++i)
            TOKENLOUPE_COMPARE_EXACT(y[i], start[i] * -0.7F);
        std::copy(start.begin(), start.end(), y.begin());
        kernels.axpy(0.3F, x.data(), std::int64_t(n), y.data());
        for (std::size_t i = 0; i < n; ++i) {
            const double product = double(0.3F) * double(x[i]);
            QVERIFY(isNear(y[i], product + double(start[i]), std::ldexp(std::abs(product) + 2, -24)));
        }
        QVERIFY(y.isBandIntact());
    }
}

void TestVectorKernels::dot()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : lengths) {
        FencedMemory<float> a(n);
        FencedMemory<float> b(n);
        fillRandom(a, 3.0F, unsigned(n));
        fillRandom(b, 2.0F, unsigned(n) + 1);
        double expected = 0;
        double magnitude = 0;
        for (std::size_t i = 0; i < n; ++i) {
            expected += double(a[i]) * double(b[i]);
            magnitude += std::abs(double(a[i]) * double(b[i]));
        }
        const float got = kernels.dot(a.data(), b.data(), std::int64_t(n));
        QVERIFY(isNear(got, expected, double(n / 16 + 6) * std::ldexp(magnitude, -24)));
        // The same as the one-row product.
        float y = -1;
        const WeightMatrix row{TensorType::F32, 1, std::int64_t(n),
                               reinterpret_cast<const std::byte *>(a.data())};
        kernels.matmul(row, b.data(), std::int64_t(n), 1, &y, 1, 0, 1);
        TOKENLOUPE_COMPARE_EXACT(y, got);
    }
}

void TestVectorKernels::siluMultiply()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : lengths) {
        FencedMemory<float> gate(n);
        FencedMemory<float> up(n);
        FencedMemory<float> y(n);
        fillRandom(gate, 30.0F, unsigned(n));
        fillRandom(up, 2.0F, unsigned(n) + 1);
        kernels.siluMultiply(gate.data(), up.data(), std::int64_t(n), y.data());
        QVERIFY(y.isBandIntact());
        for (std::size_t i = 0; i < n; ++i) {
            const double v = double(gate[i]);
            const double expected = v / (1 + std::exp(-v)) * double(up[i]);
            QVERIFY(isNear(y[i], expected, 4e-7 * std::abs(expected)));
        }
        kernels.siluMultiply(gate.data(), up.data(), std::int64_t(n), gate.data()); // in place
        QVERIFY(sameBits(gate, y));
    }
}

void TestVectorKernels::siluOfExtremes()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> gate = {0.0F, 1000.0F, -1000.0F, -80.0F, infinity, nan};
    const std::vector<float> up(gate.size(), 1.0F);
    std::vector<float> y(gate.size());
    kernels.siluMultiply(gate.data(), up.data(), std::int64_t(gate.size()), y.data());
    TOKENLOUPE_COMPARE_EXACT(y[0], 0.0F);
    TOKENLOUPE_COMPARE_EXACT(y[1], 1000.0F);
    QVERIFY(y[2] <= 0.0F && y[2] > -1e-30F);
    QVERIFY(isNear(y[3], -80 * std::exp(-80.0), 80 * std::exp(-80.0) * 4e-7));
    TOKENLOUPE_COMPARE_EXACT(y[4], infinity);
    QVERIFY(std::isnan(y[5]));
}

void TestVectorKernels::avx2EqualsAvx512()
{
    const CpuKernels *narrow = cpuKernelsFor(IsaLevel::Avx2);
    const CpuKernels *wide = cpuKernelsFor(IsaLevel::Avx512);
    if (!narrow || !wide)
        QSKIP("this processor does not have both instruction sets");
    for (const std::size_t size : lengths) {
        if (size == 0)
            continue;
        const auto n = std::int64_t(size);
        FencedMemory<float> a(size);
        FencedMemory<float> b(size);
        fillRandom(a, 40.0F, unsigned(size));
        fillRandom(b, 2.0F, unsigned(size) + 1);
        const auto run = [&](const CpuKernels &kernels, FencedMemory<float> &y) {
            kernels.rmsNorm(a.data(), b.data(), 1e-5F, n, y.data());
            kernels.axpy(0.3F, b.data(), n, y.data());
            kernels.scale(kernels.dot(a.data(), b.data(), n), n, y.data());
            kernels.add(a.data(), n, y.data());
            kernels.siluMultiply(y.data(), b.data(), n, y.data());
        };
        FencedMemory<float> first(size);
        FencedMemory<float> second(size);
        run(*narrow, first);
        run(*wide, second);
        QVERIFY(sameBits(first, second));
    }
}

TOKENLOUPE_TEST_MAIN(TestVectorKernels)
#include "tst_vectorkernels.moc"
