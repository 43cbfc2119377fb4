// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/capacityplot.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestCapacityPlot : public QObject
{
    Q_OBJECT

    static void fill(CapacityPlot &plot)
    {
        plot.resize(420, 200);
        plot.show();
        plot.setCurve({{1.0, 2.0}, {100.0, 4.0}, {200.0, 6.0}});
        plot.setCapacity(5.0, QStringLiteral("there is 5"));
        plot.setCurrent(QPointF(100.0, 4.0), QStringLiteral("now 4"));
        plot.setCrossing(150.0, QStringLiteral("150 tokens"));
        plot.replotNow();
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void showsTheWholeCurveAndTheCapacity()
    {
        CapacityPlot plot(QStringLiteral("memory"), QStringLiteral("tokens"), QStringLiteral("GiB"));
        fill(plot);
        QCOMPARE(plot.visibleX().from, 0.0);
        QCOMPARE(plot.visibleX().to, 200.0);
        QVERIFY(plot.visibleY().to > 6.0);
        plot.setCapacity(48.0, QStringLiteral("there is 48"));
        QVERIFY(plot.visibleY().to > 48.0);
    }

    void theCursorReadsBetweenPoints()
    {
        CapacityPlot plot(QStringLiteral("memory"), QStringLiteral("tokens"), QStringLiteral("GiB"));
        fill(plot);
        const QString below = plot.readoutAt(plot.pixelAt(150.0, 1.0).toPoint());
        QVERIFY2(below.contains(QStringLiteral("needs 5.0")) || below.contains(QStringLiteral("needs 4.9")),
                 qPrintable(below));
        QVERIFY(plot.readoutAt(plot.pixelAt(190.0, 1.0).toPoint()).contains(QStringLiteral("too much")));
        QVERIFY(plot.readoutAt(plot.pixelAt(20.0, 1.0).toPoint()).contains(QStringLiteral("leaves")));
    }

    void unitAndValuesAreExported()
    {
        CapacityPlot plot(QStringLiteral("memory"), QStringLiteral("tokens"), QStringLiteral("GiB"));
        plot.setYUnit(QStringLiteral("MiB"));
        fill(plot);
        const QStringList lines = plot.csv().trimmed().split(QLatin1Char('\n'));
        QCOMPARE(lines[0], QStringLiteral("tokens,needed_MiB,capacity_MiB"));
        QCOMPARE(lines[2], QStringLiteral("100,4,5"));
        QCOMPARE(lines.size(), 4);
    }

    void aClickTellsWhere()
    {
        CapacityPlot plot(QStringLiteral("memory"), QStringLiteral("tokens"), QStringLiteral("GiB"));
        fill(plot);
        QSignalSpy clicked(&plot, &Plot::clicked);
        const QPoint pos = plot.pixelAt(120.0, 3.0).toPoint();
        QTest::mouseClick(plot.childAt(pos), Qt::LeftButton, {}, pos);
        QCOMPARE(clicked.count(), 1);
        QVERIFY(std::abs(clicked[0][0].toDouble() - 120.0) < 1.0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestCapacityPlot)
#include "tst_capacityplot.moc"
