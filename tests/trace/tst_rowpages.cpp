// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/rowpages.h"
#include "tests/support/testmain.h"

#include <QTest>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace tokenloupe;

class RowPagesTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void usesAgain();
    void keepsNoMoreThanAsked();
    void otherSizesGoFirst();
    void outlivedByStretches();
    void takenAndGivenByThreads();
};

namespace {

constexpr std::size_t page = 4096;

} // namespace

void RowPagesTest::usesAgain()
{
    RowPages pages(8 * page);
    const std::byte *first = nullptr;
    {
        const auto stretch = pages.take(2 * page);
        QVERIFY(stretch);
        first = stretch.get();
        std::memset(stretch.get(), 1, 2 * page);
        QCOMPARE(pages.unusedBytes(), std::uint64_t(0));
    }
    QCOMPARE(pages.unusedBytes(), std::uint64_t(2 * page));
    const auto other = pages.take(page); // of another size: new
    QVERIFY(other.get() != first);
    const auto again = pages.take(2 * page);
    QCOMPARE(static_cast<const void *>(again.get()), static_cast<const void *>(first));
    QCOMPARE(pages.unusedBytes(), std::uint64_t(0));
    QVERIFY(pages.take(2 * page).get() != first); // not twice at once
}

void RowPagesTest::keepsNoMoreThanAsked()
{
    RowPages pages(3 * page);
    std::vector<std::shared_ptr<std::byte>> held;
    for (int i = 0; i < 5; ++i)
        held.push_back(pages.take(page));
    held.clear();
    QCOMPARE(pages.unusedBytes(), std::uint64_t(3 * page));
    pages.take(4 * page); // more than it may keep at all
    QCOMPARE(pages.unusedBytes(), std::uint64_t(0));
}

void RowPagesTest::otherSizesGoFirst()
{
    RowPages pages(4 * page);
    pages.take(3 * page).reset();
    std::shared_ptr<std::byte> a = pages.take(page);
    std::shared_ptr<std::byte> b = pages.take(page);
    a.reset();
    QCOMPARE(pages.unusedBytes(), std::uint64_t(4 * page));
    b.reset(); // one too many: the three pages of before go
    QCOMPARE(pages.unusedBytes(), std::uint64_t(2 * page));
}

void RowPagesTest::outlivedByStretches()
{
    std::shared_ptr<std::byte> stretch;
    {
        RowPages pages(page);
        stretch = pages.take(page);
    }
    std::memset(stretch.get(), 2, page);
    QCOMPARE(int(stretch.get()[page - 1]), 2);
    stretch.reset();
}

void RowPagesTest::takenAndGivenByThreads()
{
    RowPages pages(16 * page);
    std::vector<std::jthread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&pages, &wrong, t] {
            for (int i = 0; i < 200; ++i) {
                const std::size_t bytes = std::size_t(1 + i % 3) * page;
                const auto stretch = pages.take(bytes);
                std::memset(stretch.get(), t, bytes);
                for (std::size_t at = 0; at < bytes; at += 512)
                    wrong += int(stretch.get()[at]) != t;
            }
        });
    }
    threads.clear();
    QCOMPARE(wrong.load(), 0);
    QVERIFY(pages.unusedBytes() <= 16 * page);
}

TOKENLOUPE_TEST_MAIN(RowPagesTest)
#include "tst_rowpages.moc"
