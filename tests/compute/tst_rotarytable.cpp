// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/rotarytable.h"

#include "tests/support/testmain.h"

#include <cmath>

using namespace tokenloupe;

class TestRotaryTable : public QObject
{
    Q_OBJECT

private slots:
    void followsEveryChange();
    void magnitudeIsOfBoth();
    void twoTablesAreKept();
};

void TestRotaryTable::followsEveryChange()
{
    RotaryTable table;
    const std::vector<float> slow = {1.0F, 0.25F, 0.01F};
    const std::vector<float> slower = {1.0F, 0.125F, 0.01F};
    const std::vector<float> fewer = {1.0F, 0.125F};
    struct Call
    {
        std::uint32_t first;
        std::int64_t rows;
        const std::vector<float> *frequencies;
    };
    const std::vector<Call> calls = {{0, 4, &slow},      {0, 4, &slow},   {3, 4, &slow},  {3, 2, &slow},
                                     {100000, 1, &slow}, {0, 4, &slower}, {0, 4, &fewer}, {0, 4, &slow}};
    for (const Call &call : calls) {
        table.prepare(call.first, call.rows, *call.frequencies);
        QCOMPARE(table.pairs(), static_cast<std::int64_t>(call.frequencies->size()));
        for (std::int64_t row = 0; row < call.rows; ++row) {
            for (std::int64_t pair = 0; pair < table.pairs(); ++pair) {
                const double angle = static_cast<double>(call.first + row) *
                                     static_cast<double>((*call.frequencies)[static_cast<std::size_t>(pair)]);
                QVERIFY(std::abs(static_cast<double>(table.cosines(row)[pair]) - std::cos(angle)) < 1e-7);
                QVERIFY(std::abs(static_cast<double>(table.sines(row)[pair]) - std::sin(angle)) < 1e-7);
            }
        }
    }
}

void TestRotaryTable::magnitudeIsOfBoth()
{
    const std::vector<float> frequencies = {1.0F, 0.3F};
    RotaryTable table;
    table.prepare(5, 3, frequencies);
    table.prepare(5, 3, frequencies, 1.5F);
    QVERIFY(std::abs(static_cast<double>(table.cosines(2)[1]) - 1.5 * std::cos(7 * 0.3)) < 1e-6);
    QVERIFY(std::abs(static_cast<double>(table.sines(2)[0]) - 1.5 * std::sin(7.0)) < 1e-6);
    table.cover(4, 4, frequencies, 2.0F);
    QVERIFY(std::abs(static_cast<double>(table.cosines(3)[0]) - 2.0 * std::cos(3.0)) < 1e-6);
}

void TestRotaryTable::twoTablesAreKept()
{
    const std::vector<float> whole = {1.0F, 0.01F};
    const std::vector<float> local = {1.0F, 0.1F};
    const std::vector<float> third = {1.0F};
    RotaryTables tables;
    RotaryTable *first = &tables.of(whole, 1.0F);
    first->prepare(0, 4, whole);
    RotaryTable *second = &tables.of(local, 1.0F);
    QVERIFY(first != second);
    second->prepare(0, 4, local);
    QCOMPARE(&tables.of(whole, 1.0F), first);
    QCOMPARE(&tables.of(local, 1.0F), second);
    QCOMPARE(&tables.of(local, 1.0F), second);
    QCOMPARE(&tables.of(third, 1.0F), first);
    QCOMPARE(&tables.of(local, 2.0F), second); // no table is of this; the caller prepares it
}

TOKENLOUPE_TEST_MAIN(TestRotaryTable)
#include "tst_rotarytable.moc"
