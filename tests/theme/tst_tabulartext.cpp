// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/theme/tabulartext.h"
#include "widgets/theme/theme.h"

#include <QApplication>
#include <QPainter>
#include <QTest>

using namespace tokenloupe;

class TestTabularText : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void digitsAreEquallyWide()
    {
        const QFont font = Theme::instance().font(TextRole::Body);
        QCOMPARE(tabularWidth(font, QStringLiteral("111.1")), tabularWidth(font, QStringLiteral("888.8")));
        QVERIFY(tabularWidth(font, QStringLiteral("8888")) > tabularWidth(font, QStringLiteral("888")));
        QCOMPARE(tabularWidth(font, QString()), 0.0);
    }

    void alignsToTheRight()
    {
        QImage image(100, 30, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        painter.setFont(Theme::instance().font(TextRole::Body));
        painter.setPen(Qt::black);
        drawTabular(painter, QRectF(0, 0, 100, 30), Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("88"));
        painter.end();
        const auto inked = [&](int from, int to) {
            for (int x = from; x < to; ++x)
                for (int y = 0; y < image.height(); ++y)
                    if (image.pixelColor(x, y).lightness() < 128)
                        return true;
            return false;
        };
        QVERIFY(!inked(0, 70));
        QVERIFY(inked(70, 100));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestTabularText)
#include "tst_tabulartext.moc"
