// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/blockmap.h"
#include "widgets/controls/blockmaplegend.h"
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
        blocks[static_cast<std::size_t>(i)] = {BlockState::Active, 1.0F, {}, 0};
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
        map.resize(220, 22);
        map.setBlocks({{BlockState::Active, 1.0F, BlockFlag::PrefixHit, 0},
                       {BlockState::Active, 1.0F, {}, 0},
                       {BlockState::Active, 0.5F, {}, 0},
                       {},
                       {BlockState::Active, 1.0F, BlockFlag::Other, 0}});
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
        QVERIFY(at(4, 12) != c.stage(StageFamily::CountCut));
        QVERIFY(contrastRatio(at(4, 12), c.panel) >= 3.0);
    }

    void everyMarkShows_data()
    {
        QTest::addColumn<Block>("block");
        QTest::newRow("prefix hit") << Block{BlockState::Active, 0.7F, BlockFlag::PrefixHit, 1};
        QTest::newRow("written") << Block{BlockState::Active, 0.7F, BlockFlag::Written, 1};
        QTest::newRow("evicted") << Block{BlockState::Active, 0.7F, BlockFlag::Evicted, 1};
        QTest::newRow("own") << Block{BlockState::Active, 0.7F, BlockFlag::Own, 1};
        QTest::newRow("other") << Block{BlockState::Active, 0.7F, BlockFlag::Other, 1};
        QTest::newRow("selected") << Block{BlockState::Active, 0.7F, BlockFlag::Selected, 1};
        QTest::newRow("shared") << Block{BlockState::Active, 0.7F, {}, 2};
        QTest::newRow("kept") << Block{BlockState::Cached, 0.7F, {}, 0};
        QTest::newRow("free") << Block{};
    }
    // Without its colour too: a picture in greys differs from that of a plain block by more than a shade.
    void everyMarkShows()
    {
        QFETCH(Block, block);
        const auto greys = [](const Block &shown) {
            BlockMap map;
            map.resize(60, 26);
            map.setBlocks({shown});
            map.show();
            return map.grab().toImage().convertToFormat(QImage::Format_Grayscale8);
        };
        const QImage marked = greys(block);
        const QImage plain = greys({BlockState::Active, 0.7F, {}, 1});
        int different = 0;
        for (int y = 0; y < plain.height(); ++y)
            for (int x = 0; x < plain.width(); ++x)
                different += std::abs(qGray(marked.pixel(x, y)) - qGray(plain.pixel(x, y))) > 24 ? 1 : 0;
        QVERIFY2(different >= 12, qPrintable(QString::number(different)));
    }

    void theNumberOfOwnersIsAMatterOfRoom()
    {
        // large squares show how many, small ones that there are several
        const auto picture = [](std::uint32_t shared, int count) {
            BlockMap map;
            map.resize(120, 40);
            std::vector<Block> blocks = blocksOf(count, count);
            blocks[0].shared = shared;
            map.setBlocks(blocks);
            map.show();
            return map.grab().toImage();
        };
        QVERIFY(picture(2, 8) != picture(3, 8));
        QVERIFY(picture(2, 60) == picture(3, 60));
        QVERIFY(picture(1, 60) != picture(2, 60));
    }

    void severalBlocksInOneSquareKeepTheirMarks()
    {
        const std::vector<Block> blocks{{},
                                        {BlockState::Cached, 1.0F, {}, 0},
                                        {BlockState::Active, 1.0F, BlockFlag::Written, 3},
                                        {BlockState::Active, 0.0F, BlockFlag::Other, 1}};
        const Block all = mergedBlock(blocks.data(), blocks.data() + blocks.size());
        QCOMPARE(all.state, BlockState::Active);
        QCOMPARE(all.fill, 0.5F);
        QCOMPARE(all.shared, 3U);
        QVERIFY(all.flags.testFlag(BlockFlag::Written));
        QVERIFY(!all.flags.testFlag(BlockFlag::Other)); // not only others'
        QCOMPARE(mergedBlock(blocks.data(), blocks.data() + 2).state, BlockState::Cached);
        QVERIFY(mergedBlock(blocks.data() + 3, blocks.data() + 4).flags.testFlag(BlockFlag::Other));
    }

    void theLegendNamesTheMarksThatAreThere()
    {
        const std::vector<Block> blocks{{},
                                        {BlockState::Active, 1.0F, BlockFlag::Written, 2},
                                        {BlockState::Cached, 1.0F, BlockFlag::PrefixHit, 0}};
        QCOMPARE(marksIn(blocks),
                 (std::vector<BlockMark>{BlockMark::Active, BlockMark::PrefixHit, BlockMark::Shared,
                                         BlockMark::Written, BlockMark::Cached, BlockMark::Free}));
        for (const BlockMark mark : marksIn(blocks)) {
            const std::vector<BlockMark> shown = marksIn({sampleOf(mark)});
            QVERIFY(std::find(shown.begin(), shown.end(), mark) != shown.end());
        }
        BlockMapLegend legend;
        legend.setMarks(marksIn(blocks));
        QVERIFY(legend.heightForWidth(130) > legend.heightForWidth(600)); // wraps
        QVERIFY(legend.accessibleDescription().contains(BlockMapLegend::nameOf(BlockMark::Shared)));
        legend.resize(300, legend.heightForWidth(300));
        legend.show();
        legend.grab();
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
        QTest::keyClick(&map, Qt::Key_End);
        QCOMPARE(map.hoveredBlock(), 31);
        QTest::keyClick(&map, Qt::Key_Home);
        QCOMPARE(map.hoveredBlock(), 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestBlockMap)
#include "tst_blockmap.moc"
