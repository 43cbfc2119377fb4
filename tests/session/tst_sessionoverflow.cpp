// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/chatturns.h"
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<TokenId>;
using Row = std::vector<float>;

Ids listOf(std::span<const TokenId> ids)
{
    return {ids.begin(), ids.end()};
}

} // namespace

/// What happens when a run needs more than its context.
class SessionOverflowTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void initTestCase()
    {
        m_model = m_fixture.load();
        QVERIFY(m_model);
    }
    void policyNames();
    void turnsOfMessages_data();
    void turnsOfMessages();
    void droppingTurnsWhileGenerating();
    void droppingTurnsBeforeTheFirstToken();
    void nothingLeftToDrop();
    void streamingEqualsTheCacheUntilItIsFull();
    void streamingKeepsFirstAndRecent();
    void streamingPromptLongerThanTheContext();
    void rewindingBehindADrop_data();
    void rewindingBehindADrop();

private:
    /// System prompt of 10 tokens, then turns of 12 each.
    static Ids chat(std::uint32_t firstTurn, std::uint32_t turns)
    {
        Ids ids = SessionFixture::ids(10);
        for (std::uint32_t turn = firstTurn; turn < turns; ++turn) {
            for (std::uint32_t i = 0; i < 12; ++i)
                ids.emplace_back(tinyFirstByte + (turn * 53 + i * 7) % 256);
        }
        return ids;
    }
    static PromptWithoutTurns withoutTurns(std::uint32_t turns)
    {
        return [turns](std::uint32_t dropped) -> Result<Ids> {
            return dropped < turns ? chat(dropped, turns) : Ids();
        };
    }
    std::unique_ptr<Session> open(OverflowPolicy policy, std::uint32_t context, std::uint32_t block = 8) const
    {
        SessionSettings settings;
        settings.overflow = policy;
        settings.contextTokens = context;
        settings.blockTokens = block;
        return SessionFixture::open(m_model, settings);
    }
    Row freshLogits(const Ids &ids) const
    {
        const auto session = SessionFixture::open(m_model);
        return session->prefill(ids, 1) ? SessionFixture::row(session->currentLogits()) : Row();
    }

    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
};

void SessionOverflowTest::policyNames()
{
    for (const OverflowPolicy policy :
         {OverflowPolicy::Stop, OverflowPolicy::DropTurns, OverflowPolicy::Streaming})
        QCOMPARE(overflowPolicyOf(overflowPolicyName(policy)), policy);
    QVERIFY(!overflowPolicyOf("sliding"));
}

void SessionOverflowTest::turnsOfMessages_data()
{
    QTest::addColumn<QByteArray>("messages");
    QTest::addColumn<int>("turns");
    QTest::addColumn<QByteArray>("left");
    const QByteArray three = R"([{"role":"system","content":"s"},{"role":"user","content":"1"},)"
                             R"({"role":"assistant","content":"a"},{"role":"tool","content":"t"},)"
                             R"({"role":"user","content":"2"},{"role":"assistant","content":"b"},)"
                             R"({"role":"user","content":"3"}])";
    QTest::newRow("one of three") << three << 1
                                  << QByteArray(R"([{"role":"system","content":"s"},)"
                                                R"({"role":"user","content":"2"},)"
                                                R"({"role":"assistant","content":"b"},)"
                                                R"({"role":"user","content":"3"}])");
    QTest::newRow("two of three") << three << 2
                                  << QByteArray(R"([{"role":"system","content":"s"},)"
                                                R"({"role":"user","content":"3"}])");
    QTest::newRow("the last stays") << three << 3 << QByteArray("[]");
    QTest::newRow("no user") << QByteArray(R"([{"role":"system","content":"s"}])") << 1 << QByteArray("[]");
    QTest::newRow("no list") << QByteArray("{}") << 1 << QByteArray("[]");
    QTest::newRow("odd entries") << QByteArray(R"([1,{"role":"user"},{"role":2},{"role":"user"}])") << 1
                                 << QByteArray(R"([1,{"role":"user"}])");
}

void SessionOverflowTest::turnsOfMessages()
{
    QFETCH(QByteArray, messages);
    QFETCH(int, turns);
    QFETCH(QByteArray, left);
    const auto json = nlohmann::ordered_json::parse(messages.toStdString());
    QCOMPARE(QByteArray::fromStdString(withoutOldestTurns(json, std::uint32_t(turns)).dump()), left);
}

void SessionOverflowTest::droppingTurnsWhileGenerating()
{
    const auto session = open(OverflowPolicy::DropTurns, 64);
    const Ids prompt = chat(0, 4); // 58 tokens
    PromptRequest request{prompt, 5, withoutTurns(4)};
    QVERIFY(session->prefill(request));
    Ids drawn;
    std::uint32_t turns = 0;
    for (int k = 0; k < 20; ++k) {
        const auto step = session->step(SessionFixture::request());
        QVERIFY(step);
        turns += step->droppedTurns;
        // What the model saw: the prompt without those turns, and all that was drawn.
        Ids seen = chat(turns, 4);
        seen.insert(seen.end(), drawn.begin(), drawn.end());
        QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(seen));
        QCOMPARE(step->kvTokens, static_cast<std::uint32_t>(seen.size()));
        QCOMPARE(step->droppedTokens, step->droppedTurns * 12);
        drawn.push_back(step->token);
    }
    QVERIFY(turns >= 2);
    QCOMPARE(session->history().size(), prompt.size() + 20);
    QCOMPARE(session->cacheSnapshot()->counters.droppedTurns, std::uint64_t(turns));
}

void SessionOverflowTest::droppingTurnsBeforeTheFirstToken()
{
    const auto session = open(OverflowPolicy::DropTurns, 64);
    const Ids prompt = chat(0, 9); // 118 tokens
    const auto record = session->prefill(PromptRequest{prompt, 5, withoutTurns(9)});
    QVERIFY(record);
    QCOMPARE(record->droppedTurns, 6U); // with four turns left only 6 tokens would be free, less than a block
    QCOMPARE(record->prompt, chat(record->droppedTurns, 9));
    QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(record->prompt));
    QVERIFY(session->step(SessionFixture::request()));

    const auto stopping = open(OverflowPolicy::Stop, 64);
    const auto refused = stopping->prefill(PromptRequest{prompt, 5, withoutTurns(9)});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::ContextFull);
}

void SessionOverflowTest::nothingLeftToDrop()
{
    const auto session = open(OverflowPolicy::DropTurns, 32);
    QVERIFY(!session->prefill(PromptRequest{SessionFixture::ids(40), 5, withoutTurns(0)}));
    QVERIFY(!session->prefill(PromptRequest{SessionFixture::ids(40), 5, {}}));
    QVERIFY(session->prefill(PromptRequest{chat(0, 1), 5, withoutTurns(1)})); // 22 tokens
    for (int k = 0; k < 11; ++k)
        QVERIFY(session->step(SessionFixture::request()));
    const auto full = session->step(SessionFixture::request());
    QVERIFY(!full);
    QCOMPARE(full.error().code, ErrorCode::ContextFull);
    // The template may fail too: its own words.
    const auto failing = session->prefill(
        PromptRequest{SessionFixture::ids(40), 5, [](std::uint32_t) -> Result<Ids> {
                          return makeError(ErrorCode::TemplateRaised, "template", "no system message");
                      }});
    QVERIFY(!failing);
    QCOMPARE(failing.error().code, ErrorCode::TemplateRaised);
}

void SessionOverflowTest::streamingEqualsTheCacheUntilItIsFull()
{
    const auto streaming = open(OverflowPolicy::Streaming, 64);
    const auto stopping = open(OverflowPolicy::Stop, 64);
    QVERIFY(streaming->prefill(SessionFixture::ids(20), 5) && stopping->prefill(SessionFixture::ids(20), 5));
    for (int k = 0; k < 45; ++k) {
        const auto a = streaming->step(SessionFixture::request());
        const auto b = stopping->step(SessionFixture::request());
        QVERIFY(a && b);
        QCOMPARE(a->droppedTokens, 0U);
        QCOMPARE(SessionFixture::row(streaming->currentLogits()),
                 SessionFixture::row(stopping->currentLogits()));
    }
    QVERIFY(!stopping->step(SessionFixture::request()));
    const auto step = streaming->step(SessionFixture::request());
    QVERIFY(step);
    QCOMPARE(step->droppedTokens, 8U);
}

void SessionOverflowTest::streamingKeepsFirstAndRecent()
{
    const auto session = open(OverflowPolicy::Streaming, 32);
    const Ids prompt = SessionFixture::ids(20);
    QVERIFY(session->prefill(prompt, 5));
    std::uint32_t dropped = 0;
    for (int k = 0; k < 100; ++k) {
        const auto step = session->step(SessionFixture::request());
        QVERIFY(step);
        dropped += step->droppedTokens;
        QVERIFY(step->kvTokens <= 32);
        const Ids history = listOf(session->history());
        const Ids context = listOf(session->context());
        QCOMPARE(context.size() + dropped, history.size());
        QVERIFY(std::equal(context.begin(), context.begin() + 8, history.begin()));
        QVERIFY(std::equal(context.rbegin(), context.rbegin() + std::ptrdiff_t(context.size()) - 8,
                           history.rbegin()));
    }
    QVERIFY(dropped >= 80);
    QCOMPARE(session->cacheSnapshot()->counters.droppedTokens, std::uint64_t(dropped));
    QCOMPARE(session->cache().openSequences(), 1U);
}

void SessionOverflowTest::streamingPromptLongerThanTheContext()
{
    const Ids prompt = SessionFixture::ids(90);
    const auto atOnce = open(OverflowPolicy::Streaming, 32);
    const auto record = atOnce->prefill(prompt, 5);
    QVERIFY(record);
    QCOMPARE(record->prompt, prompt);
    QCOMPARE(record->droppedTokens, 64U);
    // The same as feeding it token by token.
    const auto single = open(OverflowPolicy::Streaming, 32);
    QVERIFY(single->prefill(std::span(prompt).first(1), 5));
    StepRequest request = SessionFixture::request();
    for (std::size_t i = 1; i < prompt.size(); ++i) {
        request.force = prompt[i];
        QVERIFY(single->step(request));
    }
    request.force.reset();
    QVERIFY(single->step(request));
    QCOMPARE(SessionFixture::row(atOnce->currentLogits()), SessionFixture::row(single->currentLogits()));
}

void SessionOverflowTest::rewindingBehindADrop_data()
{
    QTest::addColumn<int>("policy");
    QTest::addColumn<quint64>("budget");
    for (const OverflowPolicy policy : {OverflowPolicy::DropTurns, OverflowPolicy::Streaming}) {
        for (const quint64 budget : {quint64(0), quint64(1) << 24})
            QTest::addRow("%s, %llu bytes of logits", overflowPolicyName(policy).data(), budget)
                << int(policy) << budget;
    }
}

/// Back, on again, and branches: always what the first way through gave.
void SessionOverflowTest::rewindingBehindADrop()
{
    QFETCH(int, policy);
    QFETCH(quint64, budget);
    SessionSettings settings;
    settings.overflow = OverflowPolicy(policy);
    settings.contextTokens = 64;
    settings.blockTokens = 8;
    settings.logitBudgetBytes = budget;
    settings.sequences = 2;
    const auto session = SessionFixture::open(m_model, settings);
    const Ids prompt = chat(0, 4);
    QVERIFY(session->prefill(PromptRequest{prompt, 5, withoutTurns(4)}));
    std::vector<Row> rows;
    Ids tokens;
    std::vector<std::uint32_t> cached;
    const std::uint32_t count = 26;
    for (std::uint32_t k = 0; k < count; ++k) {
        const auto step = session->step(SessionFixture::request());
        QVERIFY(step);
        rows.push_back(SessionFixture::row(session->currentLogits()));
        tokens.push_back(step->token);
        cached.push_back(step->kvTokens);
    }
    for (const std::uint32_t to : {24U, 9U, 20U, 3U, 0U}) {
        QVERIFY(session->rewind(StepIndex(std::min(to, session->steps()))));
        for (std::uint32_t k = session->steps(); k < count; ++k) {
            QCOMPARE(SessionFixture::row(session->currentLogits()), rows[k > to ? k - 1 : k]);
            const auto step = session->step(SessionFixture::request());
            QVERIFY(step);
            QCOMPARE(step->token, tokens[k]);
            QCOMPARE(SessionFixture::row(session->currentLogits()), rows[k]);
            if (k > to)
                QCOMPARE(step->kvTokens, cached[k]);
        }
    }
    for (const std::uint32_t at : {25U, 12U, 2U}) {
        QVERIFY(session->fork(StepIndex(at), 5));
        for (std::uint32_t k = at; k < count; ++k) {
            const auto step = session->step(SessionFixture::request());
            QVERIFY2(step, step ? "" : step.error().text().c_str());
            QCOMPARE(step->token, tokens[k]);
            QCOMPARE(SessionFixture::row(session->currentLogits()), rows[k]);
        }
        QVERIFY(session->prefill(PromptRequest{prompt, 5, withoutTurns(4)})); // ends the branch
        for (std::uint32_t k = 0; k < count; ++k)
            QCOMPARE(session->step(SessionFixture::request())->token, tokens[k]);
    }
}

TOKENLOUPE_TEST_MAIN(SessionOverflowTest)
#include "tst_sessionoverflow.moc"
