// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/stackedbar.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

namespace {

std::vector<BarSegment> twoParts()
{
    return {{QStringLiteral("weights"), 75.0, QStringLiteral("75"), QStringLiteral("file"), 0},
            {QStringLiteral("KV pool"), 25.0, QStringLiteral("25"), QStringLiteral("cache"), 1}};
}

} // namespace

class TestStackedBar : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void partsAreInProportion()
    {
        StackedBar bar(StackedBar::Legend::Hidden);
        bar.resize(200, bar.sizeHint().height());
        bar.setSegments(twoParts());
        bar.show();
        QCOMPARE(bar.segmentAt(QPoint(10, 5)), 0);
        QCOMPARE(bar.segmentAt(QPoint(145, 5)), 0);
        QCOMPARE(bar.segmentAt(QPoint(155, 5)), 1);
        bar.setFullScale(200.0); // half of the bar stays free
        QCOMPARE(bar.segmentAt(QPoint(70, 5)), 0);
        QCOMPARE(bar.segmentAt(QPoint(80, 5)), 1);
        QCOMPARE(bar.segmentAt(QPoint(150, 5)), -1);
        const QImage image = bar.grab().toImage();
        QCOMPARE(image.pixelColor(20, 8), StackedBar::segmentColor(0));
        QCOMPARE(image.pixelColor(90, 8), StackedBar::segmentColor(1));
    }

    void theLegendIsHoveredLikeThePart()
    {
        StackedBar bar(StackedBar::Legend::Shown);
        bar.resize(300, bar.heightForWidth(300));
        bar.setSegments(twoParts());
        bar.resize(300, bar.heightForWidth(300));
        bar.show();
        QSignalSpy hovered(&bar, &StackedBar::hovered);
        QTest::mouseMove(&bar, QPoint(200, bar.height() - 6));
        QTRY_VERIFY(!hovered.isEmpty());
        QCOMPARE(hovered.last().first().toInt(), 1);
        QCOMPARE(bar.accessibleDescription(), QStringLiteral("weights 75, KV pool 25"));
        QVERIFY(bar.heightForWidth(150) > bar.heightForWidth(300)); // one column instead of two
    }

    void nothingAndZeroAreDrawn()
    {
        StackedBar bar(StackedBar::Legend::Shown);
        bar.resize(200, 40);
        bar.show();
        bar.grab();
        bar.setSegments({{QStringLiteral("none"), 0.0, QStringLiteral("0"), {}, 0}});
        bar.setMarker(0.0, QStringLiteral("marker"));
        bar.grab();
        QCOMPARE(bar.segmentAt(QPoint(50, 5)), -1);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestStackedBar)
#include "tst_stackedbar.moc"
