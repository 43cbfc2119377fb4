// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <thread>

using namespace tokenloupe;
using namespace tokenloupe::test;

/// What ends a run or stands against one, and that the session is whole afterwards.
class SessionLimitsTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void badPrompts();
    void contextFull();
    void endOfTurn();
    void cancelPrefill();
    void cancelStep();
    void invalidLogitsLeaveTheSession();

private:
    SessionFixture m_fixture;
};

void SessionLimitsTest::badPrompts()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(5), 1));
    const auto run = session->run();
    const auto empty = session->prefill({}, 1);
    QVERIFY(!empty);
    QCOMPARE(empty.error().code, ErrorCode::InvalidArgument);
    const auto large = session->prefill(SessionFixture::ids(257), 1);
    QVERIFY(!large);
    QCOMPARE(large.error().code, ErrorCode::ContextFull);
    QVERIFY(large.error().text().find("257") != std::string::npos);
    QVERIFY(large.error().text().find("256") != std::string::npos);
    const std::vector<TokenId> unknown{TokenId(1), TokenId(384)};
    const auto outside = session->prefill(unknown, 1);
    QVERIFY(!outside);
    QCOMPARE(outside.error().code, ErrorCode::InvalidArgument);
    // None of them touched the run.
    QCOMPARE(session->run(), run);
    QCOMPARE(session->history().size(), 5U);
    QVERIFY(session->step(SessionFixture::request()));
}

void SessionLimitsTest::contextFull()
{
    SessionSettings settings;
    settings.contextTokens = 12;
    const auto session = SessionFixture::open(m_fixture.load(), settings);
    QVERIFY(session->prefill(SessionFixture::ids(10), 1));
    // 10 cached; drawing needs no room, computing the next logits does.
    for (int k = 0; k < 3; ++k)
        QVERIFY(session->step(SessionFixture::request()));
    for (int k = 0; k < 2; ++k) {
        const auto full = session->step(SessionFixture::request());
        QVERIFY(!full);
        QCOMPARE(full.error().code, ErrorCode::ContextFull);
        QCOMPARE(session->history().size(), 13U);
        QCOMPARE(session->cachedTokens(), 12U);
    }
    QVERIFY(session->rewind(StepIndex(1)));
    QVERIFY(session->step(SessionFixture::request()));
}

void SessionLimitsTest::endOfTurn()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(4), 1));
    StepRequest request = SessionFixture::request();
    for (const auto &[id, ends] :
         {std::pair(tinyEos, true), {tinyTurnEnd, true}, {tinyTurnStart, false}, {tinyFirstByte, false}}) {
        request.force = TokenId(id);
        const auto record = session->step(request);
        QVERIFY(record);
        QCOMPARE(record->endsTurn, ends);
    }
}

void SessionLimitsTest::cancelPrefill()
{
    TinyModelOptions options;
    options.context = 8192;
    const auto model = m_fixture.load(options);
    SessionSettings settings;
    settings.batchTokens = 1;
    const auto session = SessionFixture::open(model, settings);
    const auto prompt = SessionFixture::ids(1500);

    // Asked before anything was done.
    std::stop_source before;
    before.request_stop();
    const auto none = session->prefill(prompt, 1, nullptr, before.get_token());
    QVERIFY(!none);
    QCOMPARE(none.error().code, ErrorCode::Cancelled);
    QCOMPARE(session->cachedTokens(), 0U);
    QVERIFY(!session->run().isValid());

    // Asked by another thread once some batches are in.
    std::stop_source stop;
    Progress progress;
    std::thread watcher([&] {
        while (progress.done.load() < 5)
            std::this_thread::yield();
        stop.request_stop();
    });
    const auto part = session->prefill(prompt, 1, &progress, stop.get_token());
    watcher.join();
    QVERIFY(!part);
    QCOMPARE(part.error().code, ErrorCode::Cancelled);
    const auto cached = static_cast<std::uint32_t>(progress.done.load());
    QVERIFY(cached >= 5 && cached < prompt.size());
    QVERIFY(!session->step(SessionFixture::request()));

    // What was prefilled is used.
    const std::span<const TokenId> rest(prompt.data(), cached + 20);
    const auto resumed = session->prefill(rest, 1);
    QVERIFY(resumed);
    QCOMPARE(resumed->reusedTokens, cached);
    const auto fresh = SessionFixture::open(model);
    QVERIFY(fresh->prefill(rest, 1));
    QCOMPARE(SessionFixture::row(session->currentLogits()), SessionFixture::row(fresh->currentLogits()));
}

void SessionLimitsTest::cancelStep()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(8), 1));
    QVERIFY(session->step(SessionFixture::request()));
    StepRequest cancelled = SessionFixture::request();
    std::stop_source stop;
    stop.request_stop();
    cancelled.stop = stop.get_token();
    const auto none = session->step(cancelled);
    QVERIFY(!none);
    QCOMPARE(none.error().code, ErrorCode::Cancelled);
    QCOMPARE(session->steps(), 1U);
    QCOMPARE(session->cachedTokens(), 8U);
    const auto next = session->step(SessionFixture::request());
    QVERIFY(next);
    QCOMPARE(next->ref.step, StepIndex(1));
}

void SessionLimitsTest::invalidLogitsLeaveTheSession()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(8), 1));
    QVERIFY(session->step(SessionFixture::request()));
    const auto before = SessionFixture::row(session->currentLogits());
    // A bias that bans every token leaves nothing to draw from.
    LogitBiasParams ban;
    for (std::uint32_t id = 0; id < 384; ++id)
        ban.biases.emplace_back(TokenId(id), -std::numeric_limits<float>::infinity());
    auto settings = std::make_shared<SamplerSettings>();
    settings->stages = {StageSettings{ban}};
    StepRequest request;
    request.settings = settings;
    const auto none = session->step(request);
    QVERIFY(!none);
    QCOMPARE(none.error().code, ErrorCode::InvalidLogits);
    QCOMPARE(session->steps(), 1U);
    QCOMPARE(session->cachedTokens(), 8U);
    QCOMPARE(SessionFixture::row(session->currentLogits()), before);
    QVERIFY(session->step(SessionFixture::request()));
}

TOKENLOUPE_TEST_MAIN(SessionLimitsTest)
#include "tst_sessionlimits.moc"
