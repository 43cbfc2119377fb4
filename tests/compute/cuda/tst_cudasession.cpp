// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/hostedsession.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QFile>
#include <QTemporaryDir>
#include <cmath>
#include <cstring>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

/// Sessions on the device that the host plays, beside ones on the CPU.
class TestCudaSession : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void init() { cudahost::reset(); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void runsWhereItIsAsked();
    void fallsBack();
    void sameTokens_data();
    void sameTokens();
    void reusesRewindsAndForks();
    void sameRecords();
    void flawedLogits();
    void sharesWeights();
    void smolModel();

private:
    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
};

void TestCudaSession::initTestCase()
{
    TinyModelOptions options;
    options.type = TinyType::Q4_0;
    m_model = m_fixture.load(options);
    QVERIFY(m_model);
}

void TestCudaSession::runsWhereItIsAsked()
{
    SessionSettings settings;
    settings.backend = BackendKind::Cuda;
    settings.contextTokens = 64;
    const auto session = openHosted(m_model, settings);
    QVERIFY(session);
    QCOMPARE(session->backend().name(), std::string("CUDA"));
    QVERIFY(!session->backend().deviceName().empty());
    QCOMPARE(session->backend().remark(), std::string());
    QCOMPARE(session->fallbackReason(), std::string());
    QVERIFY(session->settings().backend == BackendKind::Cuda);
    QCOMPARE(session->settings().threads, usableCores()); // what the CPU would have, for going back
    QVERIFY(cudahost::allocatedBytes() > session->plan().bytesOf(MemoryPart::KvCache));
    settings.backend = BackendKind::Cpu;
    QVERIFY(session->reconfigure(settings));
    QCOMPARE(session->backend().name(), std::string("CPU"));
    QCOMPARE(cudahost::allocationCount(), std::size_t(0));
}

void TestCudaSession::fallsBack()
{
    SessionSettings settings;
    settings.backend = BackendKind::Cuda;
    settings.contextTokens = 64;
    cudahost::Settings none;
    none.driverVersion = 0;
    if (!cudahost::canBe(none))
        QSKIP("for a device that the host plays");
    cudahost::reset(none);
    const auto session = openHosted(m_model, settings);
    QVERIFY(session);
    QCOMPARE(session->backend().name(), std::string("CPU"));
    QVERIFY(session->settings().backend == BackendKind::Cpu);
    QVERIFY(session->fallbackReason().find("no NVIDIA driver") != std::string::npos);
    QVERIFY(session->prefill(SessionFixture::ids(5), 1));

    // A program without the backend.
    const auto without = Session::create(m_model, settings);
    QVERIFY(without);
    QVERIFY((*without)->fallbackReason().find("cuda") != std::string::npos);

    // A model that the kernels do not take.
    cudahost::reset();
    TinyModelOptions odd;
    odd.headSize = 12;
    odd.name = "odd";
    const auto other = m_fixture.load(odd);
    QVERIFY(other);
    const auto onCpu = openHosted(other, settings);
    QVERIFY(onCpu);
    QCOMPARE(onCpu->backend().name(), std::string("CPU"));
    QVERIFY(onCpu->fallbackReason().find("heads of 12") != std::string::npos);
}

void TestCudaSession::sameTokens_data()
{
    QTest::addColumn<int>("overflow");
    QTest::addColumn<int>("keyType");
    QTest::addColumn<int>("precision");
    QTest::newRow("plain") << int(OverflowPolicy::Stop) << int(KvType::F32) << int(Precision::Exact);
    QTest::newRow("half cache, fast")
        << int(OverflowPolicy::Stop) << int(KvType::F16) << int(Precision::Fast);
    QTest::newRow("streaming") << int(OverflowPolicy::Streaming) << int(KvType::F32) << int(Precision::Exact);
}

void TestCudaSession::sameTokens()
{
    QFETCH(int, overflow);
    QFETCH(int, keyType);
    QFETCH(int, precision);
    SessionSettings settings;
    settings.contextTokens = 40;
    settings.blockTokens = 8;
    settings.batchTokens = 12;
    settings.overflow = static_cast<OverflowPolicy>(overflow);
    settings.keyType = settings.valueType = static_cast<KvType>(keyType);
    settings.precision = static_cast<Precision>(precision);
    const bool streams = settings.overflow == OverflowPolicy::Streaming;
    const int count = streams ? 30 : 12; // beyond the context
    const auto prompt = SessionFixture::ids(20);
    const auto onCpu = openHosted(m_model, settings);
    settings.backend = BackendKind::Cuda;
    const auto onDevice = openHosted(m_model, settings);
    const auto expected = greedy(*onCpu, prompt, count);
    QCOMPARE(expected.size(), std::size_t(count));
    QVERIFY(greedy(*onDevice, prompt, count) == expected);
    if (streams)
        QVERIFY(onDevice->cacheSnapshot()->counters.droppedTokens > 0);
}

void TestCudaSession::reusesRewindsAndForks()
{
    SessionSettings settings;
    settings.contextTokens = 96;
    settings.sequences = 2;
    settings.blockTokens = 8;
    settings.precision = Precision::Exact;
    const auto onCpu = openHosted(m_model, settings);
    settings.backend = BackendKind::Cuda;
    const auto onDevice = openHosted(m_model, settings);
    const auto both = [&](const auto &check) { return check(*onCpu) == check(*onDevice); };
    const auto prompt = SessionFixture::ids(21);
    QVERIFY(greedy(*onCpu, prompt, 6) == greedy(*onDevice, prompt, 6));

    // The same beginning: found, not computed.
    auto longer = SessionFixture::ids(30);
    std::vector<std::uint32_t> reused;
    for (Session *session : {onCpu.get(), onDevice.get()}) {
        const auto run = session->prefill(longer, 2);
        QVERIFY(run);
        reused.push_back(run->reusedTokens);
    }
    QCOMPARE(reused[0], reused[1]);
    QVERIFY(reused[1] >= 16);
    const auto steps = [&](int count) {
        return both([&](Session &session) {
            std::vector<TokenId> drawn;
            for (int i = 0; i < count; ++i)
                drawn.push_back(session.step(SessionFixture::request(0.0F))->token);
            return drawn;
        });
    };
    QVERIFY(steps(5));

    // A branch in the middle of a block, which is copied; both go on.
    std::vector<RunId> parents;
    for (Session *session : {onCpu.get(), onDevice.get()}) {
        parents.push_back(session->run());
        QVERIFY(session->fork(StepIndex(3), 5));
        StepRequest forced = SessionFixture::request(0.0F);
        forced.force = TokenId(tinyFirstByte + 65);
        QVERIFY(session->step(forced));
    }
    QVERIFY(steps(4));
    QVERIFY(onDevice->cacheSnapshot()->counters.copiedBlocks > 0);
    QVERIFY(onCpu->activate(parents[0]));
    QVERIFY(onDevice->activate(parents[1]));
    QVERIFY(steps(3));
    QVERIFY(onCpu->rewind(StepIndex(2)));
    QVERIFY(onDevice->rewind(StepIndex(2)));
    QVERIFY(steps(4));
    QVERIFY(onCpu->cacheSnapshot()->counters == onDevice->cacheSnapshot()->counters);
}

/// What the device says of the logits is what the CPU says of its own.
void TestCudaSession::sameRecords()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const auto model = loadModel(folder / "stories260K-f32.gguf");
    QVERIFY(model);
    SessionSettings settings;
    settings.contextTokens = 64;
    settings.precision = Precision::Exact;
    settings.keyType = settings.valueType = KvType::F32;
    const auto onCpu = openHosted(*model, settings);
    settings.backend = BackendKind::Cuda;
    const auto onDevice = openHosted(*model, settings);
    const std::vector<TokenId> prompt = {TokenId(1), TokenId(403), TokenId(407), TokenId(261)};
    QVERIFY(onCpu->prefill(prompt, 1));
    QVERIFY(onDevice->prefill(prompt, 1));
    const auto agree = [](double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); };
    for (int i = 0; i < 16; ++i) {
        const auto expected = onCpu->step(SessionFixture::request(0.0F));
        const auto got = onDevice->step(SessionFixture::request(0.0F));
        QVERIFY(expected);
        QVERIFY(got);
        QCOMPARE(got->token.value(), expected->token.value());
        QCOMPARE(got->rank, expected->rank);
        QVERIFY2(agree(got->logSumExp, expected->logSumExp), qPrintable(QString::number(i)));
        QVERIFY2(agree(got->entropyBits, expected->entropyBits), qPrintable(QString::number(i)));
        QVERIFY2(agree(got->pRaw, expected->pRaw), qPrintable(QString::number(i)));
        QVERIFY2(agree(double(got->logit), double(expected->logit)), qPrintable(QString::number(i)));
    }
}

/// A token whose embedding is no number leaves no finite logit: refused as on the CPU, in the same words, and
/// as often as one asks.
void TestCudaSession::flawedLogits()
{
    constexpr std::uint32_t bad = tinyFirstByte + 65;
    QTemporaryDir folder;
    TinyModelOptions options;
    options.output = TinyOutput::Separate;
    const std::filesystem::path path = writeTinyModel(folder.path().toStdString(), options);
    std::vector<char> embedding(options.embedding * sizeof(float));
    {
        const auto whole = Model::load(path);
        QVERIFY(whole);
        const Weight &table = (*whole)->weights().tokenEmbedding;
        std::memcpy(embedding.data(), table.data.data() + bad * embedding.size(), embedding.size());
    }
    QFile file(QString::fromStdString(path.string()));
    QVERIFY(file.open(QIODevice::ReadWrite));
    const auto place = file.readAll().indexOf(QByteArray(embedding.data(), qsizetype(embedding.size())));
    QVERIFY(place > 0);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    QVERIFY(file.seek(place) && file.write(reinterpret_cast<const char *>(&nan), sizeof nan) == sizeof nan);
    file.close();

    const auto model = loadModel(path);
    QVERIFY(model);
    SessionSettings settings;
    settings.contextTokens = 64;
    const auto onCpu = openHosted(*model, settings);
    settings.backend = BackendKind::Cuda;
    const auto onDevice = openHosted(*model, settings);
    std::vector<std::string> errors;
    for (Session *session : {onCpu.get(), onDevice.get()}) {
        QVERIFY(session->prefill(SessionFixture::ids(5), 1));
        QVERIFY(session->step(SessionFixture::request(0.0F)));
        StepRequest forced = SessionFixture::request(0.0F);
        forced.force = TokenId(bad);
        QVERIFY(session->step(forced));
        for (int i = 0; i < 3; ++i) {
            const auto step = session->step(SessionFixture::request(0.0F));
            QVERIFY(!step);
            QVERIFY(step.error().code == ErrorCode::InvalidLogits);
            errors.push_back(step.error().text());
        }
    }
    for (const std::string &error : errors)
        QCOMPARE(error, errors.front());
}

/// Other settings for the same model bring only what differs.
void TestCudaSession::sharesWeights()
{
    SessionSettings settings;
    settings.backend = BackendKind::Cuda;
    settings.contextTokens = 64;
    const auto session = openHosted(m_model, settings);
    const std::size_t before = cudahost::allocatedBytes();
    settings.contextTokens = 80;
    QVERIFY(session->reconfigure(settings));
    QVERIFY(session->prefill(SessionFixture::ids(12), 1));
    const auto other = openHosted(m_model, settings);
    QVERIFY(other);
    const std::uint64_t weights = session->plan().bytesOf(MemoryPart::Weights);
    QVERIFY(cudahost::allocatedBytes() < 2 * before + weights);
    QVERIFY(other->prefill(SessionFixture::ids(12), 1));
}

void TestCudaSession::smolModel()
{
    TOKENLOUPE_NEED_SMOL(path);
    const auto model = loadModel(path);
    QVERIFY(model);
    SessionSettings settings;
    settings.contextTokens = 64;
    settings.precision = Precision::Fast;
    settings.keyType = settings.valueType = KvType::F16;
    const auto prompt = rawPrompt(**model, "The capital of France is");
    QVERIFY(prompt);
    std::vector<TokenId> ids = prompt->ids();
    const auto onCpu = openHosted(*model, settings);
    settings.backend = BackendKind::Cuda;
    const auto onDevice = openHosted(*model, settings);
    constexpr int count = 3;
    const auto expected = greedy(*onCpu, ids, count);
    QCOMPARE(expected.size(), std::size_t(count));
    QVERIFY(greedy(*onDevice, ids, count) == expected);
}

TOKENLOUPE_TEST_MAIN(TestCudaSession)
#include "tst_cudasession.moc"
