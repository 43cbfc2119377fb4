// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/hostedsession.h"
#include "tests/support/testmain.h"

Q_DECLARE_METATYPE(std::optional<std::uint32_t>)

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

SessionSettings onDevice()
{
    SessionSettings settings;
    settings.backend = BackendKind::Cuda;
    settings.contextTokens = 64;
    settings.batchTokens = 16;
    settings.precision = Precision::Fast;
    return settings;
}

/// The device computes all layers, or the first one alone.
void addParts()
{
    QTest::addColumn<std::optional<std::uint32_t>>("layers");
    QTest::newRow("all of the model") << std::optional<std::uint32_t>();
    QTest::newRow("one layer") << std::optional(1U);
}

/// From nothing to some tokens: prompt, steps that make and replay a graph, a branch, a score.
Status life(const std::shared_ptr<const LoadedModel> &model, std::optional<std::uint32_t> layers = {})
{
    SessionSettings settings = onDevice();
    settings.deviceLayers = layers;
    auto session = Session::create(model, settings, nullptr, {}, makeHosted);
    if (!session)
        return tl::unexpected(session.error());
    Session &s = **session;
    if (!s.fallbackReason().empty())
        return makeError(ErrorCode::Unsupported, s.fallbackReason());
    if (const auto run = s.prefill(SessionFixture::ids(12), 1); !run)
        return tl::unexpected(run.error());
    for (int i = 0; i < 4; ++i) {
        if (const auto step = s.step(SessionFixture::request()); !step)
            return tl::unexpected(step.error());
    }
    if (const auto branch = s.fork(StepIndex(2), 7); !branch)
        return tl::unexpected(branch.error());
    for (int i = 0; i < 2; ++i) {
        if (const auto step = s.step(SessionFixture::request()); !step)
            return tl::unexpected(step.error());
    }
    return s.score(SessionFixture::ids(10, 3), [](std::uint32_t, std::span<const float>) {});
}

} // namespace

/// A card that is too small, one that fills up, and one that fails.
class TestCudaFaults : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void init() { cudahost::reset(); }
    void allIsGivenBack_data() { addParts(); }
    void allIsGivenBack();
    void everyAllocationMayFail_data() { addParts(); }
    void everyAllocationMayFail();
    void cardTooSmall();
    void contextTooLong();
    void uploadCanBeCancelled();
    void deviceIsLost_data();
    void deviceIsLost();
    void traceOnly();

private:
    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
};

void TestCudaFaults::initTestCase()
{
    TinyModelOptions options;
    options.type = TinyType::Q8_0;
    m_model = m_fixture.load(options);
    QVERIFY(m_model);
}

void TestCudaFaults::allIsGivenBack()
{
    QFETCH(std::optional<std::uint32_t>, layers);
    const Status lived = life(m_model, layers);
    QVERIFY2(lived, lived ? "" : lived.error().text().c_str());
    QCOMPARE(cudahost::allocationCount(), std::size_t(0));
    QCOMPARE(cudahost::hostAllocationCount(), std::size_t(0));
    TOKENLOUPE_NO_DEVICE_FAULTS();
}

/// The n-th fails, for every n until there are no more: an error that says so, or work that goes on without.
void TestCudaFaults::everyAllocationMayFail()
{
    QFETCH(std::optional<std::uint32_t>, layers);
    int refused = 0;
    int wentOn = 0;
    for (int n = 1;; ++n) {
        QVERIFY(n < 200);
        cudahost::Settings settings;
        settings.failingAllocation = n;
        cudahost::reset(settings);
        const Status lived = life(m_model, layers);
        if (!lived) {
            ++refused;
            QVERIFY2(lived.error().code == ErrorCode::OutOfMemory, lived.error().text().c_str());
            QVERIFY2(lived.error().text().find("bytes") != std::string::npos, lived.error().text().c_str());
        } else {
            ++wentOn;
        }
        QCOMPARE(cudahost::allocationCount(), std::size_t(0));
        QCOMPARE(cudahost::hostAllocationCount(), std::size_t(0));
        TOKENLOUPE_NO_DEVICE_FAULTS();
        if (cudahost::settings().failingAllocation != 0 && lived && wentOn > 1)
            break; // further than all there are; one less is cuBLAS's, without which prompts only take longer
    }
    QVERIFY(refused >= 8);
}

void TestCudaFaults::cardTooSmall()
{
    cudahost::Settings settings;
    settings.cardBytes = 64 << 10;
    cudahost::reset(settings);
    const Status lived = life(m_model);
    QVERIFY(!lived);
    QCOMPARE(lived.error().code, ErrorCode::OutOfMemory);
    const QByteArray text = QByteArray::fromStdString(lived.error().text());
    QVERIFY2(text.contains("weights"), text);
    QVERIFY2(text.contains("are needed on"), text);
    QVERIFY2(text.contains("are free"), text);
    QVERIFY2(text.contains("fewer bits"), text);
    QCOMPARE(cudahost::allocationCount(), std::size_t(0));
}

void TestCudaFaults::contextTooLong()
{
    cudahost::Settings settings;
    settings.cardBytes = 128 << 20; // cuBLAS takes 32 MiB of it, twice while a session changes
    cudahost::reset(settings);
    SessionSettings wanted = onDevice();
    auto session = Session::create(m_model, wanted, nullptr, {}, makeHosted);
    QVERIFY(session);
    QVERIFY((*session)->prefill(SessionFixture::ids(12), 1));
    wanted.contextTokens = 1 << 20;
    const Status changed = (*session)->reconfigure(wanted);
    QVERIFY(!changed);
    QCOMPARE(changed.error().code, ErrorCode::OutOfMemory);
    QVERIFY(changed.error().text().find("KV cache") != std::string::npos);
    QVERIFY2(changed.error().text().find("tokens fit") != std::string::npos, changed.error().text().c_str());
    // As before: the run goes on.
    QVERIFY((*session)->step(SessionFixture::request()));
    wanted.contextTokens = 96;
    QVERIFY((*session)->reconfigure(wanted));
    QVERIFY((*session)->prefill(SessionFixture::ids(12), 1));
    TOKENLOUPE_NO_DEVICE_FAULTS();
}

void TestCudaFaults::uploadCanBeCancelled()
{
    std::stop_source stop;
    stop.request_stop();
    Progress progress;
    const auto backend = hostedBackend();
    const Status prepared =
        backend->prepare(m_model->model, Precision::Exact, {}, &progress, stop.get_token());
    QVERIFY(!prepared);
    QCOMPARE(prepared.error().code, ErrorCode::Cancelled);
    QVERIFY(backend->prepare(m_model->model, Precision::Exact, {}, &progress, {}));
    QVERIFY(progress.total > 0);
    QVERIFY(progress.done > progress.total / 2);
    QVERIFY(backend->weightBytes() >= progress.total);
}

void TestCudaFaults::deviceIsLost_data()
{
    QTest::addColumn<int>("launch");
    QTest::addColumn<std::optional<std::uint32_t>>("layers");
    for (const int launch : {1, 2, 17, 40, 75, 100, 140, 170})
        QTest::addRow("at launch %d", launch) << launch << std::optional<std::uint32_t>();
    for (const int launch : {1, 2, 17, 30, 60})
        QTest::addRow("at launch %d of one layer", launch) << launch << std::optional(1U);
}

void TestCudaFaults::deviceIsLost()
{
    QFETCH(int, launch);
    QFETCH(std::optional<std::uint32_t>, layers);
    cudahost::Settings settings;
    settings.loseAtLaunch = launch;
    cudahost::reset(settings);
    const Status lived = life(m_model, layers);
    QVERIFY2(!lived, "there are fewer launches than that");
    QVERIFY2(lived.error().code == ErrorCode::DeviceLost, lived.error().text().c_str());
    QVERIFY(lived.error().text().find("only what was recorded") != std::string::npos);
    cudahost::takeFaults();
}

/// After that every computation says the same, what is there can be looked at, and the CPU takes over when it
/// is asked for.
void TestCudaFaults::traceOnly()
{
    auto made = Session::create(m_model, onDevice(), nullptr, {}, makeHosted);
    QVERIFY(made);
    Session &session = **made;
    QVERIFY(!session.isDeviceLost());
    const auto run = session.prefill(SessionFixture::ids(12), 1);
    QVERIFY(run);
    QVERIFY(session.step(SessionFixture::request()));
    QVERIFY(session.step(SessionFixture::request()));
    cudahost::Settings settings = cudahost::settings();
    settings.loseAtLaunch = 1;
    cudahost::configure(settings);
    const auto lost = session.step(SessionFixture::request());
    QVERIFY(!lost);
    QCOMPARE(lost.error().code, ErrorCode::DeviceLost);
    QVERIFY(session.isDeviceLost());
    settings.loseAtLaunch = 0;
    cudahost::configure(settings);
    for (int again = 0; again < 2; ++again) {
        const auto step = session.step(SessionFixture::request());
        QVERIFY(!step);
        QCOMPARE(step.error().code, ErrorCode::DeviceLost);
    }
    const auto fresh = session.prefill(SessionFixture::ids(9, 2), 1);
    QVERIFY(!fresh);
    QCOMPARE(fresh.error().code, ErrorCode::DeviceLost);
    // What was recorded.
    QCOMPARE(session.logits()->get({run->run, StepIndex(1)}) != nullptr, true);
    QVERIFY(session.cacheSnapshot() != nullptr);

    SessionSettings cpu = onDevice();
    cpu.backend = BackendKind::Cpu;
    QVERIFY(session.reconfigure(cpu));
    QVERIFY(!session.isDeviceLost());
    QVERIFY(session.prefill(SessionFixture::ids(12), 1));
    QVERIFY(session.step(SessionFixture::request()));
    cudahost::takeFaults();
}

TOKENLOUPE_TEST_MAIN(TestCudaFaults)
#include "tst_cudafaults.moc"
