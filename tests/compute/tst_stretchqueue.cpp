// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/stretchqueue.h"
#include "engine/compute/workerpool.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <atomic>
#include <vector>

using namespace tokenloupe;

class TestStretchQueue : public QObject
{
    Q_OBJECT

private slots:
    void everyUnitOnce_data();
    void everyUnitOnce();
    void ownStretchIsReadInOrder();
    void doneWorkersHelp();
};

void TestStretchQueue::everyUnitOnce_data()
{
    QTest::addColumn<int>("workers");
    QTest::addColumn<qint64>("units");
    QTest::addColumn<qint64>("grain");
    for (const int workers : {1, 2, 3, 7}) {
        for (const qint64 units : {0, 1, 2, 5, 64, 3072}) {
            for (const qint64 grain : {1, 4, 100})
                QTest::addRow("%d workers, %lld units, grain %lld", workers, units, grain)
                    << workers << units << grain;
        }
    }
}

void TestStretchQueue::everyUnitOnce()
{
    QFETCH(int, workers);
    QFETCH(qint64, units);
    QFETCH(qint64, grain);
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(workers);
    QVERIFY(pool);
    StretchQueue queue(workers);
    for (int round = 0; round < 20; ++round) {
        std::vector<std::atomic<int>> taken(static_cast<std::size_t>(units));
        std::atomic<int> outside{0};
        queue.reset(units, grain);
        (*pool)->run([&](int worker) {
            for (Stretch piece = queue.next(worker); !piece.isEmpty(); piece = queue.next(worker)) {
                for (std::int64_t unit = piece.begin; unit < piece.end; ++unit)
                    ++taken[static_cast<std::size_t>(unit)];
                if (piece.begin < 0 || piece.end > units)
                    ++outside;
            }
        });
        QCOMPARE(outside.load(), 0);
        for (const std::atomic<int> &count : taken)
            QCOMPARE(count.load(), 1);
        QVERIFY(queue.next(0).isEmpty());
    }
}

void TestStretchQueue::ownStretchIsReadInOrder()
{
    StretchQueue queue(2);
    queue.reset(1000, 8);
    std::int64_t position = 500; // where the second worker's half begins
    std::int64_t last = 1000;
    while (position < 1000) {
        const Stretch piece = queue.next(1);
        QCOMPARE(piece.begin, position);
        QVERIFY(piece.end - piece.begin <= last); // shrinking, so that little is left to wait for at the end
        QVERIFY(piece.end - piece.begin >= 8 || piece.end == 1000);
        last = piece.end - piece.begin;
        position = piece.end;
    }
}

void TestStretchQueue::doneWorkersHelp()
{
    StretchQueue queue(2);
    queue.reset(100, 1);
    const Stretch first = queue.next(0); // worker 0 is held up after its first piece
    std::int64_t done = first.end - first.begin;
    std::int64_t highest = first.end;
    for (Stretch piece = queue.next(1); !piece.isEmpty(); piece = queue.next(1)) {
        done += piece.end - piece.begin;
        if (piece.begin < 50) // stolen: from the end, so that what is left to the owner stays one stretch
            highest = std::max(highest, piece.end);
    }
    QCOMPARE(done, std::int64_t(100));
    QCOMPARE(highest, std::int64_t(50));
    QVERIFY(queue.next(0).isEmpty());
}

TOKENLOUPE_TEST_MAIN(TestStretchQueue)
#include "tst_stretchqueue.moc"
