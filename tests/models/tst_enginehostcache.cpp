// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/enginefixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;
using test::EngineFixture;

/// Branches, settings and measurements of the cache, through the engine thread.
class TestEngineHostCache : public QObject
{
    Q_OBJECT

    static std::vector<TokenId> tokensOf(const Run &run)
    {
        std::vector<TokenId> tokens;
        for (const StepRecord &step : run.steps)
            tokens.push_back(step.token);
        return tokens;
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void aBranchBeginsWithTheStepsOfItsParent()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(6));
        const RunId parent = fixture.run()->start.run;
        const std::vector<TokenId> tokens = tokensOf(*fixture.run());

        fixture.host.branch(StepIndex(4));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.runs.newestRun() != parent, EngineFixture::patience);
        const RunId branch = fixture.runs.newestRun();
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().run, branch, EngineFixture::patience);
        QCOMPARE(fixture.host.status().state, EngineState::Paused);
        QCOMPARE(fixture.run()->start.parent, (StepRef{parent, StepIndex(4)}));
        QCOMPARE(fixture.run()->start.tag, std::uint64_t(42));
        // Its prompt was read by the first run.
        const RunRecord &first = fixture.runs.run(parent)->start;
        QCOMPARE(fixture.run()->start.prefillMs, first.prefillMs);
        QCOMPARE(fixture.run()->start.prefilledTokens, first.prefilledTokens);
        QCOMPARE(fixture.run()->start.promptText, first.promptText);
        QCOMPARE(tokensOf(*fixture.run()), std::vector(tokens.begin(), tokens.begin() + 4));
        QCOMPARE(fixture.run()->steps[2].ref, (StepRef{branch, StepIndex(2)}));
        QVERIFY(fixture.host.logits()->get({branch, StepIndex(3)}));
        // The same draws lead to the same tokens.
        QVERIFY(fixture.step(2));
        QCOMPARE(tokensOf(*fixture.run()), tokens);

        // Back to the first one, which goes on from its own end.
        fixture.host.activate(parent);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.runs.newestRun(), parent, EngineFixture::patience);
        QVERIFY(fixture.host.status().canContinue);
        QVERIFY(fixture.step(1));
        QCOMPARE(fixture.run()->steps.size(), std::size_t(7));
        QCOMPARE(fixture.runs.run(branch)->steps.size(), std::size_t(6));
    }

    void nothingBranchesWithoutSteps()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        fixture.host.branch(StepIndex(0)); // no run
        QVERIFY(fixture.replyPaused("hello"));
        fixture.host.branch(StepIndex(0)); // no step
        fixture.host.activate(RunId(9));   // no such run
        QVERIFY(fixture.step(1));
        QCOMPARE(fixture.runs.runs().size(), std::size_t(1));
    }

    void otherSettingsKeepTheTrace()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(3));
        const StepRef last = fixture.run()->steps.back().ref;
        SessionSettings settings = fixture.host.status().session;
        settings.contextTokens = 128;
        settings.blockTokens = 8;
        settings.keyType = KvType::F16;
        QSignalSpy configured(&fixture.host, &EngineHost::configured);
        QSignalSpy opened(&fixture.host, &EngineHost::modelOpened);
        fixture.host.configure(settings);
        QVERIFY(configured.wait(EngineFixture::patience));
        QCOMPARE(opened.count(), 0);
        QCOMPARE(fixture.host.status().session, settings);
        QCOMPARE(fixture.host.status().kvShape.blockTokens, 8U);
        QVERIFY(!fixture.host.status().canContinue);
        QVERIFY(fixture.host.logits()->get(last));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run()->end, EngineFixture::patience);
        // The next reply does not take an old one's number.
        QVERIFY(fixture.replyPaused("again"));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.runs.newestRun() != last.run, EngineFixture::patience);
        QCOMPARE(fixture.runs.runs().size(), std::size_t(2));
    }

    void settingsThatDoNotWorkChangeNothing()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        const SessionSettings before = fixture.host.status().session;
        SessionSettings settings = before;
        settings.keyType = KvType::Q4_0; // heads of 16
        QSignalSpy failed(&fixture.host, &EngineHost::configureFailed);
        fixture.host.configure(settings);
        QVERIFY(failed.wait(EngineFixture::patience));
        const auto failure = failed.at(0).at(0).value<EngineFailure>();
        QVERIFY2(failure.message.contains(QStringLiteral("q4_0")), qPrintable(failure.message));
        QCOMPARE(failure.settings, settings);
        QCOMPARE(failure.deviceLayers, 0U);
        QCOMPARE(fixture.host.status().session, before);
        QVERIFY(fixture.replyPaused("still here"));
    }

    void settingsOfAnotherModelAreFitted()
    {
        EngineFixture fixture;
        SessionSettings settings = EngineFixture::session(4'000'000'000U);
        settings.valueType = KvType::Q8_0;
        QVERIFY(fixture.openWith(settings));
        QCOMPARE(fixture.host.status().session.valueType, KvType::F16);
        QCOMPARE(fixture.host.status().session.contextTokens, 256U); // the model's own
    }

    void theCacheIsPictured()
    {
        EngineFixture fixture;
        QVERIFY(!fixture.host.cache());
        QVERIFY(fixture.open());
        QTRY_VERIFY_WITH_TIMEOUT(fixture.host.cache(), EngineFixture::patience);
        QCOMPARE(fixture.host.cache()->usedBytes(), std::uint64_t(0));
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(2));
        const auto pictured = [&] {
            const auto cache = fixture.host.cache();
            return cache && !cache->sequences.empty() &&
                   cache->sequences.front().tokens == fixture.run()->steps.back().kvTokens;
        };
        QTRY_VERIFY_WITH_TIMEOUT(pictured(), EngineFixture::patience);
        QCOMPARE(fixture.host.cache()->sequences.front().run, fixture.run()->start.run);
        fixture.host.closeModel();
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.host.cache(), EngineFixture::patience);
    }

    void withoutTheCacheTheSameAtAGrowingCost()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(5));
        fixture.host.measureWithoutCache(fixture.run()->start, fixture.run()->steps);
        const auto complete = [&] {
            return fixture.host.cacheWork() && fixture.host.cacheWork()->complete &&
                   fixture.host.status().state == EngineState::Paused;
        };
        QTRY_VERIFY_WITH_TIMEOUT(complete(), EngineFixture::patience);
        const CacheWork &work = *fixture.host.cacheWork();
        QCOMPARE(work.run, fixture.run()->start.run);
        QCOMPARE(work.uncachedMs.size(), std::size_t(5));
        QCOMPARE(work.largestDifference, 0.0F);
        QVERIFY(work.sameTokens);
        for (std::size_t step = 1; step < 5; ++step) {
            QVERIFY(work.uncachedFlops[step] > work.uncachedFlops[step - 1]);
            QVERIFY(work.cachedFlops[step] < work.uncachedFlops[step]);
            QCOMPARE(work.cachedMs[step], fixture.run()->steps[step].forwardMs);
        }
        QVERIFY(fixture.step(1)); // and on
        QVERIFY(fixture.host.cacheWork()->largestDifference == 0.0F);
    }

    void oldestTurnsGoFromALongChat()
    {
        EngineFixture fixture;
        SessionSettings settings = EngineFixture::session(128);
        settings.overflow = OverflowPolicy::DropTurns;
        QVERIFY(fixture.openWith(settings));
        ReplyRequest request = EngineFixture::request("the last question", 4);
        request.messages = {{"system", "brief"},
                            {"user", std::string(60, 'a')},
                            {"assistant", std::string(40, 'b')},
                            {"user", "the last question"}};
        fixture.host.reply(request);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run() && fixture.run()->end, EngineFixture::patience);
        QCOMPARE(fixture.run()->start.droppedTurns, 1U);
        QVERIFY(fixture.run()->start.promptText);
        QCOMPARE(fixture.run()->start.promptText->ids(), fixture.run()->start.prompt);
    }
};

TOKENLOUPE_TEST_MAIN(TestEngineHostCache)
#include "tst_enginehostcache.moc"
