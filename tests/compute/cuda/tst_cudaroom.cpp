// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compute/cuda/hostedsession.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>

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

SessionSettings settingsFor(std::uint32_t contextTokens)
{
    SessionSettings settings;
    settings.contextTokens = contextTokens;
    // The cache is to be larger than the workspace of cuBLAS, which both sessions have for a moment.
    settings.sequences = 128;
    settings.batchTokens = 12;
    settings.blockTokens = 8;
    settings.threads = 1;
    settings.backend = BackendKind::Cuda;
    return settings;
}

std::uint64_t cacheBytes(const Session &session)
{
    return session.plan().bytesOf(MemoryPart::KvCache, MemoryPlace::Device);
}

std::uint64_t freeBytes(const Session &session)
{
    return session.backend().deviceMemory()->freeBytes;
}

} // namespace

/// Other settings on a card that holds one cache, and not two.
class TestCudaRoom : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void init() { cudahost::reset(card(m_bytes)); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void aLongerContext();
    void otherTypes();
    void whatFailsLeavesTheCacheEmpty();
    void tooMuchEvenSo();
    void whoTakesTheMemoryMeanwhile();

private:
    static constexpr std::uint32_t shortContext = 2048;
    static constexpr std::uint32_t longContext = 2560;

    std::unique_ptr<Session> open() const { return openHosted(m_model, settingsFor(shortContext)); }

    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
    std::vector<TokenId> m_prompt;
    std::vector<TokenId> m_tokens; ///< that follow
    std::size_t m_bytes = std::size_t(1) << 30;
};

void TestCudaRoom::initTestCase()
{
    m_model = m_fixture.load({});
    QVERIFY(m_model);
    m_prompt = {TokenId(5), TokenId(9), TokenId(2), TokenId(7)};
    cudahost::reset(card(m_bytes));
    std::uint64_t used = 0;
    std::uint64_t shortBytes = 0;
    {
        const auto session = openHosted(m_model, settingsFor(shortContext));
        QVERIFY(session);
        m_tokens = greedy(*session, m_prompt, 6);
        QCOMPARE(m_tokens.size(), 6U);
        used = session->backend().deviceMemory()->totalBytes - freeBytes(*session);
        shortBytes = cacheBytes(*session);
    }
    const auto longer = openHosted(m_model, settingsFor(longContext));
    QVERIFY(longer);
    // Half of the short cache is more than all else that both need for a moment.
    m_bytes = used + cacheBytes(*longer) - shortBytes + shortBytes / 2;
    QVERIFY(m_bytes < used + cacheBytes(*longer));
}

void TestCudaRoom::aLongerContext()
{
    const auto session = open();
    QVERIFY(session);
    QCOMPARE(greedy(*session, m_prompt, 3).size(), 3U);
    QVERIFY(freeBytes(*session) < cacheBytes(*session));
    const Status done = session->reconfigure(settingsFor(longContext));
    QVERIFY2(done, done ? "" : done.error().text().c_str());
    QCOMPARE(session->settings().contextTokens, longContext);
    QCOMPARE(session->cache().contextTokens(), longContext);
    QCOMPARE(session->cachedTokens(), 0U);
    QVERIFY(greedy(*session, m_prompt, 6) == m_tokens);
}

void TestCudaRoom::otherTypes()
{
    const auto session = open();
    QVERIFY(session);
    SessionSettings half = settingsFor(2 * longContext);
    half.keyType = half.valueType = KvType::F16;
    const Status done = session->reconfigure(half);
    QVERIFY2(done, done ? "" : done.error().text().c_str());
    QCOMPARE(greedy(*session, m_prompt, 6).size(), 6U);
}

/// Whatever allocation fails on the way: the settings are those of before, and a run can start.
void TestCudaRoom::whatFailsLeavesTheCacheEmpty()
{
    int failures = 0;
    bool isDone = false;
    for (int n = 1; n <= 10; ++n) { // some can be done without
        cudahost::reset(card(m_bytes));
        const auto session = open();
        QVERIFY(session);
        QCOMPARE(greedy(*session, m_prompt, 2).size(), 2U);
        cudahost::Settings settings = card(m_bytes);
        settings.failingAllocation = n;
        cudahost::configure(settings);
        const Status done = session->reconfigure(settingsFor(longContext));
        cudahost::configure(card(m_bytes));
        isDone = done.has_value();
        if (!isDone) {
            ++failures;
            QCOMPARE(done.error().code, ErrorCode::OutOfMemory);
            QCOMPARE(session->settings().contextTokens, shortContext);
            QCOMPARE(session->cache().contextTokens(), shortContext);
        }
        QVERIFY(greedy(*session, m_prompt, 6) == m_tokens);
    }
    QVERIFY(isDone);
    QVERIFY(failures >= 3); // a block for the meantime, rows, the cache
}

/// What does not fit although the present cache goes: nothing happens, and the numbers count it as room.
void TestCudaRoom::tooMuchEvenSo()
{
    const auto session = open();
    QVERIFY(session);
    QVERIFY(session->prefill(m_prompt, 1));
    const auto first = session->step(SessionFixture::request(0.0F));
    QVERIFY(first && first->token == m_tokens[0]);
    const Status done = session->reconfigure(settingsFor(8 * longContext));
    QVERIFY(!done);
    QCOMPARE(done.error().code, ErrorCode::OutOfMemory);
    const auto said = QRegularExpression(QStringLiteral("at most (\\d+) tokens fit"))
                          .match(QString::fromStdString(done.error().text()));
    QVERIFY2(said.hasMatch(), done.error().text().c_str());
    const auto fits = said.captured(1).toUInt();
    QVERIFY2(fits >= longContext && fits < 2 * longContext, qPrintable(said.captured(0)));
    const auto second = session->step(SessionFixture::request(0.0F));
    QVERIFY(second && second->token == m_tokens[1]);
    const Status asSaid = session->reconfigure(settingsFor(fits));
    QVERIFY2(asSaid, asSaid ? "" : asSaid.error().text().c_str());
}

/// Neither the new cache nor the old one can be had: a context of one block is what is left, and says so.
void TestCudaRoom::whoTakesTheMemoryMeanwhile()
{
    const auto session = open();
    QVERIFY(session);
    cudahost::Settings settings = card(m_bytes);
    // All but the block for the meantime.
    settings.failingAllocationsFrom = 2;
    cudahost::configure(settings);
    const Status done = session->reconfigure(settingsFor(longContext));
    cudahost::configure(card(m_bytes));
    QVERIFY(!done);
    QCOMPARE(done.error().code, ErrorCode::OutOfMemory);
    QCOMPARE(session->settings().contextTokens, 8U);
    const auto full = session->prefill(std::vector<TokenId>(20, TokenId(3)), 1);
    QVERIFY(!full);
    QCOMPARE(full.error().code, ErrorCode::ContextFull);
    QCOMPARE(greedy(*session, m_prompt, 3), std::vector<TokenId>(m_tokens.begin(), m_tokens.begin() + 3));
    const Status again = session->reconfigure(settingsFor(shortContext));
    QVERIFY2(again, again ? "" : again.error().text().c_str());
    QVERIFY(greedy(*session, m_prompt, 6) == m_tokens);
}

TOKENLOUPE_TEST_MAIN(TestCudaRoom)
#include "tst_cudaroom.moc"
