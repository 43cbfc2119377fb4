// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/enginefixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;
using test::EngineFixture;

/// Taking a token by hand, and other settings in the middle of a reply.
class TestEngineHostForce : public QObject
{
    Q_OBJECT

    static constexpr std::uint32_t byteA = test::tinyFirstByte + 'A';

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void replacesATokenAndWhatCameAfterIt()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(5));
        const std::vector<StepRecord> before = fixture.run()->steps;
        QSignalSpy truncated(&fixture.runs, &RunStore::truncated);
        fixture.host.force(StepIndex(2), TokenId(byteA));
        QVERIFY(QTest::qWaitFor([&] { return !truncated.isEmpty() && fixture.run()->steps.size() == 3; },
                                EngineFixture::patience));
        QCOMPARE(truncated.at(0).at(1).toInt(), 2);
        const Run &run = *fixture.run();
        QCOMPARE(run.steps[1].token, before[1].token);
        QCOMPARE(run.steps[2].token, TokenId(byteA));
        QCOMPARE(run.steps[2].origin, TokenOrigin::Forced);
        QCOMPARE(run.steps[2].entropyBits, before[2].entropyBits); // the same distribution, another choice
        QCOMPARE(fixture.host.status().state, EngineState::Paused);

        // What follows is what a session gives that takes the same token there.
        QVERIFY(fixture.step(2));
        const auto model = fixture.host.status().model;
        auto session = Session::create(model, EngineFixture::session(256));
        const auto prompt = chatPrompt(*model, toJson({{"user", "hello"}}));
        QVERIFY((*session)->prefill(prompt->ids(), 5));
        for (std::uint32_t i = 0; i < 5; ++i) {
            StepRequest request;
            request.settings = std::make_shared<const SamplerSettings>(SamplerSettings::defaults());
            if (i == 2)
                request.force = TokenId(byteA);
            const auto step = (*session)->step(request);
            QVERIFY(step);
            QCOMPARE(fixture.run()->steps[i].token, step->token);
            QCOMPARE(fixture.run()->steps[i].logit, step->logit);
        }
    }

    void takesTheTokenToCome()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        fixture.host.force(StepIndex(0), TokenId(byteA));
        QVERIFY(fixture.waitForSteps(1));
        QCOMPARE(fixture.run()->steps[0].token, TokenId(byteA));
        QCOMPARE(fixture.host.status().state, EngineState::Paused);
        fixture.host.force(StepIndex(7), TokenId(byteA)); // not reached yet: nothing happens
        QVERIFY(fixture.step());
        QCOMPARE(fixture.run()->steps.size(), std::size_t(2));
    }

    void runsOnWhenItWasRunning()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(16384));
        fixture.host.reply(EngineFixture::request("hello"));
        QVERIFY(fixture.waitForSteps(3));
        fixture.host.force(StepIndex(1), TokenId(byteA));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run()->steps.size() > 5 &&
                                     fixture.run()->steps[1].token == TokenId(byteA),
                                 EngineFixture::patience);
        QVERIFY(fixture.waitFor(EngineState::Running));
    }

    void goesOnFromAReplyThatHasEnded()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        fixture.host.reply(EngineFixture::request("hello", 4));
        QVERIFY(
            QTest::qWaitFor([&] { return fixture.run() && fixture.run()->end; }, EngineFixture::patience));
        fixture.host.force(StepIndex(1), TokenId(byteA));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run()->steps.size() == 2, EngineFixture::patience);
        QVERIFY(!fixture.run()->end);
        QVERIFY(fixture.waitFor(EngineState::Paused));
    }

    void aForcedEndOfTurnEndsTheReply()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        ReplyRequest request = EngineFixture::request("hello");
        request.ignoreEndOfTurn = false;
        request.startPaused = true;
        fixture.host.reply(request);
        QVERIFY(fixture.waitFor(EngineState::Paused));
        fixture.host.force(StepIndex(0), TokenId(test::tinyTurnEnd));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run()->end, EngineFixture::patience);
        QCOMPARE(*fixture.run()->end, EndReason::Stop);
        QVERIFY(fixture.run()->steps[0].endsTurn);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QVERIFY(!fixture.host.status().canContinue);
    }

    void aTokenOutsideTheVocabularyIsTold()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        QSignalSpy failed(&fixture.host, &EngineHost::failed);
        fixture.host.force(StepIndex(0), TokenId(1'000'000));
        QVERIFY(failed.wait(EngineFixture::patience));
        QVERIFY(!failed.at(0).at(0).toString().isEmpty());
        QVERIFY(fixture.run()->steps.empty());
    }

    void newSettingsHoldFromTheNextTokenOn()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(2));
        SamplerSettings greedy = SamplerSettings::defaults();
        greedy.find(StageKind::Temperature)->params = TemperatureParams{0.0F};
        greedy.seed = 99;
        fixture.host.setSampler(std::make_shared<const SamplerSettings>(greedy));
        QVERIFY(fixture.step(3));
        const auto temperature = [&](std::size_t step) {
            return std::get<TemperatureParams>(
                       fixture.run()->steps[step].settings->find(StageKind::Temperature)->params)
                .temperature;
        };
        QCOMPARE(temperature(1), 0.8F);
        for (std::size_t step = 2; step < 5; ++step) {
            QCOMPARE(temperature(step), 0.0F);
            QCOMPARE(fixture.run()->steps[step].rank, 0U);
            QCOMPARE(fixture.run()->steps[step].p, 1.0);
            // The reply keeps the seed that it began with.
            QCOMPARE(fixture.run()->steps[step].settings->seed, std::uint64_t(5));
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestEngineHostForce)
#include "tst_enginehostforce.moc"
