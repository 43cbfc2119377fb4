// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/cudafixture.h"
#include "tests/support/quantize.h"
#include "tests/support/testmain.h"
#include "tests/support/tinyarchitecture.h"
#include "tests/support/tinymodel.h"

#include <QTemporaryDir>
#include <array>
#include <memory>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

Weight stored(const std::vector<std::byte> &bytes, TensorType type, std::int64_t rows, std::int64_t columns)
{
    return {type, rows, columns, bytes};
}

} // namespace

/// Products of the device against the CPU's exact ones.
class TestCudaMultiply : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void products_data();
    void products();
    void launchesOfMixedTypes_data();
    void launchesOfMixedTypes();
    void normAndProductTogether();
    void experts_data();
    void experts();
    void expertsOfRoundedRows_data();
    void expertsOfRoundedRows();
    void refusesWrongShapes();
};

void TestCudaMultiply::products_data()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("columns");
    for (const TensorType type : {TensorType::F32, TensorType::F16, TensorType::BF16}) {
        const char *name = traitsOf(type).name;
        QTest::addRow("%s, odd width", name) << int(type) << 45;
        QTest::addRow("%s", name) << int(type) << 64;
    }
    for (const TensorType type : {TensorType::Q4_0, TensorType::Q4_1, TensorType::Q5_0, TensorType::Q5_1,
                                  TensorType::Q8_0, TensorType::IQ4_NL, TensorType::MXFP4})
        QTest::addRow("%s", traitsOf(type).name) << int(type) << 96;
    for (const TensorType type : {TensorType::Q2_K, TensorType::Q3_K, TensorType::Q4_K, TensorType::Q5_K,
                                  TensorType::Q6_K, TensorType::IQ4_XS})
        QTest::addRow("%s", traitsOf(type).name) << int(type) << 256;
}

void TestCudaMultiply::products()
{
    QFETCH(int, type);
    QFETCH(int, columns);
    constexpr std::int64_t outputs = 19;
    const auto typed = static_cast<TensorType>(type);
    const std::vector<std::byte> first =
        storeAs(static_cast<std::uint32_t>(type), randomFloats(std::size_t(outputs * columns), 1));
    const std::vector<std::byte> second =
        storeAs(static_cast<std::uint32_t>(type), randomFloats(std::size_t(7 * columns), 2));
    const Floats biasValues = randomFloats(outputs, 3);
    const Weight a = stored(first, typed, outputs, columns);
    const Weight b = stored(second, typed, 7, columns);
    const Weight bias = weightOf(biasValues, 1);
    const Weight none;
    const auto cpu = *makeCpuBackend(1);
    const auto device = hostedBackend();
    for (const std::int64_t rows : {1, 3, 8, 9, 20}) {
        TwinRows input(*device, rows, columns, 4);
        TwinRows x(*device, rows, outputs, 5);
        TwinRows y(*device, rows, 7, 6);
        const std::array<Projection, 2> onHost = {Projection{&a, &bias, x.onHost()},
                                                  Projection{&b, &none, y.onHost()}};
        const std::array<Projection, 2> onDevice = {Projection{&a, &bias, x.onDevice()},
                                                    Projection{&b, nullptr, y.onDevice()}};
        QVERIFY(cpu->multiply(input.onHost(), onHost));
        QVERIFY(device->multiply(input.onDevice(), onDevice));
        TOKENLOUPE_COMPARE_TWINS(x, 1e-5);
        TOKENLOUPE_COMPARE_TWINS(y, 1e-5);
        TOKENLOUPE_COMPARE_TWINS(input, 0.0);
    }
}

void TestCudaMultiply::launchesOfMixedTypes_data()
{
    QTest::addColumn<QList<int>>("types");
    QTest::addColumn<int>("launches"); // the rounding is one of them
    const int q4 = int(TensorType::Q4_K);
    const int q6 = int(TensorType::Q6_K);
    const int f16 = int(TensorType::F16);
    QTest::newRow("three alike") << QList<int>{q4, q4, q4} << 2;
    QTest::newRow("the last differs") << QList<int>{q4, q4, q6} << 3;
    QTest::newRow("the middle differs") << QList<int>{q4, q6, q4} << 3;
    QTest::newRow("one is not rounded") << QList<int>{f16, q6, q6} << 3;
    QTest::newRow("all differ") << QList<int>{q6, f16, q4} << 4;
    QTest::newRow("none is rounded") << QList<int>{f16, f16} << 1;
    QTest::newRow("more than go together") << QList<int>{q4, q6, q4, q4, q4} << 4;
}

/// Those of one type go together, wherever they are in the call; each output is that of its own matrix.
void TestCudaMultiply::launchesOfMixedTypes()
{
    QFETCH(QList<int>, types);
    QFETCH(int, launches);
    QTemporaryDir folder;
    auto model = Model::load(writeTinyModel(folder.path().toStdString()));
    QVERIFY(model);
    const auto device = hostedBackend();
    QVERIFY(device->prepare(*model, Precision::Fast, {}, nullptr, {}));
    const auto cpu = *makeCpuBackend(1);
    constexpr std::int64_t columns = 256;
    for (const std::int64_t rows : {1, 5}) {
        TwinRows input(*device, rows, columns, 4);
        std::vector<std::vector<std::byte>> bytes;
        std::vector<Weight> weights;
        std::vector<std::unique_ptr<TwinRows>> outputs;
        std::vector<Projection> onHost;
        std::vector<Projection> onDevice;
        for (qsizetype i = 0; i < types.size(); ++i) {
            const std::int64_t width = 5 + 4 * i;
            bytes.push_back(storeAs(std::uint32_t(types[i]),
                                    randomFloats(std::size_t(width * columns), 10U + unsigned(i))));
            weights.push_back(stored(bytes.back(), static_cast<TensorType>(types[i]), width, columns));
            outputs.push_back(std::make_unique<TwinRows>(*device, rows, width, 20U + unsigned(i)));
        }
        for (std::size_t i = 0; i < weights.size(); ++i) {
            onHost.push_back({&weights[i], nullptr, outputs[i]->onHost()});
            onDevice.push_back({&weights[i], nullptr, outputs[i]->onDevice()});
        }
        const std::int64_t before = cudahost::launchCount();
        QVERIFY(device->multiply(input.onDevice(), onDevice));
        QVERIFY(device->synchronize());
        QCOMPARE(cudahost::launchCount() - before, std::int64_t(launches));
        QVERIFY(cpu->multiply(input.onHost(), onHost));
        for (const auto &output : outputs)
            TOKENLOUPE_COMPARE_TWINS(*output, 1e-3);
    }
}

/// In fast precision a norm rounds its result for the product that comes next: the same numbers as when
/// somebody looks at the norm first.
void TestCudaMultiply::normAndProductTogether()
{
    QTemporaryDir folder;
    TinyModelOptions options;
    options.type = TinyType::Q8_0;
    auto model = Model::load(writeTinyModel(folder.path().toStdString(), options));
    QVERIFY(model);
    const auto device = hostedBackend();
    QVERIFY(device->prepare(*model, Precision::Fast, {}, nullptr, {}));
    const auto cpu = *makeCpuBackend(1);
    const LayerWeights &layer = (*model)->weights().layers[1];
    const NormParams params{NormKind::Rms, &layer.attentionNorm, nullptr, 1e-5F, 0.0F};
    const std::int64_t width = (*model)->config().embedding;
    std::vector<Floats> results;
    std::vector<std::int64_t> launches;
    enum class Look { No, Yes };
    for (const Look look : {Look::No, Look::Yes}) {
        TwinRows input(*device, 2, width, 1);
        TwinRows normed(*device, 2, width, 2);
        TwinRows output(*device, 2, layer.query.rows, 3);
        const std::int64_t before = cudahost::launchCount();
        const std::array<Projection, 1> onDevice = {Projection{&layer.query, nullptr, output.onDevice()}};
        QVERIFY(device->norm(input.onDevice(), params, normed.onDevice()));
        QVERIFY(look == Look::No || !normed.fromDevice().empty());
        QVERIFY(device->multiply(normed.onDevice(), onDevice));
        QVERIFY(device->synchronize());
        launches.push_back(cudahost::launchCount() - before);
        results.push_back(output.fromDevice());
        const std::array<Projection, 1> onHost = {Projection{&layer.query, nullptr, output.onHost()}};
        QVERIFY(cpu->norm(input.onHost(), params, normed.onHost()));
        QVERIFY(cpu->multiply(normed.onHost(), onHost));
        TOKENLOUPE_COMPARE_TWINS(output, 1e-3);
        TOKENLOUPE_COMPARE_TWINS(normed, 1e-6);
    }
    QVERIFY(results[0] == results[1]);
    QCOMPARE(launches[0], std::int64_t(2));
    QCOMPARE(launches[1], std::int64_t(3));
}

void TestCudaMultiply::experts_data()
{
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("weighting");
    QTest::newRow("one token") << 1 << int(ExpertWeighting::OfChosen);
    QTest::newRow("a few") << 5 << int(ExpertWeighting::OfChosen);
    QTest::newRow("many, shares of all") << 20 << int(ExpertWeighting::OfAll);
}

void TestCudaMultiply::experts()
{
    QFETCH(int, tokens);
    QFETCH(int, weighting);
    constexpr std::int64_t width = 20;
    constexpr std::int64_t inner = 13;
    constexpr std::uint32_t count = 6;
    constexpr std::uint32_t used = 3;
    std::vector<Floats> values;
    for (unsigned i = 0; i < 3 * count; ++i)
        values.push_back(randomFloats(width * inner, 100 + i));
    std::vector<ExpertWeights> weights;
    for (std::size_t i = 0; i < count; ++i)
        weights.push_back({weightOf(values[3 * i], inner), weightOf(values[3 * i + 1], inner),
                           weightOf(values[3 * i + 2], width)});
    const auto cpu = *makeCpuBackend(1);
    const auto device = hostedBackend();
    TwinRows input(*device, tokens, width, 1);
    TwinRows router(*device, tokens, count, 2);
    TwinRows rows(*device, std::int64_t(tokens) * used, width, 3);
    TwinRows gate(*device, std::int64_t(tokens) * used, inner, 4);
    TwinRows up(*device, std::int64_t(tokens) * used, inner, 5);
    ExpertParams params;
    params.experts = weights;
    params.used = used;
    params.weighting = static_cast<ExpertWeighting>(weighting);
    ExpertParams onDevice = params;
    params.rows = rows.onHost();
    params.gate = gate.onHost();
    params.up = up.onHost();
    onDevice.rows = rows.onDevice();
    onDevice.gate = gate.onDevice();
    onDevice.up = up.onDevice();
    // The output may lie over the input.
    QVERIFY(cpu->experts(input.onHost(), router.onHost(), params, input.onHost()));
    QVERIFY(device->experts(input.onDevice(), router.onDevice(), onDevice, input.onDevice()));
    TOKENLOUPE_COMPARE_TWINS(input, 1e-5);
    TOKENLOUPE_COMPARE_TWINS(router, 1e-6);
}

void TestCudaMultiply::expertsOfRoundedRows_data()
{
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("upType");
    QTest::addColumn<int>("downType");
    QTest::addColumn<int>("launches");
    const int q4 = int(TensorType::Q4_0);
    const int q8 = int(TensorType::Q8_0);
    // Routes, rounding, gate and up, activation with rounding, down, the join; of many the order too.
    QTest::newRow("one token") << 1 << q4 << q8 << 6;
    QTest::newRow("many tokens") << 20 << q4 << q8 << 7;
    QTest::newRow("types that differ") << 2 << q8 << q4 << 8;
    QTest::newRow("one that is not rounded") << 2 << int(TensorType::F16) << int(TensorType::F16) << 7;
}

/// In fast precision, as products of whole matrices.
void TestCudaMultiply::expertsOfRoundedRows()
{
    QFETCH(int, tokens);
    QFETCH(int, upType);
    QFETCH(int, downType);
    QFETCH(int, launches);
    QTemporaryDir folder;
    auto model = Model::load(writeTinyModel(folder.path().toStdString()));
    QVERIFY(model);
    const auto device = hostedBackend();
    QVERIFY(device->prepare(*model, Precision::Fast, {}, nullptr, {}));
    const auto cpu = *makeCpuBackend(1);
    constexpr std::int64_t width = 256;
    constexpr std::int64_t inner = 96;
    constexpr std::uint32_t count = 5;
    constexpr std::uint32_t used = 2;
    std::vector<std::vector<std::byte>> bytes;
    bytes.reserve(3 * count);
    const auto matrix = [&](int type, std::int64_t rows, std::int64_t columns) {
        Floats values = randomFloats(std::size_t(rows * columns), 300U + unsigned(bytes.size()));
        for (float &value : values)
            value /= 16.0F;
        bytes.push_back(storeAs(std::uint32_t(type), values));
        return stored(bytes.back(), static_cast<TensorType>(type), rows, columns);
    };
    std::vector<ExpertWeights> weights;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Weight gate = matrix(int(TensorType::Q4_0), inner, width);
        const Weight up = matrix(upType, inner, width);
        weights.push_back({gate, up, matrix(downType, width, inner)});
    }
    TwinRows input(*device, tokens, width, 1);
    TwinRows router(*device, tokens, count, 2);
    TwinRows rows(*device, std::int64_t(tokens) * used, width, 3);
    TwinRows gate(*device, std::int64_t(tokens) * used, inner, 4);
    TwinRows up(*device, std::int64_t(tokens) * used, inner, 5);
    TwinRows output(*device, tokens, width, 6);
    ExpertParams params;
    params.experts = weights;
    params.used = used;
    ExpertParams onDevice = params;
    params.rows = rows.onHost();
    params.gate = gate.onHost();
    params.up = up.onHost();
    onDevice.rows = rows.onDevice();
    onDevice.gate = gate.onDevice();
    onDevice.up = up.onDevice();
    QVERIFY(cpu->experts(input.onHost(), router.onHost(), params, output.onHost()));
    const std::int64_t before = cudahost::launchCount();
    QVERIFY(device->experts(input.onDevice(), router.onDevice(), onDevice, output.onDevice()));
    QVERIFY(device->synchronize());
    QCOMPARE(cudahost::launchCount() - before, std::int64_t(launches));
    TOKENLOUPE_COMPARE_TWINS(output, 1e-3);
}

void TestCudaMultiply::refusesWrongShapes()
{
    const auto device = hostedBackend();
    const Floats values = randomFloats(7 * 20, 1);
    const Weight weight = weightOf(values, 7);
    TwinRows input(*device, 3, 20, 1);
    TwinRows output(*device, 3, 7, 2);
    TwinRows wide(*device, 3, 8, 3);
    TwinRows fewer(*device, 2, 7, 4);
    for (TwinRows *wrong : {&wide, &fewer}) {
        const std::array<Projection, 1> projection = {Projection{&weight, nullptr, wrong->onDevice()}};
        const Status status = device->multiply(input.onDevice(), projection);
        QVERIFY(!status);
        QCOMPARE(status.error().code, ErrorCode::InvalidArgument);
    }
    const std::array<Projection, 1> right = {Projection{&weight, nullptr, output.onDevice()}};
    QVERIFY(device->multiply(input.onDevice(), right));
    const std::array<Projection, 1> narrow = {Projection{&weight, nullptr, output.onDevice()}};
    QVERIFY(!device->multiply(wide.onDevice(), narrow));
}

TOKENLOUPE_TEST_MAIN(TestCudaMultiply)
#include "tst_cudamultiply.moc"
