// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/workerpool.h"
#include "tests/support/testmain.h"

#include <atomic>
#include <limits>
#include <vector>

using namespace tokenloupe;

class TestWorkerPool : public QObject
{
    Q_OBJECT

private slots:
    void everyWorkerRunsOnce_data();
    void everyWorkerRunsOnce();
    void makesWritesVisible();
    void sleepersWakeUp();
    void endsWithoutWork();
    void refusesImpossibleNumbers_data();
    void refusesImpossibleNumbers();
};

void TestWorkerPool::everyWorkerRunsOnce_data()
{
    QTest::addColumn<int>("threads");
    for (const int threads : {1, 2, 3, 8, 32})
        QTest::addRow("%d", threads) << threads;
}

void TestWorkerPool::everyWorkerRunsOnce()
{
    QFETCH(int, threads);
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads);
    QVERIFY(pool);
    QCOMPARE((*pool)->threads(), threads);
    std::vector<int> calls(static_cast<std::size_t>(threads), 0);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> strangers{0};
    constexpr int rounds = 300;
    for (int round = 0; round < rounds; ++round)
        (*pool)->run([&](int worker) {
            ++calls[static_cast<std::size_t>(worker)];
            if ((std::this_thread::get_id() == caller) != (worker == 0))
                ++strangers;
        });
    for (const int count : calls)
        QCOMPARE(count, rounds);
    QCOMPARE(strangers.load(), 0);
}

/// What one run wrote, any worker of the next run reads: plain memory, no atomics but the pool's own.
void TestWorkerPool::makesWritesVisible()
{
    constexpr int threads = 4;
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(threads);
    QVERIFY(pool);
    std::vector<long> values(threads, 1);
    std::vector<long> next(threads, 0);
    for (int round = 0; round < 200; ++round) {
        (*pool)->run([&](int worker) {
            const auto self = static_cast<std::size_t>(worker);
            next[self] = (values[(self + 1) % threads] + 3 * values[(self + 2) % threads]) % 1000003;
        });
        values.swap(next);
    }
    std::vector<long> expected(threads, 1);
    for (int round = 0; round < 200; ++round) {
        std::vector<long> then(threads);
        for (std::size_t self = 0; self < threads; ++self)
            then[self] = (expected[(self + 1) % threads] + 3 * expected[(self + 2) % threads]) % 1000003;
        expected = then;
    }
    QCOMPARE(values, expected);
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
        (*pool)->run([&](int) { ++calls; });
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
