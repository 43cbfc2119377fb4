// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/packedmemory.h"

#include "tests/support/testmain.h"

#include <limits>
#include <thread>

using namespace tokenloupe;

namespace {

std::uint64_t wordAt(std::uint64_t index)
{
    return index * 0x9E3779B97F4A7C15ULL + 1;
}

void fill(PackedMemory &memory, std::uint64_t firstUnit, std::uint64_t step)
{
    constexpr std::uint64_t words = PackedMemory::unitBytes / sizeof(std::uint64_t);
    auto *const data = reinterpret_cast<std::uint64_t *>(memory.data());
    for (std::uint64_t unit = firstUnit; unit < memory.units(); unit += step) {
        memory.take(unit);
        for (std::uint64_t i = unit * words; i < (unit + 1) * words; ++i)
            data[i] = wordAt(i);
    }
}

bool isFilled(const PackedMemory &memory)
{
    const auto *const data = reinterpret_cast<const std::uint64_t *>(memory.data());
    for (std::uint64_t i = 0; i < memory.units() * PackedMemory::unitBytes / sizeof(std::uint64_t); ++i) {
        if (data[i] != wordAt(i))
            return false;
    }
    return true;
}

} // namespace

class TestPackedMemory : public QObject
{
    Q_OBJECT

private slots:
    void wholeUnits()
    {
        for (const std::uint64_t bytes : {std::uint64_t(1), PackedMemory::unitBytes,
                                          PackedMemory::unitBytes + 1, 3 * PackedMemory::unitBytes}) {
            const auto memory = PackedMemory::reserve(bytes);
            QVERIFY(memory);
            QCOMPARE((*memory)->units(), (bytes + PackedMemory::unitBytes - 1) / PackedMemory::unitBytes);
            QCOMPARE(reinterpret_cast<std::uintptr_t>((*memory)->data()) % PackedMemory::unitBytes,
                     std::uintptr_t(0));
        }
    }

    void moreThanThereIs()
    {
        const auto memory = PackedMemory::reserve(std::numeric_limits<std::uint64_t>::max() / 2);
        QVERIFY(!memory);
        QCOMPARE(memory.error().code, ErrorCode::OutOfMemory);
    }

    // What is written stays, whatever the pages are and while they are changed, and whoever takes them.
    void contentStays_data()
    {
        QTest::addColumn<double>("slowMs");
        QTest::addColumn<int>("slowUnits");
        QTest::newRow("large pages throughout") << std::numeric_limits<double>::infinity() << 1;
        QTest::newRow("small pages after the first") << -1.0 << 1;
        QTest::newRow("small pages after three") << -1.0 << 3;
        QTest::newRow("as it comes") << PagePatience().slowMs << int(PagePatience().slowUnits);
    }

    void contentStays()
    {
        QFETCH(double, slowMs);
        QFETCH(int, slowUnits);
        PagePatience patience;
        patience.slowMs = slowMs;
        patience.slowUnits = static_cast<std::uint32_t>(slowUnits);
        patience.beforeJoining = std::chrono::milliseconds(0);
        const auto reserved = PackedMemory::reserve(8 * PackedMemory::unitBytes, patience);
        QVERIFY(reserved);
        PackedMemory &memory = **reserved;
        std::thread other([&] { fill(memory, 1, 2); });
        fill(memory, 0, 2);
        other.join();
        QVERIFY(isFilled(memory));
        memory.joinSmallPages();
        for (int i = 0; i < 20; ++i)
            QVERIFY(isFilled(memory));
    }

    // Leaving does not wait until the pages are joined.
    void leftBeforeJoining()
    {
        PagePatience patience;
        patience.slowMs = -1;
        patience.beforeJoining = std::chrono::hours(24);
        auto memory = PackedMemory::reserve(4 * PackedMemory::unitBytes, patience);
        QVERIFY(memory);
        fill(**memory, 0, 1);
        (*memory)->joinSmallPages();
        memory->reset();
    }
};

TOKENLOUPE_TEST_MAIN(TestPackedMemory)
#include "tst_packedmemory.moc"
