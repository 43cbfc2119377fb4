// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/steplineplot.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QWheelEvent>
#include <vector>

using namespace tokenloupe;

namespace {

void wheelAt(Plot &plot, const QPoint &pos, int delta)
{
    QWidget *chart = plot.childAt(pos);
    QWheelEvent event(pos, plot.mapToGlobal(pos), QPoint(), QPoint(0, delta), Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(chart, &event);
}

void fill(StepLinePlot &plot, int points)
{
    plot.resize(400, 200);
    plot.show();
    std::vector<QPointF> data;
    for (int i = 0; i < points; ++i)
        data.push_back(QPointF(i, i));
    plot.append(data);
    plot.replotNow();
}

} // namespace

class TestStepLinePlot : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void wheelZoomsAtTheCursorAndDoubleClickResets()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        fill(plot, 100);
        const PlotRange all = plot.visibleX();
        QVERIFY(all.from <= 0.0 && all.to >= 100.0);
        const QPoint middle = plot.plotArea().center();
        const double under = plot.valueAt(middle).x();
        wheelAt(plot, middle, 120);
        QVERIFY(plot.isZoomed());
        QVERIFY(plot.visibleX().to - plot.visibleX().from < all.to - all.from);
        QVERIFY(std::abs(plot.valueAt(middle).x() - under) < 1e-6);
        QTest::mouseDClick(plot.childAt(middle), Qt::LeftButton, {}, middle);
        QVERIFY(!plot.isZoomed());
        QCOMPARE(plot.visibleX(), all);
        wheelAt(plot, middle, -1200); // not further out than there is something
        QCOMPARE(plot.visibleX(), all);
    }

    void dragPans()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        fill(plot, 100);
        const QPoint middle = plot.plotArea().center();
        for (int i = 0; i < 5; ++i)
            wheelAt(plot, middle, 120);
        const PlotRange before = plot.visibleX();
        QSignalSpy clicked(&plot, &Plot::clicked);
        QWidget *chart = plot.childAt(middle);
        QTest::mousePress(chart, Qt::LeftButton, {}, middle);
        QTest::mouseMove(chart, middle - QPoint(20, 0));
        QTest::mouseMove(chart, middle - QPoint(40, 0));
        QTest::mouseRelease(chart, Qt::LeftButton, {}, middle - QPoint(40, 0));
        const PlotRange after = plot.visibleX();
        const double expected = (before.to - before.from) * 40.0 / plot.plotArea().width();
        QVERIFY(std::abs(after.from - before.from - expected) < expected * 0.05);
        QVERIFY(std::abs((after.to - after.from) - (before.to - before.from)) < 1e-6);
        QVERIFY(clicked.isEmpty());
    }

    void keysDoTheSame()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        fill(plot, 100);
        const PlotRange all = plot.visibleX();
        QTest::keyClick(&plot, Qt::Key_Plus);
        const PlotRange closer = plot.visibleX();
        QVERIFY(closer.to - closer.from < all.to - all.from);
        QTest::keyClick(&plot, Qt::Key_Right, Qt::AltModifier);
        QVERIFY(plot.visibleX().from > closer.from);
        QTest::keyClick(&plot, Qt::Key_0);
        QCOMPARE(plot.visibleX(), all);
    }

    void growsWithoutLosingTheZoom()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        fill(plot, 20);
        const PlotRange small = plot.visibleX();
        std::vector<QPointF> more;
        for (int i = 20; i < 300; ++i)
            more.push_back(QPointF(i, i));
        plot.append(more);
        QCOMPARE(plot.pointCount(), 300);
        QVERIFY(plot.visibleX().to > small.to);
        wheelAt(plot, plot.plotArea().center(), 240);
        const PlotRange zoomed = plot.visibleX();
        plot.append(std::vector<QPointF>{QPointF(300, 300)});
        QCOMPARE(plot.visibleX(), zoomed);
    }

    void readsMeasurementAndFormula()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        plot.setFormula(0.5, QStringLiteral("512 KiB a token"));
        plot.resize(400, 200);
        plot.show();
        plot.append(std::vector<QPointF>{QPointF(0, 8), QPointF(16, 16)});
        plot.replotNow();
        const QString text = plot.readoutAt(plot.pixelAt(5, 4).toPoint());
        QVERIFY2(text.contains(QStringLiteral("5 tokens")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("measured 8.000 MiB")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("512 KiB a token: 2.500 MiB")), qPrintable(text));
        QVERIFY(plot.readoutAt(QPoint(0, 0)).isEmpty());
    }

    void theLimitIsInReachOnlyWhenItIsNear()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        plot.setLimit(8192, QStringLiteral("context 8192"));
        fill(plot, 100);
        QVERIFY(plot.visibleX().to < 500);
        for (int i = 0; i < 60; ++i)
            wheelAt(plot, plot.plotArea().center(), -120);
        QVERIFY(plot.visibleX().to > 8192);
        plot.resetView();
        plot.append(std::vector<QPointF>{QPointF(5000, 5000)});
        QVERIFY(plot.visibleX().to > 8192);
        plot.append(std::vector<QPointF>{QPointF(9000, 4000)}); // tokens were dropped, and it went on
        QVERIFY(plot.visibleX().to > 9000);
    }

    void theFormulaBendsWhereATermEnds()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        plot.setFormula({{0.5, 10.0}, {0.25}}, QStringLiteral("f"));
        QCOMPARE(plot.formulaAt(8), 6.0);
        QCOMPARE(plot.formulaAt(20), 10.0);
        QCOMPARE(plot.formulaAt(-1), 0.0);
        fill(plot, 3);
        QVERIFY(plot.csv().endsWith(QStringLiteral("2,2,1.5\n")));
    }

    void theBudgetIsInViewWhenItIsNear()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        plot.setFormula(1.0, QStringLiteral("f"));
        plot.setBudget(4000.0, QStringLiteral("pool"), 4000.0, QStringLiteral("pool ends at 4000"));
        fill(plot, 100);
        QVERIFY(plot.visibleY().to < 1000.0);
        for (int i = 0; i < 60; ++i)
            wheelAt(plot, plot.plotArea().center(), -120);
        QVERIFY(plot.visibleX().to > 4000.0); // zooming out reaches where it ends
        QVERIFY(plot.visibleY().to > 4000.0);
        plot.resetView();
        plot.setBudget(plot.visibleY().to * 1.1, QStringLiteral("pool"), 0.0, {});
        QVERIFY(plot.visibleY().to > plot.formulaAt(plot.visibleX().to) * 1.1);
    }

    void placesWhereItWasGivenBackAreMarked()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        fill(plot, 100);
        const QImage before = plot.grab().toImage();
        plot.setDips({{QPointF(50, 20), QStringLiteral("−16 tokens")}});
        plot.replotNow();
        const QImage marked = plot.grab().toImage();
        QVERIFY(marked != before);
        const QPoint at = plot.pixelAt(50, 20).toPoint();
        QVERIFY(marked.pixel(at) != before.pixel(at));
        plot.setDips({});
        plot.replotNow();
        QCOMPARE(plot.grab().toImage().pixel(at), before.pixel(at));
    }

    void clickTellsWhere()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        fill(plot, 100);
        QSignalSpy clicked(&plot, &Plot::clicked);
        const QPoint at = plot.pixelAt(40, 10).toPoint();
        QTest::mouseClick(plot.childAt(at), Qt::LeftButton, {}, at);
        QCOMPARE(clicked.size(), 1);
        QVERIFY(std::abs(clicked.first().first().toDouble() - 40.0) < 1.0);
    }

    void exports()
    {
        StepLinePlot plot(QStringLiteral("bytes"), QStringLiteral("tokens"), QStringLiteral("MiB"));
        plot.setFormula(2.0, QStringLiteral("f"));
        fill(plot, 3);
        QCOMPARE(plot.csv(), QStringLiteral("tokens,measured_MiB,formula_MiB\n0,0,0\n1,1,2\n2,2,4\n"));
        plot.copyValues();
        QCOMPARE(QApplication::clipboard()->text(), plot.csv());
        plot.copyImage();
        QVERIFY(!QApplication::clipboard()->image().isNull());
        QTemporaryDir folder;
        for (const QString &name :
             {QStringLiteral("a.png"), QStringLiteral("a.pdf"), QStringLiteral("a.csv")}) {
            QVERIFY(plot.saveAs(folder.filePath(name)));
            QVERIFY(QFileInfo(folder.filePath(name)).size() > 10);
        }
        QVERIFY(QImage(folder.filePath(QStringLiteral("a.png"))).width() >= 800);
        QVERIFY(!plot.saveAs(folder.filePath(QStringLiteral("a.txt"))));
        QVERIFY(!plot.saveAs(folder.filePath(QStringLiteral("none/a.csv"))));
        QCOMPARE(plot.contextMenu()->actions().size(), 8);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestStepLinePlot)
#include "tst_steplineplot.moc"
