// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/comparisonplot.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestComparisonPlot : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void readsAllSeriesOfAStep()
    {
        ComparisonPlot plot(QStringLiteral("cost"), QStringLiteral("ms"));
        plot.resize(400, 200);
        plot.show();
        plot.setSeries({{QStringLiteral("with"), {1.0, 2.0, 3.0}, StageFamily::CountCut},
                        {QStringLiteral("without"), {10.0, 20.0}, StageFamily::Penalties}});
        plot.replotNow();
        QCOMPARE(plot.pointCount(0), 3);
        QCOMPARE(plot.pointCount(1), 2);
        QCOMPARE(plot.pointCount(2), 0);
        QCOMPARE(plot.readoutAt(plot.pixelAt(2, 5).toPoint()),
                 QStringLiteral("step 2\nwith: 2.00 ms\nwithout: 20.0 ms"));
        QCOMPARE(plot.readoutAt(plot.pixelAt(3, 5).toPoint()), QStringLiteral("step 3\nwith: 3.00 ms"));
        QVERIFY(plot.readoutAt(plot.pixelAt(7, 5).toPoint()).isEmpty());
        QVERIFY(plot.visibleY().to > 20.0);
    }

    void exportsWithUnits()
    {
        ComparisonPlot plot(QStringLiteral("cost"), QStringLiteral("ms"));
        plot.setSeries({{QStringLiteral("a"), {1.0, 2.0}, StageFamily::CountCut},
                        {QStringLiteral("b"), {4.0}, StageFamily::Penalties}});
        QCOMPARE(plot.csv(), QStringLiteral("step,\"a (ms)\",\"b (ms)\"\n1,1,4\n2,2,\n"));
        plot.setUnit(QStringLiteral("s"));
        QVERIFY(plot.csv().startsWith(QStringLiteral("step,\"a (s)\"")));
        plot.setSeries({});
        QCOMPARE(plot.pointCount(0), 0);
    }

    void aClickTellsTheStep()
    {
        ComparisonPlot plot(QStringLiteral("cost"), QStringLiteral("ms"));
        plot.resize(400, 200);
        plot.show();
        plot.setSeries({{QStringLiteral("a"), {1.0, 2.0, 3.0}, StageFamily::CountCut}});
        plot.replotNow();
        QSignalSpy clicked(&plot, &ComparisonPlot::stepClicked);
        const QPoint at = plot.pixelAt(3, 1).toPoint();
        QTest::mouseClick(plot.childAt(at), Qt::LeftButton, {}, at);
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][0].toInt(), 2);
        const QPoint beyond = plot.pixelAt(6, 1).toPoint(); // no such step
        QTest::mouseClick(plot.childAt(beyond), Qt::LeftButton, {}, beyond);
        QCOMPARE(clicked.size(), 1);
    }

    void theSelectedStepIsMarked()
    {
        ComparisonPlot plot(QStringLiteral("cost"), QStringLiteral("ms"));
        plot.resize(400, 200);
        plot.show();
        plot.setSeries({{QStringLiteral("a"), {1.0, 2.0, 3.0}, StageFamily::CountCut}});
        plot.replotNow();
        const QImage before = plot.grab().toImage();
        plot.setSelected(1);
        plot.replotNow();
        QVERIFY(plot.grab().toImage() != before);
        plot.setSelected(-1);
        plot.replotNow();
        QVERIFY(plot.grab().toImage() == before);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestComparisonPlot)
#include "tst_comparisonplot.moc"
