// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/products.h"

#include "kernels/cuda/weightlayout.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/productcases.h"
#include "tests/kernels/superreference.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

// A unit's sum is exact; what is left are the sums of units in float32: 4096 columns are 128 of them.
constexpr double tolerance = 2e-6;

std::vector<float> product(const PackedMatrix &matrix, const QuantizedCase &input, const float *bias)
{
    const auto rows = input.rows().rows;
    const auto outputs = std::int32_t(matrix.weight().rows);
    const DeviceValues<float> output(std::size_t(rows) * std::size_t(outputs));
    const DeviceProduct one{matrix.weight(), bias, deviceRows(output, rows, outputs)};
    if (multiplyQuantized(&one, 1, input.rows(), nullptr) != cudaSuccess)
        return {};
    return output.read();
}

} // namespace

class TestQuantizedProduct : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void matchesDoubleLoops_data();
    void matchesDoubleLoops();
    void rowsStandAlone_data();
    void rowsStandAlone();
    void largestCodes();
    void scalesThatAreNoNumbers();
    void outputsApart();
    void wrongCalls();
};

void TestQuantizedProduct::matchesDoubleLoops_data()
{
    QTest::addColumn<TensorType>("type");
    QTest::addColumn<int>("outputs");
    QTest::addColumn<int>("columns");
    for (const TensorType type : computableTypes) {
        const int block = int(traitsOf(type).blockValues);
        if (block == 1)
            continue;
        // Fewer units than lanes, a few more, and so many that 2 and 4 warps share the rows.
        for (const auto &[outputs, columns] :
             {std::pair{1, block}, {5, block == 32 ? 576 : 512}, {19, 1280}, {3, 1536}, {6, 4096}}) {
            QTest::addRow("%s %dx%d", traitsOf(type).name, outputs, columns) << type << outputs << columns;
        }
    }
}

void TestQuantizedProduct::matchesDoubleLoops()
{
    QFETCH(TensorType, type);
    QFETCH(int, outputs);
    QFETCH(int, columns);
    const PackedMatrix matrix(type, outputs, columns, 31U);
    const std::vector<float> bias = randomFloats(std::size_t(outputs), 3.0F, 32U);
    const DeviceValues<float> deviceBias(bias);
    const std::vector<float> values = randomFloats(std::size_t(8 * columns), 2.0F, 33U);
    for (const int rows : {1, 2, 3, 5, 8}) {
        cudahost::setSeed(std::uint64_t(rows + outputs));
        const QuantizedCase input(values, rows, columns);
        for (const float *used :
             {static_cast<const float *>(nullptr), static_cast<const float *>(deviceBias.data())}) {
            const std::vector<float> got = product(matrix, input, used);
            QCOMPARE(int(got.size()), rows * outputs);
            for (int row = 0; row < rows; ++row) {
                const std::vector<double> x = input.row(row);
                for (int output = 0; output < outputs; ++output) {
                    const Dot wanted = dot(matrix.row(output), x);
                    const double added = used ? double(bias[std::size_t(output)]) : 0.0;
                    const double error =
                        std::abs(double(got[std::size_t(row * outputs + output)]) - wanted.sum - added);
                    QVERIFY2(error <= tolerance * (wanted.magnitude + std::abs(added)),
                             qPrintable(QStringLiteral("row %1 of %2, output %3: off by %4 of %5")
                                            .arg(row)
                                            .arg(rows)
                                            .arg(output)
                                            .arg(error)
                                            .arg(wanted.magnitude)));
                }
            }
            if (rows > 2)
                break;
        }
    }
    const std::string faults = deviceFaults();
    QVERIFY2(faults.empty(), faults.c_str());
}

void TestQuantizedProduct::rowsStandAlone_data()
{
    QTest::addColumn<TensorType>("type");
    for (const TensorType type : {TensorType::Q4_0, TensorType::Q8_0, TensorType::Q4_K, TensorType::Q6_K,
                                  TensorType::IQ4_XS, TensorType::IQ3_S})
        QTest::newRow(traitsOf(type).name) << type;
}

/// A row has the same bits alone and among others, in any order of threads.
void TestQuantizedProduct::rowsStandAlone()
{
    QFETCH(TensorType, type);
    constexpr int columns = 2304;
    constexpr int outputs = 7;
    const PackedMatrix matrix(type, outputs, columns, 41U);
    const std::vector<float> values = randomFloats(std::size_t(8 * columns), 2.0F, 42U);
    const std::vector<float> together = product(matrix, QuantizedCase(values, 8, columns), nullptr);
    QCOMPARE(int(together.size()), 8 * outputs);
    for (const int rows : {1, 2, 4, 7}) {
        cudahost::setSeed(std::uint64_t(100 + rows));
        const std::vector<float> part = product(matrix, QuantizedCase(values, rows, columns), nullptr);
        QCOMPARE(part, std::vector<float>(together.begin(), together.begin() + rows * outputs));
    }
}

/// Codes, scales and activations that make the largest whole numbers there are.
void TestQuantizedProduct::largestCodes()
{
    for (const TensorType type : computableTypes) {
        const auto columns = std::int64_t(traitsOf(type).blockValues);
        if (columns == 1)
            continue;
        for (const unsigned fill : {0x00U, 0x7FU, 0x80U, 0xFFU}) {
            // One block, all bytes alike but for its floats.
            std::vector<std::byte> block(traitsOf(type).blockBytes, std::byte(fill));
            std::mt19937 random(1);
            tameScales(type, block.data(), random);
            if (type == TensorType::Q4_1 || type == TensorType::Q5_1)
                block[3] = (block[3] & std::byte(0x83)) | std::byte(0x3C);
            if (type == TensorType::Q6_K && fill == 0) // codes of -32 with scales of -128
                std::fill_n(block.begin() + 192, 16, std::byte(0x80));
            const std::vector<double> weights = referenceValues(type, block.data(), columns);
            std::vector<std::byte> image(std::size_t(deviceWeightBytes(type, 1, columns)));
            packDeviceRows(type, 1, columns, 0, 1, block.data(), image.data());
            const DeviceValues<std::byte> data(image);
            for (const float sign : {1.0F, -1.0F}) {
                std::vector<float> values(std::size_t(columns), 5.0F);
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] *= weights[i] < 0 ? -sign : sign;
                const QuantizedCase input(values, 1, std::int32_t(columns));
                const DeviceValues<float> output(1);
                const DeviceProduct one{{data.data(), type, 1, columns}, nullptr, deviceRows(output, 1, 1)};
                QCOMPARE(multiplyQuantized(&one, 1, input.rows(), nullptr), cudaSuccess);
                const Dot wanted = dot(weights, input.row(0));
                QVERIFY2(std::abs(double(output.read()[0]) - wanted.sum) <= tolerance * wanted.magnitude,
                         traitsOf(type).name);
            }
        }
    }
}

/// A row that could not be rounded has a NaN as scale, and NaN as result; the others do not notice.
void TestQuantizedProduct::scalesThatAreNoNumbers()
{
    constexpr int columns = 256;
    const PackedMatrix matrix(TensorType::Q4_0, 3, columns, 51U);
    const std::vector<float> values = randomFloats(std::size_t(3 * columns), 1.0F, 52U);
    const QuantizedCase input(values, 3, columns);
    const std::vector<float> whole = product(matrix, input, nullptr);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    cudaMemcpy(input.rows().scales + 1, &nan, sizeof nan, cudaMemcpyHostToDevice);
    const float zero = 0.0F;
    cudaMemcpy(input.rows().scales + 2, &zero, sizeof zero, cudaMemcpyHostToDevice);
    const std::vector<float> got = product(matrix, input, nullptr);
    for (std::size_t output = 0; output < 3; ++output) {
        QCOMPARE(got[output], whole[output]);
        QVERIFY(std::isnan(got[3 + output]));
        QCOMPARE(got[6 + output], 0.0F);
    }
}

/// Rows of the output may be apart; what is between them stays as it was.
void TestQuantizedProduct::outputsApart()
{
    constexpr int columns = 96;
    constexpr int outputs = 5;
    constexpr int stride = 9;
    const PackedMatrix matrix(TensorType::Q5_0, outputs, columns, 61U);
    const QuantizedCase input(randomFloats(3 * columns, 1.0F, 62U), 3, columns);
    const std::vector<float> together = product(matrix, input, nullptr);
    const DeviceValues<float> output(std::vector<float>(3 * stride, 77.0F));
    const DeviceProduct one{matrix.weight(), nullptr, deviceRows(output, 3, outputs, stride)};
    QCOMPARE(multiplyQuantized(&one, 1, input.rows(), nullptr), cudaSuccess);
    const std::vector<float> got = output.read();
    for (int i = 0; i < 3 * stride; ++i) {
        const int column = i % stride;
        QCOMPARE(got[std::size_t(i)],
                 column < outputs ? together[std::size_t(i / stride * outputs + column)] : 77.0F);
    }
}

void TestQuantizedProduct::wrongCalls()
{
    constexpr int columns = 256;
    const PackedMatrix matrix(TensorType::Q4_K, 4, columns, 71U);
    const QuantizedCase input(randomFloats(9 * columns, 1.0F, 72U), 9, columns);
    const DeviceValues<float> output(64);
    const auto call = [&](const auto &change) {
        DeviceWeight weight = matrix.weight();
        QuantizedRows x = input.rows();
        x.rows = 2;
        DeviceRows y = deviceRows(output, 2, 4);
        change(weight, x, y);
        const DeviceProduct one{weight, nullptr, y};
        return multiplyQuantized(&one, 1, x, nullptr);
    };
    QCOMPARE(call([](auto &, auto &, auto &) {}), cudaSuccess);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.data = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.data += 8; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.type = TensorType::F16; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.type = TensorType::I8; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.rows = 3; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.rows = 0; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &x, auto &) { w.columns = x.columns = 224; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.columns = 128; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &y) { x.rows = y.rows = 0; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &y) { x.rows = y.rows = 9; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.rows = 3; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.high = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.low += 1; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.sums = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.scales = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &, auto &y) { y.data = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &, auto &y) { y.columns = 5; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &, auto &y) { y.stride = 3; }), cudaErrorInvalidValue);
}

TOKENLOUPE_TEST_MAIN(TestQuantizedProduct)
#include "tst_quantizedproduct.moc"
