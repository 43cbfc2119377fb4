// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>

using namespace tokenloupe;
using namespace tokenloupe::test;

class SessionRewindTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void reproduces_data();
    void reproduces();
    void toTheLastStep();
    void nothingToRewind();
    void storeForgetsLaterSteps();
    void forcedToken();
    void forcedAndRemovedToken();
    void forceIsPartOfTheHistory();
    void badForce();

private:
    SessionFixture m_fixture;
};

void SessionRewindTest::reproduces_data()
{
    QTest::addColumn<quint64>("budget");
    QTest::addColumn<quint32>("to");
    for (quint32 to : {0U, 1U, 7U, 15U, 19U}) {
        QTest::addRow("kept logits, step %u", to) << quint64(1 << 20) << to;
        QTest::addRow("computed again, step %u", to) << quint64(0) << to;
    }
}

void SessionRewindTest::reproduces()
{
    QFETCH(quint64, budget);
    QFETCH(quint32, to);
    SessionSettings settings;
    settings.logitBudgetBytes = budget;
    const auto session = SessionFixture::open(m_fixture.load(), settings);
    QVERIFY(session->prefill(SessionFixture::ids(13), 77));
    const auto request = SessionFixture::request(1.2F);
    std::vector<StepRecord> records;
    std::vector<std::vector<float>> rows;
    for (int k = 0; k < 20; ++k) {
        const auto record = session->step(request);
        QVERIFY(record);
        records.push_back(*record);
        rows.push_back(SessionFixture::row(session->currentLogits()));
    }
    for (int round = 0; round < 2; ++round) {
        QVERIFY(session->rewind(StepIndex(to)));
        QCOMPARE(session->steps(), to);
        QCOMPARE(session->history().size(), 13 + to);
        QCOMPARE(session->cachedTokens(), 13 + to);
        QCOMPARE(SessionFixture::row(session->currentLogits()), rows[to]);
        for (std::uint32_t k = to; k < 20; ++k) {
            const auto record = session->step(request);
            QVERIFY(record);
            QCOMPARE(record->ref, records[k].ref);
            QCOMPARE(record->token, records[k].token);
            QCOMPARE(record->u, records[k].u);
            QCOMPARE(record->p, records[k].p);
            QCOMPARE(record->kvTokens, records[k].kvTokens);
            QCOMPARE(SessionFixture::row(session->currentLogits()), rows[k]);
        }
    }
}

void SessionRewindTest::toTheLastStep()
{
    SessionSettings settings;
    settings.logitBudgetBytes = 0;
    const auto session = SessionFixture::open(m_fixture.load(), settings);
    QVERIFY(session->prefill(SessionFixture::ids(6), 1));
    QVERIFY(session->step(SessionFixture::request()));
    const auto last = session->step(SessionFixture::request());
    QVERIFY(last);
    QVERIFY(session->rewind(StepIndex(1)));
    // The pass that gave these logits is still the one that was measured.
    const auto again = session->step(SessionFixture::request());
    QVERIFY(again);
    QCOMPARE(again->token, last->token);
    QCOMPARE(again->forwardMs, last->forwardMs);
}

void SessionRewindTest::nothingToRewind()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(!session->rewind(StepIndex(0)));
    QVERIFY(session->prefill(SessionFixture::ids(6), 1));
    QVERIFY(session->rewind(StepIndex(0))); // the step to come: as it is
    QVERIFY(session->step(SessionFixture::request()));
    QVERIFY(session->rewind(StepIndex(1)));
    QCOMPARE(session->steps(), 1U);
    const auto beyond = session->rewind(StepIndex(2));
    QVERIFY(!beyond);
    QCOMPARE(beyond.error().code, ErrorCode::InvalidArgument);
    QVERIFY(!session->rewind(StepIndex()));
}

void SessionRewindTest::storeForgetsLaterSteps()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(6), 1));
    for (int k = 0; k < 5; ++k)
        QVERIFY(session->step(SessionFixture::request()));
    QVERIFY(session->rewind(StepIndex(2)));
    QVERIFY(session->logits()->get({session->run(), StepIndex(1)}));
    QVERIFY(!session->logits()->get({session->run(), StepIndex(3)}));
}

void SessionRewindTest::forcedToken()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(6), 1));
    const auto drawn = session->step(SessionFixture::request());
    QVERIFY(drawn);
    QVERIFY(session->rewind(StepIndex(0)));
    // Another token that survives the chain.
    auto settings = drawn->settings;
    const auto survivors = SamplerChain(settings).filter(session->currentLogits(), {session->history(), 0});
    QVERIFY(survivors);
    TokenId other;
    for (const Candidate &candidate : survivors->items) {
        if (candidate.id != drawn->token)
            other = candidate.id;
    }
    QVERIFY(other.isValid());
    StepRequest request = SessionFixture::request();
    request.force = other;
    const auto forced = session->step(request);
    QVERIFY(forced);
    QCOMPARE(forced->token, other);
    QCOMPARE(forced->origin, TokenOrigin::Forced);
    QCOMPARE(forced->u, drawn->u); // what would have been drawn is still known
    QVERIFY(forced->p > 0.0 && forced->p < 1.0);
    QCOMPARE(session->history().back(), other);
}

void SessionRewindTest::forcedAndRemovedToken()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(6), 1));
    const auto logits = session->currentLogits();
    const auto worst =
        static_cast<std::uint32_t>(std::min_element(logits.begin(), logits.end()) - logits.begin());
    StepRequest request = SessionFixture::request();
    request.force = TokenId(worst);
    const auto forced = session->step(request);
    QVERIFY(forced);
    QCOMPARE(forced->token, TokenId(worst));
    QCOMPARE(forced->p, 0.0);
    QVERIFY(forced->pRaw > 0.0);
    QVERIFY(forced->rank >= 40);
}

void SessionRewindTest::forceIsPartOfTheHistory()
{
    const auto model = m_fixture.load();
    const auto session = SessionFixture::open(model);
    auto prompt = SessionFixture::ids(6);
    QVERIFY(session->prefill(prompt, 1));
    StepRequest request = SessionFixture::request();
    request.force = TokenId(tinyFirstByte + 9);
    QVERIFY(session->step(request));
    QVERIFY(session->step(SessionFixture::request()));
    prompt.emplace_back(tinyFirstByte + 9);
    const auto fresh = SessionFixture::open(model);
    QVERIFY(fresh->prefill(prompt, 1));
    QCOMPARE(SessionFixture::row(session->currentLogits()), SessionFixture::row(fresh->currentLogits()));
}

void SessionRewindTest::badForce()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session->prefill(SessionFixture::ids(6), 1));
    StepRequest request = SessionFixture::request();
    request.force = TokenId(384);
    const auto none = session->step(request);
    QVERIFY(!none);
    QCOMPARE(none.error().code, ErrorCode::InvalidArgument);
    QCOMPARE(session->steps(), 0U);
}

TOKENLOUPE_TEST_MAIN(SessionRewindTest)
#include "tst_sessionrewind.moc"
