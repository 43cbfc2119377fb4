// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/records.h"
#include "tests/support/testmain.h"
#include "widgets/models/runstore.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;
using test::runRecord;
using test::stepRecord;

class TestRunStore : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void announcesABatchOnce()
    {
        RunStore store;
        QSignalSpy appended(&store, &RunStore::stepsAppended);
        QSignalSpy updated(&store, &RunStore::updated);
        store.apply({runRecord(0), stepRecord(0, 0, 7), stepRecord(0, 1, 8), stepRecord(0, 2, 9)});
        QCOMPARE(appended.count(), 1);
        QCOMPARE(appended.at(0).at(1).toInt(), 0);
        QCOMPARE(appended.at(0).at(2).toInt(), 3);
        QCOMPARE(updated.count(), 1);
        QCOMPARE(store.newestStep(), (StepRef{RunId(0), StepIndex(2)}));
        QCOMPARE(store.record({RunId(0), StepIndex(1)})->token, TokenId(8));
        QVERIFY(!store.record({RunId(0), StepIndex(3)}));
        QVERIFY(!store.record({RunId(5), StepIndex(0)}));
        QVERIFY(!store.record({}));
    }

    void nothingNewIsNotAnnounced()
    {
        RunStore store;
        QSignalSpy updated(&store, &RunStore::updated);
        store.apply({});
        store.apply({stepRecord(3, 0, 1)}); // of a run that is not known
        QCOMPARE(updated.count(), 0);
    }

    void cutsAndGoesOn()
    {
        RunStore store;
        store.apply({runRecord(0), stepRecord(0, 0, 7), stepRecord(0, 1, 8), stepRecord(0, 2, 9),
                     RunEnded{RunId(0), EndReason::Stop}});
        QCOMPARE(store.run(RunId(0))->end, std::optional(EndReason::Stop));
        QSignalSpy truncated(&store, &RunStore::truncated);
        QSignalSpy appended(&store, &RunStore::stepsAppended);
        store.apply({RunTruncated{RunId(0), StepIndex(1)}, stepRecord(0, 1, 42)});
        QCOMPARE(truncated.count(), 1);
        QCOMPARE(appended.count(), 1);
        QCOMPARE(store.run(RunId(0))->steps.size(), std::size_t(2));
        QCOMPARE(store.record({RunId(0), StepIndex(1)})->token, TokenId(42));
        QVERIFY(!store.run(RunId(0))->end);
    }

    void historyIsPromptAndTokensBefore()
    {
        RunStore store;
        store.apply({runRecord(0), stepRecord(0, 0, 7), stepRecord(0, 1, 8)});
        const Run *run = store.run(RunId(0));
        QCOMPARE(run->historyBefore(StepIndex(0)), (std::vector{TokenId(1), TokenId(2)}));
        QCOMPARE(run->historyBefore(StepIndex(1)), (std::vector{TokenId(1), TokenId(2), TokenId(7)}));
        QCOMPARE(run->historyBefore(StepIndex(9)),
                 (std::vector{TokenId(1), TokenId(2), TokenId(7), TokenId(8)}));
    }

    void runsStandApart()
    {
        RunStore store;
        QSignalSpy appended(&store, &RunStore::stepsAppended);
        store.apply({runRecord(0), stepRecord(0, 0, 7), runRecord(1), stepRecord(1, 0, 8)});
        QCOMPARE(appended.count(), 2);
        QCOMPARE(store.newestRun(), RunId(1));
        QSignalSpy cleared(&store, &RunStore::cleared);
        store.clear();
        QCOMPARE(cleared.count(), 1);
        QVERIFY(store.isEmpty());
        QVERIFY(!store.newestStep().isValid());
    }
};

TOKENLOUPE_TEST_MAIN(TestRunStore)
#include "tst_runstore.moc"
