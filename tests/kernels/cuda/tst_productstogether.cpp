// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/experts.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/weightlayout.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/productcases.h"
#include "tests/support/testmain.h"

#include <array>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

constexpr int columns = 1280; // two or four warps share a row
constexpr double tolerance = 4e-6;

using Outputs = std::array<std::vector<float>, mostProducts>;

/// Three matrices of one type, as query, key and value are: the first and the last have a bias.
class Matrices
{
public:
    explicit Matrices(TensorType type)
        : m_matrices{PackedMatrix(type, 9, columns, 201U), PackedMatrix(type, 2, columns, 202U),
                     PackedMatrix(type, 4, columns, 203U)}
    {
        for (std::size_t i = 0; i < m_matrices.size(); ++i) {
            m_biasValues[i] = i == 1 ? std::vector<float>(std::size_t(outputs(i)))
                                     : randomFloats(std::size_t(outputs(i)), 3.0F, unsigned(210 + i));
            m_biases.push_back(std::make_unique<DeviceValues<float>>(m_biasValues[i]));
        }
    }

    std::int32_t outputs(std::size_t i) const { return std::int32_t(m_matrices[i].weight().rows); }
    const PackedMatrix &operator[](std::size_t i) const { return m_matrices[i]; }
    double biasOf(std::size_t i, int output) const { return double(m_biasValues[i][std::size_t(output)]); }

    /// `multiply(products, count)` once for the first `count` of them, or once for each.
    enum class Launches { One, Each };
    template <class Multiply>
    Outputs run(int count, int rows, Launches launches, const Multiply &multiply) const
    {
        std::vector<std::unique_ptr<DeviceValues<float>>> memory;
        std::vector<DeviceProduct> products;
        for (std::size_t i = 0; i < std::size_t(count); ++i) {
            memory.push_back(std::make_unique<DeviceValues<float>>(
                std::vector<float>(std::size_t(rows * outputs(i)), 777.0F)));
            products.push_back({m_matrices[i].weight(), i == 1 ? nullptr : m_biases[i]->data(),
                                deviceRows(*memory.back(), rows, outputs(i))});
        }
        const std::int64_t before = cudahost::launchCount();
        cudaError_t status = cudaSuccess;
        if (launches == Launches::One)
            status = multiply(products.data(), std::int32_t(count));
        for (const DeviceProduct &product : products) {
            if (launches == Launches::Each && status == cudaSuccess)
                status = multiply(&product, 1);
        }
        const std::int64_t wanted = launches == Launches::One ? 1 : count;
        Outputs results;
        if (status != cudaSuccess || cudahost::launchCount() - before != wanted)
            return results;
        for (std::size_t i = 0; i < memory.size(); ++i)
            results[i] = memory[i]->read();
        return results;
    }

private:
    std::array<PackedMatrix, mostProducts> m_matrices;
    std::array<std::vector<float>, mostProducts> m_biasValues;
    std::vector<std::unique_ptr<DeviceValues<float>>> m_biases;
};

/// Where the outputs of one row are not those of double loops over `x`; empty: nowhere.
QString wrongOutput(const Matrices &matrices, const Outputs &got, int row, const std::vector<double> &x)
{
    for (std::size_t i = 0; i < got.size(); ++i) {
        const std::size_t outputs = std::size_t(matrices.outputs(i));
        if (got[i].size() < (std::size_t(row) + 1) * outputs)
            return QStringLiteral("matrix %1 has no row %2").arg(i).arg(row);
        for (int output = 0; output < int(outputs); ++output) {
            const Dot wanted = dot(matrices[i].row(output), x);
            const double bias = matrices.biasOf(i, output);
            const double value = double(got[i][std::size_t(row) * outputs + std::size_t(output)]);
            const double error = std::abs(value - wanted.sum - bias);
            if (!(error <= tolerance * (wanted.magnitude + std::abs(bias))))
                return QStringLiteral("matrix %1, row %2, output %3: off by %4")
                    .arg(i)
                    .arg(row)
                    .arg(output)
                    .arg(error);
        }
    }
    return {};
}

} // namespace

/// Several matrices in one launch: what double loops give, and the bits that one launch for each gives.
class TestProductsTogether : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup()
    {
        const std::string faults = deviceFaults();
        QVERIFY2(faults.empty(), faults.c_str());
    }
    void types_data();
    void types();
    void expertsTogether();
    void wrongCalls();
};

void TestProductsTogether::types_data()
{
    QTest::addColumn<TensorType>("type");
    for (const TensorType type : computableTypes)
        QTest::newRow(traitsOf(type).name) << type;
}

void TestProductsTogether::types()
{
    QFETCH(TensorType, type);
    const Matrices matrices(type);
    const std::vector<float> values = randomFloats(std::size_t(8 * columns), 2.0F, 204U);
    const DeviceValues<float> input(values);
    for (int rows = 1; rows <= 8; ++rows) {
        cudahost::setSeed(std::uint64_t(rows));
        const auto exact = [&](const DeviceProduct *products, std::int32_t count) {
            return multiplyExact(products, count, deviceRows(input, rows, columns), nullptr);
        };
        const Outputs together = matrices.run(3, rows, Matrices::Launches::One, exact);
        for (int row = 0; row < rows; ++row)
            QCOMPARE(wrongOutput(matrices, together, row,
                                 asDoubles(values, std::size_t(row * columns), std::size_t(columns))),
                     QString());
        const bool isPower = (rows & (rows - 1)) == 0; // each kernel once
        if (isPower)
            QCOMPARE(matrices.run(3, rows, Matrices::Launches::Each, exact), together);
        if (rows == 1) {
            const Outputs two = matrices.run(2, rows, Matrices::Launches::One, exact);
            QCOMPARE(two[0], together[0]);
            QCOMPARE(two[1], together[1]);
        }
        if (!hasQuantizedProduct(type, columns))
            continue;

        const QuantizedCase rounded(values, rows, columns);
        const auto quantized = [&](const DeviceProduct *products, std::int32_t count) {
            return multiplyQuantized(products, count, rounded.rows(), nullptr);
        };
        const Outputs whole = matrices.run(3, rows, Matrices::Launches::One, quantized);
        for (int row = 0; row < rows; ++row)
            QCOMPARE(wrongOutput(matrices, whole, row, rounded.row(row)), QString());
        if (isPower)
            QCOMPARE(matrices.run(3, rows, Matrices::Launches::Each, quantized), whole);
    }
}

/// Gate and up of a mixture of experts.
void TestProductsTogether::expertsTogether()
{
    constexpr int used = 2;
    constexpr int tokens = 3;
    for (const TensorType type : {TensorType::F16, TensorType::Q4_0, TensorType::Q6_K}) {
        std::vector<std::unique_ptr<PackedMatrix>> matrices;
        std::array<std::vector<const std::byte *>, 2> places;
        const std::array<int, 2> outputs = {6, 9};
        for (std::size_t which = 0; which < 2; ++which) {
            for (unsigned expert = 0; expert < 4; ++expert) {
                matrices.push_back(std::make_unique<PackedMatrix>(type, outputs[which], columns,
                                                                  220U + expert + 4 * unsigned(which)));
                places[which].push_back(matrices.back()->weight().data);
            }
        }
        const DeviceValues<const std::byte *> first(places[0]);
        const DeviceValues<const std::byte *> second(places[1]);
        const DeviceValues<std::int32_t> chosen(std::vector<std::int32_t>{1, 3, 0, 1, 2, 3});
        const DeviceValues<float> input(randomFloats(std::size_t(tokens * columns), 2.0F, 230U));
        std::array<std::vector<std::vector<float>>, 2> results;
        for (const int count : {1, 2}) {
            const DeviceValues<float> gate(std::size_t(tokens * used * outputs[0]));
            const DeviceValues<float> up(std::size_t(tokens * used * outputs[1]));
            const std::array<ExpertProduct, 2> products = {
                {{{first.data(), type, 4, outputs[0], columns}, deviceRows(gate, tokens * used, outputs[0])},
                 {{second.data(), type, 4, outputs[1], columns}, deviceRows(up, tokens * used, outputs[1])}}};
            for (std::size_t i = 0; i < products.size(); i += std::size_t(count))
                QCOMPARE(multiplyExpertsExact(&products[i], count, {chosen.data(), nullptr, used, false},
                                              deviceRows(input, tokens, columns), nullptr),
                         cudaSuccess);
            results[std::size_t(count - 1)] = {gate.read(), up.read()};
        }
        QCOMPARE(results[1], results[0]);
    }
}

void TestProductsTogether::wrongCalls()
{
    const PackedMatrix first(TensorType::Q8_0, 4, 256, 240U);
    const PackedMatrix other(TensorType::Q4_0, 4, 256, 241U);
    const PackedMatrix narrow(TensorType::Q8_0, 4, 128, 242U);
    const QuantizedCase rounded(randomFloats(512, 1.0F, 243U), 2, 256);
    const DeviceValues<float> input(randomFloats(512, 1.0F, 244U));
    const DeviceValues<float> output(64);
    const DeviceRows two = deviceRows(output, 2, 4);
    const DeviceProduct good{first.weight(), nullptr, two};
    const auto call = [&](const std::vector<DeviceProduct> &products) {
        const auto count = std::int32_t(products.size());
        const cudaError_t exact = multiplyExact(products.data(), count, deviceRows(input, 2, 256), nullptr);
        const cudaError_t quantized = multiplyQuantized(products.data(), count, rounded.rows(), nullptr);
        return exact == quantized ? exact : cudaErrorUnknown;
    };
    QCOMPARE(call({good, good}), cudaSuccess);
    const std::int64_t before = cudahost::launchCount();
    QCOMPARE(call({}), cudaErrorInvalidValue);
    QCOMPARE(call({good, good, good, good}), cudaErrorInvalidValue);
    QCOMPARE(call({good, {other.weight(), nullptr, two}}), cudaErrorInvalidValue);
    QCOMPARE(call({good, {narrow.weight(), nullptr, two}}), cudaErrorInvalidValue);
    QCOMPARE(call({good, {first.weight(), nullptr, deviceRows(output, 1, 4)}}), cudaErrorInvalidValue);
    QCOMPARE(call({good, {first.weight(), nullptr, deviceRows(output, 2, 3)}}), cudaErrorInvalidValue);
    QCOMPARE(call({good, good, {{}, nullptr, two}}), cudaErrorInvalidValue);
    QCOMPARE(multiplyExact(nullptr, 1, deviceRows(input, 2, 256), nullptr), cudaErrorInvalidValue);
    QCOMPARE(multiplyQuantized(nullptr, 1, rounded.rows(), nullptr), cudaErrorInvalidValue);

    const DeviceValues<const std::byte *> places(std::vector<const std::byte *>(2, first.weight().data));
    const DeviceValues<std::int32_t> chosen(std::vector<std::int32_t>{0, 1});
    const auto experts = [&](const std::vector<ExpertProduct> &products) {
        return multiplyExpertsExact(products.data(), std::int32_t(products.size()),
                                    {chosen.data(), nullptr, 1, false}, deviceRows(input, 2, 256), nullptr);
    };
    const ExpertProduct fine{{places.data(), TensorType::Q8_0, 2, 4, 256}, two};
    const ExpertProduct typed{{places.data(), TensorType::Q4_0, 2, 4, 256}, two};
    const ExpertProduct wide{{places.data(), TensorType::Q8_0, 2, 4, 512}, two};
    const ExpertProduct few{{places.data(), TensorType::Q8_0, 2, 4, 256}, deviceRows(output, 1, 4)};
    QCOMPARE(experts({}), cudaErrorInvalidValue);
    QCOMPARE(experts({fine, typed}), cudaErrorInvalidValue);
    QCOMPARE(experts({fine, wide}), cudaErrorInvalidValue);
    QCOMPARE(experts({fine, few}), cudaErrorInvalidValue);
    QCOMPARE(experts({fine, fine, fine, fine}), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), before);
}

TOKENLOUPE_TEST_MAIN(TestProductsTogether)
#include "tst_productstogether.moc"
