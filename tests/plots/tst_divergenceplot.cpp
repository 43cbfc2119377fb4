// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/divergenceplot.h"
#include "widgets/plots/powerscale.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <limits>

using namespace tokenloupe;

class TestDivergencePlot : public QObject
{
    Q_OBJECT

    static std::vector<DivergenceBar> bars(int count)
    {
        std::vector<DivergenceBar> list;
        for (int i = 0; i < count; ++i)
            list.push_back({i, 1e-6 * (1 + i % 7), QStringLiteral("t%1").arg(i)});
        return list;
    }
    static void click(DivergencePlot &plot, double x)
    {
        const QPoint at = plot.pixelAt(x, 1.0).toPoint();
        QTest::mouseClick(plot.childAt(at), Qt::LeftButton, {}, at);
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void smallNumbersGetAPowerOfAThousand_data()
    {
        QTest::addColumn<double>("largest");
        QTest::addColumn<double>("divisor");
        QTest::addColumn<QString>("text");
        QTest::newRow("nothing") << 0.0 << 1.0 << QString();
        QTest::newRow("large") << 30.0 << 1.0 << QString();
        QTest::newRow("still read as it is") << 0.06 << 1.0 << QString();
        QTest::newRow("thousandths") << 0.04 << 1e-3 << QStringLiteral("10⁻³");
        QTest::newRow("millionths") << 8e-6 << 1e-6 << QStringLiteral("10⁻⁶");
        QTest::newRow("below all") << 1e-20 << 1e-12 << QStringLiteral("10⁻¹²");
        QTest::newRow("infinite") << std::numeric_limits<double>::infinity() << 1.0 << QString();
    }

    void smallNumbersGetAPowerOfAThousand()
    {
        QFETCH(double, largest);
        QFETCH(double, divisor);
        QFETCH(QString, text);
        const PowerScale scale = powerScaleFor(largest);
        QVERIFY(std::abs(scale.divisor / divisor - 1.0) < 1e-12);
        QCOMPARE(scale.text, text);
    }

    void readsAndExports()
    {
        DivergencePlot plot(QStringLiteral("divergence"));
        plot.resize(500, 200);
        plot.show();
        auto data = bars(10);
        data.erase(data.begin() + 4); // not compared
        plot.setBars(data, 10);
        plot.replotNow();
        QCOMPARE(plot.drawnBars(), 9);
        QCOMPARE(plot.readoutAt(plot.pixelAt(3, 1).toPoint()),
                 QStringLiteral("position 3\nafter t2\nKL 3.00×10⁻⁶ nats"));
        QVERIFY(plot.readoutAt(plot.pixelAt(5, 1).toPoint()).isEmpty());
        const QStringList lines = plot.csv().split(QLatin1Char('\n'));
        QCOMPARE(lines[0], QStringLiteral("position,kl_nats"));
        QCOMPARE(lines[5].section(QLatin1Char(','), 0, 0), QStringLiteral("6")); // the fifth is missing
        QCOMPARE(lines[5].section(QLatin1Char(','), 1).toDouble(), data[4].kl);
        QCOMPARE(plot.csv().count(QLatin1Char('\n')), 10);
        plot.setBars({}, 0);
        plot.replotNow();
        QCOMPARE(plot.drawnBars(), 0);
    }

    void aClickTellsThePosition()
    {
        DivergencePlot plot(QStringLiteral("divergence"));
        plot.resize(500, 200);
        plot.show();
        plot.setBars(bars(10), 20);
        plot.replotNow();
        QSignalSpy clicked(&plot, &DivergencePlot::positionClicked);
        click(plot, 6.0);
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][0].toInt(), 5);
        click(plot, 15.0); // of the text, but not compared
        QCOMPARE(clicked.size(), 1);
    }

    void theLargestOfAPixelIsClicked()
    {
        DivergencePlot plot(QStringLiteral("divergence"));
        plot.resize(400, 200);
        plot.show();
        auto data = bars(20'000);
        data[9'000].kl = 1e-3;
        plot.setBars(data, int(data.size()));
        plot.replotNow();
        QVERIFY(plot.drawnBars() > 100 && plot.drawnBars() <= 400);
        QSignalSpy clicked(&plot, &DivergencePlot::positionClicked);
        click(plot, 9'001.0);
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][0].toInt(), 9'000);
    }

    void theSelectedPositionIsMarked()
    {
        DivergencePlot plot(QStringLiteral("divergence"));
        plot.resize(500, 200);
        plot.show();
        plot.setBars(bars(10), 10);
        plot.replotNow();
        const QImage before = plot.grab().toImage();
        plot.setSelected(3);
        plot.replotNow();
        QVERIFY(plot.grab().toImage() != before);
        plot.setSelected(-1);
        plot.replotNow();
        QVERIFY(plot.grab().toImage() == before);
    }

    void anInfiniteDivergenceDoesNotFlattenTheRest()
    {
        DivergencePlot plot(QStringLiteral("divergence"));
        plot.resize(500, 200);
        plot.show();
        auto data = bars(10);
        data[2].kl = std::numeric_limits<double>::infinity();
        plot.setBars(data, 10);
        plot.replotNow();
        QVERIFY(plot.visibleY().to < 10.0); // 10⁻⁶
        QCOMPARE(plot.readoutAt(plot.pixelAt(3, 1).toPoint()),
                 QStringLiteral("position 3\nafter t2\nKL ∞ nats"));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestDivergencePlot)
#include "tst_divergenceplot.moc"
