// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/logitstore.h"
#include "engine/trace/spillfile.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <atomic>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>
#include <sys/resource.h>
#include <thread>

using namespace tokenloupe;

namespace {

constexpr std::size_t rowLength = 100;
constexpr std::uint64_t rowBytes = rowLength * sizeof(float);

StepRef step(std::uint32_t run, std::uint32_t index)
{
    return {RunId(run), StepIndex(index)};
}

/// Bits that differ from row to row, among them NaN with a payload, infinities and subnormals.
std::vector<float> rowFor(std::uint32_t run, std::uint32_t index, std::size_t length = rowLength)
{
    std::mt19937 random(run * 1000003U + index);
    std::vector<float> row(length);
    for (float &value : row) {
        const auto bits = static_cast<std::uint32_t>(random());
        std::memcpy(&value, &bits, sizeof(value));
    }
    return row;
}

bool sameBits(const LogitStore::Row &row, const std::vector<float> &expected)
{
    return row && row->size() == expected.size() &&
           std::memcmp(row->data(), expected.data(), expected.size() * sizeof(float)) == 0;
}

} // namespace

class TestLogitStore : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void keepsTheNewestInMemoryAndSpillsTheRest()
    {
        QTemporaryDir folder;
        LogitStore store(3 * rowBytes, {folder.path().toStdString()});
        QVERIFY(!store.get(step(0, 0)));
        for (std::uint32_t i = 0; i < 10; ++i) {
            store.put(step(0, i), rowFor(0, i));
            QCOMPARE(store.memoryBytes(), std::min<std::uint64_t>(i + 1, 3) * rowBytes);
            QCOMPARE(store.spilledBytes(), (i < 3 ? 0 : i - 2) * rowBytes);
        }
        QCOMPARE(store.droppedRows(), std::uint64_t(0));
        for (std::uint32_t i = 0; i < 10; ++i)
            QVERIFY(sameBits(store.get(step(0, i)), rowFor(0, i)));
        QVERIFY(!store.get(step(0, 10)));
        QVERIFY(!store.get(step(1, 0)));
        // The file has no name: nothing is left behind, whatever happens.
        QVERIFY(QDir(folder.path()).isEmpty(QDir::AllEntries | QDir::NoDotAndDotDot | QDir::Hidden));
    }

    void withoutABudgetEverythingIsInTheFile()
    {
        QTemporaryDir folder;
        LogitStore store(0, {folder.path().toStdString()});
        store.put(step(2, 5), rowFor(2, 5));
        QCOMPARE(store.memoryBytes(), std::uint64_t(0));
        QCOMPARE(store.spilledBytes(), rowBytes);
        QVERIFY(sameBits(store.get(step(2, 5)), rowFor(2, 5)));
    }

    void usualPlaceForTheFile()
    {
        LogitStore store(0);
        store.put(step(0, 0), rowFor(0, 0));
        QVERIFY(sameBits(store.get(step(0, 0)), rowFor(0, 0)));
        QCOMPARE(store.droppedRows(), std::uint64_t(0));
    }

    void withoutAFolderRowsAreDroppedAndCounted()
    {
        QTemporaryDir folder;
        LogitStore store(2 * rowBytes, {folder.path().toStdString() + "/not/there"});
        for (std::uint32_t i = 0; i < 5; ++i)
            store.put(step(0, i), rowFor(0, i));
        QCOMPARE(store.droppedRows(), std::uint64_t(3));
        QCOMPARE(store.spilledBytes(), std::uint64_t(0));
        QCOMPARE(store.memoryBytes(), 2 * rowBytes);
        for (std::uint32_t i = 0; i < 3; ++i)
            QVERIFY(!store.get(step(0, i)));
        QVERIFY(sameBits(store.get(step(0, 3)), rowFor(0, 3)));
        QVERIFY(sameBits(store.get(step(0, 4)), rowFor(0, 4)));
    }

    void atTheLargestSizeRowsAreDroppedUntilThereIsRoom()
    {
        QTemporaryDir folder;
        LogitStore store(rowBytes, {folder.path().toStdString(), 2 * rowBytes + 1});
        for (std::uint32_t i = 0; i < 5; ++i)
            store.put(step(0, i), rowFor(0, i));
        // 0 and 1 are in the file, 2 and 3 found no room, 4 is in memory.
        QCOMPARE(store.droppedRows(), std::uint64_t(2));
        QCOMPARE(store.spilledBytes(), 2 * rowBytes);
        QVERIFY(sameBits(store.get(step(0, 1)), rowFor(0, 1)));
        QVERIFY(!store.get(step(0, 2)));
        QVERIFY(sameBits(store.get(step(0, 4)), rowFor(0, 4)));

        store.truncate(RunId(0), StepIndex(1));
        QCOMPARE(store.spilledBytes(), rowBytes);
        store.put(step(1, 0), rowFor(1, 0));
        store.put(step(1, 1), rowFor(1, 1)); // pushes 1/0 into the place of 0/1
        QCOMPARE(store.droppedRows(), std::uint64_t(2));
        QVERIFY(sameBits(store.get(step(1, 0)), rowFor(1, 0)));
        QVERIFY(sameBits(store.get(step(0, 0)), rowFor(0, 0)));
    }

    void whenTheDiskIsFullRowsAreDropped()
    {
        QTemporaryDir folder;
        LogitStore store(rowBytes, {folder.path().toStdString()});
        // The system lets files grow to two rows and a half: the third write stops in the middle.
        const auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
        rlimit old{};
        QCOMPARE(getrlimit(RLIMIT_FSIZE, &old), 0);
        rlimit small = old;
        small.rlim_cur = 2 * rowBytes + rowBytes / 2;
        QCOMPARE(setrlimit(RLIMIT_FSIZE, &small), 0);
        for (std::uint32_t i = 0; i < 6; ++i)
            store.put(step(0, i), rowFor(0, i));
        setrlimit(RLIMIT_FSIZE, &old);
        std::signal(SIGXFSZ, oldHandler);

        QCOMPARE(store.droppedRows(), std::uint64_t(3));
        QCOMPARE(store.spilledBytes(), 2 * rowBytes);
        for (const std::uint32_t i : {0U, 1U, 5U})
            QVERIFY(sameBits(store.get(step(0, i)), rowFor(0, i)));
        for (const std::uint32_t i : {2U, 3U, 4U})
            QVERIFY(!store.get(step(0, i)));
        // There is room again.
        store.put(step(0, 6), rowFor(0, 6));
        QVERIFY(sameBits(store.get(step(0, 5)), rowFor(0, 5)));
        QCOMPARE(store.droppedRows(), std::uint64_t(3));
    }

    void truncateAndErase()
    {
        QTemporaryDir folder;
        LogitStore store(2 * rowBytes, {folder.path().toStdString()});
        for (std::uint32_t run = 0; run < 3; ++run) {
            for (std::uint32_t i = 0; i < 4; ++i)
                store.put(step(run, i), rowFor(run, i));
        }
        store.truncate(RunId(1), StepIndex(2));
        QVERIFY(sameBits(store.get(step(1, 1)), rowFor(1, 1)));
        QVERIFY(!store.get(step(1, 2)));
        QVERIFY(!store.get(step(1, 3)));
        QVERIFY(sameBits(store.get(step(0, 3)), rowFor(0, 3)));
        QVERIFY(sameBits(store.get(step(2, 0)), rowFor(2, 0)));
        QCOMPARE(store.memoryBytes() + store.spilledBytes(), 10 * rowBytes);

        store.erase(RunId(2));
        QVERIFY(!store.get(step(2, 3)));
        QCOMPARE(store.memoryBytes(), std::uint64_t(0)); // its last two were the ones in memory
        store.erase(RunId(0));
        store.erase(RunId(1));
        store.erase(RunId(7));
        QCOMPARE(store.memoryBytes() + store.spilledBytes(), std::uint64_t(0));
        QCOMPARE(store.droppedRows(), std::uint64_t(0));
        for (std::uint32_t i = 0; i < 4; ++i)
            store.put(step(9, i), rowFor(9, i));
        for (std::uint32_t i = 0; i < 4; ++i)
            QVERIFY(sameBits(store.get(step(9, i)), rowFor(9, i)));
    }

    void replacedRows()
    {
        QTemporaryDir folder;
        LogitStore store(rowBytes, {folder.path().toStdString()});
        store.put(step(0, 0), rowFor(0, 0));
        store.put(step(0, 0), rowFor(5, 5));
        QCOMPARE(store.memoryBytes(), rowBytes);
        store.put(step(0, 1), rowFor(0, 1)); // 0/0 goes to the file
        store.put(step(0, 0), rowFor(6, 6)); // and comes back as a new row, the newest
        QVERIFY(sameBits(store.get(step(0, 0)), rowFor(6, 6)));
        QVERIFY(sameBits(store.get(step(0, 1)), rowFor(0, 1)));
        QCOMPARE(store.memoryBytes() + store.spilledBytes(), 2 * rowBytes);
        store.put(step(0, 2), {});
        store.put(StepRef(), rowFor(0, 0));
        QVERIFY(!store.get(step(0, 2)));
        QVERIFY(!store.get(StepRef()));
        QCOMPARE(store.memoryBytes() + store.spilledBytes(), 2 * rowBytes);
    }

    void rowsThatAreWrittenInPlace()
    {
        LogitStore store(10 * rowBytes);
        for (std::uint32_t i = 0; i < 25; ++i) {
            LogitStore::Space space = store.space(rowLength);
            QCOMPARE(space.floats().size(), rowLength);
            const std::vector<float> values = rowFor(4, i);
            std::memcpy(space.floats().data(), values.data(), rowBytes);
            const float *place = space.floats().data();
            const LogitStore::Row row = store.keep(step(4, i), std::move(space));
            QVERIFY(sameBits(row, values));
            QCOMPARE(row->data(), place);
        }
        for (std::uint32_t i = 0; i < 25; ++i)
            QVERIFY(sameBits(store.get(step(4, i)), rowFor(4, i)));
        QCOMPARE(store.memoryBytes(), 10 * rowBytes);
        QVERIFY(!store.keep(step(4, 30), {}));
        QVERIFY(!store.keep(StepRef(), store.space(rowLength)));
        QVERIFY(!store.get(step(4, 30)));
        QCOMPARE(store.memoryBytes() + store.spilledBytes(), 25 * rowBytes);
    }

    void aRowInUseOutlivesTheStore()
    {
        LogitStore::Row row;
        {
            LogitStore store(rowBytes);
            store.put(step(0, 0), rowFor(0, 0));
            row = store.get(step(0, 0));
            store.erase(RunId(0));
        }
        QVERIFY(sameBits(row, rowFor(0, 0)));
    }

    void fileReusesPlacesOfEachSize()
    {
        QTemporaryDir folder;
        SpillFile file({folder.path().toStdString()});
        const auto small = *file.write(rowFor(0, 0, 10));
        const auto large = *file.write(rowFor(0, 1, 20));
        const auto last = *file.write(rowFor(0, 2, 10));
        file.release(small);
        const auto other = *file.write(rowFor(0, 3, 20)); // does not fit into the small place
        QVERIFY(other.offset >= last.offset + last.bytes);
        const auto again = *file.write(rowFor(0, 4, 10));
        QCOMPARE(again.offset, small.offset);
        const auto next =
            *file.write(rowFor(0, 6, 10)); // the free place was taken: not into it a second time
        QVERIFY(next.offset != again.offset && next.offset != last.offset);
        file.release(next);
        std::vector<float> row(20);
        QVERIFY(file.read(large, row));
        QVERIFY(std::memcmp(row.data(), rowFor(0, 1, 20).data(), large.bytes) == 0);
        QCOMPARE(file.usedBytes(), std::uint64_t(60 * sizeof(float)));
        for (const auto &extent : {large, last, other, again})
            file.release(extent);
        QCOMPARE(file.usedBytes(), std::uint64_t(0));
        QCOMPARE((*file.write(rowFor(0, 5, 30))).offset, std::uint64_t(0)); // the file shrank to nothing
    }

    void oneThreadPutsWhileOthersGet()
    {
        QTemporaryDir folder;
        LogitStore store(8 * rowBytes, {folder.path().toStdString()});
        constexpr std::uint32_t steps = 2000;
        std::atomic<std::uint32_t> stored{0};
        std::atomic<int> wrong{0};
        std::thread engine([&] {
            for (std::uint32_t i = 0; i < steps; ++i) {
                store.put(step(i / 500, i), rowFor(i / 500, i));
                stored.store(i + 1, std::memory_order_release);
                if (i % 100 == 99)
                    store.truncate(RunId(i / 500), StepIndex(i)); // the newest one
            }
        });
        const auto view = [&](std::uint32_t seed) {
            std::mt19937 random(seed);
            while (stored.load(std::memory_order_acquire) < steps) {
                const std::uint32_t end = stored.load(std::memory_order_acquire);
                if (end == 0)
                    continue;
                const std::uint32_t i = static_cast<std::uint32_t>(random()) % end;
                const LogitStore::Row row = store.get(step(i / 500, i));
                const bool mayBeGone = i % 100 == 99;
                if (row ? !sameBits(row, rowFor(i / 500, i)) : !mayBeGone)
                    ++wrong;
            }
        };
        std::thread first(view, 1), second(view, 2);
        engine.join();
        first.join();
        second.join();
        QCOMPARE(wrong.load(), 0);
        QCOMPARE(store.droppedRows(), std::uint64_t(0));
        QCOMPARE(store.memoryBytes() + store.spilledBytes(), (steps - steps / 100) * rowBytes);
    }
};

TOKENLOUPE_TEST_MAIN(TestLogitStore)
#include "tst_logitstore.moc"
