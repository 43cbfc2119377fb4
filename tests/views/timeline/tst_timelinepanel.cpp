// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/plots/stackedtimeplot.h"
#include "widgets/views/timeline/stepdetails.h"
#include "widgets/views/timeline/timelinepanel.h"

#include <QApplication>
#include <QTest>
#include <QToolButton>

using namespace tokenloupe;

class TestTimelinePanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void statistics()
    {
        Run run;
        QCOMPARE(timelineStatistics(run).tokensPerSecond, 0.0);
        run.start = test::runRecord(0); // 5 ms of prefill
        run.start.tokenizeMs = 1.0;
        for (std::uint32_t i = 0; i < 101; ++i) {
            StepRecord step = test::stepRecord(0, i, i);
            step.forwardMs = i; // 0 for the first, then 1 … 100
            step.sampleMs = 0.0;
            run.steps.push_back(step);
        }
        const TimelineStatistics statistics = timelineStatistics(run);
        QCOMPARE(statistics.firstTokenMs, 6.0);
        QCOMPARE(statistics.medianMs, 50.0);
        QCOMPARE(statistics.p99Ms, 99.0);
        QCOMPARE(statistics.tokensPerSecond, 100.0 * 1000.0 / 5050.0);
    }

    void withoutARunItSaysWhatToDo()
    {
        test::ViewFixture fixture;
        TimelinePanel panel(fixture.context);
        panel.resize(700, 150);
        panel.show();
        QVERIFY(panel.isEmptyState());
        fixture.addRun(0, 3);
        QTRY_VERIFY(!panel.isEmptyState());
        fixture.runs.clear();
        QTRY_VERIFY(panel.isEmptyState());
        QCOMPARE(panel.summary(), QString());
    }

    void aClickSelectsTheStepEverywhere()
    {
        test::ViewFixture fixture;
        fixture.addRun(0, 30);
        TimelinePanel panel(fixture.context);
        panel.resize(700, 150);
        panel.show();
        auto *plot = panel.findChild<StackedTimePlot *>();
        plot->replotNow();
        const QPoint at = plot->pixelAt(14, 1).toPoint();
        QTest::mouseClick(plot->childAt(at), Qt::LeftButton, {}, at);
        QCOMPARE(fixture.selection.current(), (StepRef{RunId(0), StepIndex(13)}));
        QVERIFY(!fixture.selection.isLive());
        QTRY_VERIFY2(panel.summary().startsWith(QStringLiteral("step 14 ")), qPrintable(panel.summary()));
        QVERIFY2(panel.summary().contains(QStringLiteral("tok/s")), qPrintable(panel.summary()));
    }

    void followsAppendsTruncationsAndOtherRuns()
    {
        test::ViewFixture fixture;
        fixture.addRun(0, 10);
        TimelinePanel panel(fixture.context);
        panel.resize(700, 150);
        panel.show();
        auto *plot = panel.findChild<StackedTimePlot *>();
        QCOMPARE(plot->tokenCount(), 10);
        fixture.runs.apply({test::stepRecord(0, 10, 7), test::stepRecord(0, 11, 7)});
        QTRY_COMPARE(plot->tokenCount(), 12);
        fixture.runs.apply({RunTruncated{RunId(0), StepIndex(5)}, test::stepRecord(0, 5, 7)});
        QTRY_COMPARE(plot->tokenCount(), 6);
        fixture.addRun(1, 3);
        QTRY_COMPARE(plot->tokenCount(), 3);
        fixture.selection.select({RunId(0), StepIndex(2)});
        QTRY_COMPARE(plot->tokenCount(), 6);
    }

    void detailsOfTheSelectedStep()
    {
        test::ViewFixture fixture;
        StepRecord step = test::stepRecord(0, 0, 1);
        step.forwardMs = 10.0;
        step.computedTokens = 1;
        step.readBytes = 50'000'000;
        step.operations.add(Operation::Product, 7.0F);
        step.operations.add(Operation::Attention, 2.0F);
        RunRecord start = test::runRecord(0);
        start.deviceBytesPerSecond = 100e9;
        fixture.runs.apply({start, step});
        TimelinePanel panel(fixture.context);
        panel.resize(900, 150);
        panel.show();
        const auto *details = panel.findChild<StepDetails *>();
        QTRY_VERIFY2(details->text().contains(QStringLiteral(" 5.0 % of 100")), qPrintable(details->text()));
        const qsizetype products = details->text().indexOf(QStringLiteral("products 7"));
        const qsizetype attention = details->text().indexOf(QStringLiteral("attention 2"));
        QVERIFY2(products >= 0 && attention > products, qPrintable(details->text()));
        QVERIFY(!details->text().contains(QStringLiteral("norm")));
        fixture.runs.clear();
        QTRY_VERIFY(panel.isEmptyState());
    }

    void theSwitchTimesOperations()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        TimelinePanel panel(fixture.context);
        panel.resize(900, 150);
        panel.show();
        auto *times = panel.findChild<QToolButton *>();
        QVERIFY(times && times->isVisible() && !times->isChecked());
        QTest::mouseClick(times, Qt::LeftButton);
        QTRY_COMPARE(fixture.host.status().operationTimes, Measuring::On);
        QVERIFY(fixture.reply(3));
        const Run &run = *fixture.runs.run(fixture.runs.newestRun());
        QVERIFY(run.start.operations.isMeasured());
        QVERIFY(run.steps[2].operations.of(Operation::Product) > 0.0F);
        const auto *details = panel.findChild<StepDetails *>();
        QTRY_VERIFY2(details->text().contains(QStringLiteral("products")), qPrintable(details->text()));
        // Of the first step: the prefill's.
        fixture.selection.select({run.start.run, StepIndex(0)});
        QTRY_VERIFY2(!details->text().startsWith(QStringLiteral("read")) &&
                         details->text().contains(QStringLiteral("products")),
                     qPrintable(details->text()));
        times->setFocus();
        QTest::keyClick(times, Qt::Key_Space);
        QTRY_COMPARE(fixture.host.status().operationTimes, Measuring::Off);
    }

    void hiddenItDoesNothing()
    {
        test::ViewFixture fixture;
        TimelinePanel panel(fixture.context);
        panel.resize(700, 150);
        fixture.addRun(0, 10);
        QCoreApplication::processEvents();
        QCOMPARE(panel.refreshCount(), 0);
        panel.show();
        QCOMPARE(panel.findChild<StackedTimePlot *>()->tokenCount(), 10);
        const int before = panel.refreshCount();
        fixture.runs.apply(
            {test::stepRecord(0, 10, 7), test::stepRecord(0, 11, 7), test::stepRecord(0, 12, 7)});
        QTRY_COMPARE(panel.refreshCount(),
                     before + 1); // one batch, one update, though the selection moved too
        QCoreApplication::processEvents();
        QCOMPARE(panel.refreshCount(), before + 1);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestTimelinePanel)
#include "tst_timelinepanel.moc"
