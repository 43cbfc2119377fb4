// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/backend.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

std::shared_ptr<Backend> cpu(int threads)
{
    const auto backend = makeCpuBackend(threads);
    return backend ? *backend : nullptr;
}

bool refused(const Status &status)
{
    return !status && status.error().code == ErrorCode::InvalidArgument && !status.error().message.empty();
}

/// Random experts of a small width, and everything that a call needs.
struct ExpertCase
{
    static constexpr std::int64_t width = 20;
    static constexpr std::int64_t inner = 13;
    static constexpr std::uint32_t count = 6;
    static constexpr std::uint32_t used = 3;

    explicit ExpertCase(std::int64_t tokens)
        : rows(tokens)
        , input(randomFloats(static_cast<std::size_t>(tokens * width), 1))
        , router(randomFloats(static_cast<std::size_t>(tokens * count), 2))
        , output(input.size())
        , scratch(static_cast<std::size_t>(tokens * used * width))
        , gate(static_cast<std::size_t>(tokens * used * inner))
        , up(gate.size())
    {
        for (unsigned expert = 0; expert < count; ++expert) {
            for (unsigned part = 0; part < 3; ++part)
                stored.push_back(randomFloats(static_cast<std::size_t>(width * inner), 10 * expert + part));
        }
        for (std::size_t expert = 0; expert < count; ++expert)
            weights.push_back({weightOf(stored[3 * expert], inner), weightOf(stored[3 * expert + 1], inner),
                               weightOf(stored[3 * expert + 2], width)});
    }

    ExpertParams params()
    {
        ExpertParams params;
        params.experts = weights;
        params.used = used;
        params.rows = view(scratch, rows * used);
        params.gate = view(gate, rows * used);
        params.up = view(up, rows * used);
        return params;
    }
    Status run(Backend &backend)
    {
        return backend.experts(view(input, rows), view(router, rows), params(), view(output, rows));
    }

    std::int64_t rows;
    Floats input, router, output, scratch, gate, up;
    std::vector<Floats> stored;
    std::vector<ExpertWeights> weights;
};

std::vector<double> times(const Weight &weight, const std::vector<double> &x)
{
    const auto *values = reinterpret_cast<const float *>(weight.data.data());
    std::vector<double> y(static_cast<std::size_t>(weight.rows), 0.0);
    for (std::size_t r = 0; r < y.size(); ++r) {
        for (std::size_t c = 0; c < x.size(); ++c)
            y[r] += static_cast<double>(values[r * x.size() + c]) * x[c];
    }
    return y;
}

} // namespace

/// The operations that only some architectures need.
class TestBackendOps : public QObject
{
    Q_OBJECT

private slots:
    void layerNorm();
    void offsetOfGains();
    void activations_data();
    void activations();
    void addsRowsOfATable();
    void scalesClampsAndCaps();
    void expertsAgreeWithPlainLoops();
    void expertsDoNotDependOnTheBatch();
    void refusesWrongShapes();
};

void TestBackendOps::layerNorm()
{
    constexpr std::int64_t rows = 5;
    Floats input = randomFloats(rows * 300, 1);
    const Floats gain = randomFloats(300, 2);
    const Floats bias = randomFloats(300, 3);
    const Weight gainWeight = weightOf(gain, 1);
    const Weight biasWeight = weightOf(bias, 1);
    const Weight none;
    for (const Weight *added : {&biasWeight, &none}) {
        Floats out(input.size());
        QVERIFY(cpu(3)->norm(view(input, rows), {NormKind::Layer, &gainWeight, added, 1e-3F, 0.0F},
                             view(out, rows)));
        for (std::size_t row = 0; row < rows; ++row) {
            const float *x = input.data() + row * 300;
            const double mean = std::accumulate(x, x + 300, 0.0) / 300;
            double variance = 0;
            for (std::size_t i = 0; i < 300; ++i)
                variance += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean) / 300;
            for (std::size_t i = 0; i < 300; ++i) {
                const double scaled = (static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-3) *
                                      static_cast<double>(gain[i]);
                QVERIFY(near(out[row * 300 + i],
                             scaled + (added->isPresent() ? static_cast<double>(bias[i]) : 0.0)));
            }
        }
    }
}

void TestBackendOps::offsetOfGains()
{
    Floats input = randomFloats(2 * 40, 4);
    const Floats gain = randomFloats(40, 5);
    Floats larger = gain;
    for (float &value : larger)
        value += 1.0F;
    const Weight gainWeight = weightOf(gain, 1);
    const Weight largerWeight = weightOf(larger, 1);
    Floats expected(input.size());
    Floats out(input.size());
    const auto backend = cpu(1);
    QVERIFY(backend->norm(view(input, 2), {NormKind::Rms, &largerWeight, nullptr, 1e-5F, 0.0F},
                          view(expected, 2)));
    QVERIFY(backend->norm(view(input, 2), {NormKind::Rms, &gainWeight, nullptr, 1e-5F, 1.0F}, view(out, 2)));
    QVERIFY(out == expected);
    // And the gains themselves are as they were.
    Floats plain(input.size());
    QVERIFY(
        backend->norm(view(input, 2), {NormKind::Rms, &gainWeight, nullptr, 1e-5F, 0.0F}, view(plain, 2)));
    QVERIFY(plain != expected);
}

void TestBackendOps::activations_data()
{
    QTest::addColumn<int>("activation");
    QTest::newRow("silu, gated") << int(Activation::SiluGated);
    QTest::newRow("gelu by tanh, gated") << int(Activation::GeluTanhGated);
    QTest::newRow("gelu by tanh") << int(Activation::GeluTanh);
    QTest::newRow("gelu") << int(Activation::Gelu);
}

void TestBackendOps::activations()
{
    QFETCH(int, activation);
    const auto kind = static_cast<Activation>(activation);
    const auto curve = [kind](double x) {
        if (kind == Activation::SiluGated)
            return x / (1 + std::exp(-x));
        if (kind == Activation::Gelu)
            return x / 2 * std::erfc(-x / std::sqrt(2.0));
        return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    };
    const bool isGated = kind == Activation::SiluGated || kind == Activation::GeluTanhGated;
    for (const std::int64_t columns : {7, 1024, 3001}) {
        Floats gate = randomFloats(static_cast<std::size_t>(3 * columns), 6);
        Floats up = randomFloats(gate.size(), 7);
        Floats out(gate.size());
        QVERIFY(cpu(3)->activate(kind, view(gate, 3), isGated ? view(up, 3) : Activations{}, view(out, 3)));
        for (std::size_t i = 0; i < gate.size(); ++i)
            QVERIFY(near(out[i],
                         curve(static_cast<double>(gate[i])) * (isGated ? static_cast<double>(up[i]) : 1.0)));
        Floats row(static_cast<std::size_t>(columns));
        QVERIFY(cpu(1)->activate(kind, {gate.data() + columns, 1, columns}, {up.data() + columns, 1, columns},
                                 view(row, 1)));
        QVERIFY(std::equal(row.begin(), row.end(), out.begin() + columns));
    }
}

void TestBackendOps::addsRowsOfATable()
{
    const Floats table = randomFloats(9 * 33, 8);
    Floats target = randomFloats(4 * 33, 9);
    const Floats before = target;
    QVERIFY(cpu(2)->addRows(weightOf(table, 9), 5, view(target, 4)));
    for (std::size_t i = 0; i < target.size(); ++i)
        QCOMPARE(target[i], before[i] + table[5 * 33 + i]);
    QVERIFY(refused(cpu(2)->addRows(weightOf(table, 9), 6, view(target, 4))));
    QVERIFY(refused(cpu(2)->addRows(weightOf(table, 11), 0, view(target, 4))));
}

void TestBackendOps::scalesClampsAndCaps()
{
    const Floats start = randomFloats(5 * 1000, 10);
    Floats scaled = start;
    Floats clamped = start;
    Floats capped = start;
    const auto backend = cpu(3);
    QVERIFY(backend->scale(view(scaled, 5), 3.25F));
    QVERIFY(backend->clamp(view(clamped, 5), 0.75F));
    QVERIFY(backend->softCap(view(capped, 5), 1.5F));
    for (std::size_t i = 0; i < start.size(); ++i) {
        QCOMPARE(scaled[i], start[i] * 3.25F);
        QCOMPARE(clamped[i], std::clamp(start[i], -0.75F, 0.75F));
        QVERIFY(near(capped[i], 1.5 * std::tanh(static_cast<double>(start[i]) / 1.5)));
    }
}

void TestBackendOps::expertsAgreeWithPlainLoops()
{
    for (const std::int64_t tokens : {1, 2, 40}) {
        ExpertCase test(tokens);
        const Floats logits = test.router;
        QVERIFY(test.run(*cpu(3)));
        for (std::size_t token = 0; token < static_cast<std::size_t>(tokens); ++token) {
            std::vector<double> weights;
            for (std::size_t i = 0; i < ExpertCase::count; ++i)
                weights.push_back(std::exp(static_cast<double>(logits[token * ExpertCase::count + i])));
            const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
            std::vector<double> sorted = weights;
            std::sort(sorted.begin(), sorted.end(), std::greater<>());
            const double chosen = sorted[0] + sorted[1] + sorted[2];
            const auto *x = test.input.data() + token * ExpertCase::width;
            const std::vector<double> row(x, x + ExpertCase::width);
            std::vector<double> expected(row.size(), 0.0);
            for (std::size_t expert = 0; expert < weights.size(); ++expert) {
                QVERIFY(near(test.router[token * ExpertCase::count + expert], weights[expert] / all));
                if (weights[expert] < sorted[2])
                    continue;
                std::vector<double> inner = times(test.weights[expert].gate, row);
                const std::vector<double> up = times(test.weights[expert].up, row);
                for (std::size_t i = 0; i < inner.size(); ++i)
                    inner[i] = inner[i] / (1 + std::exp(-inner[i])) * up[i];
                const std::vector<double> y = times(test.weights[expert].down, inner);
                for (std::size_t i = 0; i < y.size(); ++i)
                    expected[i] += y[i] * weights[expert] / chosen;
            }
            for (std::size_t i = 0; i < expected.size(); ++i)
                QVERIFY(near(test.output[token * expected.size() + i], expected[i], 50.0));
        }
    }
}

void TestBackendOps::expertsDoNotDependOnTheBatch()
{
    ExpertCase whole(30);
    QVERIFY(whole.run(*cpu(4)));
    for (std::int64_t token = 0; token < 30; ++token) {
        ExpertCase one(1);
        std::copy_n(ExpertCase(30).input.begin() + token * ExpertCase::width, ExpertCase::width,
                    one.input.begin());
        std::copy_n(ExpertCase(30).router.begin() + token * ExpertCase::count,
                    std::int64_t(ExpertCase::count), one.router.begin());
        QVERIFY(one.run(*cpu(1)));
        QVERIFY(std::equal(one.output.begin(), one.output.end(),
                           whole.output.begin() + token * ExpertCase::width));
    }
    // The output may lie over the input.
    ExpertCase inPlace(30);
    QVERIFY(cpu(2)->experts(view(inPlace.input, 30), view(inPlace.router, 30), inPlace.params(),
                            view(inPlace.input, 30)));
    QVERIFY(inPlace.input == whole.output);
}

void TestBackendOps::refusesWrongShapes()
{
    const auto backend = cpu(1);
    ExpertCase test(4);
    const auto with = [&](const auto &change) {
        ExpertParams params = test.params();
        change(params);
        return backend->experts(view(test.input, 4), view(test.router, 4), params, view(test.output, 4));
    };
    QVERIFY(refused(with([](ExpertParams &p) { p.used = 0; })));
    QVERIFY(refused(with([](ExpertParams &p) { p.used = 7; })));
    QVERIFY(refused(with([](ExpertParams &p) { p.experts = p.experts.first(5); })));
    QVERIFY(refused(with([](ExpertParams &p) { p.gate.rows = 11; })));
    QVERIFY(refused(with([](ExpertParams &p) { p.up.columns = 12; })));
    QVERIFY(refused(with([](ExpertParams &p) { p.rows.columns = 19; })));
    QVERIFY(!with([](ExpertParams &p) { p.activation = Activation::Gelu; }));
    QVERIFY(with([](ExpertParams &) {}));

    Floats values(12);
    const Floats stored(12);
    const Weight gain = weightOf(stored, 1);
    const Weight shortBias = weightOf(stored, 2);
    QVERIFY(refused(
        backend->norm(view(values, 1), {NormKind::Layer, &gain, &shortBias, 1e-5F, 0.0F}, view(values, 1))));
}

TOKENLOUPE_TEST_MAIN(TestBackendOps)
#include "tst_backendops.moc"
