// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/products.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/productcases.h"
#include "tests/support/testmain.h"

#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

// A lane adds up 32 columns for each of its units before the lanes are added: at 4096 columns about 40
// additions in a row, with a rounding of 2^-24 each.
constexpr double tolerance = 4e-6;

/// Rows of the input `stride` apart, the first one `first` values behind an aligned place.
std::vector<float> product(const PackedMatrix &matrix, const std::vector<float> &values, int rows, int stride,
                           const float *bias, int first = 0)
{
    std::vector<float> placed(std::size_t(first), 1e30F);
    placed.insert(placed.end(), values.begin(), values.end());
    const DeviceValues<float> input(placed);
    const auto outputs = std::int32_t(matrix.weight().rows);
    const DeviceValues<float> output(std::size_t(rows) * std::size_t(outputs));
    const DeviceProduct one{matrix.weight(), bias, deviceRows(output, rows, outputs)};
    const DeviceRows x = deviceRows(input, rows, std::int32_t(one.weight.columns), stride, first);
    if (multiplyExact(&one, 1, x, nullptr) != cudaSuccess)
        return {};
    return output.read();
}

} // namespace

class TestExactProduct : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void matchesDoubleLoops_data();
    void matchesDoubleLoops();
    void rowsStandAlone_data();
    void rowsStandAlone();
    void unalignedInput();
    void wrongCalls();
};

void TestExactProduct::matchesDoubleLoops_data()
{
    QTest::addColumn<TensorType>("type");
    QTest::addColumn<int>("outputs");
    QTest::addColumn<int>("columns");
    for (const TensorType type : computableTypes) {
        const int block = int(traitsOf(type).blockValues);
        std::vector<std::pair<int, int>> shapes = {
            {1, block}, {9, block == 32 ? 576 : 512}, {5, 1280}, {6, 4096}};
        if (block == 1)
            shapes.insert(shapes.end(), {{3, 31}, {7, 172}, {2, 1027}});
        for (const auto &[outputs, columns] : shapes)
            QTest::addRow("%s %dx%d", traitsOf(type).name, outputs, columns) << type << outputs << columns;
    }
}

void TestExactProduct::matchesDoubleLoops()
{
    QFETCH(TensorType, type);
    QFETCH(int, outputs);
    QFETCH(int, columns);
    const PackedMatrix matrix(type, outputs, columns, 81U);
    const std::vector<float> bias = randomFloats(std::size_t(outputs), 3.0F, 82U);
    const DeviceValues<float> deviceBias(bias);
    const std::vector<float> values = randomFloats(std::size_t(8 * columns), 2.0F, 83U);
    for (const int rows : {1, 2, 3, 5, 8}) {
        if (columns > 2048 && rows != 1 && rows != 3)
            continue; // long rows are for the warps that share them, and slow where one thread plays all
        cudahost::setSeed(std::uint64_t(rows + columns));
        const bool isBiased = rows % 2 != 0;
        const std::vector<float> got =
            product(matrix, values, rows, columns, isBiased ? deviceBias.data() : nullptr);
        QCOMPARE(int(got.size()), rows * outputs);
        for (int row = 0; row < rows; ++row) {
            const std::vector<double> x = asDoubles(values, std::size_t(row * columns), std::size_t(columns));
            for (int output = 0; output < outputs; ++output) {
                const Dot wanted = dot(matrix.row(output), x);
                const double added = isBiased ? double(bias[std::size_t(output)]) : 0.0;
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
    }
    const std::string faults = deviceFaults();
    QVERIFY2(faults.empty(), faults.c_str());
}

void TestExactProduct::rowsStandAlone_data()
{
    QTest::addColumn<TensorType>("type");
    for (const TensorType type :
         {TensorType::F32, TensorType::F16, TensorType::Q8_0, TensorType::Q4_K, TensorType::IQ2_S})
        QTest::newRow(traitsOf(type).name) << type;
}

void TestExactProduct::rowsStandAlone()
{
    QFETCH(TensorType, type);
    constexpr int columns = 2304;
    constexpr int outputs = 7;
    const PackedMatrix matrix(type, outputs, columns, 91U);
    const std::vector<float> values = randomFloats(std::size_t(8 * columns), 2.0F, 92U);
    const std::vector<float> together = product(matrix, values, 8, columns, nullptr);
    QCOMPARE(int(together.size()), 8 * outputs);
    for (const int rows : {1, 2, 4, 7}) {
        cudahost::setSeed(std::uint64_t(200 + rows));
        QCOMPARE(product(matrix, values, rows, columns, nullptr),
                 std::vector<float>(together.begin(), together.begin() + rows * outputs));
    }
}

/// Plain types take rows that begin anywhere; what lies between rows is not looked at.
void TestExactProduct::unalignedInput()
{
    for (const TensorType type : {TensorType::F32, TensorType::F16, TensorType::BF16}) {
        for (const int columns : {40, 77}) {
            const PackedMatrix matrix(type, 3, columns, 101U);
            const std::vector<float> values = randomFloats(std::size_t(2 * columns), 2.0F, 102U);
            const std::vector<float> wanted = product(matrix, values, 2, columns, nullptr);
            const int stride = columns + 3;
            std::vector<float> apart(std::size_t(2 * stride), 1e30F);
            for (int row = 0; row < 2; ++row)
                std::copy_n(values.begin() + row * columns, columns, apart.begin() + row * stride);
            for (const int first : {0, 1, 4})
                QCOMPARE(product(matrix, apart, 2, stride, nullptr, first), wanted);
        }
    }
    const PackedMatrix matrix(TensorType::Q8_0, 3, 64, 103U);
    const std::vector<float> values = randomFloats(256, 2.0F, 104U);
    QVERIFY(product(matrix, values, 2, 65, nullptr).empty());
    QVERIFY(product(matrix, values, 1, 64, nullptr, 1).empty());
    QVERIFY(!product(matrix, values, 2, 68, nullptr, 4).empty());
}

void TestExactProduct::wrongCalls()
{
    constexpr int columns = 64;
    const PackedMatrix matrix(TensorType::Q8_0, 4, columns, 111U);
    const DeviceValues<float> input(randomFloats(9 * columns, 1.0F, 112U));
    const DeviceValues<float> output(64);
    const auto call = [&](const auto &change) {
        DeviceWeight weight = matrix.weight();
        DeviceRows x = deviceRows(input, 2, columns);
        DeviceRows y = deviceRows(output, 2, 4);
        change(weight, x, y);
        const DeviceProduct one{weight, nullptr, y};
        return multiplyExact(&one, 1, x, nullptr);
    };
    QCOMPARE(call([](auto &, auto &, auto &) {}), cudaSuccess);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.data = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.type = TensorType::I32; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &x, auto &) { w.columns = x.columns = 48; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &w, auto &, auto &) { w.rows = 5; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.data = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.columns = 32; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.stride = 60; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &) { x.rows = 1; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &y) { x.rows = y.rows = 9; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &x, auto &y) { x.rows = y.rows = 0; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &, auto &y) { y.data = nullptr; }), cudaErrorInvalidValue);
    QCOMPARE(call([](auto &, auto &, auto &y) { y.columns = 3; }), cudaErrorInvalidValue);
}

TOKENLOUPE_TEST_MAIN(TestExactProduct)
#include "tst_exactproduct.moc"
