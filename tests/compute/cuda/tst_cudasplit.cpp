// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/cudafixture.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinyarchitecture.h"
#include "tests/transformer/runmodel.h"

#include <QTemporaryDir>
#include <numeric>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

using Ids = std::vector<std::uint32_t>;

/// The first layers on the device that the host plays, the rest on the CPU.
RunOptions splitAfter(std::uint32_t layers, Precision precision, std::shared_ptr<CudaBackend> backend)
{
    RunOptions options;
    options.precision = precision;
    options.backend = std::move(backend);
    options.backendLayers = layers;
    return options;
}

/// Also in which order it passed by.
class OrderedTap final : public ForwardTap
{
public:
    bool wants(TapPoint point, LayerIndex layer) override { return all.wants(point, layer); }
    void take(TapPoint point, LayerIndex layer, std::uint32_t position,
              std::span<const float> values) override
    {
        order.emplace_back(point, layer);
        all.take(point, layer, position, values);
    }

    CollectingTap all;
    std::vector<CollectingTap::Key> order;
};

std::uint64_t tableBytes(const Model &model)
{
    return model.weights().tokenEmbedding.data.size();
}

} // namespace

/// Models whose first layers run on the device that the host plays, and the rest on the CPU.
class TestCudaSplit : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void storiesIds_data();
    void storiesIds();
    void batches_data();
    void batches();
    void tapsAreTheCpus();
    void groupsLieInOneMemory();
    void replaysItsLayers();
    void waitsOnceAStep();
    void onlyItsWeightsAreThere();
    void neighbouringPartsShareLayers();
    void partsMustMatch();

private:
    static std::shared_ptr<const Model> stories(const std::filesystem::path &folder, const char *type)
    {
        auto model = Model::load(folder / (std::string("stories260K-") + type + ".gguf"));
        return model ? *model : nullptr;
    }
};

void TestCudaSplit::storiesIds_data()
{
    QTest::addColumn<QString>("type");
    QTest::addColumn<int>("precision");
    QTest::addColumn<int>("layers");
    for (const int layers : {1, 2, 4}) {
        for (const char *type : {"f32", "q8_0", "q4_0"}) {
            QTest::addRow("%s, exact, %d layers", type, layers)
                << QString::fromLatin1(type) << int(Precision::Exact) << layers;
            QTest::addRow("%s, fast, %d layers", type, layers)
                << QString::fromLatin1(type) << int(Precision::Fast) << layers;
        }
    }
}

void TestCudaSplit::storiesIds()
{
    QFETCH(QString, type);
    QFETCH(int, precision);
    QFETCH(int, layers);
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto backend = hostedBackend();
    RunModel run(folder / ("stories260K-" + type.toStdString() + ".gguf"),
                 splitAfter(static_cast<std::uint32_t>(layers), static_cast<Precision>(precision), backend));
    QCOMPARE(run.model().config().layers, 5U);
    const json golden =
        type == QStringLiteral("f32")
            ? readJson(folder / "golden_greedy_f32.json")["runs"][0]
            : readJson(folder /
                       "golden_greedy_other_types.json")["variants"][type.toUpper().toStdString()][0];
    Ids expected = golden["generated_ids"];
    expected.resize(12);
    Floats logits = run.feed(golden["prompt_ids"]);
    Ids got;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        got.push_back(argmax(logits));
        logits = run.feed({got.back()});
    }
    QVERIFY(got == expected);
    QVERIFY(backend->replays() >= expected.size() - 1); // the first made what launches need
}

void TestCudaSplit::batches_data()
{
    QTest::addColumn<int>("precision");
    QTest::addColumn<int>("batch");
    QTest::addColumn<double>("bound");
    for (const int batch : {1, 2, 8, 30})
        QTest::addRow("exact, %d", batch) << int(Precision::Exact) << batch << 1e-4;
    for (const int batch : {1, 8, 30})
        QTest::addRow("fast, %d", batch) << int(Precision::Fast) << batch << 3e-2;
}

/// All logits of a text that goes through in several batches.
void TestCudaSplit::batches()
{
    QFETCH(int, precision);
    QFETCH(int, batch);
    QFETCH(double, bound);
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    Result<std::shared_ptr<const Model>> model = Model::load(folder / "stories260K-q8_0.gguf");
    QVERIFY(model);
    const Ids ids = randomIds(45, (*model)->config().vocabulary, 7);
    RunModel onCpu(*model, RunOptions());
    const Floats expected = onCpu.feedAll(ids);
    RunModel split(*model, splitAfter(2, static_cast<Precision>(precision), hostedBackend()));
    const Floats got = split.feedAll(ids, static_cast<std::uint32_t>(batch));
    QVERIFY(worstDifference(got, expected) < bound);
    // And the last row alone.
    split.cache().truncate(split.sequence(), 0);
    const Floats last(expected.end() - std::ptrdiff_t(onCpu.vocabulary()), expected.end());
    QVERIFY(worstDifference(split.feed(ids, static_cast<std::uint32_t>(batch)), last) < bound);
}

/// The same points in the same order, and nothing of the results changes.
void TestCudaSplit::tapsAreTheCpus()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    Result<std::shared_ptr<const Model>> model = Model::load(folder / "stories260K-q4_0.gguf");
    QVERIFY(model);
    const Ids ids = {1, 403, 407, 261};
    RunModel onCpu(*model, RunOptions());
    OrderedTap expected;
    onCpu.feed(ids, 2, &expected);
    RunModel split(*model, splitAfter(3, Precision::Exact, hostedBackend()));
    const Floats plain = split.feed(ids, 2);
    split.cache().truncate(split.sequence(), 0);
    OrderedTap got;
    QVERIFY(split.feed(ids, 2, &got) == plain);
    QVERIFY(got.order == expected.order);
    QVERIFY(expected.all.taken.size() > 5 * 14);
    for (const auto &[key, values] : expected.all.taken)
        QVERIFY2(worstDifference(got.all.taken[key], values) < 1e-4,
                 qPrintable(QStringLiteral("point %1").arg(int(key.first))));
}

/// Layers with a window and without, on both sides: four groups, each in its own memory.
void TestCudaSplit::groupsLieInOneMemory()
{
    TinyArchitecture architecture = tinyArchitectureNamed("gemma3");
    architecture.headSize = 16;
    architecture.layers = 12; // the sixth and the last see everything
    architecture.window = 8;
    QTemporaryDir folder;
    const std::filesystem::path path = folder.path().toStdString() + "/model.gguf";
    tinyArchitecture(architecture, tinyTensors(architecture)).write(path);
    Result<std::shared_ptr<const Model>> model = Model::load(path);
    QVERIFY(model);
    RunOptions options;
    options.batch = 8;
    options.context = 400; // more than windows keep room for
    RunModel onCpu(*model, options);
    options = splitAfter(7, Precision::Exact, hostedBackend());
    options.batch = 8;
    options.context = 400;
    RunModel split(*model, options);

    const std::vector<BlockPool> &pools = split.cache().pools();
    QCOMPARE(pools.size(), std::size_t(4));
    std::uint64_t bytes = 0;
    for (const BlockPool &pool : pools) {
        bytes += pool.bytes();
        for (const std::uint32_t layer : pool.group().layers)
            QCOMPARE(pool.isOnHost(), layer >= 7);
    }
    std::uint64_t expectedBytes = 0;
    for (const BlockPool &pool : onCpu.cache().pools())
        expectedBytes += pool.bytes();
    QCOMPARE(bytes, expectedBytes);

    const Ids ids = randomIds(290, architecture.vocabulary, 9);
    QVERIFY(worstDifference(split.feed(ids, 8), onCpu.feed(ids, 8)) < 2e-3);
    QVERIFY(split.cache().usedBytes(split.sequence()) == onCpu.cache().usedBytes(onCpu.sequence()));
    const CacheSnapshot shown = split.cache().snapshot(split.sequence());
    QCOMPARE(shown.pools.size(), std::size_t(4));
    QCOMPARE(shown.usedBytes(), split.cache().usedBytes(split.sequence()));
    QCOMPARE(shown.poolBytes(), bytes);
    QVERIFY(shown.touchedBytes() > 0 && shown.touchedBytes() < shown.usedBytes() + shown.cachedBytes());
    // A branch in the middle of a block, which is copied in all groups; what was left is found again.
    const auto branchOff = [&](RunModel &run) {
        const SequenceId branch = run.cache().fork(run.sequence(), 285);
        const std::vector<TokenId> other = tokenIds({7, 8, 9});
        const bool hasRoom = run.cache().append(branch, other).has_value();
        run.cache().truncate(branch, 285);
        return std::pair(hasRoom, run.cache().adopt(branch, tokenIds(ids)));
    };
    QVERIFY(branchOff(split) == branchOff(onCpu));
    QCOMPARE(split.cache().counters().copiedBlocks, std::uint64_t(4));
}

void TestCudaSplit::replaysItsLayers()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    Result<std::shared_ptr<const Model>> model = Model::load(folder / "stories260K-q8_0.gguf");
    QVERIFY(model);
    const Ids ids = randomIds(20, (*model)->config().vocabulary, 6);
    const auto never = hostedBackend(GraphUse::Never);
    const auto replay = hostedBackend(GraphUse::Replay);
    RunModel plain(*model, splitAfter(3, Precision::Fast, never));
    RunModel remembered(*model, splitAfter(3, Precision::Fast, replay));
    for (const std::uint32_t id : ids)
        QVERIFY(plain.feed({id}) == remembered.feed({id}));
    QCOMPARE(never->replays(), std::uint64_t(0));
    QCOMPARE(replay->replays(), std::uint64_t(ids.size() - 1));
    // How many logits are asked for is no matter of the device's part.
    QVERIFY(plain.feedAll({5}) == remembered.feedAll({5}));
    QCOMPARE(replay->replays(), std::uint64_t(ids.size()));
    for (int again = 0; again < 3; ++again)
        QVERIFY(plain.feedAll({5, 6, 7, 8, 9}) == remembered.feedAll({5, 6, 7, 8, 9}));
    QCOMPARE(replay->replays(), std::uint64_t(ids.size() + 2));
    plain.cache().truncate(plain.sequence(), 7);
    remembered.cache().truncate(remembered.sequence(), 7);
    QVERIFY(plain.feed({4}) == remembered.feed({4}));
    QCOMPARE(replay->replays(), std::uint64_t(ids.size() + 3));
}

/// Nothing runs before somebody waits, and still everything is in order.
void TestCudaSplit::waitsOnceAStep()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    cudahost::Settings settings;
    settings.completion = cudahost::Completion::Deferred;
    cudahost::reset(settings);
    RunModel run(folder / "stories260K-f32.gguf", splitAfter(2, Precision::Exact, hostedBackend()));
    RunModel reference(folder / "stories260K-f32.gguf");
    const Ids prompt = {1, 403, 407, 261};
    QVERIFY(worstDifference(run.feed(prompt), reference.feed(prompt)) < 1e-3);
    for (const std::uint32_t id : {5U, 6U, 7U, 8U})
        QVERIFY(worstDifference(run.feed({id}), reference.feed({id})) < 1e-3);
}

void TestCudaSplit::onlyItsWeightsAreThere()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto model = stories(folder, "f16");
    QVERIFY(model);
    const auto backend = hostedBackend();
    RunModel run(model, splitAfter(2, Precision::Exact, backend));
    run.feed({1, 2, 3});
    const std::uint64_t stored = model->weightsBytes(ModelPart::before(2));
    const auto use = backend->deviceMemory();
    QVERIFY(use);
    QVERIFY(use->weightBytes >= stored);
    QVERIFY2(use->weightBytes < stored + stored / 4,
             qPrintable(QString::number(use->weightBytes))); // rounding
    QCOMPARE(use->weightBytes,
             backend->needs(*model, Precision::Exact, 64, 256, ModelPart::before(2))->weightBytes);
    // The parts are the whole, and the table is in one of them alone.
    QCOMPARE(stored + model->weightsBytes(ModelPart::from(2)), model->weightsBytes());
    QCOMPARE(model->weightsBytes(ModelPart()), model->weightsBytes());
    QVERIFY(model->weightsBytes(ModelPart::from(5)) >= tableBytes(*model));
    QVERIFY(model->weightsBytes(ModelPart::before(5)) <= model->weightsBytes() - tableBytes(*model));
}

/// From some layers to more of them only the new ones are brought.
void TestCudaSplit::neighbouringPartsShareLayers()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto model = stories(folder, "q8_0");
    QVERIFY(model);
    const auto first = hostedBackend();
    const auto second = hostedBackend();
    QVERIFY(first->prepare(model, Precision::Fast, ModelPart::before(3), nullptr, {}));
    const auto needs = second->needs(*model, Precision::Fast, 64, 256, ModelPart::before(4));
    QVERIFY(needs);
    QVERIFY(needs->presentBytes >= first->weightBytes());
    QVERIFY(needs->weightBytes > first->weightBytes());
    Progress progress;
    QVERIFY(second->prepare(model, Precision::Fast, ModelPart::before(4), &progress, {}));
    QCOMPARE(second->weightBytes(), needs->weightBytes);
    QCOMPARE(progress.total.load(), second->weightBytes() - first->weightBytes());
    QCOMPARE(progress.done.load() > 0, true);
    // Fewer are there already.
    QVERIFY(first->prepare(model, Precision::Fast, ModelPart::before(2), &progress, {}));
    QCOMPARE(progress.total.load(), std::uint64_t(0));
}

void TestCudaSplit::partsMustMatch()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto model = stories(folder, "f32");
    QVERIFY(model);
    const auto cpu = *makeCpuBackend(1);
    const auto make = [&](std::vector<TransformerPart> parts) {
        return Transformer::create(model, std::move(parts), 8).has_value();
    };
    QVERIFY(make({{cpu, 2}, {cpu, 5}}));
    QVERIFY(!make({}));
    QVERIFY(!make({{cpu, 4}}));
    QVERIFY(!make({{cpu, 0}, {cpu, 5}}));
    QVERIFY(!make({{cpu, 5}, {cpu, 5}}));
    // A cache that is split elsewhere is refused.
    RunModel split(model, splitAfter(2, Precision::Exact, hostedBackend()));
    RunModel whole(model, RunOptions());
    const std::vector<TokenId> tokens = tokenIds({1, 2});
    ForwardRequest request;
    request.tokens = tokens;
    const auto refused = split.transformer().forward(request, whole.cache(), whole.sequence());
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
    QCOMPARE(whole.cache().tokens(whole.sequence()), 0U);
}

TOKENLOUPE_TEST_MAIN(TestCudaSplit)
#include "tst_cudasplit.moc"
