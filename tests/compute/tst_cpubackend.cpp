// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/backend.h"
#include "kernels/cpu/cpukernels.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace tokenloupe;

namespace {

using Floats = std::vector<float>;

Floats randomFloats(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Floats values(count);
    for (float &value : values)
        value = normal(random);
    return values;
}

Weight weightOf(const Floats &values, std::int64_t rows)
{
    return {TensorType::F32, rows, static_cast<std::int64_t>(values.size()) / rows,
            std::as_bytes(std::span(values))};
}

Activations view(Floats &values, std::int64_t rows)
{
    return {values.data(), rows, static_cast<std::int64_t>(values.size()) / rows};
}

bool near(float got, double expected, double scale = 1.0)
{
    return std::abs(static_cast<double>(got) - expected) <= 1e-5 * (std::abs(expected) + scale);
}

NormParams rms(const Weight &gain, float epsilon)
{
    NormParams params;
    params.gain = &gain;
    params.epsilon = epsilon;
    return params;
}

std::shared_ptr<Backend> cpu(int threads)
{
    const auto backend = makeCpuBackend(threads);
    return backend ? *backend : nullptr;
}

} // namespace

class TestCpuBackend : public QObject
{
    Q_OBJECT

private slots:
    void tellsWhatItIs();
    void allocates();
    void embedsRows();
    void normalizes();
    void multipliesSeveralAtOnce_data();
    void multipliesSeveralAtOnce();
    void rotates_data();
    void rotates();
    void activates();
    void adds();
    void readsVectorsOfOtherTypes();
    void refusesWrongShapes();
};

void TestCpuBackend::tellsWhatItIs()
{
    const auto backend = cpu(3);
    QVERIFY(backend);
    QCOMPARE(backend->name(), std::string("CPU"));
    QCOMPARE(backend->threads(), 3);
    QCOMPARE(backend->isa(), std::string(cpuKernels().name));
    QCOMPARE(cpu(0)->threads(), usableCores());
    QCOMPARE(precisionName(Precision::Exact), std::string_view("exact"));
    for (const int threads : {-1, 257}) {
        const auto refused = makeCpuBackend(threads);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
    }
}

void TestCpuBackend::allocates()
{
    const auto backend = cpu(1);
    auto buffer = backend->allocate(1000, "a buffer");
    QVERIFY(buffer);
    QCOMPARE((*buffer)->bytes(), std::uint64_t(1000));
    QCOMPARE(reinterpret_cast<std::uintptr_t>((*buffer)->data()) % 64, std::uintptr_t(0));
    auto *floats = reinterpret_cast<float *>((*buffer)->data());
    floats[0] = 1.5F;
    floats[249] = 2.5F;
    Floats copy(2);
    QVERIFY(backend->copyToHost(floats + 248, copy));
    QCOMPARE(copy[1], 2.5F);
    QCOMPARE(backend->read(floats, 250)->data(), floats); // in place

    const std::uint64_t tooMuch = std::uint64_t(1) << 60;
    const auto refused = backend->allocate(tooMuch, "a sea of numbers");
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::OutOfMemory);
    QVERIFY(refused.error().text().find("a sea of numbers") != std::string::npos);
    QVERIFY(refused.error().text().find(std::to_string(tooMuch)) != std::string::npos);
}

void TestCpuBackend::embedsRows()
{
    const auto backend = cpu(2);
    const Floats table = randomFloats(50 * 33, 1);
    Floats out(3 * 33);
    const std::vector<TokenId> ids = {TokenId(49), TokenId(0), TokenId(7)};
    QVERIFY(backend->embed(weightOf(table, 50), ids, view(out, 3)));
    for (std::size_t row = 0; row < 3; ++row)
        QVERIFY(std::equal(out.begin() + static_cast<std::ptrdiff_t>(row) * 33,
                           out.begin() + static_cast<std::ptrdiff_t>(row + 1) * 33,
                           table.begin() + ids[row].value() * 33));
    const std::vector<TokenId> outside = {TokenId(1), TokenId(50), TokenId(2)};
    const Status refused = backend->embed(weightOf(table, 50), outside, view(out, 3));
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
}

void TestCpuBackend::normalizes()
{
    constexpr std::int64_t rows = 90;
    constexpr std::int64_t columns = 333; // enough to be shared out
    const Floats gain = randomFloats(columns, 2);
    Floats input = randomFloats(rows * columns, 3);
    Floats out(input.size());
    QVERIFY(cpu(3)->norm(view(input, rows), rms(weightOf(gain, 1), 1e-3F), view(out, rows)));
    for (std::size_t row = 0; row < rows; ++row) {
        double squares = 0;
        for (std::size_t i = 0; i < columns; ++i)
            squares += std::pow(static_cast<double>(input[row * columns + i]), 2);
        const double scale = 1.0 / std::sqrt(squares / columns + 1e-3);
        for (std::size_t i = 0; i < columns; ++i)
            QVERIFY(near(out[row * columns + i], input[row * columns + i] * scale * gain[i]));
    }
    Floats inPlace = input;
    QVERIFY(cpu(1)->norm(view(inPlace, rows), rms(weightOf(gain, 1), 1e-3F), view(inPlace, rows)));
    QVERIFY(inPlace == out);
}

void TestCpuBackend::multipliesSeveralAtOnce_data()
{
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("columns");
    QTest::newRow("one token") << 1 << 320;
    QTest::newRow("a few") << 5 << 100;
    QTest::newRow("many") << 130 << 47;
}

void TestCpuBackend::multipliesSeveralAtOnce()
{
    QFETCH(int, tokens);
    QFETCH(int, columns);
    const std::vector<std::size_t> rowCounts = {100, 1, 33, 64};
    Floats input = randomFloats(static_cast<std::size_t>(tokens * columns), 4);
    std::vector<Floats> matrices;
    std::vector<Floats> biases;
    for (std::size_t i = 0; i < rowCounts.size(); ++i) {
        matrices.push_back(randomFloats(rowCounts[i] * static_cast<std::size_t>(columns), 5 + unsigned(i)));
        biases.push_back(randomFloats(rowCounts[i], 50 + unsigned(i)));
    }
    std::vector<Floats> first;
    for (const int threads : {1, 2, 4}) {
        std::vector<Floats> outputs;
        std::vector<Weight> weights;
        std::vector<Weight> biasWeights;
        for (std::size_t i = 0; i < rowCounts.size(); ++i) {
            outputs.emplace_back(rowCounts[i] * static_cast<std::size_t>(tokens), 99.0F);
            weights.push_back(weightOf(matrices[i], static_cast<std::int64_t>(rowCounts[i])));
            biasWeights.push_back(i % 2 == 0 ? weightOf(biases[i], 1) : Weight());
        }
        std::vector<Projection> projections;
        for (std::size_t i = 0; i < rowCounts.size(); ++i)
            projections.push_back(
                {&weights[i], i == 3 ? nullptr : &biasWeights[i], view(outputs[i], tokens)});
        QVERIFY(cpu(threads)->multiply(view(input, tokens), projections));
        if (threads == 1)
            first = outputs;
        QVERIFY(outputs == first);
    }
    for (std::size_t i = 0; i < rowCounts.size(); ++i) {
        for (std::size_t token = 0; token < static_cast<std::size_t>(tokens); ++token) {
            for (std::size_t row = 0; row < rowCounts[i]; ++row) {
                double sum = i % 2 == 0 ? static_cast<double>(biases[i][row]) : 0.0;
                for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c)
                    sum += static_cast<double>(matrices[i][row * static_cast<std::size_t>(columns) + c]) *
                           static_cast<double>(input[token * static_cast<std::size_t>(columns) + c]);
                QVERIFY(near(first[i][token * rowCounts[i] + row], sum, 20.0));
            }
        }
    }
}

void TestCpuBackend::rotates_data()
{
    QTest::addColumn<int>("style");
    QTest::addColumn<quint32>("rotated");
    QTest::newRow("interleaved, all") << static_cast<int>(RotaryStyle::Interleaved) << 8U;
    QTest::newRow("interleaved, a part") << static_cast<int>(RotaryStyle::Interleaved) << 4U;
    QTest::newRow("half split, all") << static_cast<int>(RotaryStyle::HalfSplit) << 8U;
    QTest::newRow("half split, a part") << static_cast<int>(RotaryStyle::HalfSplit) << 6U;
}

void TestCpuBackend::rotates()
{
    QFETCH(int, style);
    QFETCH(quint32, rotated);
    constexpr std::size_t heads = 3;
    constexpr std::size_t size = 8;
    constexpr std::size_t rows = 5;
    Floats values = randomFloats(rows * heads * size, 6);
    const Floats before = values;
    Floats frequencies = {1.0F, 0.3F, 0.1F, 0.02F};
    frequencies.resize(rotated / 2);
    RopeParams params;
    params.style = static_cast<RotaryStyle>(style);
    params.headSize = size;
    params.rotated = rotated;
    params.inverseFrequencies = frequencies;
    QVERIFY(cpu(2)->rope(view(values, rows), 1000, params));
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t head = 0; head < heads; ++head) {
            Floats expected(before.begin() + static_cast<std::ptrdiff_t>((row * heads + head) * size),
                            before.begin() + static_cast<std::ptrdiff_t>((row * heads + head + 1) * size));
            for (std::size_t pair = 0; pair < rotated / 2; ++pair) {
                const bool neighbours = params.style == RotaryStyle::Interleaved;
                float &a = expected[neighbours ? 2 * pair : pair];
                float &b = expected[neighbours ? 2 * pair + 1 : pair + rotated / 2];
                const double angle =
                    (1000.0 + static_cast<double>(row)) * static_cast<double>(frequencies[pair]);
                const double turned = a * std::cos(angle) - b * std::sin(angle);
                b = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
                a = static_cast<float>(turned);
            }
            for (std::size_t i = 0; i < size; ++i)
                QVERIFY(near(values[(row * heads + head) * size + i], static_cast<double>(expected[i])));
        }
    }
}

void TestCpuBackend::activates()
{
    for (const std::int64_t columns : {7, 172, 1024, 5000}) {
        constexpr std::int64_t rows = 4;
        const auto count = static_cast<std::size_t>(rows * columns);
        Floats gate = randomFloats(count, 7);
        gate[0] = 80.0F;
        gate[1] = -80.0F;
        Floats up = randomFloats(count, 8);
        Floats out(count);
        QVERIFY(cpu(3)->activate(Activation::SiluGated, view(gate, rows), view(up, rows), view(out, rows)));
        for (std::size_t i = 0; i < count; ++i) {
            const double g = static_cast<double>(gate[i]);
            QVERIFY(near(out[i], g / (1.0 + std::exp(-g)) * static_cast<double>(up[i])));
        }
        // Each row alone gives the same bits.
        for (std::int64_t row = 0; row < rows; ++row) {
            Floats single(static_cast<std::size_t>(columns));
            QVERIFY(cpu(1)->activate(Activation::SiluGated, {gate.data() + row * columns, 1, columns},
                                     {up.data() + row * columns, 1, columns}, view(single, 1)));
            QVERIFY(std::equal(single.begin(), single.end(), out.begin() + row * columns));
        }
    }
}

void TestCpuBackend::adds()
{
    Floats a = randomFloats(9 * 4001, 9);
    Floats b = randomFloats(9 * 4001, 10);
    const Floats before = b;
    QVERIFY(cpu(4)->add(view(a, 9), view(b, 9)));
    for (std::size_t i = 0; i < a.size(); ++i)
        QCOMPARE(b[i], before[i] + a[i]);
}

/// Norms and biases need not be F32 in the file, nor lie at an address that a float may have.
void TestCpuBackend::readsVectorsOfOtherTypes()
{
    const std::vector<std::uint16_t> halves = {0x3C00, 0x4000, 0xBC00, 0x3800, 0x4200}; // 1, 2, -1, 0.5, 3
    const Floats plain = {1.0F, 2.0F, -1.0F, 0.5F, 3.0F};
    std::vector<std::byte> shifted(plain.size() * sizeof(float) + 1);
    std::memcpy(shifted.data() + 1, plain.data(), plain.size() * sizeof(float));
    const Weight asHalf{TensorType::F16, 1, 5, std::as_bytes(std::span(halves))};
    const Weight asShifted{TensorType::F32, 1, 5, std::span(shifted).subspan(1)};
    Floats input = randomFloats(10, 11);
    const auto backend = cpu(2);
    Floats expected(10);
    QVERIFY(backend->norm(view(input, 2), rms(weightOf(plain, 1), 1e-5F), view(expected, 2)));
    for (const Weight &gain : {asHalf, asShifted}) {
        Floats out(10);
        QVERIFY(backend->norm(view(input, 2), rms(gain, 1e-5F), view(out, 2)));
        QVERIFY(out == expected);
    }
    const Floats matrix = randomFloats(5 * 5, 12);
    const Weight weight = weightOf(matrix, 5);
    const Weight plainBias = weightOf(plain, 1);
    Floats first(10);
    Floats second(10);
    const std::vector<Projection> both = {{&weight, &plainBias, view(first, 2)},
                                          {&weight, &asHalf, view(second, 2)}};
    QVERIFY(backend->multiply(view(input, 2), both));
    QVERIFY(first == second);
}

void TestCpuBackend::refusesWrongShapes()
{
    const auto backend = cpu(1);
    Floats values(24);
    Floats other(24);
    const Floats stored(24);
    const auto refused = [](const Status &status) {
        return !status && status.error().code == ErrorCode::InvalidArgument &&
               !status.error().message.empty();
    };
    const Weight gain = weightOf(stored, 1);
    QVERIFY(refused(backend->norm(view(values, 2), rms(gain, 1e-5F), view(other, 2))));
    QVERIFY(refused(backend->norm(view(values, 1), rms(gain, 1e-5F), view(other, 2))));
    QVERIFY(refused(backend->add(view(values, 2), view(other, 3))));
    QVERIFY(
        refused(backend->activate(Activation::SiluGated, view(values, 2), view(other, 2), view(other, 4))));

    const Weight matrix = weightOf(stored, 2); // 2 × 12
    const auto multiply = [&](const Weight &weight, Activations input, Activations output) {
        const std::vector<Projection> one = {{&weight, nullptr, output}};
        return backend->multiply(input, one);
    };
    QVERIFY(multiply(matrix, {values.data(), 1, 12}, {other.data(), 1, 2}));
    QVERIFY(refused(multiply(matrix, {values.data(), 1, 11}, {other.data(), 1, 2})));
    QVERIFY(refused(multiply(matrix, {values.data(), 1, 12}, {other.data(), 1, 3})));
    QVERIFY(refused(multiply(matrix, {values.data(), 2, 12}, {other.data(), 1, 2})));
    Weight cutOff = matrix;
    cutOff.data = cutOff.data.first(95);
    QVERIFY(refused(multiply(cutOff, {values.data(), 1, 12}, {other.data(), 1, 2})));
    Weight halfBlock = matrix;
    halfBlock.type = TensorType::Q4_0;
    QVERIFY(refused(multiply(halfBlock, {values.data(), 1, 12}, {other.data(), 1, 2})));
    Weight unknown = matrix;
    unknown.type = TensorType::I64;
    QCOMPARE(multiply(unknown, {values.data(), 1, 12}, {other.data(), 1, 2}).error().code,
             ErrorCode::Unsupported);

    RopeParams params;
    params.headSize = 5;
    QVERIFY(refused(backend->rope(view(values, 1), 0, params)));
    params.headSize = 8;
    params.rotated = 10;
    QVERIFY(refused(backend->rope(view(values, 1), 0, params)));
}

TOKENLOUPE_TEST_MAIN(TestCpuBackend)
#include "tst_cpubackend.moc"
