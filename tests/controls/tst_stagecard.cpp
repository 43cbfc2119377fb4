// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/stagecard.h"
#include "widgets/theme/theme.h"

#include <QApplication>
#include <QImage>
#include <QPainter>
#include <QTest>

using namespace tokenloupe;

class TestStageCard : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void partsDoNotOverlap()
    {
        const QRect card(QPoint(0, 0), StageCard::sizeHint());
        QVERIFY(card.contains(StageCard::toggleRect(card)));
        QVERIFY(card.contains(StageCard::handleRect(card)));
        QVERIFY(!StageCard::toggleRect(card).intersects(StageCard::handleRect(card)));
    }

    void theFamilysColourIsThere_data()
    {
        QTest::addColumn<StageFamily>("family");
        QTest::newRow("penalties") << StageFamily::Penalties;
        QTest::newRow("count cut") << StageFamily::CountCut;
        QTest::newRow("mass cut") << StageFamily::MassCut;
        QTest::newRow("temperature") << StageFamily::Temperature;
    }
    void theFamilysColourIsThere()
    {
        QFETCH(StageFamily, family);
        StageCard card{QStringLiteral("Title"), QStringLiteral("sub"), QStringLiteral("40"),
                       QStringLiteral("96.0 %"), family};
        const auto count = [&](const StageCard &drawn) {
            QImage image(StageCard::sizeHint(), QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            drawn.paint(painter, image.rect(), QStyle::State_Enabled);
            painter.end();
            const QColor color = Theme::instance().colors().stage(family);
            int pixels = 0;
            for (int x = 0; x < image.width(); ++x)
                pixels += image.pixelColor(x, image.height() / 2) == color ? 1 : 0;
            return pixels;
        };
        QVERIFY(count(card) >= 3);
        card.active = false; // faded
        QCOMPARE(count(card), 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestStageCard)
#include "tst_stagecard.moc"
