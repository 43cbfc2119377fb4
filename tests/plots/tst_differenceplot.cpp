// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/differenceplot.h"

#include <QApplication>
#include <QTest>

using namespace tokenloupe;

class TestDifferencePlot : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void readsAndExports()
    {
        DifferencePlot plot(QStringLiteral("difference"));
        plot.resize(400, 200);
        plot.show();
        plot.setSpans({{-2.0, -1.0, -0.25, 0.5, 3}, {1.0, 2.0, 0.125, 0.125, 1}});
        plot.replotNow();
        QCOMPARE(plot.drawnBars(), 2);
        QCOMPARE(plot.readoutAt(plot.pixelAt(-1.5, 0).toPoint()).section(QLatin1Char('\n'), 1),
                 QStringLiteral("3\u00A0tokens\nΔ −0.250 to 0.500"));
        QVERIFY(plot.readoutAt(plot.pixelAt(0.0, 0).toPoint()).isEmpty()); // no token has such a logit
        QCOMPARE(plot.csv(),
                 QStringLiteral("logit_from,logit_to,tokens,lowest_difference,highest_difference\n"
                                "-2,-1,3,-0.25,0.5\n1,2,1,0.125,0.125\n"));
        QVERIFY(plot.visibleX().from < -2.0 && plot.visibleX().to > 2.0);
        QCOMPARE(plot.visibleY().from, -plot.visibleY().to);
        QVERIFY(plot.visibleY().to > 0.5);
    }

    void manyColumnsShareAPixel()
    {
        DifferencePlot plot(QStringLiteral("difference"));
        plot.resize(300, 200);
        plot.show();
        std::vector<DifferenceSpan> spans;
        for (int i = 0; i < 2000; ++i)
            spans.push_back({i * 0.01, (i + 1) * 0.01, -0.001, 0.002, 5});
        plot.setSpans(spans);
        plot.replotNow();
        QVERIFY(plot.drawnBars() > 100 && plot.drawnBars() < 300);
        QVERIFY(plot.visibleY().to > 2.0 && plot.visibleY().to < 3.0); // thousandths
    }

    void nothingDiffersIsALine()
    {
        DifferencePlot plot(QStringLiteral("difference"));
        plot.resize(300, 200);
        plot.show();
        plot.setSpans({{0.0, 1.0, 0.0, 0.0, 7}});
        plot.replotNow();
        QCOMPARE(plot.visibleY(), (PlotRange{-1.12, 1.12}));
        QCOMPARE(plot.drawnBars(), 1);
        plot.setSpans({});
        plot.replotNow();
        QCOMPARE(plot.drawnBars(), 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestDifferencePlot)
#include "tst_differenceplot.moc"
