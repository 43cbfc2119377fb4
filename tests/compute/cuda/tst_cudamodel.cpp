// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplerchain.h"
#include "tests/compute/cuda/cudafixture.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinyarchitecture.h"
#include "tests/support/tinymodel.h"
#include "tests/transformer/runmodel.h"

#include <QTemporaryDir>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

using Ids = std::vector<std::uint32_t>;

Ids greedy(RunModel &run, const Ids &prompt, std::size_t count)
{
    run.cache().truncate(run.sequence(), 0);
    Ids generated;
    Floats logits = run.feed(prompt);
    while (generated.size() < count) {
        generated.push_back(argmax(logits));
        if (generated.size() < count)
            logits = run.feed({generated.back()});
    }
    return generated;
}

/// Whether the backend has of the row what the host computes of it.
bool hasStatisticsOf(Backend &backend, const Floats &row)
{
    const std::optional<LogitStatistics> got = backend.takeStatistics();
    const Result<LogitStatistics> wanted = logitStatistics(row);
    const auto agree = [](double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); };
    return got && wanted && agree(got->logSumExp, wanted->logSumExp) &&
           agree(got->entropyBits, wanted->entropyBits) && got->maximum == wanted->maximum &&
           got->argmax == wanted->argmax;
}

/// Everything that passes by, and nothing of it changed.
class CountingTap final : public ForwardTap
{
public:
    bool wants(TapPoint, LayerIndex) override { return true; }
    void take(TapPoint, LayerIndex, std::uint32_t, std::span<const float> values) override
    {
        count += values.size();
    }
    std::size_t count = 0;
};

} // namespace

/// Whole models on the device that the host plays.
class TestCudaModel : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void storiesIds_data();
    void storiesIds();
    void longPrompts_data();
    void longPrompts();
    void architectures_data();
    void architectures();
    void launchesOfALayer_data();
    void launchesOfALayer();
    void replaysGiveTheSame();
    void tapsChangeNothing();
    void waitsOnceAStep();
    void statisticsOfLogits();
    void statisticsOfFlawedLogits_data();
    void statisticsOfFlawedLogits();
    void timesOperations();
    void countsMemory();
};

void TestCudaModel::storiesIds_data()
{
    QTest::addColumn<QString>("type");
    QTest::addColumn<int>("precision");
    QTest::addColumn<int>("tokens");
    for (const char *type : {"f32", "f16", "q8_0", "q4_0", "bf16", "q5_1", "q5_0", "q4_1"}) {
        QTest::addRow("%s, exact", type) << QString::fromLatin1(type) << int(Precision::Exact) << 16;
        QTest::addRow("%s, fast", type) << QString::fromLatin1(type) << int(Precision::Fast) << 16;
    }
}

void TestCudaModel::storiesIds()
{
    QFETCH(QString, type);
    QFETCH(int, precision);
    QFETCH(int, tokens);
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    RunOptions options;
    options.precision = static_cast<Precision>(precision);
    options.backend = hostedBackend();
    RunModel run(folder / ("stories260K-" + type.toStdString() + ".gguf"), options);
    const json golden =
        type == QStringLiteral("f32")
            ? readJson(folder / "golden_greedy_f32.json")["runs"][0]
            : readJson(folder /
                       "golden_greedy_other_types.json")["variants"][type.toUpper().toStdString()][0];
    Ids expected = golden["generated_ids"];
    expected.resize(std::min<std::size_t>(expected.size(), static_cast<std::size_t>(tokens)));
    const Ids got = greedy(run, golden["prompt_ids"], expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        QVERIFY2(got[i] == expected[i],
                 qPrintable(QStringLiteral("token %1: %2, expected %3").arg(i).arg(got[i]).arg(expected[i])));
}

void TestCudaModel::longPrompts_data()
{
    QTest::addColumn<int>("precision");
    QTest::addColumn<int>("major");
    QTest::addColumn<int>("completion");
    QTest::addColumn<double>("bound");
    const int atOnce = int(cudahost::Completion::AtOnce);
    const int deferred = int(cudahost::Completion::Deferred); // kernels begin before those in front have run
    QTest::newRow("exact") << int(Precision::Exact) << 9 << atOnce << 1e-4;
    QTest::newRow("exact, deferred") << int(Precision::Exact) << 9 << deferred << 1e-4;
    QTest::newRow("fast") << int(Precision::Fast) << 9 << atOnce << 3e-2;
    QTest::newRow("fast, deferred") << int(Precision::Fast) << 9 << deferred << 3e-2;
    QTest::newRow("fast, without tensor cores") << int(Precision::Fast) << 7 << atOnce << 3e-2;
}

/// Many rows at once: products by cuBLAS, attention in tiles.
void TestCudaModel::longPrompts()
{
    QFETCH(int, precision);
    QFETCH(int, major);
    QFETCH(int, completion);
    QFETCH(double, bound);
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    cudahost::Settings settings;
    settings.computeMajor = major;
    settings.computeMinor = 5;
    settings.completion = static_cast<cudahost::Completion>(completion);
    if (!cudahost::canBe(settings))
        QSKIP("for a device that the host plays");
    cudahost::reset(settings);
    Result<std::shared_ptr<const Model>> model = Model::load(folder / "stories260K-q8_0.gguf");
    QVERIFY(model);
    const Ids ids = randomIds(45, (*model)->config().vocabulary, 7);
    RunOptions options;
    RunModel onCpu(*model, options);
    const Floats expected = onCpu.feedAll(ids);
    options.precision = static_cast<Precision>(precision);
    options.backend = hostedBackend();
    RunModel onDevice(*model, options);
    const Floats got = onDevice.feedAll(ids, 30);
    QVERIFY(worstDifference(got, expected) < bound);
    QVERIFY(meanDivergence(expected, got, onCpu.vocabulary()) < bound * bound);
    QCOMPARE(onDevice.backend().remark(), std::string());
}

void TestCudaModel::architectures_data()
{
    QTest::addColumn<QString>("name");
    for (const TinyArchitecture &model : tinyArchitectures())
        QTest::newRow(model.name.c_str()) << QString::fromStdString(model.name);
}

/// All logits of a prompt at once, in twos, and one by one; in fives with the first few layers on the device,
/// where scales, positions and norms of the embedding and caps of the logits are the CPU's.
void TestCudaModel::architectures()
{
    QFETCH(QString, name);
    cudahost::Settings settings;
    settings.completion = cudahost::Completion::Deferred; // kernels begin before those in front have run
    cudahost::reset(settings);
    TinyArchitecture architecture = tinyArchitectureNamed(name.toStdString());
    architecture.headSize = 16; // the device takes no odd ones
    QTemporaryDir folder;
    const std::filesystem::path path = folder.path().toStdString() + "/model.gguf";
    tinyArchitecture(architecture, tinyTensors(architecture)).write(path);
    Result<std::shared_ptr<const Model>> model = Model::load(path);
    QVERIFY(model);
    const Ids ids = randomIds(12, architecture.vocabulary, 5);
    RunOptions options;
    options.context = 64;
    RunModel onCpu(*model, options);
    const Floats expected = onCpu.feedAll(ids);
    const Floats expectedLast(expected.end() - std::ptrdiff_t(architecture.vocabulary), expected.end());
    for (std::uint32_t layers = 0; layers < architecture.layers; ++layers) {
        options.backend = hostedBackend();
        options.backendLayers = layers; // 0: all
        RunModel onDevice(*model, options);
        const std::vector<std::uint32_t> batches =
            layers == 0 ? std::vector<std::uint32_t>{12, 2} : std::vector<std::uint32_t>{5};
        for (const std::uint32_t batch : batches) {
            onDevice.cache().truncate(onDevice.sequence(), 0);
            const double worst = worstDifference(onDevice.feedAll(ids, batch), expected);
            QVERIFY2(
                worst < 2e-3,
                qPrintable(
                    QStringLiteral("%1 layers, batches of %2: off by %3").arg(layers).arg(batch).arg(worst)));
        }
        if (layers == 0) {
            onDevice.cache().truncate(onDevice.sequence(), 0);
            QVERIFY(worstDifference(onDevice.feed(ids, 1), expectedLast) < 2e-3);
        }
    }
}

void TestCudaModel::launchesOfALayer_data()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("precision");
    QTest::addColumn<int>("tokens");
    for (const int tokens : {1, 8}) {
        QTest::addRow("Q4_0, fast, %d", tokens) << int(TinyType::Q4_0) << int(Precision::Fast) << tokens;
        QTest::addRow("Q8_0, fast, %d", tokens) << int(TinyType::Q8_0) << int(Precision::Fast) << tokens;
        QTest::addRow("Q8_0, exact, %d", tokens) << int(TinyType::Q8_0) << int(Precision::Exact) << tokens;
        QTest::addRow("F16, %d", tokens) << int(TinyType::F16) << int(Precision::Fast) << tokens;
    }
}

/// Norm, query with key and value, rotation with the store, attention and its join, output, norm, gate with
/// up, activation, down; sums and roundings are part of their neighbours.
void TestCudaModel::launchesOfALayer()
{
    QFETCH(int, type);
    QFETCH(int, precision);
    QFETCH(int, tokens);
    QTemporaryDir folder;
    TinyModelOptions tiny;
    tiny.type = static_cast<TinyType>(type);
    std::vector<std::int64_t> launches;
    for (const std::uint32_t layers : {1U, 3U}) {
        tiny.layers = layers;
        RunOptions options;
        options.precision = static_cast<Precision>(precision);
        options.backend = hostedBackend(GraphUse::Never);
        RunModel run(writeTinyModel(folder.path().toStdString(), tiny), options);
        const Ids ids = randomIds(std::size_t(tokens), run.vocabulary(), 8);
        run.feed(ids); // makes what launches need
        const std::int64_t before = cudahost::launchCount();
        run.feed(ids);
        launches.push_back(cudahost::launchCount() - before);
    }
    QCOMPARE(launches[1] - launches[0], std::int64_t(2 * 10));
    QCOMPARE(launches[0], std::int64_t(10 + 5)); // embedding, last norm, head, statistics of the logits
}

void TestCudaModel::replaysGiveTheSame()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    Result<std::shared_ptr<const Model>> model = Model::load(folder / "stories260K-q8_0.gguf");
    QVERIFY(model);
    const Ids ids = randomIds(20, (*model)->config().vocabulary, 6);
    RunOptions options;
    options.precision = Precision::Fast;
    const auto never = hostedBackend(GraphUse::Never);
    const auto replay = hostedBackend(GraphUse::Replay);
    options.backend = never;
    RunModel plain(*model, options);
    options.backend = replay;
    RunModel remembered(*model, options);
    for (const std::uint32_t id : ids)
        QVERIFY(plain.feed({id}) == remembered.feed({id}));
    QCOMPARE(never->replays(), std::uint64_t(0));
    QCOMPARE(replay->replays(), std::uint64_t(ids.size() - 1)); // the first made what launches need

    // Another shape of pass, another place in the cache, and back.
    QVERIFY(plain.feed({1, 2, 3}) == remembered.feed({1, 2, 3}));
    plain.cache().truncate(plain.sequence(), 7);
    remembered.cache().truncate(remembered.sequence(), 7);
    QVERIFY(plain.feed({4}) == remembered.feed({4}));
    QVERIFY(plain.feedAll({5, 6}) == remembered.feedAll({5, 6}));
    QCOMPARE(replay->replays(), std::uint64_t(ids.size())); // the one token more
    // Two rows of logits needed more room, so one row lies elsewhere now.
    for (const std::uint32_t id : {7U, 8U, 9U})
        QVERIFY(plain.feed({id}) == remembered.feed({id}));
    QCOMPARE(replay->replays(), std::uint64_t(ids.size() + 2));
}

void TestCudaModel::tapsChangeNothing()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
        RunOptions options;
        options.precision = precision;
        options.backend = hostedBackend();
        RunModel run(folder / "stories260K-q4_0.gguf", options);
        const Ids ids = {1, 403, 407, 261};
        const Floats expected = run.feed(ids, 1);
        run.cache().truncate(run.sequence(), 0);
        CountingTap tap;
        QVERIFY(run.feed(ids, 1, &tap) == expected);
        QVERIFY(tap.count > 10000);
    }
}

/// A remembered step is: inputs to the device, one launch, logits from it.
void TestCudaModel::waitsOnceAStep()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    cudahost::Settings settings;
    settings.completion = cudahost::Completion::Deferred;
    cudahost::reset(settings);
    RunOptions options;
    options.backend = hostedBackend();
    RunModel run(folder / "stories260K-f32.gguf", options);
    const Ids prompt = {1, 403, 407, 261};
    Floats logits = run.feed(prompt);
    RunOptions onCpu;
    RunModel reference(folder / "stories260K-f32.gguf", onCpu);
    QVERIFY(worstDifference(logits, reference.feed(prompt)) < 1e-3);
    for (std::uint32_t id : {5U, 6U, 7U, 8U})
        QVERIFY(worstDifference(run.feed({id}), reference.feed({id})) < 1e-3);
}

/// They are there after every pass that gives one row, once, however it was computed.
void TestCudaModel::statisticsOfLogits()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto backend = hostedBackend();
    RunOptions options;
    options.backend = backend;
    RunModel run(folder / "stories260K-q8_0.gguf", options);
    QVERIFY(!backend->takeStatistics());
    const Ids ids = randomIds(12, run.vocabulary(), 9);
    QVERIFY(hasStatisticsOf(*backend, run.feed(ids))); // many rows at once
    QVERIFY(!backend->takeStatistics());
    const std::uint64_t replays = backend->replays();
    for (const std::uint32_t id : ids)
        QVERIFY(hasStatisticsOf(*backend, run.feed({id})));
    QVERIFY(backend->replays() > replays);
    CountingTap tap;
    QVERIFY(hasStatisticsOf(*backend, run.feed({3}, 1, &tap)));
    run.feed({4});
    run.feedAll({5, 6});
    QVERIFY(!backend->takeStatistics());

    const RunOptions onCpu;
    RunModel reference(folder / "stories260K-q8_0.gguf", onCpu);
    reference.feed(ids);
    QVERIFY(!reference.backend().takeStatistics());
}

void TestCudaModel::statisticsOfFlawedLogits_data()
{
    QTest::addColumn<float>("gain");
    QTest::newRow("infinities") << std::numeric_limits<float>::infinity();
    QTest::newRow("no numbers") << std::numeric_limits<float>::quiet_NaN();
}

/// The host is left to say what is wrong.
void TestCudaModel::statisticsOfFlawedLogits()
{
    QFETCH(float, gain);
    QTemporaryDir folder;
    TinyModelOptions tiny;
    tiny.output = TinyOutput::Separate;
    tiny.outputGain = gain;
    const auto backend = hostedBackend();
    RunOptions options;
    options.backend = backend;
    RunModel run(writeTinyModel(folder.path().toStdString(), tiny), options);
    for (const std::uint32_t id : {5U, 6U, 7U}) {
        const Floats row = run.feed({id});
        QVERIFY(!logitStatistics(row));
        QVERIFY(!backend->takeStatistics());
    }
}

/// Only when asked, and without a change of the results.
void TestCudaModel::timesOperations()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto backend = hostedBackend();
    RunOptions options;
    options.backend = backend;
    RunModel run(folder / "stories260K-q8_0.gguf", options);
    const Ids ids = {1, 403, 407, 261};
    const Floats expected = run.feed(ids, 1);
    QVERIFY(!backend->takeOperationTimes().isMeasured());
    const std::uint64_t replays = backend->replays();
    backend->measureOperations(Measuring::On);
    run.cache().truncate(run.sequence(), 0);
    QVERIFY(run.feed(ids, 1) == expected);
    QCOMPARE(backend->replays(), replays);
    const OperationTimes times = backend->takeOperationTimes();
    for (std::size_t i = 0; i < operationCount; ++i)
        QVERIFY2(times.ms[i] > 0.0F, qPrintable(QString::number(i)));
    QVERIFY(times.of(Operation::Product) > times.of(Operation::Copy));
    QVERIFY(!backend->takeOperationTimes().isMeasured());
    backend->measureOperations(Measuring::Off);
    run.cache().truncate(run.sequence(), 0);
    QVERIFY(run.feed(ids, 1) == expected);
    QVERIFY(backend->replays() > replays);
    QVERIFY(!backend->takeOperationTimes().isMeasured());
}

void TestCudaModel::countsMemory()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto backend = hostedBackend();
    const auto empty = backend->deviceMemory();
    QVERIFY(empty);
    QCOMPARE(empty->totalBytes, std::uint64_t(cudahost::settings().cardBytes));
    QCOMPARE(empty->weightBytes, std::uint64_t(0));
    RunOptions options;
    options.backend = backend;
    RunModel run(folder / "stories260K-f16.gguf", options);
    run.feed({1, 2, 3});
    const auto used = backend->deviceMemory();
    QVERIFY(used);
    QVERIFY(used->weightBytes >= run.model().weightsBytes());
    QVERIFY(used->libraryBytes > 0);
    QCOMPARE(used->usedBytes(), std::uint64_t(cudahost::allocatedBytes()));
    QVERIFY(used->usedBytes() > used->weightBytes + used->libraryBytes + run.cache().pools().front().bytes());
    QVERIFY(used->freeBytes < empty->freeBytes);
}

TOKENLOUPE_TEST_MAIN(TestCudaModel)
#include "tst_cudamodel.moc"
