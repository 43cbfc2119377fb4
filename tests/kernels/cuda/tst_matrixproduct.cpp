// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/matrixproduct.h"
#include "kernels/cuda/weightlayout.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/devicerows.h"
#include "tests/kernels/kernelcases.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

/// Weights in device memory, and the numbers that they stand for.
struct Weights
{
    Weights(TensorType type, int rowCount, int columnCount)
        : rows(rowCount)
        , columns(columnCount)
        , values(std::size_t(rowCount * columnCount))
        , memory(packed(type, rowCount, columnCount, values))
        , view{memory.data(), type, rowCount, columnCount}
    {}

    static std::vector<std::byte> packed(TensorType type, int rows, int columns, std::vector<double> &values)
    {
        const TensorTypeTraits &traits = traitsOf(type);
        const auto rowBytes = std::size_t(columns / int(traits.blockValues)) * traits.blockBytes;
        std::vector<std::byte> file(rowBytes * std::size_t(rows));
        const std::vector<float> random = randomFloats(values.size(), 0.2F, 7);
        for (int row = 0; row < rows; ++row) {
            std::byte *bytes = file.data() + std::size_t(row) * rowBytes;
            const float *from = random.data() + row * columns;
            if (traits.blockValues <= 32)
                cpuKernels().quantizeRow(type, from, columns, bytes);
            else
                cpuKernels().quantizeWeights(type, from, columns, bytes);
            const std::vector<double> meant = referenceValues(type, bytes, columns);
            std::copy(meant.begin(), meant.end(), values.begin() + row * columns);
        }
        std::vector<std::byte> image(deviceWeightBytes(type, rows, columns));
        packDeviceRows(type, rows, columns, 0, rows, file.data(), image.data());
        return image;
    }

    int rows;
    int columns;
    std::vector<double> values;
    DeviceValues<std::byte> memory;
    DeviceWeight view;
};

/// cuBLAS as the tests have it, on the host.
class Blas
{
public:
    Blas()
    {
        calls.create = cublasCreate;
        calls.destroy = cublasDestroy;
        calls.setStream = cublasSetStream;
        calls.setWorkspace = cublasSetWorkspace;
        calls.gemmEx = cublasGemmEx;
        demand(cudaErrorOf(calls.create(&handle)));
    }
    ~Blas() { calls.destroy(handle); }
    Blas(const Blas &) = delete;
    Blas &operator=(const Blas &) = delete;

    CublasCalls calls;
    cublasHandle_t handle = nullptr;
};

struct Expected
{
    double value = 0.0;
    double size = 0.0; ///< Σ |weight · activation|
};

Expected expectedOf(const Weights &weights, const std::vector<float> &x, int row, int output)
{
    Expected expected;
    for (int c = 0; c < weights.columns; ++c) {
        const double product = weights.values[std::size_t(output * weights.columns + c)] *
                               double(x[std::size_t(row * weights.columns + c)]);
        expected.value += product;
        expected.size += std::abs(product);
    }
    return expected;
}

} // namespace

class TestMatrixProduct : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup()
    {
        cudahost::checkMemory();
        QCOMPARE(cudahost::takeFaults(), std::vector<std::string>());
    }
    void matchesReference_data();
    void matchesReference();
    void rowsOfAnySize();
    void badNumbersSpoilTheirRowOnly();
    void refusesWrongShapes();
    void reportsFailures();
    void plans();
    void planLimits();
    void workspaces();
};

void TestMatrixProduct::matchesReference_data()
{
    QTest::addColumn<TensorType>("type");
    QTest::addColumn<int>("outputs");
    QTest::addColumn<int>("columns");
    QTest::addColumn<int>("rows");
    for (const TensorType type : {TensorType::F32, TensorType::F16, TensorType::BF16, TensorType::Q4_0,
                                  TensorType::Q8_0, TensorType::Q5_1, TensorType::Q4_K, TensorType::Q6_K}) {
        const TensorTypeTraits &traits = traitsOf(type);
        const int block = std::max(32, int(traits.blockValues));
        QTest::addRow("%s small", traits.name) << type << 5 << block << 9;
        QTest::addRow("%s tiles", traits.name) << type << 300 << block << 17;
    }
    QTest::newRow("odd float32") << TensorType::F32 << 7 << 37 << 11;
    QTest::newRow("odd binary16") << TensorType::F16 << 7 << 37 << 11;
    QTest::newRow("one of each") << TensorType::BF16 << 1 << 1 << 1;
}

void TestMatrixProduct::matchesReference()
{
    QFETCH(const TensorType, type);
    QFETCH(const int, outputs);
    QFETCH(const int, columns);
    QFETCH(const int, rows);
    const Blas blas;
    const Weights weights(type, outputs, columns);
    const std::vector<float> x = randomFloats(std::size_t(rows * columns), 3.0F, 1);
    const std::vector<float> bias = randomFloats(std::size_t(outputs), 2.0F, 2);
    const DeviceValues<float> deviceBias(bias);
    const PaddedRows input(x, columns, 4);
    for (const ProductPrecision precision : {ProductPrecision::Exact, ProductPrecision::Half}) {
        for (const bool isBiased : {false, true}) {
            const std::uint64_t tileBytes = isBiased ? 1 : usualTileBytes; // 1: as few rows as there can be
            const MatrixProductPlan plan =
                matrixProductPlan(precision, type, outputs, columns, rows, tileBytes);
            const DeviceValues<std::byte> scratch{std::size_t(plan.bytes)};
            const PaddedRows output(rows, outputs, 3, 1);
            QCOMPARE(multiplyMany(blas.calls, blas.handle, precision, weights.view, input.view(),
                                  isBiased ? deviceBias.data() : nullptr, scratch.data(), output.view(),
                                  nullptr, tileBytes),
                     cudaSuccess);
            QVERIFY(output.isPaddingIntact());
            const std::vector<float> y = output.read();
            for (int row = 0; row < rows; ++row) {
                for (int o = 0; o < outputs; ++o) {
                    const Expected expected = expectedOf(weights, x, row, o);
                    const double offset = isBiased ? double(bias[std::size_t(o)]) : 0.0;
                    // Both factors are rounded to 11 bits, or not at all; then float32 sums.
                    const double factors = precision == ProductPrecision::Half ? 0x1p-10 : 0.0;
                    const double bound = (factors + (columns + 2) * 0x1p-24) * expected.size +
                                         0x1p-23 * (std::abs(expected.value) + std::abs(offset));
                    const double got = double(y[std::size_t(row * outputs + o)]);
                    QVERIFY2(std::abs(got - expected.value - offset) <= bound,
                             qPrintable(QStringLiteral("%1, %2: %3 instead of %4")
                                            .arg(row)
                                            .arg(o)
                                            .arg(got)
                                            .arg(expected.value + offset)));
                }
            }
        }
    }
}

void TestMatrixProduct::rowsOfAnySize()
{
    const Blas blas;
    const int columns = 64;
    const int outputs = 6;
    const Weights weights(TensorType::Q8_0, outputs, columns);
    std::vector<float> x = randomFloats(4 * 64, 1.0F, 3);
    const float sizes[] = {1e-30F, 0.0F, 1.0F, 1e30F};
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] *= sizes[i / 64];
    const PaddedRows input(x, columns);
    const PaddedRows output(4, outputs);
    const MatrixProductPlan plan =
        matrixProductPlan(ProductPrecision::Half, TensorType::Q8_0, outputs, columns, 4);
    const DeviceValues<std::byte> scratch{std::size_t(plan.bytes)};
    QCOMPARE(multiplyMany(blas.calls, blas.handle, ProductPrecision::Half, weights.view, input.view(),
                          nullptr, scratch.data(), output.view(), nullptr),
             cudaSuccess);
    const std::vector<float> y = output.read();
    for (int row = 0; row < 4; ++row) {
        for (int o = 0; o < outputs; ++o) {
            const Expected expected = expectedOf(weights, x, row, o);
            QVERIFY(std::abs(double(y[std::size_t(row * outputs + o)]) - expected.value) <=
                    0x1p-9 * expected.size);
        }
    }
}

void TestMatrixProduct::badNumbersSpoilTheirRowOnly()
{
    const Blas blas;
    const Weights weights(TensorType::F16, 8, 32);
    std::vector<float> x = randomFloats(3 * 32, 1.0F, 4);
    x[32 + 5] = std::numeric_limits<float>::quiet_NaN();
    const PaddedRows input(x, 32);
    const PaddedRows output(3, 8);
    const MatrixProductPlan plan = matrixProductPlan(ProductPrecision::Half, TensorType::F16, 8, 32, 3);
    const DeviceValues<std::byte> scratch{std::size_t(plan.bytes)};
    QCOMPARE(multiplyMany(blas.calls, blas.handle, ProductPrecision::Half, weights.view, input.view(),
                          nullptr, scratch.data(), output.view(), nullptr),
             cudaSuccess);
    const std::vector<float> y = output.read();
    for (std::size_t i = 0; i < y.size(); ++i)
        QCOMPARE(std::isnan(y[i]), i / 8 == 1);
}

void TestMatrixProduct::refusesWrongShapes()
{
    const Blas blas;
    const Weights weights(TensorType::Q4_0, 8, 32);
    const PaddedRows input(3, 32);
    const PaddedRows output(3, 8);
    const DeviceValues<std::byte> scratch(1 << 16);
    const auto call = [&](const DeviceWeight &weight, DeviceRows in, void *memory, DeviceRows out) {
        return multiplyMany(blas.calls, blas.handle, ProductPrecision::Half, weight, in, nullptr, memory, out,
                            nullptr);
    };
    const PaddedRows wide(3, 64);
    const PaddedRows many(4, 8);
    QCOMPARE(call({}, input.view(), scratch.data(), output.view()), cudaErrorInvalidValue);
    QCOMPARE(call(weights.view, wide.view(), scratch.data(), output.view()), cudaErrorInvalidValue);
    QCOMPARE(call(weights.view, input.view(), nullptr, output.view()), cudaErrorInvalidValue);
    QCOMPARE(call(weights.view, input.view(), scratch.data(), many.view()), cudaErrorInvalidValue);
    QCOMPARE(call(weights.view, input.view(), scratch.data(), wide.view()), cudaErrorInvalidValue);
    QCOMPARE(call(weights.view, {}, scratch.data(), output.view()), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), 0);
}

void TestMatrixProduct::reportsFailures()
{
    Blas blas;
    const Weights weights(TensorType::F32, 8, 32);
    const PaddedRows input(3, 32);
    const PaddedRows output(3, 8);
    blas.calls.gemmEx = [](cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void *,
                           const void *, cudaDataType, int, const void *, cudaDataType, int, const void *,
                           void *, cudaDataType, int, cublasComputeType_t,
                           cublasGemmAlgo_t) { return CUBLAS_STATUS_ALLOC_FAILED; };
    QCOMPARE(multiplyMany(blas.calls, blas.handle, ProductPrecision::Exact, weights.view, input.view(),
                          nullptr, nullptr, output.view(), nullptr),
             cudaErrorMemoryAllocation);
    QCOMPARE(cudaErrorOf(CUBLAS_STATUS_SUCCESS), cudaSuccess);
    QCOMPARE(cudaErrorOf(CUBLAS_STATUS_INVALID_VALUE), cudaErrorInvalidValue);
    QVERIFY(cudaErrorOf(CUBLAS_STATUS_EXECUTION_FAILED) != cudaSuccess);
}

void TestMatrixProduct::plans()
{
    const auto halves = ProductPrecision::Half;
    const auto exact = ProductPrecision::Exact;
    // Stored as it is multiplied: nothing to unpack.
    MatrixProductPlan plan = matrixProductPlan(halves, TensorType::F16, 4096, 4096, 512);
    QCOMPARE(plan.tileRows, std::int64_t(0));
    QCOMPARE(plan.activationBytes, std::uint64_t(512 * 4096 * 2));
    QCOMPARE(plan.bytes, plan.activationBytes + 512 * 4);
    QCOMPARE(matrixProductPlan(exact, TensorType::F32, 4096, 4096, 512).bytes, std::uint64_t(0));

    for (const std::int64_t columns : {32, 576, 4096, 28672, 1 << 20}) {
        for (const std::int64_t outputs : {1, 255, 576, 14336, 128256}) {
            for (const ProductPrecision precision : {halves, exact}) {
                plan = matrixProductPlan(precision, TensorType::Q4_0, outputs, columns, 512);
                QVERIFY(plan.isPossible);
                QVERIFY(plan.tileRows >= std::min<std::int64_t>(outputs, 256) && plan.tileRows <= outputs);
                QVERIFY(plan.tileRows == outputs || plan.tileRows % 256 == 0);
                QVERIFY(plan.tileBytes <= usualTileBytes || plan.tileRows <= 256);
                QCOMPARE(plan.tileBytes,
                         std::uint64_t(plan.tileRows * columns * (precision == halves ? 2 : 4)));
                QVERIFY(plan.bytes >= plan.tileBytes + plan.activationBytes + plan.scaleBytes);
            }
        }
    }
    QCOMPARE(matrixProductPlan(exact, TensorType::Q4_0, 4096, 4096, 512).activationBytes, std::uint64_t(0));
    // Two tiles of the same size, not one that is full and a rest.
    QCOMPARE(matrixProductPlan(halves, TensorType::Q4_0, 14336, 4096, 512).tileRows, std::int64_t(7168));
    // The weights unpacked at a time do not depend on the rows of activations.
    QCOMPARE(matrixProductPlan(halves, TensorType::Q4_0, 4096, 4096, 1).tileBytes,
             matrixProductPlan(halves, TensorType::Q4_0, 4096, 4096, 4096).tileBytes);
}

void TestMatrixProduct::planLimits()
{
    const auto halves = ProductPrecision::Half;
    const std::int64_t most = std::numeric_limits<std::int32_t>::max();
    QVERIFY(!matrixProductPlan(halves, TensorType::Q4_0, 0, 32, 1).isPossible);
    QVERIFY(!matrixProductPlan(halves, TensorType::Q4_0, 32, 0, 1).isPossible);
    QVERIFY(!matrixProductPlan(halves, TensorType::Q4_0, 32, 32, 0).isPossible);
    QVERIFY(!matrixProductPlan(halves, TensorType::Q4_0, most + 1, 32, 1).isPossible);
    QVERIFY(!matrixProductPlan(halves, TensorType::Q4_0, 32, most, 1).isPossible);
    const MatrixProductPlan plan =
        matrixProductPlan(halves, TensorType::Q4_0, most, most / 2, std::numeric_limits<std::int32_t>::max());
    QVERIFY(plan.isPossible);
    QCOMPARE(plan.tileRows, std::int64_t(256));
    QVERIFY(plan.activationBytes > std::uint64_t(most) * std::uint64_t(most));
}

void TestMatrixProduct::workspaces()
{
    QCOMPARE(cublasWorkspaceBytes(7), std::uint64_t(8) << 20);
    QCOMPARE(cublasWorkspaceBytes(8), std::uint64_t(8) << 20);
    QCOMPARE(cublasWorkspaceBytes(9), std::uint64_t(32) << 20);
    QCOMPARE(cublasWorkspaceBytes(12), std::uint64_t(32) << 20);
}

TOKENLOUPE_TEST_MAIN(TestMatrixProduct)
#include "tst_matrixproduct.moc"
