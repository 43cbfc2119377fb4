// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/plots/rankplot.h"

#include <QApplication>
#include <QTest>
#include <vector>

using namespace tokenloupe;

namespace {

std::vector<float> zipf(int count)
{
    std::vector<float> result;
    double sum = 0.0;
    for (int i = 1; i <= count; ++i)
        sum += 1.0 / i;
    for (int i = 1; i <= count; ++i)
        result.push_back(static_cast<float>(1.0 / i / sum));
    return result;
}

} // namespace

class TestRankPlot : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void aVocabularyIsReducedToWhatCanBeSeen()
    {
        RankPlot plot(QStringLiteral("ranks"));
        plot.resize(400, 200);
        plot.show();
        plot.setProbabilities(zipf(150'000));
        plot.setChosen(6, QStringLiteral("·Air rank 7"));
        plot.setCuts({{40.0, QStringLiteral("top-k 40"), StageFamily::CountCut},
                      {9.0, QStringLiteral("top-p 0.90"), StageFamily::MassCut}});
        plot.replotNow();
        QVERIFY2(plot.drawnPoints() < 3000, qPrintable(QString::number(plot.drawnPoints())));
        QVERIFY(plot.drawnPoints() > 500);
        QVERIFY(plot.visibleX().from <= 1.0 && plot.visibleX().to >= 150'000.0);
        const QString text = plot.readoutAt(plot.pixelAt(7, 1.0).toPoint());
        QVERIFY2(text.startsWith(QStringLiteral("rank 7\n")), qPrintable(text));
    }

    void zerosAndNothing()
    {
        RankPlot plot(QStringLiteral("ranks"));
        plot.resize(400, 200);
        plot.show();
        plot.replotNow();
        plot.setProbabilities({1.0F, 0.0F, 0.0F});
        plot.setChosen(2, QStringLiteral("x"));
        plot.replotNow();
        QVERIFY(plot.visibleY().from > 0.0); // logarithmic axes know no zero
        QCOMPARE(plot.csv(), QStringLiteral("rank,probability\n1,1\n2,0\n3,0\n"));
        plot.clear();
        plot.replotNow();
        QCOMPARE(plot.drawnPoints(), 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestRankPlot)
#include "tst_rankplot.moc"
