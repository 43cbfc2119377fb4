// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/hostedsession.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr std::size_t contextBytes = std::size_t(96) << 20; // one for the whole program: it is measured once
constexpr std::uint32_t modelLayers = 5;

cudahost::Settings card(std::size_t bytes = std::size_t(1) << 30)
{
    cudahost::Settings settings;
    settings.cardBytes = bytes;
    settings.contextBytes = contextBytes;
    return settings;
}

SessionSettings settingsFor(std::uint32_t contextTokens, Precision precision = Precision::Fast)
{
    SessionSettings settings;
    settings.contextTokens = contextTokens;
    settings.batchTokens = 12;
    settings.blockTokens = 8;
    settings.threads = 2;
    settings.precision = precision;
    return settings;
}

SessionSettings splitAfter(std::uint32_t layers, SessionSettings settings)
{
    settings.backend = BackendKind::Cuda;
    settings.deviceLayers = layers;
    return settings;
}

/// Blocks are counted in each of the two memories.
bool countedTwice(const CacheCounters &split, CacheCounters whole)
{
    whole.copiedBlocks *= 2;
    whole.evictedBlocks *= 2;
    return split == whole;
}

} // namespace

/// Sessions whose first layers run on the device that the host plays, and the rest on the CPU.
class TestCudaSplitSession : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void init() { cudahost::reset(card()); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void howManyLayers();
    void sameTokens_data();
    void sameTokens();
    void reusesRewindsAndForks();
    void thePlanIsWhatIsAllocated_data();
    void thePlanIsWhatIsAllocated();
    void quantizedAtLoad();
    void otherLayersBringOnlyWhatIsNew();
    void aSmallCardSaysHowManyLayersFit();
    void operationsAreTimedOnBothSides();
    void withoutADeviceTheCpuRuns();
    void traceOnly();

private:
    std::unique_ptr<Session> open(const SessionSettings &settings) { return openHosted(m_model, settings); }

    TinyModelOptions m_options;
    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
};

void TestCudaSplitSession::initTestCase()
{
    m_options.type = TinyType::Q4_0;
    m_options.layers = modelLayers;
    m_model = m_fixture.load(m_options);
    QVERIFY(m_model);
}

void TestCudaSplitSession::howManyLayers()
{
    const auto part = open(splitAfter(2, settingsFor(64)));
    QVERIFY(part);
    QCOMPARE(part->backend().name(), std::string("CUDA"));
    QCOMPARE(part->deviceLayers(), std::optional(2U));
    QCOMPARE(part->settings().threads, 2); // the CPU's
    QCOMPARE(part->fallbackReason(), std::string());
    // All of them or more: the head too.
    for (const std::uint32_t layers : {modelLayers, modelLayers + 1, 1000U}) {
        const auto whole = open(splitAfter(layers, settingsFor(64)));
        QVERIFY(whole);
        QCOMPARE(whole->backend().name(), std::string("CUDA"));
        QVERIFY(!whole->deviceLayers() && !whole->settings().deviceLayers);
        QCOMPARE(whole->plan().bytesOf(MemoryPart::Weights, MemoryPlace::Host), std::uint64_t(0));
    }
    // None: no device is touched.
    const std::size_t before = cudahost::allocatedBytes();
    const auto none = open(splitAfter(0, settingsFor(64)));
    QVERIFY(none);
    QCOMPARE(none->backend().name(), std::string("CPU"));
    QVERIFY(none->settings().backend == BackendKind::Cpu);
    QVERIFY(!none->deviceLayers());
    QCOMPARE(none->fallbackReason(), std::string());
    QCOMPARE(cudahost::allocatedBytes(), before);
    // The CPU does not look at it.
    SessionSettings onCpu = settingsFor(64);
    onCpu.deviceLayers = 3;
    const auto cpu = open(onCpu);
    QVERIFY(cpu);
    QVERIFY(!cpu->deviceLayers());
    QVERIFY(!cpu->plan().hasDevice());
}

void TestCudaSplitSession::sameTokens_data()
{
    QTest::addColumn<int>("overflow");
    QTest::addColumn<int>("keyType");
    QTest::addColumn<int>("precision");
    QTest::newRow("plain") << int(OverflowPolicy::Stop) << int(KvType::F32) << int(Precision::Exact);
    QTest::newRow("half cache, fast")
        << int(OverflowPolicy::Stop) << int(KvType::F16) << int(Precision::Fast);
    QTest::newRow("streaming") << int(OverflowPolicy::Streaming) << int(KvType::F32) << int(Precision::Exact);
}

void TestCudaSplitSession::sameTokens()
{
    QFETCH(int, overflow);
    QFETCH(int, keyType);
    QFETCH(int, precision);
    SessionSettings settings = settingsFor(40, static_cast<Precision>(precision));
    settings.overflow = static_cast<OverflowPolicy>(overflow);
    settings.keyType = settings.valueType = static_cast<KvType>(keyType);
    const bool streams = settings.overflow == OverflowPolicy::Streaming;
    const int count = streams ? 30 : 12; // beyond the context
    const auto prompt = SessionFixture::ids(20);
    const auto onCpu = open(settings);
    const auto expected = greedy(*onCpu, prompt, count);
    QCOMPARE(expected.size(), std::size_t(count));
    for (std::uint32_t layers = 1; layers < modelLayers; ++layers) {
        const auto split = open(splitAfter(layers, settings));
        QVERIFY(greedy(*split, prompt, count) == expected);
        QVERIFY(countedTwice(split->cacheSnapshot()->counters, onCpu->cacheSnapshot()->counters));
        QVERIFY(!streams || split->cacheSnapshot()->counters.droppedTokens > 0);
    }
}

void TestCudaSplitSession::reusesRewindsAndForks()
{
    SessionSettings settings = settingsFor(96, Precision::Exact);
    settings.sequences = 2;
    const auto onCpu = open(settings);
    const auto split = open(splitAfter(3, settings));
    const auto same = [&](const auto &action) { return action(*onCpu) == action(*split); };
    const auto steps = [](int count) {
        return [count](Session &session) {
            std::vector<TokenId> drawn;
            for (int i = 0; i < count; ++i)
                drawn.push_back(session.step(SessionFixture::request(0.0F))->token);
            return drawn;
        };
    };
    QVERIFY(same([](Session &session) { return greedy(session, SessionFixture::ids(21), 6); }));
    // The same beginning: found, not computed.
    const auto reused = [](Session &session) {
        return session.prefill(SessionFixture::ids(30), 2)->reusedTokens;
    };
    QVERIFY(same(reused));
    QVERIFY(reused(*split) >= 16U && reused(*onCpu) >= 16U);
    QVERIFY(same(steps(5)));
    // A branch in the middle of a block, which is copied; both go on.
    const auto parent = [](Session &session) { return session.run(); };
    const RunId parents[] = {parent(*onCpu), parent(*split)};
    QVERIFY(same([](Session &session) { return session.fork(StepIndex(3), 5)->reusedTokens; }));
    QVERIFY(same([](Session &session) {
        StepRequest forced = SessionFixture::request(0.0F);
        forced.force = TokenId(tinyFirstByte + 65);
        return session.step(forced)->token;
    }));
    QVERIFY(same(steps(4)));
    QVERIFY(split->cacheSnapshot()->counters.copiedBlocks > 0);
    QVERIFY(onCpu->activate(parents[0]) && split->activate(parents[1]));
    QVERIFY(same(steps(3)));
    QVERIFY(same([](Session &session) { return session.rewind(StepIndex(2)).has_value(); }));
    QVERIFY(same(steps(4)));
    QVERIFY(countedTwice(split->cacheSnapshot()->counters, onCpu->cacheSnapshot()->counters));
    QCOMPARE(split->kvBytes(), onCpu->kvBytes());
}

void TestCudaSplitSession::thePlanIsWhatIsAllocated_data()
{
    QTest::addColumn<int>("layers");
    QTest::addColumn<int>("precision");
    for (const int layers : {1, 4}) {
        QTest::addRow("%d, fast", layers) << layers << int(Precision::Fast);
        QTest::addRow("%d, exact", layers) << layers << int(Precision::Exact);
    }
}

void TestCudaSplitSession::thePlanIsWhatIsAllocated()
{
    QFETCH(int, layers);
    QFETCH(int, precision);
    const SessionSettings settings = settingsFor(128, static_cast<Precision>(precision));
    const auto onCpu = sessionPlan(*m_model, settings);
    QVERIFY(onCpu);
    const auto session = open(splitAfter(std::uint32_t(layers), settings));
    QVERIFY(session);
    const MemoryPlan &plan = session->plan();
    const auto &needs = session->deviceNeeds();
    QVERIFY(needs);
    QCOMPARE(plan.bytesOf(MemoryPart::Weights, MemoryPlace::Device), needs->weightBytes);
    QCOMPARE(plan.bytesOf(MemoryPart::KvCache), onCpu->bytesOf(MemoryPart::KvCache));
    QCOMPARE(plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Device),
             plan.bytesOf(MemoryPart::KvCache) / modelLayers * std::uint64_t(layers));
    QCOMPARE(plan.bytesOf(MemoryPart::Runtime), onCpu->bytesOf(MemoryPart::Runtime)); // the CPU's threads
    QCOMPARE(plan.bytesOf(MemoryPart::Logits, MemoryPlace::Device), std::uint64_t(0));
    QVERIFY(plan.bytesOf(MemoryPart::Weights, MemoryPlace::Host) < onCpu->bytesOf(MemoryPart::Weights));
    QVERIFY(plan.bytesOf(MemoryPart::Weights, MemoryPlace::Host) >
            m_model->model->weights().tokenEmbedding.data.size());
    for (int again = 0; again < 2; ++again)
        QCOMPARE(greedy(*session, SessionFixture::ids(20), 4).size(), std::size_t(4));

    std::uint64_t pools[2] = {};
    for (const BlockPool &pool : session->cache().pools())
        pools[pool.isOnHost() ? 0 : 1] += pool.bytes();
    QCOMPARE(pools[0], plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Host));
    QCOMPARE(pools[1], plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Device));
    QCOMPARE(session->activationBytes(), plan.bytesOf(MemoryPart::Activations));

    // All but the few KiB of a pass's inputs and constants, and what of the workspace nobody asked for.
    const auto use = session->backend().deviceMemory();
    QVERIFY(use);
    QCOMPARE(use->weightBytes, needs->weightBytes);
    const std::uint64_t workspace = plan.bytesOf(MemoryPart::Workspace, MemoryPlace::Device);
    QCOMPARE(workspace, needs->workspaceBytes);
    QVERIFY(use->workspaceBytes > 0 && use->workspaceBytes <= workspace);
    const std::uint64_t planned = plan.bytesIn(MemoryPlace::Device) - workspace + use->workspaceBytes;
    const std::uint64_t held = contextBytes + cudahost::allocatedBytes();
    QVERIFY2(held >= planned && held - planned < 64 * 1024,
             qPrintable(QStringLiteral("planned %1, held %2").arg(planned).arg(held)));
    QCOMPARE(plan.bytesOf(MemoryPart::Workspace, MemoryPlace::Host),
             2 * std::uint64_t(settings.batchTokens) * m_model->config().embedding * sizeof(float));
}

/// What was quantised at load is kept in place for the CPU's layers alone.
void TestCudaSplitSession::quantizedAtLoad()
{
    TinyModelOptions options = m_options;
    options.type = TinyType::F16;
    options.embedding = 256;
    options.feedForward = 512;
    options.name = "wide";
    SessionFixture fixture;
    ModelLoadOptions load;
    load.quantization = LoadQuantization::Q8_0;
    QTemporaryDir folder;
    const auto model = loadModel(writeTinyModel(folder.path().toStdString(), options), nullptr, {}, load);
    QVERIFY(model && (*model)->model->quantized());
    const ModelWeights &weights = (*model)->model->weights();
    const auto copyOf = [](const Weight &weight) {
        return std::vector<std::byte>(weight.data.begin(), weight.data.end());
    };
    const auto device = copyOf(weights.layers[1].gate);
    const auto cpu = copyOf(weights.layers[3].gate);
    const auto reference =
        Session::create(*model, settingsFor(64, Precision::Exact), nullptr, {}, makeHosted);
    QVERIFY(reference);
    const auto expected = greedy(**reference, SessionFixture::ids(20), 8);
    QCOMPARE(expected.size(), std::size_t(8));
    const MemoryPlan whole = (*reference)->plan();
    QVERIFY((*reference)->reconfigure(splitAfter(2, settingsFor(64, Precision::Exact))));
    QVERIFY(greedy(**reference, SessionFixture::ids(20), 8) == expected);
    QVERIFY(copyOf(weights.layers[1].gate) != device); // given back: it is on the device
    QVERIFY(copyOf(weights.layers[3].gate) == cpu);
    QCOMPARE((*reference)->plan().bytesOf(MemoryPart::Weights, MemoryPlace::Host) +
                 (*model)->model->weightsBytes(ModelPart::before(2)),
             whole.bytesOf(MemoryPart::Weights));
    // Back on the CPU it is made again.
    QVERIFY((*reference)->reconfigure(settingsFor(64, Precision::Exact)));
    QVERIFY(copyOf(weights.layers[1].gate) == device);
    QVERIFY(greedy(**reference, SessionFixture::ids(20), 8) == expected);
}

void TestCudaSplitSession::otherLayersBringOnlyWhatIsNew()
{
    const auto session = open(splitAfter(3, settingsFor(64)));
    QVERIFY(session);
    const auto expected = greedy(*session, SessionFixture::ids(20), 6);
    // Room for one more layer and its share of the rest, but not for four anew.
    const std::uint64_t planned = session->plan().bytesIn(MemoryPlace::Device);
    const std::uint64_t weights = session->deviceNeeds()->weightBytes;
    cudahost::configure(
        card(contextBytes + cudahost::allocatedBytes() + planned - contextBytes - weights / 3));
    QVERIFY(session->reconfigure(splitAfter(4, settingsFor(64))));
    QCOMPARE(session->deviceLayers(), std::optional(4U));
    QVERIFY(greedy(*session, SessionFixture::ids(20), 6) == expected);
    QVERIFY(session->reconfigure(splitAfter(2, settingsFor(64))));
    QVERIFY(greedy(*session, SessionFixture::ids(20), 6) == expected);
}

void TestCudaSplitSession::aSmallCardSaysHowManyLayersFit()
{
    std::uint64_t three = 0;
    std::uint64_t four = 0;
    for (auto *planned : {&three, &four}) {
        const auto session = open(splitAfter(planned == &three ? 3 : 4, settingsFor(256)));
        *planned = session->plan().bytesIn(MemoryPlace::Device);
    }
    QVERIFY(four > three);
    const std::size_t bytes = three + (four - three) / 2;
    SessionSettings whole = settingsFor(256);
    whole.backend = BackendKind::Cuda;
    for (const SessionSettings &settings : {whole, splitAfter(4, settingsFor(256))}) {
        cudahost::reset(card(bytes));
        const auto none = Session::create(m_model, settings, nullptr, {}, makeHosted);
        QVERIFY(!none);
        QCOMPARE(none.error().code, ErrorCode::OutOfMemory);
        const QByteArray text = QByteArray::fromStdString(none.error().text());
        QVERIFY2(text.contains("or 3 of 5 layers on the device"), text);
        QCOMPARE(none.error().deviceLayers, 3U);
        QVERIFY2(text.contains("are needed on CUDA device"), text);
    }
    // What it says fits does.
    cudahost::reset(card(bytes));
    const auto session = open(splitAfter(3, settingsFor(256)));
    QVERIFY(session);
    QCOMPARE(greedy(*session, SessionFixture::ids(20), 4).size(), std::size_t(4));
    QCOMPARE(session->fallbackReason(), std::string());
    // Not even one layer: nothing is said of layers.
    cudahost::reset(card(contextBytes + 4096));
    const auto nothing = Session::create(m_model, whole, nullptr, {}, makeHosted);
    QVERIFY(!nothing);
    QVERIFY(nothing.error().message.find("layers on the device") == std::string::npos);
    QCOMPARE(nothing.error().deviceLayers, 0U);
}

void TestCudaSplitSession::operationsAreTimedOnBothSides()
{
    const auto session = open(splitAfter(2, settingsFor(128)));
    QVERIFY(session);
    const auto expected = greedy(*session, SessionFixture::ids(20), 4);
    const auto lastStep = [&](Session &s) {
        StepRecord last;
        const auto started = s.prefill(SessionFixture::ids(20), 1);
        for (int i = 0; started && i < 4; ++i)
            last = *s.step(SessionFixture::request(0.0F));
        return last;
    };
    QVERIFY(!lastStep(*session).operations.isMeasured());
    session->measureOperations(Measuring::On);
    const StepRecord measured = lastStep(*session);
    for (std::size_t i = 0; i < operationCount; ++i)
        QVERIFY2(measured.operations.ms[i] > 0.0F, qPrintable(QString::number(i)));
    QVERIFY(double(measured.operations.total()) <= measured.forwardMs);
    QVERIFY(measured.readBytes > session->kvBytes());
    const auto run = session->prefill(SessionFixture::ids(30), 1);
    QVERIFY(run && run->operations.isMeasured());
    QCOMPARE(run->arithmetic.device, session->backend().deviceName());
    QCOMPARE(run->arithmetic.deviceLayers, std::optional(2U));
    QCOMPARE(run->deviceBytesPerSecond, 0.0); // two memories were read
    session->measureOperations(Measuring::Off);
    QVERIFY(!lastStep(*session).operations.isMeasured());
    QVERIFY(greedy(*session, SessionFixture::ids(20), 4) == expected);
}

void TestCudaSplitSession::withoutADeviceTheCpuRuns()
{
    cudahost::Settings none = card();
    none.driverVersion = 0;
    cudahost::reset(none);
    const auto session = open(splitAfter(2, settingsFor(64)));
    QVERIFY(session);
    QCOMPARE(session->backend().name(), std::string("CPU"));
    QVERIFY(session->fallbackReason().find("no NVIDIA driver") != std::string::npos);
    QVERIFY(!session->deviceLayers());
    QVERIFY(!session->plan().hasDevice());
    QCOMPARE(session->settings().deviceLayers, std::optional(2U)); // the wish
    QCOMPARE(greedy(*session, SessionFixture::ids(20), 4).size(), std::size_t(4));
}

/// A device that goes in the middle of a pass: the sequence is as before, and the CPU takes over when it is
/// asked for.
void TestCudaSplitSession::traceOnly()
{
    const auto session = open(splitAfter(2, settingsFor(64)));
    QVERIFY(session);
    const auto run = session->prefill(SessionFixture::ids(12), 1);
    QVERIFY(run);
    QVERIFY(session->step(SessionFixture::request()));
    QVERIFY(session->step(SessionFixture::request()));
    const std::uint32_t cached = session->cachedTokens();
    cudahost::Settings settings = card();
    settings.loseAtLaunch = 1;
    cudahost::configure(settings);
    const auto lost = session->step(SessionFixture::request());
    QVERIFY(!lost);
    QCOMPARE(lost.error().code, ErrorCode::DeviceLost);
    QVERIFY(session->isDeviceLost());
    QCOMPARE(session->cachedTokens(), cached);
    cudahost::configure(card());
    const auto again = session->step(SessionFixture::request());
    QVERIFY(!again);
    QCOMPARE(again.error().code, ErrorCode::DeviceLost);
    QVERIFY(session->logits()->get({run->run, StepIndex(1)}) != nullptr);
    QVERIFY(session->cacheSnapshot() != nullptr);
    QVERIFY(session->reconfigure(settingsFor(64)));
    QVERIFY(!session->isDeviceLost());
    QVERIFY(!session->deviceLayers());
    QCOMPARE(greedy(*session, SessionFixture::ids(12), 3).size(), std::size_t(3));
    cudahost::takeFaults();
}

TOKENLOUPE_TEST_MAIN(TestCudaSplitSession)
#include "tst_cudasplitsession.moc"
