// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/blockmap.h"
#include "widgets/controls/segmenttabs.h"
#include "widgets/plots/comparisonplot.h"
#include "widgets/plots/steplineplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/kvcache/cachesections.h"
#include "widgets/views/kvcache/cachewastemodel.h"
#include "widgets/views/kvcache/growthview.h"
#include "widgets/views/kvcache/kvcachepanel.h"
#include "widgets/views/kvcache/layerbars.h"
#include "widgets/views/kvcache/wasteview.h"
#include "widgets/views/kvcache/withoutcacheview.h"

#include <QApplication>
#include <QPushButton>
#include <QSignalSpy>
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
        panel.resize(390, 380);
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
        const auto used = [&panel] {
            const BlockMap *map = panel.findChild<BlockMap *>();
            return map ? std::uint32_t(std::count_if(
                             map->blocks().begin(), map->blocks().end(),
                             [](const Block &block) { return block.state == BlockState::Active; }))
                       : 0U;
        };
        QTRY_COMPARE(used(), run->steps.back().kvBlocks);
        QCOMPARE(panel.findChild<BlockMap *>()->blocks().size(), std::size_t(128 / 16));
        const auto *layers = panel.findChild<LayerBars *>();
        QVERIFY2(layers->textOf(0).contains(QStringLiteral("keys 128")), qPrintable(layers->textOf(0)));
        // what paging spares: 128 tokens of 512 bytes in one piece
        const QModelIndex whole = panel.sections()->waste()->model()->index(3, CacheWasteModel::AmountColumn);
        QCOMPARE(whole.data().toString(), formatBytes(128 * 512));
    }

    void aReusedPrefixIsMarked()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        KvCachePanel panel(fixture.context);
        panel.resize(390, 380);
        panel.show();
        QVERIFY(fixture.reply(3));
        QVERIFY(fixture.reply(3)); // the same prompt again
        const Run *run = fixture.runs.run(fixture.runs.newestRun());
        QVERIFY(run->start.reusedTokens >= 16);
        const std::uint32_t touched = (run->start.reusedTokens + 15) / 16;
        QTRY_COMPARE(static_cast<std::uint32_t>(std::count_if(
                         panel.findChild<BlockMap *>()->blocks().begin(),
                         panel.findChild<BlockMap *>()->blocks().end(),
                         [](const Block &block) { return block.flags.testFlag(BlockFlag::PrefixHit); })),
                     touched);
    }

    void aClickOnABlockSelectsItsFirstStep()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        KvCachePanel panel(fixture.context);
        panel.resize(390, 380);
        panel.show();
        QVERIFY(fixture.reply(40));
        const Run *run = fixture.runs.run(fixture.runs.newestRun());
        const auto prompt = std::uint32_t(run->start.prompt.size());
        QTRY_VERIFY(fixture.host.cache() && !fixture.host.cache()->sequences.empty() &&
                    fixture.host.cache()->sequences[0].tokens >= prompt + 39);
        const auto snapshot = fixture.host.cache();
        QTRY_VERIFY(panel.findChild<BlockMap *>());
        auto *map = panel.findChild<BlockMap *>();
        // the block after the one in which the prompt ends begins with a generated token
        const std::uint32_t index = prompt / 16 + 1;
        const BlockId block = snapshot->sequences[0].tables[0][index];
        QTest::mouseClick(map, Qt::LeftButton, {}, map->blockRect(int(block.value())).center());
        const StepRef expected{run->start.run, StepIndex(index * 16 - prompt)};
        QCOMPARE(fixture.selection.current(), expected);
        QCOMPARE(run->steps[expected.step.value()].token, snapshot->pools[0].blocks[block.value()].tokens[0]);
        QTRY_VERIFY(map->blocks()[block.value()].flags.testFlag(BlockFlag::Selected));
        // a block of the prompt: where the reply begins
        const BlockId first = snapshot->sequences[0].tables[0][0];
        QTest::mouseClick(map, Qt::LeftButton, {}, map->blockRect(int(first.value())).center());
        QCOMPARE(fixture.selection.current(), (StepRef{run->start.run, StepIndex(0)}));
    }

    void measuresWithoutTheCache()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        KvCachePanel panel(fixture.context);
        panel.resize(760, 500);
        panel.show();
        QVERIFY(fixture.reply(12));
        QTRY_COMPARE(fixture.host.status().state, EngineState::Idle);
        panel.sections()->tabs()->setCurrentIndex(1);
        QPushButton *button = nullptr;
        for (QPushButton *each : panel.sections()->withoutCache()->findChildren<QPushButton *>())
            if (each->text().startsWith(QStringLiteral("Measure")))
                button = each;
        QTRY_VERIFY(button && button->isEnabled() && button->isVisible());
        QTest::mouseClick(button, Qt::LeftButton);
        QTRY_VERIFY(fixture.host.cacheWork() && fixture.host.cacheWork()->complete);
        const WithoutCacheView *view = panel.sections()->withoutCache();
        QTRY_COMPARE(view->plot()->pointCount(1), 12);
        QVERIFY2(view->verdict().contains(QStringLiteral("Same tokens: yes")), qPrintable(view->verdict()));
        QTRY_VERIFY(button->isVisible() && button->isEnabled());
    }

    void aReplyThatWillNotFitIsForetold()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        fixture.conversation.setMaxTokens(512); // of a context of 128
        KvCachePanel panel(fixture.context);
        panel.resize(390, 380);
        panel.show();
        ReplyRequest request;
        request.tag = 1;
        request.messages = {{"user", "hello there"}};
        request.sampler = fixture.sampler.settings();
        request.maxTokens = 512;
        request.ignoreEndOfTurn = true;
        request.startPaused = true;
        fixture.host.reply(request);
        QTRY_VERIFY(!fixture.runs.isEmpty());
        fixture.host.step();
        const auto run = [&] { return fixture.runs.run(fixture.runs.newestRun()); };
        QTRY_COMPARE(run()->steps.size(), std::size_t(1));
        const std::size_t last = 128 - run()->start.prompt.size() + 1;
        QTRY_COMPARE(panel.sections()->growth()->warning(),
                     QStringLiteral("Context ends at step %1 of 512: the reply will stop there").arg(last));
        // and so it comes
        QSignalSpy ended(&fixture.runs, &RunStore::runEnded);
        fixture.host.run();
        QVERIFY(ended.wait(20'000));
        QCOMPARE(run()->end, std::optional(EndReason::Context));
        QCOMPARE(run()->steps.size(), last);
        QTRY_COMPARE(panel.sections()->growth()->warning(), QString());
    }

    void aClickOnTheCurveSelectsTheStep()
    {
        test::ViewFixture fixture;
        fixture.addRun(0, 30);
        KvCachePanel panel(fixture.context);
        panel.resize(390, 380);
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
        panel.resize(390, 380);
        panel.show();
        auto *plot = panel.findChild<StepLinePlot *>();
        const int all = plot->pointCount();
        fixture.runs.apply({RunTruncated{RunId(0), StepIndex(10)}});
        QTRY_COMPARE(plot->pointCount(), all - 20);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestKvCachePanel)
#include "tst_kvcachepanel.moc"
