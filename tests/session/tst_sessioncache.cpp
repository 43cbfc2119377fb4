// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<TokenId>;
using Row = std::vector<float>;

/// `a`, then what follows the first of `b`.
Ids joined(Ids a, const Ids &b)
{
    a.insert(a.end(), b.begin() + 1, b.end());
    return a;
}

Ids listOf(std::span<const TokenId> ids)
{
    return {ids.begin(), ids.end()};
}

/// Logits after `ids` from a session of its own that never saw anything else.
Row freshLogits(const std::shared_ptr<const LoadedModel> &model, const Ids &ids,
                SessionSettings settings = {})
{
    settings.overflow = OverflowPolicy::Stop;
    settings.contextTokens = 0;
    const auto session = SessionFixture::open(model, settings);
    return session && session->prefill(ids, 1) ? SessionFixture::row(session->currentLogits()) : Row();
}

} // namespace

/// Runs that share a cache, against runs that have one of their own.
class SessionCacheTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void initTestCase()
    {
        m_model = m_fixture.load();
        QVERIFY(m_model);
    }
    void anEarlierChatIsFoundAgain();
    void theLeastRecentlyUsedGoesFirst();
    void everyTypeIsTheSameWithoutACache_data();
    void everyTypeIsTheSameWithoutACache();
    void branchesShareAndPart();
    void branchFromDroppedLogits();
    void cacheUseCanChangeAtAnyStep();
    void computingAfreshTouchesNothing();
    void otherSettingsKeepTheTrace();
    void settingsThatDoNotGoTogether();

private:
    SessionFixture m_fixture;
    std::shared_ptr<const LoadedModel> m_model;
};

void SessionCacheTest::anEarlierChatIsFoundAgain()
{
    const auto session = SessionFixture::open(m_model);
    const Ids system = SessionFixture::ids(21);
    const Ids first = joined(system, SessionFixture::ids(30, 1));
    const Ids second = joined(system, SessionFixture::ids(40, 2));
    QVERIFY(session->prefill(first, 1));
    Ids firstTurn = first;
    for (int k = 0; k < 9; ++k)
        firstTurn.push_back(session->step(SessionFixture::request())->token);

    const auto other = session->prefill(second, 1);
    QVERIFY(other);
    QCOMPARE(other->reusedTokens, 21U); // the system prompt, to the token
    QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(m_model, second));

    // Back to the first chat: the drawn tokens are known too, all but the last, which was never fed.
    const Ids again = joined(firstTurn, SessionFixture::ids(12, 3));
    const auto back = session->prefill(again, 1);
    QVERIFY(back);
    QCOMPARE(back->reusedTokens, static_cast<std::uint32_t>(firstTurn.size()) - 1);
    QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(m_model, again));
    const auto snapshot = session->cacheSnapshot();
    QCOMPARE(snapshot->counters.hitTokens, 21U + firstTurn.size() - 1);
    QVERIFY(snapshot->cachedBytes() > 0);
}

void SessionCacheTest::theLeastRecentlyUsedGoesFirst()
{
    SessionSettings settings;
    settings.contextTokens = 128; // room for two of the three
    const auto session = SessionFixture::open(m_model, settings);
    const Ids a = SessionFixture::ids(60, 1), b = SessionFixture::ids(60, 2), c = SessionFixture::ids(60, 3);
    QVERIFY(session->prefill(a, 1) && session->prefill(b, 1));
    QCOMPARE(session->prefill(a, 1)->reusedTokens, 59U); // a was used after b
    QVERIFY(session->prefill(c, 1));
    QVERIFY(session->cacheSnapshot()->counters.evictedBlocks > 0);
    QVERIFY(session->prefill(a, 1)->reusedTokens > 40);
    QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(m_model, a));
    QVERIFY(session->prefill(b, 1)->reusedTokens < 40);
    QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(m_model, b));
}

void SessionCacheTest::everyTypeIsTheSameWithoutACache_data()
{
    QTest::addColumn<int>("keys");
    QTest::addColumn<int>("values");
    for (const KvType keys : kvTypes()) {
        for (const KvType values : kvTypes())
            QTest::addRow("%s %s", kvTypeName(keys).data(), kvTypeName(values).data())
                << int(keys) << int(values);
    }
}

void SessionCacheTest::everyTypeIsTheSameWithoutACache()
{
    QFETCH(int, keys);
    QFETCH(int, values);
    TinyModelOptions options;
    options.headSize = 32; // whole blocks
    const auto model = m_fixture.load(options);
    SessionSettings settings;
    settings.keyType = KvType(keys);
    settings.valueType = KvType(values);
    const auto kept = SessionFixture::open(model, settings);
    settings.cacheUse = CacheUse::Recompute;
    const auto anew = SessionFixture::open(model, settings);
    QVERIFY(kept && anew);
    QVERIFY(kept->prefill(SessionFixture::ids(23), 7) && anew->prefill(SessionFixture::ids(23), 7));
    for (std::uint32_t k = 0; k < 12; ++k) {
        const auto a = kept->step(SessionFixture::request());
        const auto b = anew->step(SessionFixture::request());
        QVERIFY(a && b);
        QCOMPARE(a->token, b->token);
        QCOMPARE(SessionFixture::row(kept->currentLogits()), SessionFixture::row(anew->currentLogits()));
        QCOMPARE(a->computedTokens, k == 0 ? 0U : 1U);
        QCOMPARE(b->computedTokens, k == 0 ? 0U : 23 + k);
    }
}

void SessionCacheTest::branchesShareAndPart()
{
    SessionSettings settings;
    settings.sequences = 2;
    const auto session = SessionFixture::open(m_model, settings);
    const Ids prompt = SessionFixture::ids(37);
    QVERIFY(session->prefill(prompt, 3));
    for (int k = 0; k < 8; ++k)
        QVERIFY(session->step(SessionFixture::request()));
    const Ids parentHistory = listOf(session->history());
    const RunId parent = session->run();

    const auto branch = session->fork(StepIndex(4), 99);
    QVERIFY(branch);
    QCOMPARE(branch->parent, (StepRef{parent, StepIndex(4)}));
    QCOMPARE(branch->prompt, prompt);
    QCOMPARE(session->run(), branch->run);
    QCOMPARE(session->steps(), 4U);
    QCOMPARE(listOf(session->history()), Ids(parentHistory.begin(), parentHistory.begin() + 41));
    QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(m_model, listOf(session->history())));
    // Its first steps' logits are there under its own name.
    for (std::uint32_t k = 0; k < 4; ++k)
        QCOMPARE(*session->logits()->get({branch->run, StepIndex(k)}),
                 *session->logits()->get({parent, StepIndex(k)}));
    std::uint32_t shared = 0;
    const auto snapshot = session->cacheSnapshot();
    for (const CacheBlock &block : snapshot->pools.front().blocks)
        shared += block.sequences == 2 ? 1 : 0;
    QCOMPARE(shared, 3U); // 41 tokens: two full blocks and one in part

    // In turns; each is as a run of its own would be.
    for (int turn = 0; turn < 6; ++turn) {
        for (const RunId run : {branch->run, parent}) {
            QVERIFY(session->activate(run));
            const Ids before = listOf(session->history());
            QVERIFY(session->step(SessionFixture::request()));
            QCOMPARE(SessionFixture::row(session->currentLogits()), freshLogits(m_model, before));
        }
    }
    QCOMPARE(session->openRuns(), (std::vector{parent, branch->run}));
    QVERIFY(session->cacheSnapshot()->counters.copiedBlocks > 0);
    QVERIFY(session->cacheSnapshot()->savedBySharingBytes() > 0);
    QVERIFY(!session->activate(RunId(17)));
    QVERIFY(!session->fork(StepIndex(100), 1));

    // The next prompt ends them all.
    QVERIFY(session->prefill(prompt, 1));
    QCOMPARE(session->openRuns().size(), std::size_t(1));
    QVERIFY(!session->activate(parent));
}

void SessionCacheTest::branchFromDroppedLogits()
{
    SessionSettings settings;
    settings.logitBudgetBytes = 0;
    const auto session = SessionFixture::open(m_model, settings);
    QVERIFY(session->prefill(SessionFixture::ids(18), 3));
    for (int k = 0; k < 5; ++k)
        QVERIFY(session->step(SessionFixture::request()));
    for (const std::uint32_t step : {4U, 2U, 0U}) {
        QVERIFY(session->activate(RunId(0)));
        QVERIFY(session->fork(StepIndex(step), 3));
        QCOMPARE(SessionFixture::row(session->currentLogits()),
                 freshLogits(m_model, listOf(session->history())));
    }
}

void SessionCacheTest::cacheUseCanChangeAtAnyStep()
{
    const auto usual = SessionFixture::open(m_model);
    const auto changing = SessionFixture::open(m_model);
    QVERIFY(usual->prefill(SessionFixture::ids(20), 5) && changing->prefill(SessionFixture::ids(20), 5));
    for (int k = 0; k < 16; ++k) {
        QVERIFY(changing->setCacheUse(k / 3 % 2 == 0 ? CacheUse::Keep : CacheUse::Recompute));
        QCOMPARE(usual->step(SessionFixture::request())->token,
                 changing->step(SessionFixture::request())->token);
        QCOMPARE(SessionFixture::row(usual->currentLogits()), SessionFixture::row(changing->currentLogits()));
    }
}

void SessionCacheTest::computingAfreshTouchesNothing()
{
    const auto session = SessionFixture::open(m_model);
    QVERIFY(session->prefill(SessionFixture::ids(33), 5));
    for (int k = 0; k < 3; ++k)
        QVERIFY(session->step(SessionFixture::request()));
    const Row present = SessionFixture::row(session->currentLogits());
    const std::uint32_t cached = session->cachedTokens();
    const std::uint64_t used =
        session->cacheSnapshot()->usedBytes() + session->cacheSnapshot()->cachedBytes();
    const Ids other = SessionFixture::ids(70, 4);
    const auto row = session->computeAfresh(other);
    QVERIFY(row);
    QCOMPARE(SessionFixture::row(*row), freshLogits(m_model, other));
    QCOMPARE(SessionFixture::row(session->currentLogits()), present);
    QCOMPARE(session->cachedTokens(), cached);
    QCOMPARE(session->cacheSnapshot()->usedBytes() + session->cacheSnapshot()->cachedBytes(), used);
    QVERIFY(!session->computeAfresh({}));
    QVERIFY(!session->computeAfresh(SessionFixture::ids(1000))); // more than the context
}

void SessionCacheTest::otherSettingsKeepTheTrace()
{
    const auto session = SessionFixture::open(m_model);
    QVERIFY(session->prefill(SessionFixture::ids(20), 5));
    const auto step = session->step(SessionFixture::request());
    QVERIFY(step);
    SessionSettings settings = session->settings();
    settings.contextTokens = 64;
    settings.batchTokens = 64;
    settings.keyType = KvType::F16;
    settings.blockTokens = 8;
    QVERIFY(session->reconfigure(settings));
    QCOMPARE(session->settings(), settings);
    QVERIFY(!session->run().isValid());
    QVERIFY(session->logits()->get(step->ref));
    QCOMPARE(session->cache().shape().blockTokens, 8U);
    const auto record = session->prefill(SessionFixture::ids(20), 5);
    QVERIFY(record);
    QCOMPARE(record->reusedTokens, 0U);
    QCOMPARE(record->run, RunId(1)); // never a run's number twice

    settings.contextTokens = 4'000'000'000U;
    QVERIFY(!session->reconfigure(settings));
    QCOMPARE(session->settings().contextTokens, 64U);
    QVERIFY(session->step(SessionFixture::request())); // as if nothing had been asked
}

void SessionCacheTest::settingsThatDoNotGoTogether()
{
    const auto refused = [this](const auto &change) {
        SessionSettings settings;
        change(settings);
        const auto session = Session::create(m_model, settings);
        return !session && session.error().code == ErrorCode::InvalidArgument &&
               !session.error().message.empty();
    };
    QVERIFY(refused([](SessionSettings &s) { s.blockTokens = 0; }));
    QVERIFY(refused([](SessionSettings &s) { s.sequences = 0; }));
    QVERIFY(refused([](SessionSettings &s) { s.keyType = KvType::Q8_0; })); // heads of 16
    QVERIFY(refused([](SessionSettings &s) {
        s.overflow = OverflowPolicy::Streaming;
        s.contextTokens = 40; // 16 that stay, and less than two blocks
    }));
    QVERIFY(refused([](SessionSettings &s) {
        s.overflow = OverflowPolicy::Streaming;
        s.cacheUse = CacheUse::Recompute;
    }));
}

TOKENLOUPE_TEST_MAIN(SessionCacheTest)
#include "tst_sessioncache.moc"
