// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/enginefixture.h"
#include "tests/models/records.h"
#include "tests/support/testmain.h"
#include "widgets/models/comparisonstore.h"

#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;
using test::EngineFixture;

/// What is kept of comparisons, and until when.
class TestComparisonStore : public QObject
{
    Q_OBJECT

    /// A run of two prompt tokens and `steps` steps, tokens 100, 101, …
    static void addRun(RunStore &runs, std::uint32_t steps)
    {
        std::vector<TraceEvent> events{test::runRecord(0)};
        for (std::uint32_t step = 0; step < steps; ++step)
            events.push_back(test::stepRecord(0, step, 100 + step));
        runs.apply(events);
    }
    static ComparedText part(const RunStore &runs, std::uint32_t first, std::size_t count)
    {
        const Run &run = *runs.run(RunId(0));
        ComparedText text;
        text.run = RunId(0);
        text.tokens = std::make_shared<const std::vector<TokenId>>(
            run.historyBefore(StepIndex(std::uint32_t(run.steps.size()))));
        text.first = first;
        for (std::size_t i = 0; i < count; ++i)
            text.positions.push_back(std::make_shared<const PositionComparison>());
        return text;
    }
    static std::size_t known(const ComparisonStore &store, const Run &run)
    {
        std::size_t count = 0;
        for (const auto &position : store.positions(run))
            count += position ? 1 : 0;
        return count;
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void stepsAndPositions()
    {
        RunStore runs;
        addRun(runs, 3);
        const Run &run = *runs.run(RunId(0));
        QCOMPARE(ComparisonStore::textLength(run), 5U);
        QCOMPARE(ComparisonStore::positionOf(run, StepIndex(0)), 1U); // after the prompt's last token
        QCOMPARE(ComparisonStore::stepAt(run, 1), StepIndex(0));
        QCOMPARE(ComparisonStore::stepAt(run, 3), StepIndex(2));
        QVERIFY(!ComparisonStore::stepAt(run, 0).isValid()); // within the prompt
        QVERIFY(!ComparisonStore::stepAt(run, 4).isValid()); // what would come next
    }

    void keepsUntilTheTextChanges()
    {
        EngineHost host;
        RunStore runs;
        ComparisonStore store(host, runs);
        addRun(runs, 3);
        QSignalSpy changed(&store, &ComparisonStore::changed);
        Q_EMIT host.precisionsCompared(part(runs, 1, 3));
        QCOMPARE(changed.size(), 1);
        QVERIFY(!store.position(RunId(0), 0));
        QVERIFY(store.position(RunId(0), 1) && store.position(RunId(0), 3));
        QVERIFY(!store.position(RunId(0), 4) && !store.position(RunId(7), 1));
        const auto kept = store.position(RunId(0), 2);
        // A longer text: what was is as it was.
        runs.apply({test::stepRecord(0, 3, 103)});
        QCOMPARE(store.positions(*runs.run(RunId(0))).size(), std::size_t(6));
        QCOMPARE(store.position(RunId(0), 2), kept);
        // Another token at step 1: its own logits stay, those after it are gone.
        runs.apply({RunTruncated{RunId(0), StepIndex(1)}});
        QVERIFY(store.position(RunId(0), 2) == kept);
        QVERIFY(!store.position(RunId(0), 3));
        QCOMPARE(changed.size(), 2);
        runs.clear();
        QVERIFY(!store.position(RunId(0), 1));
        QCOMPARE(changed.size(), 3);
    }

    void whatIsNoLongerTheTextIsNotTaken()
    {
        EngineHost host;
        RunStore runs;
        ComparisonStore store(host, runs);
        addRun(runs, 3);
        const ComparedText late = part(runs, 0, 5);
        const ComparedText early = part(runs, 0, 3);
        runs.apply({RunTruncated{RunId(0), StepIndex(1)}, test::stepRecord(0, 1, 55)});
        Q_EMIT host.precisionsCompared(late); // longer than the text
        runs.apply({test::stepRecord(0, 2, 56)});
        Q_EMIT host.precisionsCompared(late); // of other tokens
        QCOMPARE(known(store, *runs.run(RunId(0))), std::size_t(0));
        Q_EMIT host.precisionsCompared(early); // before the change
        QCOMPARE(known(store, *runs.run(RunId(0))), std::size_t(3));
        ComparedText unknown = part(runs, 0, 1);
        unknown.run = RunId(4);
        Q_EMIT host.precisionsCompared(unknown);
        QVERIFY(!store.position(RunId(4), 0));
    }

    void aBranchBeginsWithWhatItsParentHas()
    {
        EngineHost host;
        RunStore runs;
        ComparisonStore store(host, runs);
        addRun(runs, 3);
        Q_EMIT host.precisionsCompared(part(runs, 0, 5));
        RunRecord branch = test::runRecord(1);
        branch.parent = {RunId(0), StepIndex(2)};
        runs.apply({branch});
        QCOMPARE(known(store, *runs.run(RunId(1))), std::size_t(4)); // two of the prompt, two steps
        QCOMPARE(store.position(RunId(1), 3), store.position(RunId(0), 3));
    }

    void theEngineFillsIt()
    {
        EngineFixture fixture;
        ComparisonStore store(fixture.host, fixture.runs);
        SessionSettings settings = EngineFixture::session(256);
        settings.precision = Precision::Fast;
        auto options = EngineFixture::chatModel();
        options.type = test::TinyType::Q8_0;
        QVERIFY(fixture.openWith(settings, options));
        QVERIFY(fixture.replyPaused("hello"));
        QVERIFY(fixture.step(5));
        const Run &run = *fixture.run();
        QCOMPARE(run.start.arithmetic.precision, Precision::Fast);
        const std::uint32_t length = ComparisonStore::textLength(run);
        CompareRequest request;
        request.run = run.start.run;
        request.arithmetic = run.start.arithmetic;
        request.tokens = run.historyBefore(StepIndex(3));
        request.kept = {run.start.run, StepIndex(3)};
        QSignalSpy ended(&fixture.host, &EngineHost::comparisonEnded);
        fixture.host.comparePrecisions(request);
        QVERIFY(ended.wait(EngineFixture::patience));
        QCOMPARE(ended[0][0].toString(), QString());
        QCOMPARE(known(store, run), std::size_t(1));
        const auto single = store.position(run.start.run, ComparisonStore::positionOf(run, StepIndex(3)));
        QVERIFY(single);
        // The step's own logits are the kept ones.
        const ComparedCandidate &first = single->candidates.front();
        QCOMPARE(first.fastLogit, (*fixture.host.logits()->get(request.kept))[first.id.value()]);

        request.tokens = run.historyBefore(StepIndex(std::uint32_t(run.steps.size())));
        request.positions = ComparedPositions::All;
        fixture.host.comparePrecisions(request);
        QVERIFY(ended.wait(EngineFixture::patience));
        QCOMPARE(known(store, run), std::size_t(length));
        const auto again = store.position(run.start.run, ComparisonStore::positionOf(run, StepIndex(3)));
        QCOMPARE(again->divergence.kl, single->divergence.kl);
        QVERIFY(again->divergence.largestDifference > 0.0F);
        // The reply goes on as if nothing had been.
        QCOMPARE(fixture.host.status().state, EngineState::Paused);
        QVERIFY(fixture.host.status().canContinue);
        QVERIFY(fixture.step(1));
    }

    void aReplyIsNotInterrupted()
    {
        EngineFixture fixture;
        ComparisonStore store(fixture.host, fixture.runs);
        QVERIFY(fixture.open(16384)); // room for a reply that is not over before the request
        fixture.host.reply(EngineFixture::request("hello"));
        QVERIFY(fixture.waitForSteps(2));
        CompareRequest request;
        request.run = fixture.run()->start.run;
        request.tokens = fixture.run()->start.prompt;
        QSignalSpy ended(&fixture.host, &EngineHost::comparisonEnded);
        fixture.host.comparePrecisions(request);
        QVERIFY(ended.wait(EngineFixture::patience));
        QCOMPARE(known(store, *fixture.run()), std::size_t(0));
        fixture.host.stop();
        QVERIFY(fixture.waitFor(EngineState::Idle));
    }

    void aMessageEndsTheComparison()
    {
        EngineFixture fixture;
        ComparisonStore store(fixture.host, fixture.runs);
        QVERIFY(fixture.open(512));
        QVERIFY(fixture.replyPaused("hello"));
        CompareRequest request;
        request.run = fixture.run()->start.run;
        request.positions = ComparedPositions::All;
        for (std::uint32_t i = 0; i < 20'000; ++i) // long enough not to be over by itself
            request.tokens.emplace_back(test::tinyFirstByte + i % 200);
        QSignalSpy ended(&fixture.host, &EngineHost::comparisonEnded);
        fixture.host.comparePrecisions(request);
        QVERIFY(fixture.waitFor(EngineState::Comparing));
        fixture.host.reply(EngineFixture::request("another", 2));
        QTRY_COMPARE_WITH_TIMEOUT(ended.size(), 1, EngineFixture::patience);
        QCOMPARE(ended[0][0].toString(), QString());
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run() && fixture.run()->end, EngineFixture::patience);
    }
};

TOKENLOUPE_TEST_MAIN(TestComparisonStore)
#include "tst_comparisonstore.moc"
