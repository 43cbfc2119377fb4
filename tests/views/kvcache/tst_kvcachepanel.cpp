// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/blockmap.h"
#include "widgets/plots/steplineplot.h"
#include "widgets/views/kvcache/kvcachepanel.h"
#include "widgets/views/kvcache/layerbars.h"

#include <QApplication>
#include <QTest>

using namespace tokenloupe;

class TestKvCachePanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAModelItSaysWhatToDo()
    {
        test::ViewFixture fixture;
        KvCachePanel panel(fixture.context);
        panel.resize(390, 320);
        panel.show();
        QVERIFY(panel.isEmptyState());
        fixture.addRun(0, 3);
        QTRY_VERIFY(!panel.isEmptyState());
    }

    void showsWhatTheEngineRecorded()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        KvCachePanel panel(fixture.context);
        panel.resize(390, 340);
        panel.show();
        QVERIFY(panel.isEmptyState()); // no run yet
        // 2 layers × 2 KV heads × (16 keys + 16 values) × 4 bytes
        QVERIFY2(panel.summary().contains(QStringLiteral("512")), qPrintable(panel.summary()));
        QVERIFY2(panel.summary().contains(QStringLiteral("2 of 4 heads")), qPrintable(panel.summary()));
        QVERIFY(fixture.reply(20));
        QTRY_VERIFY(!panel.isEmptyState());
        const Run *run = fixture.runs.run(fixture.runs.newestRun());
        QVERIFY(run && run->steps.size() == 20);
        auto *plot = panel.findChild<StepLinePlot *>();
        QTRY_VERIFY(plot->pointCount() > 20);
        // every step's measurement is in the curve
        const QStringList rows = plot->csv().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        for (const StepRecord &step : run->steps) {
            const QString row =
                QString::number(step.kvTokens) + QLatin1Char(',') +
                QString::number(static_cast<double>(step.kvBytes) / (1024.0 * 1024.0), 'g', 17);
            QVERIFY2(
                std::any_of(rows.begin(), rows.end(), [&](const QString &r) { return r.startsWith(row); }),
                qPrintable(row));
        }
        const auto &blocks = panel.findChild<BlockMap *>()->blocks();
        QCOMPARE(blocks.size(), std::size_t(128 / 16));
        const auto used = std::count_if(blocks.begin(), blocks.end(),
                                        [](const Block &block) { return block.state != BlockState::Free; });
        QCOMPARE(static_cast<std::uint32_t>(used), run->steps.back().kvBlocks);
        const auto *layers = panel.findChild<LayerBars *>();
        QVERIFY2(layers->textOf(0).contains(QStringLiteral("keys 128")), qPrintable(layers->textOf(0)));
    }

    void aReusedPrefixIsMarked()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        KvCachePanel panel(fixture.context);
        panel.resize(390, 340);
        panel.show();
        QVERIFY(fixture.reply(3));
        QVERIFY(fixture.reply(3)); // the same prompt again
        const Run *run = fixture.runs.run(fixture.runs.newestRun());
        const std::uint32_t whole = run->start.reusedTokens / 16;
        QTRY_COMPARE(static_cast<std::uint32_t>(
                         std::count_if(panel.findChild<BlockMap *>()->blocks().begin(),
                                       panel.findChild<BlockMap *>()->blocks().end(),
                                       [](const Block &block) { return block.state == BlockState::Reused; })),
                     whole);
        QVERIFY(whole >= 1);
    }

    void aClickOnTheCurveSelectsTheStep()
    {
        test::ViewFixture fixture;
        fixture.addRun(0, 30);
        KvCachePanel panel(fixture.context);
        panel.resize(390, 340);
        panel.show();
        auto *plot = panel.findChild<StepLinePlot *>();
        plot->replotNow();
        const QPoint at =
            plot->pixelAt(12, 0.0005).toPoint(); // two tokens of prompt: step 10 was drawn at 12
        QTest::mouseClick(plot->childAt(at), Qt::LeftButton, {}, at);
        QCOMPARE(fixture.selection.current(), (StepRef{RunId(0), StepIndex(10)}));
    }

    void aTruncatedRunIsDrawnAnew()
    {
        test::ViewFixture fixture;
        fixture.addRun(0, 30);
        KvCachePanel panel(fixture.context);
        panel.resize(390, 340);
        panel.show();
        auto *plot = panel.findChild<StepLinePlot *>();
        const int all = plot->pointCount();
        fixture.runs.apply({RunTruncated{RunId(0), StepIndex(10)}});
        QTRY_COMPARE(plot->pointCount(), all - 20);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestKvCachePanel)
#include "tst_kvcachepanel.moc"
