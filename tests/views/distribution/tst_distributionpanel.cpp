// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/celltable.h"
#include "widgets/models/candidatemodel.h"
#include "widgets/plots/rankplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/distribution/distributionpanel.h"
#include "widgets/views/distribution/vocabularypanel.h"

#include <QApplication>
#include <QHelpEvent>
#include <QTest>
#include <QToolTip>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

struct DistributionFixture : test::ViewFixture
{
    DistributionPanel panel{context};
    CellTable *table = panel.findChild<CellTable *>();

    DistributionFixture()
    {
        panel.resize(800, 500);
        panel.show();
    }
    CandidateModel *model() const { return qobject_cast<CandidateModel *>(table->model()); }
    const Run &run() const { return *runs.run(runs.newestRun()); }
    bool waitForStep(std::uint32_t step)
    {
        const StepRef ref{runs.newestRun(), StepIndex(step)};
        return QTest::qWaitFor([&] { return model()->explanation() && model()->explanation()->ref == ref; },
                               patience);
    }
    bool pausedAfter(int steps)
    {
        if (!openTinyModel() || !QTest::qWaitForWindowActive(&panel))
            return false;
        conversation.send(QStringLiteral("hello there"), true);
        if (!QTest::qWaitFor([this] { return host.status().state == EngineState::Paused && !runs.isEmpty(); },
                             patience))
            return false;
        for (int i = 0; i < steps; ++i)
            host.step();
        return QTest::qWaitFor([&] { return run().steps.size() == std::size_t(steps); }, patience) &&
               waitForStep(std::uint32_t(steps) - 1);
    }
    /// A row that is not what the reply took.
    int otherRow() const { return model()->index(0, 0).data(CandidateModel::ChosenRole).toBool() ? 1 : 0; }
    QPoint cell(int row) const
    {
        return table->visualRect(model()->index(row, CandidateModel::TokenColumn)).center();
    }
    TokenId tokenOf(int row) const
    {
        return TokenId(model()->index(row, 0).data(CandidateModel::TokenIdRole).toUInt());
    }
    QString tipAt(int row)
    {
        const QPoint at = cell(row);
        QHelpEvent help(QEvent::ToolTip, at, table->viewport()->mapToGlobal(at));
        QApplication::sendEvent(table->viewport(), &help);
        return QToolTip::text();
    }
};

} // namespace

class TestDistributionPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAStepItSaysWhatToDo()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.panel.isEmptyState());
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.panel.isEmptyState());
        QVERIFY(fixture.reply(2));
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.panel.isEmptyState(), patience);
    }

    void showsTheCandidatesOfTheSelectedStep()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(5));
        QVERIFY(fixture.waitForStep(4));
        const StepExplanation &explanation = *fixture.model()->explanation();
        QCOMPARE(fixture.model()->rowCount(), int(explanation.candidates.size()));
        QVERIFY(fixture.model()->rowCount() >= 64);
        std::size_t active = 0;
        for (const StageSettings &stage : fixture.sampler.settings()->stages)
            active += stage.isActive();
        QCOMPARE(fixture.model()->columnCount(), int(CandidateModel::FirstStageColumn) + int(active));
        QVERIFY2(fixture.panel.summary().contains(QStringLiteral("step 5")),
                 qPrintable(fixture.panel.summary()));
        // Every column fits the panel.
        int width = 0;
        for (int column = 0; column < fixture.model()->columnCount(); ++column)
            width += fixture.table->columnWidth(column);
        QVERIFY(width <= fixture.table->viewport()->width());

        fixture.selection.select({fixture.runs.newestRun(), StepIndex(1)});
        QVERIFY(fixture.waitForStep(1));
        QVERIFY(fixture.panel.summary().contains(QStringLiteral("step 2")));
        const StepRecord &record = fixture.run().steps[1];
        bool found = false;
        for (int row = 0; row < fixture.model()->rowCount(); ++row) {
            if (!fixture.model()->index(row, 0).data(CandidateModel::ChosenRole).toBool())
                continue;
            found = true;
            QCOMPARE(fixture.tokenOf(row), record.token);
            const auto p = [&](int column) {
                return fixture.model()->index(row, column).data(CandidateModel::ProbabilityRole).toDouble();
            };
            QCOMPARE(p(CandidateModel::RawColumn), record.pRaw);
            QCOMPARE(p(fixture.model()->columnCount() - 1), record.p);
        }
        QVERIFY(found);
    }

    void aClickTakesACandidateWhilePaused()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.pausedAfter(3));
        fixture.selection.select({fixture.runs.newestRun(), StepIndex(1)});
        QVERIFY(fixture.waitForStep(1));
        QTRY_VERIFY(fixture.panel.summary().contains(QStringLiteral("click a token")));
        const int row = fixture.otherRow();
        const TokenId wanted = fixture.tokenOf(row);
        QTest::mouseClick(fixture.table->viewport(), Qt::LeftButton, {}, fixture.cell(row));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run().steps.size() == 2 && fixture.run().steps[1].token == wanted,
                                 patience);
        QCOMPARE(fixture.run().steps[1].origin, TokenOrigin::Forced);
        QVERIFY(fixture.selection.isLive());
        QCOMPARE(fixture.host.status().state, EngineState::Paused);
    }

    void returnTakesTheCurrentCandidate()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.pausedAfter(2));
        const int row = fixture.otherRow();
        const TokenId wanted = fixture.tokenOf(row);
        fixture.table->setFocus();
        fixture.table->setCurrentIndex(fixture.model()->index(row, CandidateModel::TokenColumn));
        QTest::keyClick(fixture.table, Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run().steps.size() == 2 && fixture.run().steps[1].token == wanted,
                                 patience);
        QCOMPARE(fixture.run().steps[1].origin, TokenOrigin::Forced);
    }

    void takingWhatWasTakenChangesNothing()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.pausedAfter(2));
        int row = 0;
        while (!fixture.model()->index(row, 0).data(CandidateModel::ChosenRole).toBool())
            ++row;
        fixture.table->scrollTo(fixture.model()->index(row, 0));
        QTest::mouseClick(fixture.table->viewport(), Qt::LeftButton, {}, fixture.cell(row));
        fixture.host.step(); // a command after the one that must not be there
        QTRY_COMPARE_WITH_TIMEOUT(fixture.run().steps.size(), std::size_t(3), patience);
        QCOMPARE(fixture.run().steps[1].origin, TokenOrigin::Drawn);
    }

    void aClickTakesNothingOnceTheReplyHasEnded()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(3));
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().state, EngineState::Idle, patience);
        QVERIFY(fixture.waitForStep(2));
        QSignalSpy truncated(&fixture.runs, &RunStore::truncated);
        QTest::mouseClick(fixture.table->viewport(), Qt::LeftButton, {}, fixture.cell(fixture.otherRow()));
        QVERIFY(fixture.reply(2)); // whatever the click had posted would have been worked on by now
        QCOMPARE(truncated.count(), 0);
    }

    void theTooltipTellsEveryStage()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(2));
        QVERIFY(fixture.waitForStep(1));
        const ExplainedCandidate &first = fixture.model()->explanation()->candidates.front();
        const QString tip = fixture.tipAt(0);
        QVERIFY2(tip.contains(QStringLiteral("token %1 ").arg(first.id.value())), qPrintable(tip));
        QVERIFY2(tip.contains(QString::number(first.pRaw * 100.0, 'g', 5)), qPrintable(tip));
        QVERIFY2(tip.contains(QStringLiteral("rank 1")), qPrintable(tip));
        for (const ExplainedStage &stage : fixture.model()->explanation()->stages)
            QVERIFY2(tip.contains(QString::fromStdString(stage.label)), qPrintable(tip));
        // One that a stage removed: told where, and nothing after it.
        const int last = fixture.model()->rowCount() - 1;
        const ExplainedCandidate &removed = fixture.model()->explanation()->candidates[std::size_t(last)];
        QVERIFY(removed.removedBy >= 0); // default top-k keeps fewer than are listed
        fixture.table->scrollTo(fixture.model()->index(last, 0));
        const QString removedTip = fixture.tipAt(last);
        QVERIFY2(removedTip.endsWith(QStringLiteral("removed")), qPrintable(removedTip));
    }

    void whatIfIsSaid()
    {
        DistributionFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(2));
        QVERIFY(fixture.waitForStep(1));
        fixture.explanations.setWhatIf(fixture.sampler.settings());
        QTRY_VERIFY_WITH_TIMEOUT(fixture.panel.summary().startsWith(QStringLiteral("what if")), patience);
    }

    void theWholeVocabularyIsDrawn()
    {
        DistributionFixture fixture;
        VocabularyPanel vocabulary(fixture.context);
        vocabulary.resize(500, 300);
        vocabulary.show();
        QVERIFY(vocabulary.isEmptyState());
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(3));
        QTRY_VERIFY_WITH_TIMEOUT(!vocabulary.isEmptyState(), patience);
        QVERIFY(fixture.waitForStep(2));
        const StepRecord &record = fixture.run().steps[2];
        const QString expected = QStringLiteral("%1 tokens · raw entropy %2 bits · step 3")
                                     .arg(formatCount(384), QString::number(record.entropyBits, 'f', 2));
        QTRY_COMPARE_WITH_TIMEOUT(vocabulary.summary(), expected, patience);
        auto *plot = vocabulary.findChild<RankPlot *>();
        plot->replotNow();
        QVERIFY(plot->drawnPoints() > 10);
        fixture.runs.clear();
        QTRY_VERIFY_WITH_TIMEOUT(vocabulary.isEmptyState(), patience);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestDistributionPanel)
#include "tst_distributionpanel.moc"
