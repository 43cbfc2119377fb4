// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

const std::vector<std::size_t> lengths = {1, 2, 7, 15, 16, 17, 33, 64, 172, 1000};

bool isNear(float got, double expected, double tolerance)
{
    return std::abs(double(got) - expected) <= tolerance;
}

double geluTanh(double x)
{
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double gelu(double x)
{
    return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
}

/// Points that lie close together from -12 to 12.
std::vector<float> range()
{
    std::vector<float> x;
    for (int i = -12000; i <= 12000; ++i)
        x.push_back(float(i) / 1000.0F);
    return x;
}

} // namespace

/// The kernels that only some architectures need.
class TestActivationKernels : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void layerNorm_data() { addIsaRows(); }
    void layerNorm();
    void layerNormFarFromZero_data() { addIsaRows(); }
    void layerNormFarFromZero();
    void gelus_data() { addIsaRows(); }
    void gelus();
    void softCap_data() { addIsaRows(); }
    void softCap();
    void extremes_data() { addIsaRows(); }
    void extremes();
    void multiply_data() { addIsaRows(); }
    void multiply();
    void avx2EqualsAvx512();
};

void TestActivationKernels::layerNorm()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : lengths) {
        FencedMemory<float> x(n);
        FencedMemory<float> weight(n);
        FencedMemory<float> bias(n);
        FencedMemory<float> y(n);
        fillRandom(x, 3.0F, unsigned(n));
        fillRandom(weight, 2.0F, unsigned(n) + 1);
        fillRandom(bias, 2.0F, unsigned(n) + 2);
        double mean = 0;
        for (const float v : x)
            mean += double(v) / double(n);
        double variance = 0;
        for (const float v : x)
            variance += (double(v) - mean) * (double(v) - mean) / double(n);
        const double scale = 1 / std::sqrt(variance + double(1e-3F));
        for (const bool isBiased : {true, false}) {
            kernels.layerNorm(x.data(), weight.data(), isBiased ? bias.data() : nullptr, 1e-3F,
                              std::int64_t(n), y.data());
            QVERIFY(y.isBandIntact());
            for (std::size_t i = 0; i < n; ++i) {
                const double scaled = (double(x[i]) - mean) * scale * double(weight[i]);
                const double expected = scaled + (isBiased ? double(bias[i]) : 0.0);
                QVERIFY(isNear(y[i], expected, 1e-6 * (1 + std::abs(scaled))));
            }
        }
        kernels.layerNorm(x.data(), weight.data(), nullptr, 1e-3F, std::int64_t(n), x.data()); // in place
        QVERIFY(sameBits(x, y));
    }
}

void TestActivationKernels::layerNormFarFromZero()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    // The variance is that of the differences, not the difference of two large sums.
    const std::vector<float> weight(21, 1.0F);
    std::vector<float> x(21, 4000.0F);
    std::vector<float> y(21);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] += i % 3 == 0 ? -2.0F : 1.0F; // mean 4000, variance 2
    kernels.layerNorm(x.data(), weight.data(), nullptr, 0.0F, 21, y.data());
    for (std::size_t i = 0; i < x.size(); ++i)
        QVERIFY(isNear(y[i], (i % 3 == 0 ? -2.0 : 1.0) / std::numbers::sqrt2, 1e-6));
}

void TestActivationKernels::gelus()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const std::vector<float> x = range();
    std::vector<float> byTanh(x.size());
    std::vector<float> byError(x.size());
    kernels.geluTanh(x.data(), std::int64_t(x.size()), byTanh.data());
    kernels.gelu(x.data(), std::int64_t(x.size()), byError.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = double(x[i]);
        QVERIFY(isNear(byTanh[i], geluTanh(v), 2.5e-7 * std::abs(v)));
        QVERIFY(isNear(byError[i], gelu(v), 2.5e-7 * std::abs(v)));
    }
    for (const std::size_t n : lengths) {
        FencedMemory<float> in(n);
        FencedMemory<float> out(n);
        fillRandom(in, 3.0F, unsigned(n));
        for (const auto kernel : {kernels.geluTanh, kernels.gelu}) {
            kernel(in.data(), std::int64_t(n), out.data());
            QVERIFY(out.isBandIntact());
            FencedMemory<float> inPlace(n);
            std::copy(in.begin(), in.end(), inPlace.begin());
            kernel(inPlace.data(), std::int64_t(n), inPlace.data());
            QVERIFY(sameBits(inPlace, out));
        }
    }
}

void TestActivationKernels::softCap()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const float cap : {0.5F, 30.0F, 50.0F}) {
        std::vector<float> x = range();
        const std::vector<float> before = x;
        kernels.softCap(cap, std::int64_t(x.size()), x.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double expected = double(cap) * std::tanh(double(before[i]) / double(cap));
            QVERIFY(isNear(x[i], expected, 2e-7 * double(cap)));
        }
    }
}

void TestActivationKernels::extremes()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> x = {0.0F, 1000.0F, -1000.0F, 3e38F, nan};
    std::vector<float> y(x.size());
    for (const auto kernel : {kernels.geluTanh, kernels.gelu}) {
        kernel(x.data(), std::int64_t(x.size()), y.data());
        TOKENLOUPE_COMPARE_EXACT(y[0], 0.0F);
        TOKENLOUPE_COMPARE_EXACT(y[1], 1000.0F);
        QVERIFY(isNear(y[2], 0.0, 1e-30));
        TOKENLOUPE_COMPARE_EXACT(y[3], 3e38F);
        QVERIFY(std::isnan(y[4]));
    }
    std::vector<float> capped = x;
    kernels.softCap(30.0F, std::int64_t(capped.size()), capped.data());
    TOKENLOUPE_COMPARE_EXACT(capped[0], 0.0F);
    TOKENLOUPE_COMPARE_EXACT(capped[1], 30.0F);
    TOKENLOUPE_COMPARE_EXACT(capped[2], -30.0F);
    QVERIFY(std::isnan(capped[4]));
}

void TestActivationKernels::multiply()
{
    TOKENLOUPE_FETCH_KERNELS(kernels);
    for (const std::size_t n : lengths) {
        FencedMemory<float> x(n);
        FencedMemory<float> y(n);
        fillRandom(x, 3.0F, unsigned(n));
        fillRandom(y, 2.0F, unsigned(n) + 1);
        const std::vector<float> before(y.begin(), y.end());
        kernels.multiply(x.data(), std::int64_t(n), y.data());
        QVERIFY(y.isBandIntact());
        for (std::size_t i = 0; i < n; ++i)
            TOKENLOUPE_COMPARE_EXACT(y[i], before[i] * x[i]);
    }
}

void TestActivationKernels::avx2EqualsAvx512()
{
    const CpuKernels *narrow = cpuKernelsFor(IsaLevel::Avx2);
    const CpuKernels *wide = cpuKernelsFor(IsaLevel::Avx512);
    if (!narrow || !wide)
        QSKIP("this processor does not have both instruction sets");
    for (const std::size_t n : lengths) {
        FencedMemory<float> x(n);
        FencedMemory<float> weight(n);
        fillRandom(x, 4.0F, unsigned(n));
        fillRandom(weight, 2.0F, unsigned(n) + 1);
        const auto run = [&](const CpuKernels &kernels, FencedMemory<float> &y) {
            const auto size = std::int64_t(n);
            kernels.layerNorm(x.data(), weight.data(), x.data(), 1e-5F, size, y.data());
            kernels.geluTanh(y.data(), size, y.data());
            kernels.multiply(weight.data(), size, y.data());
            kernels.gelu(y.data(), size, y.data());
            kernels.softCap(3.0F, size, y.data());
        };
        FencedMemory<float> first(n);
        FencedMemory<float> second(n);
        run(*narrow, first);
        run(*wide, second);
        QVERIFY(sameBits(first, second));
    }
}

TOKENLOUPE_TEST_MAIN(TestActivationKernels)
#include "tst_activationkernels.moc"
