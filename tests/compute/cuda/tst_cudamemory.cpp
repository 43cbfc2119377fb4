// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/hostedsession.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr std::size_t contextBytes = std::size_t(96) << 20; // one for the whole program: it is measured once

cudahost::Settings card(std::size_t bytes)
{
    cudahost::Settings settings;
    settings.cardBytes = bytes;
    settings.contextBytes = contextBytes;
    return settings;
}

SessionSettings onDevice(std::uint32_t contextTokens)
{
    SessionSettings settings;
    settings.backend = BackendKind::Cuda;
    settings.contextTokens = contextTokens;
    settings.batchTokens = 16;
    settings.precision = Precision::Fast;
    return settings;
}

struct Reply
{
    std::vector<TokenId> tokens;
    std::vector<std::vector<float>> logits;
    std::vector<StepRecord> records;
    RunRecord start;
};

/// `count` steps after a short prompt.
Reply reply(Session &session, int count)
{
    Reply reply;
    const auto started = session.prefill(SessionFixture::ids(12), 3);
    if (!started) {
        QTest::qFail(started.error().text().c_str(), __FILE__, __LINE__);
        return reply;
    }
    reply.start = *started;
    for (int i = 0; i < count; ++i) {
        const auto step = session.step(SessionFixture::request());
        if (!step) {
            QTest::qFail(step.error().text().c_str(), __FILE__, __LINE__);
            return reply;
        }
        reply.tokens.push_back(step->token);
        reply.logits.push_back(SessionFixture::row(session.currentLogits()));
        reply.records.push_back(*step);
    }
    return reply;
}

} // namespace

/// What sessions say that they take of a device, beside what they take; and what they say of its time.
class TestCudaMemory : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void init() { cudahost::reset(card(std::size_t(1) << 30)); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void listsDevices();
    void theContextIsMeasured();
    void thePlanIsWhatIsAllocated();
    void weightsThatAreThereAreNotCountedTwice();
    void aCardThatIsTooSmall();
    void operationsAreTimed();
    void timingLeavesGraphsAndResults();

private:
    std::unique_ptr<Session> open(const SessionSettings &settings) { return openHosted(m_model, settings); }

    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
};

void TestCudaMemory::initTestCase()
{
    TinyModelOptions options;
    options.type = TinyType::Q4_0;
    m_model = m_fixture.load(options);
    QVERIFY(m_model);
}

void TestCudaMemory::listsDevices()
{
    cudahost::Settings settings = card(std::size_t(3) << 30);
    settings.devices = 2;
    cudahost::reset(settings);
    const DeviceList two = cudaDevices();
    QCOMPARE(two.devices.size(), std::size_t(2));
    QVERIFY(two.problem.empty());
    for (const DeviceEntry &device : two.devices) {
        QVERIFY(!device.name.empty());
        QVERIFY(!device.id.empty());
        QVERIFY(device.problem.empty());
        QCOMPARE(device.totalBytes, std::uint64_t(3) << 30);
    }
    QVERIFY(two.devices[0].id != two.devices[1].id);
    QVERIFY(makeCudaBackend(two.devices[1].id));
    const auto absent = makeCudaBackend("0000:ff:00.0");
    QVERIFY(!absent);
    QCOMPARE(absent.error().code, ErrorCode::Unsupported);

    settings.computeMajor = 6;
    cudahost::reset(settings);
    const DeviceList old = cudaDevices();
    QCOMPARE(old.devices.size(), std::size_t(2));
    QVERIFY(old.devices[0].problem.find("compute capability 6.0") != std::string::npos);

    settings.driverVersion = 0;
    cudahost::reset(settings);
    QCOMPARE(cudaDevices().devices.size(), std::size_t(0));
    QCOMPARE(cudaDevices().problem, std::string("no NVIDIA driver"));
}

void TestCudaMemory::theContextIsMeasured()
{
    const auto backend = makeCudaBackend();
    QVERIFY(backend);
    const auto use = (*backend)->deviceMemory();
    QVERIFY(use);
    QCOMPARE(use->contextBytes, std::uint64_t(contextBytes));
    QCOMPARE(use->totalBytes, std::uint64_t(1) << 30);
    QCOMPARE(use->freeBytes, use->totalBytes - contextBytes - cudahost::allocatedBytes());
}

void TestCudaMemory::thePlanIsWhatIsAllocated()
{
    const std::unique_ptr<Session> session = open(onDevice(128));
    QVERIFY(session);
    const MemoryPlan &plan = session->plan();
    const auto &needs = session->deviceNeeds();
    QVERIFY(needs);
    QVERIFY(plan.hasDevice());
    QCOMPARE(plan.bytesOf(MemoryPart::Weights), needs->weightBytes);
    QCOMPARE(plan.bytesOf(MemoryPart::Context), std::uint64_t(contextBytes));
    QVERIFY(plan.bytesOf(MemoryPart::Library) > 0);
    QVERIFY(plan.bytesOf(MemoryPart::Runtime) == 0); // no scratch of CPU threads
    reply(*session, 4);
    reply(*session, 4);

    // All but the few KiB of a pass's inputs and constants, and what of the workspace nobody asked for.
    const auto use = session->backend().deviceMemory();
    QVERIFY(use);
    QCOMPARE(use->weightBytes, needs->weightBytes);
    QVERIFY(use->workspaceBytes > 0);
    QVERIFY2(use->workspaceBytes <= needs->workspaceBytes,
             qPrintable(QStringLiteral("%1 of %2").arg(use->workspaceBytes).arg(needs->workspaceBytes)));
    const std::uint64_t planned =
        plan.bytesIn(MemoryPlace::Device) - needs->workspaceBytes + use->workspaceBytes;
    const std::uint64_t held = contextBytes + cudahost::allocatedBytes();
    QVERIFY2(held >= planned && held - planned < 64 * 1024,
             qPrintable(QStringLiteral("planned %1, held %2").arg(planned).arg(held)));
    QCOMPARE(use->usedBytes(), held);
}

void TestCudaMemory::weightsThatAreThereAreNotCountedTwice()
{
    const std::unique_ptr<Session> session = open(onDevice(128));
    QVERIFY(session);
    // Room for another cache, but not for the weights again.
    const std::uint64_t weights = session->deviceNeeds()->weightBytes;
    const std::uint64_t rest = session->plan().bytesIn(MemoryPlace::Device) - weights - contextBytes;
    QVERIFY(weights > 8 * 1024);
    cudahost::Settings settings = card(contextBytes + cudahost::allocatedBytes() + rest + weights / 2);
    cudahost::configure(settings);
    SessionSettings other = onDevice(112);
    QVERIFY(session->reconfigure(other));
    QCOMPARE(session->settings().backend, BackendKind::Cuda);
}

void TestCudaMemory::aCardThatIsTooSmall()
{
    std::uint64_t planned = 0;
    {
        const std::unique_ptr<Session> session = open(onDevice(256));
        QVERIFY(session);
        planned = session->plan().bytesIn(MemoryPlace::Device);
    }
    // The cache has half of the room that it wants.
    const auto whole = sessionPlan(*m_model, onDevice(256));
    QVERIFY(whole);
    const std::uint64_t cache = whole->bytesOf(MemoryPart::KvCache);
    cudahost::reset(card(planned - cache / 2));
    const auto none = Session::create(m_model, onDevice(256), nullptr, {}, makeHosted);
    QVERIFY(!none);
    QCOMPARE(none.error().code, ErrorCode::OutOfMemory);
    const QByteArray text = QByteArray::fromStdString(none.error().text());
    QVERIFY2(text.contains("context of 256 tokens"), text);
    QVERIFY2(text.contains("are needed on CUDA device"), text);
    QVERIFY2(text.contains("at most 128 tokens fit; with keys and values as f16: 256"), text);
    QCOMPARE(cudahost::allocatedBytes(), std::size_t(0)); // before anything was

    // What it says fits does.
    QVERIFY(Session::create(m_model, onDevice(128), nullptr, {}, makeHosted));
    SessionSettings half = onDevice(256);
    half.keyType = KvType::F16;
    half.valueType = KvType::F16;
    QVERIFY(Session::create(m_model, half, nullptr, {}, makeHosted));

    cudahost::reset(card(contextBytes + 4096));
    const auto nothing = Session::create(m_model, onDevice(256), nullptr, {}, makeHosted);
    QVERIFY(!nothing);
    QCOMPARE(nothing.error().code, ErrorCode::OutOfMemory);
    QVERIFY(nothing.error().message.find("not even a short context fits") != std::string::npos);
}

void TestCudaMemory::operationsAreTimed()
{
    const std::unique_ptr<Session> session = open(onDevice(128));
    QVERIFY(session);
    QVERIFY(!reply(*session, 2).records.back().operations.isMeasured());
    session->measureOperations(Measuring::On);
    const Reply measured = reply(*session, 3);
    const StepRecord &last = measured.records.back();
    for (std::size_t i = 0; i < operationCount; ++i)
        QVERIFY2(last.operations.ms[i] > 0.0F, qPrintable(QString::number(i)));
    QVERIFY(double(last.operations.total()) <= last.forwardMs);
    QVERIFY(measured.start.operations.isMeasured());
    QVERIFY(!measured.records.front().operations.isMeasured()); // the prefill did it
    QVERIFY(last.readBytes > session->kvBytes());
    QVERIFY(!measured.start.arithmetic.device.empty());
    QVERIFY(measured.start.deviceBytesPerSecond > 0.0);
    session->measureOperations(Measuring::Off);
    QVERIFY(!reply(*session, 3).records.back().operations.isMeasured());
}

void TestCudaMemory::timingLeavesGraphsAndResults()
{
    const std::unique_ptr<Session> session = open(onDevice(128));
    QVERIFY(session);
    const auto &backend = dynamic_cast<const CudaBackend &>(session->backend());
    reply(*session, 6); // from here on the prompt is found in the cache
    const std::uint64_t before = backend.replays();
    const Reply plain = reply(*session, 6);
    const std::uint64_t replays = backend.replays();
    QVERIFY(replays - before >= 5);
    session->measureOperations(Measuring::On);
    const Reply measured = reply(*session, 6);
    QCOMPARE(backend.replays(), replays); // operation by operation
    QVERIFY(measured.tokens == plain.tokens);
    QVERIFY(measured.logits == plain.logits);
    session->measureOperations(Measuring::Off);
    const Reply after = reply(*session, 6);
    QCOMPARE(backend.replays() - replays, replays - before); // what was remembered is remembered still
    QVERIFY(after.tokens == plain.tokens);
    QVERIFY(after.logits == plain.logits);
}

TOKENLOUPE_TEST_MAIN(TestCudaMemory)
#include "tst_cudamemory.moc"
