// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/stepreads.h"
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;
using namespace tokenloupe::test;

/// What steps say of the time and the bytes that their passes took.
class TestOperationTimes : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_model = m_fixture.load();
        QVERIFY(m_model);
    }
    void onlyWhenAsked();
    void rewoundStepsKeepTheirs();
    void otherSettingsGoOnMeasuring();
    void bytesOfATokensPass();
    void windowsReadNoMore();

private:
    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
};

void TestOperationTimes::onlyWhenAsked()
{
    const auto session = SessionFixture::open(m_model);
    QVERIFY(session);
    std::vector<std::vector<float>> rows;
    std::vector<TokenId> tokens;
    for (const Measuring measuring : {Measuring::Off, Measuring::On, Measuring::Off}) {
        session->measureOperations(measuring);
        const auto start = session->prefill(SessionFixture::ids(9), 5);
        QVERIFY(start);
        QCOMPARE(start->operations.isMeasured(), measuring == Measuring::On);
        for (int i = 0; i < 4; ++i) {
            const auto step = session->step(SessionFixture::request());
            QVERIFY(step);
            // The first step's logits are the prefill's.
            QCOMPARE(step->operations.isMeasured(), measuring == Measuring::On && i > 0);
            QVERIFY(double(step->operations.total()) <= step->forwardMs);
            rows.push_back(SessionFixture::row(session->currentLogits()));
            tokens.push_back(step->token);
            if (!step->operations.isMeasured())
                continue;
            for (const Operation operation :
                 {Operation::Embedding, Operation::Norm, Operation::Product, Operation::RotaryStore,
                  Operation::Attention, Operation::Activation, Operation::Head})
                QVERIFY2(step->operations.of(operation) > 0.0F, qPrintable(QString::number(int(operation))));
            QCOMPARE(step->operations.of(Operation::Copy), 0.0F); // the host's memory is where they are
        }
    }
    for (std::size_t i = 0; i < 4; ++i) {
        QCOMPARE(tokens[4 + i].value(), tokens[i].value());
        QVERIFY(rows[4 + i] == rows[i]);
        QVERIFY(rows[8 + i] == rows[i]);
    }
}

void TestOperationTimes::rewoundStepsKeepTheirs()
{
    const auto session = SessionFixture::open(m_model);
    QVERIFY(session);
    session->measureOperations(Measuring::On);
    QVERIFY(session->prefill(SessionFixture::ids(9), 5));
    std::vector<StepRecord> records;
    for (int i = 0; i < 4; ++i)
        records.push_back(*session->step(SessionFixture::request()));
    QVERIFY(session->rewind(StepIndex(2)));
    const auto again = session->step(SessionFixture::request());
    QVERIFY(again);
    QCOMPARE(again->forwardMs, records[2].forwardMs);
    QVERIFY(again->operations == records[2].operations);
    QCOMPARE(again->readBytes, records[2].readBytes);
}

void TestOperationTimes::otherSettingsGoOnMeasuring()
{
    const auto session = SessionFixture::open(m_model);
    QVERIFY(session);
    session->measureOperations(Measuring::On);
    SessionSettings settings = session->settings();
    settings.contextTokens = 64;
    QVERIFY(session->reconfigure(settings));
    const auto start = session->prefill(SessionFixture::ids(9), 5);
    QVERIFY(start);
    QVERIFY(start->operations.isMeasured());
}

void TestOperationTimes::bytesOfATokensPass()
{
    const auto session = SessionFixture::open(m_model);
    QVERIFY(session);
    QVERIFY(session->prefill(SessionFixture::ids(9), 5));
    const std::uint64_t weights = weightBytesRead(*m_model->model);
    QVERIFY(weights > 0 && weights <= m_model->model->weightsBytes());
    QCOMPARE(session->step(SessionFixture::request())->readBytes, std::uint64_t(0));
    const auto second = session->step(SessionFixture::request());
    QVERIFY(second);
    // Nine tokens of the prompt and the one that was drawn first.
    QCOMPARE(second->readBytes, weights + 10 * session->cache().shape().bytesPerToken());
}

void TestOperationTimes::windowsReadNoMore()
{
    KvShape shape;
    shape.layers = {{2, 8, 4, 0}, {1, 8, 4, 16}, {0, 8, 4, 0}};
    const std::uint64_t whole = 2 * 12 * 4;
    const std::uint64_t windowed = 12 * 4;
    QCOMPARE(kvBytesRead(shape, 1), whole + windowed);
    QCOMPARE(kvBytesRead(shape, 16), 16 * (whole + windowed));
    QCOMPARE(kvBytesRead(shape, 100), 100 * whole + 16 * windowed);
}

TOKENLOUPE_TEST_MAIN(TestOperationTimes)
#include "tst_operationtimes.moc"
