// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/blockmap.h"
#include "widgets/theme/theme.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

namespace {

std::vector<Block> blocksOf(int count, int used)
{
    std::vector<Block> blocks(static_cast<std::size_t>(count));
    for (int i = 0; i < used; ++i)
        blocks[static_cast<std::size_t>(i)] = {BlockState::Used, 1.0F};
    return blocks;
}

} // namespace

class TestBlockMap : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void hoverAndClickTellTheBlock()
    {
        BlockMap map;
        map.resize(200, 60);
        map.setBlocks(blocksOf(32, 6));
        map.show();
        QSignalSpy hovered(&map, &BlockMap::hovered);
        QSignalSpy clicked(&map, &BlockMap::clicked);
        QTest::mouseMove(&map, map.blockRect(17).center());
        QTRY_VERIFY(!hovered.isEmpty());
        QCOMPARE(hovered.last().first().toInt(), 17);
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.blockRect(3).center());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked.first().first().toInt(), 3);
        // between the squares there is nothing
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.blockRect(3).topRight() + QPoint(1, 0));
        QCOMPARE(clicked.size(), 1);
    }

    void everyBlockHasAPlaceInside_data()
    {
        QTest::addColumn<int>("count");
        QTest::newRow("none") << 0;
        QTest::newRow("one") << 1;
        QTest::newRow("some") << 32;
        QTest::newRow("many") << 512;
        QTest::newRow("more than pixels") << 100'000;
    }
    void everyBlockHasAPlaceInside()
    {
        QFETCH(int, count);
        BlockMap map;
        map.resize(320, 40);
        map.show();
        map.setBlocks(blocksOf(count, count / 2));
        for (int i = 0; i < count; i += std::max(1, count / 50)) {
            QVERIFY2(map.rect().contains(map.blockRect(i)), qPrintable(QString::number(i)));
            QCOMPARE(map.blockAt(map.blockRect(i).center()), i / map.squareBlocks() * map.squareBlocks());
        }
        map.grab();
    }

    void fillAndStateAreDrawn()
    {
        BlockMap map;
        map.resize(200, 20);
        map.setBlocks({{BlockState::Reused, 1.0F}, {BlockState::Used, 1.0F}, {BlockState::Used, 0.5F}, {}});
        map.show();
        const QImage image = map.grab().toImage();
        const ThemeColors &c = Theme::instance().colors();
        const auto at = [&](int block, int dy) {
            const QRect rect = map.blockRect(block);
            return image.pixelColor(rect.center().x() + 4, rect.top() + dy);
        };
        QCOMPARE(at(0, 12), c.stage(StageFamily::MassCut));
        QCOMPARE(at(1, 3), c.stage(StageFamily::CountCut));
        QCOMPARE(at(2, 3), c.chip); // the upper half is free
        QCOMPARE(at(2, 12), c.stage(StageFamily::CountCut));
        QCOMPARE(at(3, 12), c.chip);
    }

    void keyboardWalks()
    {
        BlockMap map;
        map.resize(200, 60);
        map.setBlocks(blocksOf(32, 6));
        map.setBlockText([](int block) { return QStringLiteral("block %1").arg(block); });
        map.show();
        map.setFocus(Qt::TabFocusReason);
        QApplication::sendEvent(&map,
                                std::make_unique<QFocusEvent>(QEvent::FocusIn, Qt::TabFocusReason).get());
        QSignalSpy clicked(&map, &BlockMap::clicked);
        QTest::keyClick(&map, Qt::Key_Right);
        QCOMPARE(map.accessibleDescription(), QStringLiteral("block 1"));
        QTest::keyClick(&map, Qt::Key_Return);
        QCOMPARE(clicked.last().first().toInt(), 1);
        QTest::keyClick(&map, Qt::Key_Left);
        QTest::keyClick(&map, Qt::Key_Left); // stays at the first
        QTest::keyClick(&map, Qt::Key_Space);
        QCOMPARE(clicked.last().first().toInt(), 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestBlockMap)
#include "tst_blockmap.moc"
