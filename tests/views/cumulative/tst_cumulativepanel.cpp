// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/plots/cumulativeplot.h"
#include "widgets/views/cumulative/cumulativepanel.h"

#include <QApplication>
#include <QTest>

using namespace tokenloupe;

class TestCumulativePanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAModelItSaysWhatToDo()
    {
        test::ViewFixture fixture;
        CumulativePanel panel(fixture.context);
        panel.resize(390, 200);
        panel.show();
        QVERIFY(panel.isEmptyState());
    }

    void explainsTheSelectedStepOfARealRun()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        CumulativePanel panel(fixture.context);
        panel.resize(390, 200);
        panel.show();
        QVERIFY(panel.isEmptyState());
        QVERIFY(fixture.reply(6));
        const RunId run = fixture.runs.newestRun();
        fixture.selection.select({run, StepIndex(2)});
        QTRY_VERIFY2(panel.summary().endsWith(QStringLiteral("step 3")), qPrintable(panel.summary()));
        QVERIFY(!panel.isEmptyState());
        const StepRecord *record = fixture.runs.record({run, StepIndex(2)});
        QVERIFY2(panel.summary().contains(QString::number(record->entropyBits, 'f', 2)),
                 qPrintable(panel.summary()));
        // the curves are the explanation's
        const ExplanationPtr explanation = fixture.explanations.current();
        QVERIFY(explanation);
        const QStringList rows =
            panel.findChild<CumulativePlot *>()->csv().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        QCOMPARE(static_cast<std::size_t>(rows.size()), 1 + explanation->rawCumulative.size());
        QCOMPARE(rows[1].section(QLatin1Char(','), 1, 1).toDouble(), explanation->rawCumulative[0]);
        QCOMPARE(rows[1].section(QLatin1Char(','), 2, 2).toDouble(), explanation->finalCumulative[0]);
    }

    void droppedLogitsAreSaid()
    {
        test::ViewFixture fixture;
        CumulativePanel panel(fixture.context);
        panel.resize(390, 200);
        panel.show();
        fixture.addRun(0, 3); // records without logits
        QTRY_VERIFY(!fixture.explanations.unavailableReason().isEmpty());
        QTRY_VERIFY(panel.isEmptyState());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestCumulativePanel)
#include "tst_cumulativepanel.moc"
