// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/records.h"
#include "tests/support/testmain.h"
#include "widgets/models/runstore.h"
#include "widgets/models/selectionstate.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;
using test::runRecord;
using test::stepRecord;

class TestSelectionState : public QObject
{
    Q_OBJECT

    static StepRef ref(std::uint32_t run, std::uint32_t step) { return {RunId(run), StepIndex(step)}; }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void followsTheNewestWhileLive()
    {
        RunStore store;
        SelectionState selection(store);
        QVERIFY(selection.isLive());
        QVERIFY(!selection.current().isValid());
        QSignalSpy changed(&selection, &SelectionState::changed);
        store.apply({runRecord(0), stepRecord(0, 0, 7), stepRecord(0, 1, 8)});
        QCOMPARE(selection.current(), ref(0, 1));
        QCOMPARE(changed.count(), 1);
        store.apply({stepRecord(0, 2, 9)});
        QCOMPARE(selection.current(), ref(0, 2));
    }

    void staysWhereItWasPut()
    {
        RunStore store;
        SelectionState selection(store);
        store.apply({runRecord(0), stepRecord(0, 0, 7), stepRecord(0, 1, 8), stepRecord(0, 2, 9)});
        selection.select(ref(0, 1));
        QVERIFY(!selection.isLive());
        QSignalSpy changed(&selection, &SelectionState::changed);
        store.apply({stepRecord(0, 3, 9)});
        QCOMPARE(selection.current(), ref(0, 1));
        QCOMPARE(changed.count(), 0);
        selection.select(ref(0, 9)); // there is none
        QCOMPARE(selection.current(), ref(0, 1));
        selection.followLive();
        QCOMPARE(selection.current(), ref(0, 3));
        QVERIFY(selection.isLive());
    }

    void arrowsWalkThroughRuns()
    {
        RunStore store;
        SelectionState selection(store);
        store.apply(
            {runRecord(0), stepRecord(0, 0, 7), stepRecord(0, 1, 8), runRecord(1), stepRecord(1, 0, 9)});
        QCOMPARE(selection.current(), ref(1, 0));
        selection.selectPrevious();
        QCOMPARE(selection.current(), ref(0, 1));
        selection.selectPrevious();
        selection.selectPrevious(); // already at the first
        QCOMPARE(selection.current(), ref(0, 0));
        selection.selectNext();
        selection.selectNext();
        QCOMPARE(selection.current(), ref(1, 0));
        QVERIFY(selection.isLive());
        selection.selectNext();
        QVERIFY(selection.isLive());
    }

    void losesAStepThatIsGone()
    {
        RunStore store;
        SelectionState selection(store);
        store.apply({runRecord(0), stepRecord(0, 0, 7), stepRecord(0, 1, 8), stepRecord(0, 2, 9)});
        selection.select(ref(0, 1));
        store.apply({RunTruncated{RunId(0), StepIndex(1)}});
        QCOMPARE(selection.current(), ref(0, 0));
        QVERIFY(selection.isLive());
        store.clear();
        QVERIFY(!selection.current().isValid());
    }
};

TOKENLOUPE_TEST_MAIN(TestSelectionState)
#include "tst_selectionstate.moc"
