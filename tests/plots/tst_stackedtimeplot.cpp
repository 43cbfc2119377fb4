// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/stackedtimeplot.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <vector>

using namespace tokenloupe;

namespace {

void fill(StackedTimePlot &plot, int tokens)
{
    plot.resize(600, 160);
    plot.show();
    const std::vector<TimeSplit> data(static_cast<std::size_t>(tokens), TimeSplit{10.0, 0.5, 0.25});
    plot.append(data);
    plot.replotNow();
}

} // namespace

class TestStackedTimePlot : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void aClickTellsTheToken()
    {
        StackedTimePlot plot(QStringLiteral("time"));
        fill(plot, 40);
        QSignalSpy clicked(&plot, &StackedTimePlot::tokenClicked);
        const QPoint at = plot.pixelAt(14, 1).toPoint(); // tokens are drawn from 1
        QTest::mouseClick(plot.childAt(at), Qt::LeftButton, {}, at);
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked.first().first().toInt(), 13);
        const QPoint beyond = plot.pixelAt(45, 1).toPoint();
        QTest::mouseClick(plot.childAt(beyond), Qt::LeftButton, {}, beyond);
        QCOMPARE(clicked.size(), 1);
    }

    void manyTokensAreReducedToTheSlowestOfEachColumn()
    {
        StackedTimePlot plot(QStringLiteral("time"));
        fill(plot, 20'000);
        std::vector<TimeSplit> spike{{100.0, 1.0, 1.0}};
        plot.append(spike);
        fill(plot, 20'000);
        plot.replotNow();
        QVERIFY(plot.drawnColumns() > 100);
        QVERIFY2(plot.drawnColumns() <= plot.plotArea().width() + 1,
                 qPrintable(QString::number(plot.drawnColumns())));
        const double pixel = plot.valueAt(QPointF(101, 0)).x() - plot.valueAt(QPointF(100, 0)).x();
        QCOMPARE(plot.tokenAt(20'001 - pixel / 2), 20'000);
        QVERIFY(plot.visibleY().to > 100.0);
    }

    void readsTheParts()
    {
        StackedTimePlot plot(QStringLiteral("time"));
        plot.setPrefill(58.0);
        fill(plot, 5);
        const QString text = plot.readoutAt(plot.pixelAt(3, 1).toPoint());
        QVERIFY2(text.startsWith(QStringLiteral("step 3:")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("forward")), qPrintable(text));
        const QString prefill = plot.readoutAt(plot.pixelAt(0, 1).toPoint());
        QVERIFY2(prefill.contains(QStringLiteral("58.0")), qPrintable(prefill));
        QVERIFY(
            plot.csv().startsWith(QStringLiteral("step,forward_ms,sampling_ms,rest_ms\n1,10,0.5,0.25\n")));
    }

    void theSelectedTokenStaysVisible()
    {
        for (const int count : {40, 20'000}) {
            StackedTimePlot plot(QStringLiteral("time"));
            fill(plot, count);
            const QImage before = plot.grab().toImage();
            plot.setSelected(count / 2);
            plot.replotNow();
            QVERIFY(plot.grab().toImage() != before);
        }
    }

    void truncatingForgets()
    {
        StackedTimePlot plot(QStringLiteral("time"));
        fill(plot, 40);
        plot.setSelected(30);
        plot.truncate(10);
        QCOMPARE(plot.tokenCount(), 10);
        QCOMPARE(plot.tokenAt(31), -1);
        plot.replotNow();
        plot.clear();
        QCOMPARE(plot.tokenCount(), 0);
        plot.replotNow();
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestStackedTimePlot)
#include "tst_stackedtimeplot.moc"
