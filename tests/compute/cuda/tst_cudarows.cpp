// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/cudafixture.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

/// Runs the same operations on the CPU's rows and on the device's.
struct Pair
{
    std::shared_ptr<Backend> cpu = *makeCpuBackend(1);
    std::shared_ptr<CudaBackend> device = hostedBackend();
};

bool refused(const Status &status)
{
    return !status && status.error().code == ErrorCode::InvalidArgument && !status.error().message.empty();
}

} // namespace

/// Operations on rows of activations: the device's against the CPU's.
class TestCudaRows : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void embeds();
    void addsPositions();
    void norms_data();
    void norms();
    void activations_data();
    void activations();
    void scalesClampsCapsAndAdds();
    void joinsOperations();
    void order();
    void rotates_data();
    void rotates();
    void refusesWrongShapes();
};

void TestCudaRows::embeds()
{
    Pair both;
    const Floats table = randomFloats(50 * 45, 1);
    const Weight weight = weightOf(table, 50);
    TwinRows out(*both.device, 4, 45, 2);
    const std::vector<TokenId> ids = {TokenId(7), TokenId(49), TokenId(0), TokenId(7)};
    QVERIFY(both.cpu->embed(weight, ids, out.onHost()));
    QVERIFY(both.device->embed(weight, ids, out.onDevice()));
    QVERIFY(out.fromDevice() == out.host);
    const std::vector<TokenId> beyond = {TokenId(50), TokenId(0), TokenId(0), TokenId(0)};
    QVERIFY(refused(both.device->embed(weight, beyond, out.onDevice())));
}

void TestCudaRows::addsPositions()
{
    Pair both;
    const Floats table = randomFloats(20 * 33, 3);
    const Weight weight = weightOf(table, 20);
    TwinRows rows(*both.device, 3, 33, 4);
    for (const std::uint32_t first : {0U, 17U, 5U}) {
        QVERIFY(both.cpu->addRows(weight, first, rows.onHost()));
        QVERIFY(both.device->addRows(weight, first, rows.onDevice()));
        TOKENLOUPE_COMPARE_TWINS(rows, 1e-6);
    }
    QVERIFY(refused(both.device->addRows(weight, 18, rows.onDevice())));
}

void TestCudaRows::norms_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<bool>("hasBias");
    QTest::addColumn<double>("offset");
    QTest::newRow("rms") << int(NormKind::Rms) << false << 0.0;
    QTest::newRow("rms, gains less 1") << int(NormKind::Rms) << false << 1.0;
    QTest::newRow("layer") << int(NormKind::Layer) << false << 0.0;
    QTest::newRow("layer with bias") << int(NormKind::Layer) << true << 0.0;
}

void TestCudaRows::norms()
{
    QFETCH(int, kind);
    QFETCH(bool, hasBias);
    QFETCH(double, offset);
    Pair both;
    for (const std::int64_t columns : {10, 64, 300}) {
        const Floats gain = randomFloats(static_cast<std::size_t>(columns), 1);
        const Floats bias = randomFloats(static_cast<std::size_t>(columns), 2);
        const Weight gainWeight = weightOf(gain, 1);
        const Weight biasWeight = weightOf(bias, 1);
        const NormParams params{static_cast<NormKind>(kind), &gainWeight, hasBias ? &biasWeight : nullptr,
                                1e-5F, static_cast<float>(offset)};
        TwinRows input(*both.device, 5, columns, 3);
        TwinRows output(*both.device, 5, columns, 4);
        QVERIFY(both.cpu->norm(input.onHost(), params, output.onHost()));
        QVERIFY(both.device->norm(input.onDevice(), params, output.onDevice()));
        TOKENLOUPE_COMPARE_TWINS(output, 1e-6);
        // In place.
        QVERIFY(both.cpu->norm(input.onHost(), params, input.onHost()));
        QVERIFY(both.device->norm(input.onDevice(), params, input.onDevice()));
        TOKENLOUPE_COMPARE_TWINS(input, 1e-6);
    }
}

void TestCudaRows::activations_data()
{
    QTest::addColumn<int>("activation");
    QTest::newRow("silu, gated") << int(Activation::SiluGated);
    QTest::newRow("gelu by tanh, gated") << int(Activation::GeluTanhGated);
    QTest::newRow("gelu by tanh") << int(Activation::GeluTanh);
    QTest::newRow("gelu") << int(Activation::Gelu);
}

void TestCudaRows::activations()
{
    QFETCH(int, activation);
    Pair both;
    const auto kind = static_cast<Activation>(activation);
    TwinRows gate(*both.device, 3, 77, 5);
    TwinRows up(*both.device, 3, 77, 6);
    QVERIFY(both.cpu->activate(kind, gate.onHost(), up.onHost(), gate.onHost()));
    QVERIFY(both.device->activate(kind, gate.onDevice(), up.onDevice(), gate.onDevice()));
    TOKENLOUPE_COMPARE_TWINS(gate, 1e-6);
    TOKENLOUPE_COMPARE_TWINS(up, 0.0);
}

void TestCudaRows::scalesClampsCapsAndAdds()
{
    Pair both;
    TwinRows a(*both.device, 3, 45, 7);
    TwinRows b(*both.device, 3, 45, 8);
    const auto onBoth = [&](const auto &operation) {
        return operation(*both.cpu, a.onHost(), b.onHost()).and_then([&] {
            return operation(*both.device, a.onDevice(), b.onDevice());
        });
    };
    QVERIFY(onBoth([](Backend &on, Activations x, Activations) { return on.scale(x, 3.25F); }));
    QVERIFY(onBoth([](Backend &on, Activations x, Activations) { return on.clamp(x, 2.75F); }));
    QVERIFY(onBoth([](Backend &on, Activations x, Activations y) { return on.add(x, y); }));
    QVERIFY(onBoth([](Backend &on, Activations, Activations y) { return on.softCap(y, 1.5F); }));
    TOKENLOUPE_COMPARE_TWINS(a, 0.0);
    TOKENLOUPE_COMPARE_TWINS(b, 1e-6);
}

/// A sum, the norm of it, the product of that: fewer launches than operations, and the same numbers whether
/// somebody looks in between or not.
void TestCudaRows::joinsOperations()
{
    Pair both;
    const Floats gain = randomFloats(64, 1);
    const Weight gainWeight = weightOf(gain, 1);
    const NormParams params{NormKind::Rms, &gainWeight, nullptr, 1e-5F, 0.0F};
    enum class Look { No, Yes };
    std::vector<Floats> results;
    std::vector<std::int64_t> launches;
    for (const Look look : {Look::No, Look::Yes}) {
        TwinRows added(*both.device, 2, 64, 9);
        TwinRows residual(*both.device, 2, 64, 10);
        const auto seen = [&] { return look == Look::No || !residual.fromDevice().empty(); };
        const std::int64_t before = cudahost::launchCount();
        QVERIFY(both.device->add(added.onDevice(), residual.onDevice()));
        QVERIFY(seen());
        // The norm goes where the addend was, as it does between two layers.
        QVERIFY(both.device->norm(residual.onDevice(), params, added.onDevice()));
        QVERIFY(both.device->synchronize());
        launches.push_back(cudahost::launchCount() - before);
        results.push_back(added.fromDevice());
        results.push_back(residual.fromDevice());
        QVERIFY(both.cpu->add(added.onHost(), residual.onHost()));
        QVERIFY(both.cpu->norm(residual.onHost(), params, added.onHost()));
        TOKENLOUPE_COMPARE_TWINS(added, 1e-6);
        TOKENLOUPE_COMPARE_TWINS(residual, 0.0);
    }
    QVERIFY(results[0] == results[2]);
    QVERIFY(results[1] == results[3]);
    QCOMPARE(launches[0], std::int64_t(1));
    QCOMPARE(launches[1], std::int64_t(2));
}

/// What waits for the next operation has happened before anything else looks at it.
void TestCudaRows::order()
{
    Pair both;
    const Floats gain = randomFloats(32, 1);
    const Weight gainWeight = weightOf(gain, 1);
    const NormParams params{NormKind::Rms, &gainWeight, nullptr, 1e-5F, 0.0F};
    TwinRows a(*both.device, 2, 32, 11);
    TwinRows b(*both.device, 2, 32, 12);
    TwinRows c(*both.device, 2, 32, 13);
    const auto sequence = [&](Backend &on, Activations x, Activations y, Activations z) {
        return on.add(x, y)
            .and_then([&] { return on.add(y, z); })
            .and_then([&] { return on.norm(x, params, y); })
            .and_then([&] { return on.add(y, x); })
            .and_then([&] { return on.norm(z, params, z); })
            .and_then([&] { return on.activate(Activation::SiluGated, x, z, y); })
            .and_then([&] { return on.norm(y, params, y); })
            .and_then([&] { return on.scale(y, 0.5F); })
            .and_then([&] { return on.add(z, y); });
    };
    QVERIFY(sequence(*both.cpu, a.onHost(), b.onHost(), c.onHost()));
    QVERIFY(sequence(*both.device, a.onDevice(), b.onDevice(), c.onDevice()));
    TOKENLOUPE_COMPARE_TWINS(a, 1e-5);
    TOKENLOUPE_COMPARE_TWINS(b, 1e-5);
    TOKENLOUPE_COMPARE_TWINS(c, 1e-5);
}

void TestCudaRows::rotates_data()
{
    QTest::addColumn<int>("style");
    QTest::newRow("neighbours") << int(RotaryStyle::Interleaved);
    QTest::newRow("halves") << int(RotaryStyle::HalfSplit);
}

void TestCudaRows::rotates()
{
    QFETCH(int, style);
    Pair both;
    RopeParams rope;
    rope.style = static_cast<RotaryStyle>(style);
    rope.headSize = 10;
    rope.rotated = 8;
    const Floats frequencies = {1.0F, 0.25F, 0.0625F, 0.001F};
    rope.inverseFrequencies = frequencies;
    rope.magnitude = 1.25F;
    TwinRows queries(*both.device, 3, 60, 14);
    TwinRows keys(*both.device, 3, 20, 15);
    for (const std::uint32_t first : {0U, 5U, 4000U}) {
        QVERIFY(both.cpu->rope(queries.onHost(), first, rope));
        QVERIFY(both.device->rope(queries.onDevice(), first, rope));
        QVERIFY(both.cpu->rope(keys.onHost(), first + 1, rope)); // other positions do not go together
        QVERIFY(both.device->rope(keys.onDevice(), first + 1, rope));
        TOKENLOUPE_COMPARE_TWINS(queries, 2e-4);
        TOKENLOUPE_COMPARE_TWINS(keys, 2e-4);
    }
}

void TestCudaRows::refusesWrongShapes()
{
    Pair both;
    TwinRows three(*both.device, 3, 20, 1);
    TwinRows four(*both.device, 4, 20, 2);
    const Floats gain = randomFloats(21, 3);
    const Weight gainWeight = weightOf(gain, 1);
    const NormParams params{NormKind::Rms, &gainWeight, nullptr, 1e-5F, 0.0F};
    QVERIFY(refused(both.device->norm(three.onDevice(), params, three.onDevice())));
    QVERIFY(refused(both.device->norm(three.onDevice(), params, four.onDevice())));
    QVERIFY(refused(both.device->add(three.onDevice(), four.onDevice())));
    QVERIFY(refused(
        both.device->activate(Activation::SiluGated, three.onDevice(), four.onDevice(), three.onDevice())));
    RopeParams rope;
    rope.headSize = 7;
    QVERIFY(refused(both.device->rope(three.onDevice(), 0, rope)));
}

TOKENLOUPE_TEST_MAIN(TestCudaRows)
#include "tst_cudarows.moc"
