// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/mappedpages.h"
#include "engine/memory/memoryplan.h"
#include "tests/support/testmain.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace tokenloupe;

/// What of a mapping is resident, against pages that the test itself touches.
class TestMappedPages : public QObject
{
    Q_OBJECT

private slots:
    void countsTouchedPages();
    void processParts();
};

void TestMappedPages::countsTouchedPages()
{
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::size_t pages = 64;
    void *memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    QVERIFY(memory != MAP_FAILED);
    madvise(memory, pages * page, MADV_NOHUGEPAGE);
    auto *bytes = static_cast<volatile char *>(memory);
    const auto resident = residentBytes(memory, pages * page);
    if (!resident) {
        munmap(memory, pages * page);
        QSKIP("this system does not tell which pages are resident");
    }
    QCOMPARE(*resident, std::uint64_t(0));
    for (std::size_t i = 3; i < 13; ++i)
        bytes[i * page] = 1;
    QCOMPARE(*residentBytes(memory, pages * page), std::uint64_t(10 * page));
    // Parts of pages count as far as they lie within.
    const char *begin = static_cast<const char *>(memory);
    QCOMPARE(*residentBytes(begin + 3 * page + 100, 50), std::uint64_t(50));
    QCOMPARE(*residentBytes(begin + 2 * page + 100, page), std::uint64_t(100));
    QCOMPARE(*residentBytes(begin + 20 * page, 5 * page), std::uint64_t(0));
    QCOMPARE(*residentBytes(begin, 0), std::uint64_t(0));
    munmap(memory, pages * page);
}

void TestMappedPages::processParts()
{
    const MappedMemory before = mappedMemory();
    if (before.anonymous == 0)
        QSKIP("this system does not tell what is mapped");
    QVERIFY(before.files > 0);
    const std::uint64_t whole = before.anonymous + before.files;
    const std::uint64_t counted = processMemory().residentBytes;
    QVERIFY2(whole > counted * 8 / 10 && whole < counted * 12 / 10,
             qPrintable(QStringLiteral("%1 of %2").arg(whole).arg(counted)));
    const std::vector<char> touched(48 << 20, 1);
    const MappedMemory after = mappedMemory();
    QVERIFY(after.anonymous >= before.anonymous + (40 << 20));
    QVERIFY(programMemory() >= after.anonymous);
    QCOMPARE(static_cast<int>(touched[touched.size() / 2]), 1);
}

TOKENLOUPE_TEST_MAIN(TestMappedPages)
#include "tst_mappedpages.moc"
