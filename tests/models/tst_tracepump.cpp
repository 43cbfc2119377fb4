// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/records.h"
#include "tests/support/testmain.h"
#include "widgets/models/runstore.h"
#include "widgets/models/tracepump.h"

#include <QElapsedTimer>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>
#include <thread>

using namespace tokenloupe;
using test::runRecord;
using test::stepRecord;

class TestTracePump : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void movesABatchPerTick()
    {
        TraceMailbox mailbox;
        RunStore store;
        TracePump pump(mailbox, store);
        QSignalSpy updated(&store, &RunStore::updated);
        mailbox.post(runRecord(0));
        for (std::uint32_t step = 0; step < 100; ++step)
            mailbox.post(stepRecord(0, step, step));
        QVERIFY(store.isEmpty());
        pump.pumpNow();
        QCOMPARE(updated.count(), 1);
        QCOMPARE(store.run(RunId(0))->steps.size(), std::size_t(100));
        pump.pumpNow();
        QCOMPARE(updated.count(), 1);
    }

    /// A producer as fast as it can be, beside a heartbeat on this thread; the longest gap between two beats
    /// is the benchmark's result. Only completeness is asserted: speed is for the benchmark's reader.
    void tenThousandRecords()
    {
        constexpr std::uint32_t count = 10000;
        TraceMailbox mailbox;
        RunStore store;
        TracePump pump(mailbox, store);
        QElapsedTimer clock;
        clock.start();
        qint64 lastBeat = 0;
        qint64 longest = 0;
        QTimer heartbeat;
        heartbeat.setTimerType(Qt::PreciseTimer);
        connect(&heartbeat, &QTimer::timeout, this, [&] {
            const qint64 now = clock.nsecsElapsed();
            longest = std::max(longest, now - lastBeat);
            lastBeat = now;
        });
        heartbeat.start(5);
        std::jthread producer([&] {
            mailbox.post(runRecord(0));
            for (std::uint32_t step = 0; step < count; ++step)
                mailbox.post(stepRecord(0, step, step % 512));
        });
        const auto complete = [&] {
            const Run *run = store.run(RunId(0));
            return run && run->steps.size() == count;
        };
        QTRY_VERIFY_WITH_TIMEOUT(complete(), 60000);
        const auto &steps = store.run(RunId(0))->steps;
        for (std::uint32_t step = 0; step < count; ++step)
            QCOMPARE(steps[step].ref.step, StepIndex(step));
        QTest::setBenchmarkResult(double(longest) / 1e6, QTest::WalltimeMilliseconds);
    }
};

TOKENLOUPE_TEST_MAIN(TestTracePump)
#include "tst_tracepump.moc"
