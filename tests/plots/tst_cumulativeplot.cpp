// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/cumulativeplot.h"
#include "widgets/plots/plotannotations.h"

#include <QApplication>
#include <QTest>
#include <vector>

using namespace tokenloupe;

namespace {

// Running sums of a geometric distribution.
std::vector<double> sums(int count, double ratio)
{
    std::vector<double> result;
    double p = 1.0;
    double sum = 0.0;
    for (int i = 0; i < count; ++i, p *= ratio)
        result.push_back(sum += p);
    for (double &value : result)
        value /= sum;
    return result;
}

const std::vector<QRectF> &placedLabels(const Plot &plot)
{
    const auto *chart = plot.findChild<QCustomPlot *>();
    for (int i = 0; i < chart->itemCount(); ++i)
        if (const auto *annotations = qobject_cast<PlotAnnotations *>(chart->item(i)))
            return annotations->placedLabels();
    static const std::vector<QRectF> none;
    return none;
}

} // namespace

class TestCumulativePlot : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void labelsNeverOverlap_data()
    {
        QTest::addColumn<double>("u");
        QTest::addColumn<double>("p");
        QTest::addColumn<QSize>("size");
        for (const double u : {0.0, 0.03, 0.5, 0.88, 0.9, 0.91, 0.9742, 0.999})
            for (const double p : {0.05, 0.5, 0.9, 0.95, 0.99})
                for (const QSize size : {QSize(330, 140), QSize(220, 90), QSize(160, 70)})
                    QTest::addRow("u %g p %g %dx%d", u, p, size.width(), size.height()) << u << p << size;
    }
    void labelsNeverOverlap()
    {
        QFETCH(double, u);
        QFETCH(double, p);
        QFETCH(QSize, size);
        CumulativePlot plot(QStringLiteral("sums"));
        plot.resize(size);
        plot.show();
        plot.setSums(sums(40, 0.7), sums(9, 0.5));
        plot.setMassCut(p, QStringLiteral("top-p 0.90"));
        plot.setDraw(u, 3, QStringLiteral("draw u = 0.9742"), QStringLiteral("·Air"));
        plot.replotNow();
        const std::vector<QRectF> &placed = placedLabels(plot);
        if (size.width() >= 300)
            QCOMPARE(placed.size(), std::size_t(3)); // with room there is a place for all
        const QRectF area(plot.plotArea().adjusted(-1, -1, 1, 1));
        for (std::size_t i = 0; i < placed.size(); ++i) {
            QVERIFY(area.contains(placed[i]));
            for (std::size_t j = 0; j < i; ++j)
                QVERIFY2(!placed[i].intersects(placed[j]), "two labels overlap");
        }
    }

    void readsBothSums()
    {
        CumulativePlot plot(QStringLiteral("sums"));
        plot.resize(400, 200);
        plot.show();
        plot.setSums(std::vector<double>{0.25, 0.5, 0.75}, std::vector<double>{0.5, 1.0});
        plot.replotNow();
        const QString text = plot.readoutAt(plot.pixelAt(1.5, 0.5).toPoint());
        QVERIFY2(text.contains(QStringLiteral("first 2 tokens")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("raw 50.0 %")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("at the draw 100.0 %")), qPrintable(text));
        QCOMPARE(plot.csv(), QStringLiteral("tokens,raw,at_the_draw\n1,0.25,0.5\n2,0.5,1\n3,0.75,\n"));
        plot.clear();
        plot.replotNow();
        QVERIFY(plot.readoutAt(plot.pixelAt(1.5, 0.5).toPoint()).isEmpty());
    }

    void theDrawnTokenIsInTheFirstView()
    {
        CumulativePlot plot(QStringLiteral("sums"));
        plot.resize(400, 200);
        plot.setSums(sums(4096, 0.999), sums(4096, 0.999));
        plot.setDraw(0.9, 3000, QStringLiteral("u"), QStringLiteral("x"));
        QVERIFY(plot.visibleX().to > 3000.0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestCumulativePlot)
#include "tst_cumulativeplot.moc"
