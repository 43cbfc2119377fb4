// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/productgeometry.h"

#include "tests/support/testmain.h"

using namespace tokenloupe::cuda;

class TestProductGeometry : public QObject
{
    Q_OBJECT

private slots:
    void blocksCoverAllRows_data();
    void blocksCoverAllRows();
    void matricesTogether_data();
    void matricesTogether();
    void decodedRows();
};

void TestProductGeometry::blocksCoverAllRows_data()
{
    QTest::addColumn<qint64>("rows");
    QTest::addColumn<qint64>("steps");
    QTest::addColumn<int>("splits");
    const auto add = [](qint64 rows, qint64 columns, int splits) {
        QTest::addRow("%lld x %lld", rows, columns) << rows << columns / unitColumns << splits;
    };
    add(1, 32, 1);
    add(1, 1024, 1);
    add(1, 1056, 2);
    add(1, 2080, 4);
    add(1, 16384, 4);
    add(64, 64, 1);
    add(576, 576, 1);
    add(1024, 4096, 4);
    add(4096, 4096, 4);
    add(4096, 14336, 4);
    add(8192, 4096, 2);
    add(14336, 4096, 2);
    add(16384, 4096, 1);
    add(49152, 576, 1);
    add(262144, 16384, 1);
    add(262144, 53248, 1);
    add(0x7FFFFFFF, 32, 1);
}

void TestProductGeometry::blocksCoverAllRows()
{
    QFETCH(qint64, rows);
    QFETCH(qint64, steps);
    QFETCH(int, splits);
    QVERIFY(groupRows * 8 <= warpLanes); // a lane for each sum of the kernels for 8 rows
    const ProductGeometry geometry = productGeometry(rows, steps);
    QCOMPARE(1 << geometry.splitShift, splits);
    // Enough blocks and none too many, as many as a grid can have along x.
    const qint64 blockRows = qint64(productWarps / splits) * groupRows;
    QVERIFY(geometry.blocks * blockRows >= rows);
    QVERIFY((geometry.blocks - 1) * blockRows < rows);
    QVERIFY(geometry.blocks >= 1 && geometry.blocks <= 0x7FFFFFFF);
    // No warp without a step.
    QVERIFY(splits == 1 || qint64(warpLanes) * (splits / 2) < steps);
}

void TestProductGeometry::matricesTogether_data()
{
    QTest::addColumn<QList<qint64>>("rows");
    QTest::addColumn<qint64>("steps");
    const auto add = [](qint64 first, qint64 second, qint64 third, qint64 steps) {
        QTest::addRow("%lld, %lld, %lld x %lld steps", first, second, third, steps)
            << QList<qint64>{first, second, third} << steps;
    };
    add(1, 0, 0, 1);
    add(1, 1, 1, 1);
    add(4096, 1024, 1024, 128);
    add(14336, 14336, 0, 128);
    add(576, 192, 192, 18);
    add(262144, 1, 5, 1664);
    add(0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF, 1);
}

/// Each matrix has the blocks that it has alone, one after the other, and all of them fit into a grid.
void TestProductGeometry::matricesTogether()
{
    QFETCH(QList<qint64>, rows);
    QFETCH(qint64, steps);
    const std::int64_t all[mostProducts] = {rows[0], rows[1], rows[2]};
    const ProductsGeometry geometry = productsGeometry(all, steps);
    qint64 before = 0;
    for (int i = 0; i < mostProducts; ++i) {
        const qint64 blocks = geometry.endBlock[i] - before;
        if (all[i] == 0) {
            QCOMPARE(blocks, qint64(0));
            continue;
        }
        const ProductGeometry alone = productGeometry(all[i], steps);
        QCOMPARE(geometry.splitShift[i], alone.splitShift);
        QCOMPARE(blocks, qint64(alone.blocks));
        before = geometry.endBlock[i];
    }
    QVERIFY(before >= 1 && before <= 0x7FFFFFFF);
}

void TestProductGeometry::decodedRows()
{
    QCOMPARE(decodePieces(1), qint64(1));
    QCOMPARE(decodePieces(1024), qint64(1));
    QCOMPARE(decodePieces(1025), qint64(2));
    QCOMPARE(decodePieces(16384), qint64(16));
    QCOMPARE(decodeBlocks(1, 1), qint64(1));
    QCOMPARE(decodeBlocks(5, 1), qint64(2));
    QCOMPARE(decodeBlocks(3, 3), qint64(3));
    QCOMPARE(decodeBlocks(262144, 16), qint64(1048576));
    QCOMPARE(decodeBlocks(0x7FFFFFFF, 4), qint64(0x7FFFFFFF));
    QCOMPARE(decodeBlocks(0x7FFFFFFF, 5), qint64(0));
    QCOMPARE(decodeBlocks(0, 1), qint64(0));
}

TOKENLOUPE_TEST_MAIN(TestProductGeometry)
#include "tst_productgeometry.moc"
