// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/workerpool.h"

#include "engine/compute/stretchqueue.h"
#include "tests/support/testmain.h"

#include <atomic>
#include <limits>
#include <vector>

using namespace tokenloupe;

class TestWorkerPool : public QObject
{
    Q_OBJECT

private slots:
    void everyoneTakesPartOnce_data();
    void everyoneTakesPartOnce();
    void makesWritesVisible();
    void nobodyWaitsForTheAbsent();
    void sleepersWakeUp();
    void endsWithoutWork();
    void refusesImpossibleNumbers_data();
    void refusesImpossibleNumbers();
};

void TestWorkerPool::everyoneTakesPartOnce_data()
{
    QTest::addColumn<int>("threads");
    for (const int threads : {1, 2, 3, 8, 32})
        QTest::addRow("%d", threads) << threads;
}

/// Worker 0 stays until all others have come, so all must come, each once and on a thread of its own.
void TestWorkerPool::everyoneTakesPartOnce()
{
    QFETCH(int, threads);
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads);
    QVERIFY(pool);
    QCOMPARE((*pool)->threads(), threads);
    std::vector<int> calls(static_cast<std::size_t>(threads), 0);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> strangers{0};
    constexpr int rounds = 50;
    for (int round = 0; round < rounds; ++round) {
        std::atomic<int> present{0};
        (*pool)->run([&](int worker) {
            ++calls[static_cast<std::size_t>(worker)];
            if ((std::this_thread::get_id() == caller) != (worker == 0))
                ++strangers;
            ++present;
            while (worker == 0 && present.load() < threads)
                std::this_thread::yield();
        });
    }
    for (const int count : calls)
        QCOMPARE(count, rounds);
    QCOMPARE(strangers.load(), 0);
}

/// What one run wrote, any worker of the next run reads: plain memory, no atomics but the pool's and the
/// queue's.
void TestWorkerPool::makesWritesVisible()
{
    constexpr int threads = 4;
    constexpr std::size_t count = 64;
    constexpr int rounds = 500;
    const auto step = [](const std::vector<long> &from, std::size_t i) {
        return (from[(i + 1) % count] + 3 * from[(i + 7) % count]) % 1000003;
    };
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads);
    QVERIFY(pool);
    StretchQueue queue(threads);
    std::vector<long> values(count, 1);
    values[5] = 2;
    std::vector<long> expected = values;
    std::vector<long> next(count, 0);
    for (int round = 0; round < rounds; ++round) {
        queue.reset(count, 1);
        (*pool)->run([&](int worker) {
            for (Stretch piece = queue.next(worker); !piece.isEmpty(); piece = queue.next(worker)) {
                for (auto i = static_cast<std::size_t>(piece.begin); i < static_cast<std::size_t>(piece.end);
                     ++i)
                    next[i] = step(values, i);
            }
        });
        values.swap(next);
    }
    for (int round = 0; round < rounds; ++round) {
        std::vector<long> then(count);
        for (std::size_t i = 0; i < count; ++i)
            then[i] = step(expected, i);
        expected = then;
    }
    QCOMPARE(values, expected);
}

/// Far more threads than cores and nothing to do: runs end although most workers were never there.
void TestWorkerPool::nobodyWaitsForTheAbsent()
{
    constexpr int threads = 64;
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads);
    QVERIFY(pool);
    std::atomic<int> calls{0};
    std::vector<std::atomic<int>> perRun(2000);
    for (std::atomic<int> &run : perRun) {
        (*pool)->run([&](int) {
            ++calls;
            ++run;
        });
    }
    for (const std::atomic<int> &run : perRun)
        QVERIFY(run.load() >= 1 && run.load() <= threads);
    QVERIFY(calls.load() >= 2000);
}

void TestWorkerPool::sleepersWakeUp()
{
    constexpr int threads = 3;
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads);
    QVERIFY(pool);
    for (int round = 0; round < 5; ++round) {
        // An idle pool goes to sleep, all but the caller.
        QTRY_COMPARE_WITH_TIMEOUT((*pool)->sleeping(), threads - 1, 60000);
        std::atomic<int> calls{0};
        (*pool)->run([&](int worker) {
            ++calls;
            while (worker == 0 && calls.load() < threads) // waits for ever if one of them does not wake up
                std::this_thread::yield();
        });
        QCOMPARE(calls.load(), threads);
    }
}

void TestWorkerPool::endsWithoutWork()
{
    for (int round = 0; round < 20; ++round)
        QVERIFY(WorkerPool::create(4)); // joined at once, whether the workers have begun to wait or not
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(3);
    QVERIFY(pool);
    QTRY_COMPARE_WITH_TIMEOUT((*pool)->sleeping(), 2, 60000);
    pool->reset();
}

void TestWorkerPool::refusesImpossibleNumbers_data()
{
    QTest::addColumn<int>("threads");
    for (const int threads : {-1, 0, WorkerPool::maxThreads + 1, std::numeric_limits<int>::max()})
        QTest::addRow("%d", threads) << threads;
}

void TestWorkerPool::refusesImpossibleNumbers()
{
    QFETCH(int, threads);
    const auto pool = WorkerPool::create(threads);
    QVERIFY(!pool);
    QCOMPARE(pool.error().code, ErrorCode::InvalidArgument);
    QVERIFY(pool.error().message.find(std::to_string(threads)) != std::string::npos);
}

TOKENLOUPE_TEST_MAIN(TestWorkerPool)
#include "tst_workerpool.moc"
