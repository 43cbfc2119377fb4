// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/enginefixture.h"
#include "tests/support/testmain.h"
#include "widgets/models/explanationservice.h"
#include "widgets/models/selectionstate.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;
using test::EngineFixture;

namespace {

struct Explained : EngineFixture
{
    SelectionState selection{runs};
    ExplanationService service{host, runs, selection};

    /// A reply of `steps` tokens to its end, in an opened model.
    bool replyOf(std::uint32_t steps)
    {
        host.reply(request("hello there", steps));
        return QTest::qWaitFor(
            [&] { return run() && run()->end && host.status().state == EngineState::Idle; }, patience);
    }
    bool waitForExplanationOf(StepRef ref)
    {
        return QTest::qWaitFor([&] { return service.current() && service.current()->ref == ref; }, patience);
    }
    StepRef ref(std::uint32_t step) const { return {runs.newestRun(), StepIndex(step)}; }

    StepExplanation plain(StepRef step, std::shared_ptr<const SamplerSettings> settings) const
    {
        const auto row = host.logits()->get(step);
        const auto history = run()->historyBefore(step.step);
        ExplainRequest request;
        request.ref = step;
        request.logits = *row;
        request.history = history;
        request.settings = std::move(settings);
        request.step = step.step.value();
        request.chosen = runs.record(step)->token;
        return *explainStep(request);
    }
};

std::shared_ptr<const SamplerSettings> withTemperature(float temperature)
{
    auto settings = std::make_shared<SamplerSettings>(SamplerSettings::defaults());
    settings->find(StageKind::Temperature)->params = TemperatureParams{temperature};
    return settings;
}

void compare(const StepExplanation &got, const StepExplanation &expected)
{
    QCOMPARE(got.stages.size(), expected.stages.size());
    for (std::size_t i = 0; i < got.stages.size(); ++i) {
        QCOMPARE(got.stages[i].label, expected.stages[i].label);
        QCOMPARE(got.stages[i].candidates, expected.stages[i].candidates);
        QCOMPARE(got.stages[i].mass, expected.stages[i].mass);
    }
    QCOMPARE(got.candidates.size(), expected.candidates.size());
    for (std::size_t i = 0; i < got.candidates.size(); ++i) {
        QCOMPARE(got.candidates[i].id, expected.candidates[i].id);
        QCOMPARE(got.candidates[i].pStage, expected.candidates[i].pStage);
        QCOMPARE(got.candidates[i].removedBy, expected.candidates[i].removedBy);
    }
    QCOMPARE(got.finalCumulative, expected.finalCumulative);
    QCOMPARE(got.draw.token, expected.draw.token);
    QCOMPARE(got.draw.u, expected.draw.u);
    QCOMPARE(got.chosen, expected.chosen);
}

} // namespace

class TestExplanationService : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void withoutAStepThereIsNothingToExplain()
    {
        Explained fixture;
        QVERIFY(!fixture.service.current());
        QCOMPARE(fixture.service.unavailableReason(), QString());
        fixture.service.setWhatIf(withTemperature(0.0F));
        QVERIFY(!fixture.service.current());
        QCOMPARE(fixture.service.unavailableReason(), QString());
    }

    void explainsTheSelectedStepFromItsStoredLogits()
    {
        Explained fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyOf(6));
        QVERIFY(fixture.waitForExplanationOf(fixture.ref(5))); // live: the newest
        for (const std::uint32_t step : {2U, 0U, 5U}) {
            fixture.selection.select(fixture.ref(step));
            QVERIFY(fixture.waitForExplanationOf(fixture.ref(step)));
            const StepRecord &record = *fixture.runs.record(fixture.ref(step));
            compare(*fixture.service.current(), fixture.plain(fixture.ref(step), record.settings));
            if (QTest::currentTestFailed())
                return;
            // The chain run again draws what the reply took.
            QCOMPARE(fixture.service.current()->draw.token, record.token);
            QCOMPARE(fixture.service.current()->draw.probability, record.p);
            QCOMPARE(fixture.service.current()->rawEntropyBits, record.entropyBits);
        }
    }

    void whatIfAsksForOtherSettingsAndChangesNothingElse()
    {
        Explained fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyOf(4));
        const StepRef step = fixture.ref(1);
        fixture.selection.select(step);
        QVERIFY(fixture.waitForExplanationOf(step));
        const auto own = fixture.service.current();
        const StepRecord before = *fixture.runs.record(step);
        QSignalSpy status(&fixture.host, &EngineHost::statusChanged);
        QSignalSpy updated(&fixture.runs, &RunStore::updated);
        QSignalSpy changed(&fixture.service, &ExplanationService::changed);

        const auto greedy = withTemperature(0.0F);
        fixture.service.setWhatIf(greedy);
        QVERIFY(changed.wait(EngineFixture::patience));
        const auto whatIf = fixture.service.current();
        QVERIFY(whatIf != own);
        QCOMPARE(whatIf->draw.probability, 1.0);
        QCOMPARE(whatIf->draw.token, whatIf->candidates.front().id); // the largest logit
        QCOMPARE(whatIf->chosen, before.token);
        QCOMPARE(whatIf->settings->seed, before.settings->seed); // other stages, not other luck
        auto seeded = std::make_shared<SamplerSettings>(*greedy);
        seeded->seed = before.settings->seed;
        compare(*whatIf, fixture.plain(step, seeded));

        const StepRecord &after = *fixture.runs.record(step);
        QCOMPARE(after.token, before.token);
        QCOMPARE(after.p, before.p);
        QCOMPARE(after.settings, before.settings);
        QCOMPARE(status.count(), 0); // the engine did not move
        QCOMPARE(updated.count(), 0);

        fixture.service.setWhatIf(nullptr);
        QVERIFY(changed.wait(EngineFixture::patience));
        compare(*fixture.service.current(), *own);
    }

    void onlyTheNewestQuestionIsAnswered()
    {
        Explained fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyOf(3));
        QVERIFY(fixture.waitForExplanationOf(fixture.ref(2)));
        int answers = 0;
        bool stale = false;
        connect(&fixture.service, &ExplanationService::changed, this, [&] {
            ++answers;
            stale = stale || fixture.service.current()->ref != fixture.ref(0) ||
                    fixture.service.current()->settings->find(StageKind::Temperature)->params !=
                        StageParams(TemperatureParams{0.75F});
        });
        for (int i = 1; i <= 50; ++i)
            fixture.service.setWhatIf(withTemperature(0.01F * float(i)));
        fixture.selection.select(fixture.ref(1));
        fixture.selection.select(fixture.ref(0));
        fixture.service.setWhatIf(withTemperature(0.75F));
        QTRY_VERIFY_WITH_TIMEOUT(answers > 0, EngineFixture::patience);
        QVERIFY(!stale);
        QCOMPARE(answers, 1);
    }

    void droppedLogitsAreSaidToBeDropped()
    {
        Explained fixture;
        SessionSettings settings = EngineFixture::session(256);
        settings.logitBudgetBytes = 0;
        QVERIFY(fixture.openWith(settings));
        QVERIFY(fixture.replyOf(3));
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.service.unavailableReason().isEmpty(), EngineFixture::patience);
        QVERIFY(!fixture.service.current());
        // Another run's absence is told no longer once there is no step.
        fixture.runs.clear();
        QCOMPARE(fixture.service.unavailableReason(), QString());
    }

    void aForcedTokenIsExplainedWithItsOwnDistribution()
    {
        Explained fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(3));
        const TokenId byteA(test::tinyFirstByte + 'A');
        fixture.host.force(StepIndex(1), byteA);
        QVERIFY(QTest::qWaitFor(
            [&] { return fixture.service.current() && fixture.service.current()->chosen == byteA; },
            EngineFixture::patience));
        QCOMPARE(fixture.service.current()->ref, fixture.ref(1));
        compare(*fixture.service.current(),
                fixture.plain(fixture.ref(1), fixture.runs.record(fixture.ref(1))->settings));
    }
};

TOKENLOUPE_TEST_MAIN(TestExplanationService)
#include "tst_explanationservice.moc"
