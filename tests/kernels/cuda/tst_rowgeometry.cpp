// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/rowgeometry.h"
#include "tests/support/testmain.h"

#include <limits>

using namespace tokenloupe::cuda;

class TestRowGeometry : public QObject
{
    Q_OBJECT

private slots:
    void everyColumnHasAThread();
    void shortRowsShareABlock();
    void limits();
    void piecesCoverRows();
    void pieceLimits();
};

void TestRowGeometry::everyColumnHasAThread()
{
    for (int columns = 1; columns <= 3 * keptColumns; columns += columns < 5000 ? 1 : 97) {
        const RowLaunch launch = rowLaunch(5, columns, 100);
        QCOMPARE(launch.shape.block.x % 32, 0U);
        QVERIFY(launch.shape.block.x <= unsigned(largestThreads));
        const unsigned threads = launch.warpRows > 0 ? 32U : launch.shape.block.x;
        if (launch.fours > 0) {
            QVERIFY(launch.fours == 1 || launch.fours == foursKept);
            QVERIFY(int(threads) * 4 * launch.fours >= columns);
            // ... and not one warp too many
            if (launch.warpRows == 0)
                QVERIFY(int(threads - 32) * 4 * launch.fours < columns);
        } else {
            QVERIFY(columns > keptColumns);
        }
        QCOMPARE(launch.shape.sharedBytes, launch.warpRows > 0 ? std::size_t(0) : std::size_t(100));
    }
}

void TestRowGeometry::shortRowsShareABlock()
{
    for (const int rows : {1, 3, 4, 5, 1000}) {
        const RowLaunch heads = rowLaunch(rows, 64, 100);
        QCOMPARE(heads.shape.block.x, unsigned(heads.warpRows) * 32U);
        QVERIFY(int(heads.shape.grid.x) * heads.warpRows >= rows);
        QVERIFY(int(heads.shape.grid.x - 1) * heads.warpRows < rows);
        QCOMPARE(rowLaunch(rows, warpRowColumns + 1, 100).shape.grid.x, unsigned(rows));
    }
    QVERIFY(rowLaunch(1, warpRowColumns, 100).warpRows > 0);
    QCOMPARE(rowLaunch(1, warpRowColumns + 1, 100).warpRows, 0);
}

void TestRowGeometry::limits()
{
    const std::int32_t most = std::numeric_limits<std::int32_t>::max();
    QCOMPARE(rowLaunch(0, 64, 0).shape.grid.x, 0U);
    QCOMPARE(rowLaunch(-1, 64, 0).shape.grid.x, 0U);
    QCOMPARE(rowLaunch(1, 0, 0).shape.grid.x, 0U);
    QCOMPARE(rowLaunch(1, largestColumns + 1, 0).shape.grid.x, 0U);
    QCOMPARE(rowLaunch(1, most, 0).shape.grid.x, 0U);
    QCOMPARE(rowLaunch(most, 1 << 20, 0).shape.grid.x, unsigned(most));
    QCOMPARE(rowLaunch(1, largestColumns, 0).fours, 0);
    const RowLaunch mostShort = rowLaunch(most, 1, 0);
    QVERIFY(std::int64_t(mostShort.shape.grid.x) * mostShort.warpRows >= most);
}

void TestRowGeometry::piecesCoverRows()
{
    for (std::int64_t columns = 1; columns <= 5000; ++columns) {
        const PieceLaunch launch = pieceLaunch(3, columns);
        QVERIFY(std::int64_t(launch.pieces) * pieceColumns >= columns);
        QVERIFY(std::int64_t(launch.pieces - 1) * pieceColumns < columns);
        QCOMPARE(launch.shape.grid.x, unsigned(3 * launch.pieces));
        QCOMPARE(launch.shape.block.x % 32, 0U);
        QVERIFY(std::int64_t(launch.shape.block.x) * 4 >= std::min<std::int64_t>(columns, pieceColumns));
        QVERIFY(launch.shape.block.x * 4 <= unsigned(pieceColumns));
    }
}

void TestRowGeometry::pieceLimits()
{
    QCOMPARE(pieceLaunch(0, 4).shape.grid.x, 0U);
    QCOMPARE(pieceLaunch(4, 0).shape.grid.x, 0U);
    QCOMPARE(pieceLaunch(-4, 4).shape.grid.x, 0U);
    QCOMPARE(pieceLaunch(1, largestGrid * pieceColumns).shape.grid.x, unsigned(largestGrid));
    QCOMPARE(pieceLaunch(1, largestGrid * pieceColumns + 1).shape.grid.x, 0U);
    QCOMPARE(pieceLaunch(2, largestGrid * pieceColumns).shape.grid.x, 0U);
    QCOMPARE(pieceLaunch(1, std::numeric_limits<std::int64_t>::max() / 2).shape.grid.x, 0U);
    QCOMPARE(pieceLaunch(std::numeric_limits<std::int32_t>::max(), 8).shape.grid.x, unsigned(largestGrid));
}

TOKENLOUPE_TEST_MAIN(TestRowGeometry)
#include "tst_rowgeometry.moc"
