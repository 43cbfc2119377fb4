// SPDX-License-Identifier: GPL-3.0-or-later
// What the cache panel computes before anything is drawn.
#include "tests/support/testmain.h"
#include "tests/views/kvcache/cachefixtures.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/kvcache/cachegrowth.h"
#include "widgets/views/kvcache/cachewastemodel.h"
#include "widgets/views/kvcache/contextoutlook.h"
#include "widgets/views/kvcache/poolblocks.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

std::vector<TokenId> tokens(std::uint32_t count, std::uint32_t first = 1)
{
    std::vector<TokenId> ids;
    for (std::uint32_t i = 0; i < count; ++i)
        ids.push_back(TokenId(first + i));
    return ids;
}

double evaluate(const std::vector<LinearTerm> &terms, double x)
{
    double y = 0.0;
    for (const LinearTerm &term : terms)
        y += term.perX * std::min(x, term.upTo);
    return y;
}

} // namespace

class TestCacheFigures : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void blocksCarryTheirMarks()
    {
        const KvShape shape = test::smallShape();
        const Run run = test::cacheRun(3, 26, 40, shape);
        const auto cache = test::livelyCache(run, shape, 32);
        const std::vector<Block> blocks = poolBlocks(*cache, 0, {RunId(3), 30});
        QCOMPARE(blocks.size(), std::size_t(32));
        // 65 tokens: blocks 0 … 4 are the run's, the last of them holds one
        QCOMPARE(blocks[0].state, BlockState::Active);
        QCOMPARE(blocks[0].shared, 3U);
        QVERIFY(blocks[0].flags.testFlag(BlockFlag::PrefixHit) && blocks[0].flags.testFlag(BlockFlag::Own));
        QVERIFY(blocks[1].flags.testFlag(BlockFlag::Selected)); // position 30
        QVERIFY(!blocks[2].flags.testFlag(BlockFlag::Selected));
        QCOMPARE(blocks[4].fill, 1.0F / 16.0F);
        QVERIFY(blocks[4].flags.testFlag(BlockFlag::Written));
        QVERIFY(blocks[5].flags.testFlag(BlockFlag::Other) && !blocks[5].flags.testFlag(BlockFlag::Own));
        QCOMPARE(blocks[8].state, BlockState::Cached);
        QVERIFY(!blocks[8].flags.testFlag(BlockFlag::Other));
        QCOMPARE(blocks[11].state, BlockState::Free);
        QVERIFY(blocks[11].flags.testFlag(BlockFlag::Evicted));
        QCOMPARE(blocks[12], Block{});
        // an eviction is marked for a few passes only
        cache->clock += 10;
        QVERIFY(!poolBlocks(*cache, 0, {RunId(3), {}})[11].flags.testFlag(BlockFlag::Evicted));
        QVERIFY(!poolBlocks(*cache, 0, {RunId(3), {}})[4].flags.testFlag(BlockFlag::Written));
    }

    void oneSequenceNeedsNoOutline()
    {
        const KvShape shape = test::smallShape();
        auto cache = test::emptyCache(shape, 8);
        test::addSequence(*cache, RunId(0), 0, tokens(20));
        for (const Block &block : poolBlocks(*cache, 0, {RunId(0), {}}))
            QVERIFY(!(block.flags & (BlockFlag::Own | BlockFlag::Other)));
        // the newest token is not in the cache yet: the last block is the selected one
        QVERIFY(poolBlocks(*cache, 0, {RunId(0), 20})[1].flags.testFlag(BlockFlag::Selected));
    }

    void poolsAreNamed()
    {
        const KvShape windows = test::smallShape(512);
        const auto cache = test::emptyCache(windows, 8);
        QCOMPARE(cache->pools.size(), std::size_t(2));
        QVERIFY(poolTitle(*cache, 0).startsWith(QStringLiteral("Window 512")));
        QVERIFY2(poolTitle(*cache, 1).startsWith(QStringLiteral("Sees all")),
                 qPrintable(poolTitle(*cache, 1)));
        QVERIFY(poolTitle(*cache, 1).contains(QStringLiteral("5")));
        const auto plain = test::emptyCache(test::smallShape(), 8);
        QCOMPARE(poolTitle(*plain, 0), QStringLiteral("Blocks of 16 tokens"));
        test::addSequence(*plain, RunId(0), 0, tokens(20));
        plain->pools[0].blocks[0].sequences = 2;
        QCOMPARE(poolSummary(*plain, 0), QStringLiteral("2 of 8 · 1 shared"));
    }

    void aBlockTellsWhatItIs()
    {
        const KvShape shape = test::smallShape();
        const Run run = test::cacheRun(3, 26, 40, shape);
        const auto cache = test::livelyCache(run, shape, 32);
        QCOMPARE(blockText(*cache, 0, 0),
                 QStringLiteral("block 0: in use · positions 0 to 15 · shared by 3 · prefix hit · written 39 "
                                "passes ago"));
        QCOMPARE(blockText(*cache, 0, 4),
                 QStringLiteral("block 4: in use · position 64 · written by the newest pass"));
        QVERIFY(blockText(*cache, 0, 8).startsWith(QStringLiteral("block 8: kept for later")));
        QCOMPARE(blockText(*cache, 0, 12), QStringLiteral("block 12: free"));
    }

    void aBlockLeadsToItsFirstStep()
    {
        const KvShape shape = test::smallShape();
        const Run run = test::cacheRun(3, 26, 40, shape);
        const auto cache = test::livelyCache(run, shape, 32);
        const auto &blocks = cache->pools[0].blocks;
        QCOMPARE(firstStepIn(run, blocks[0]), std::optional(StepIndex(0))); // prompt only
        QCOMPARE(firstStepIn(run, blocks[1]), std::optional(StepIndex(0))); // prompt, then step 0 at 26
        QCOMPARE(firstStepIn(run, blocks[2]), std::optional(StepIndex(6))); // positions 32 …
        QCOMPARE(firstStepIn(run, blocks[3]), std::optional(StepIndex(22)));
        QCOMPARE(firstStepIn(run, blocks[12]), std::nullopt);               // free
        QCOMPARE(firstStepIn(run, blocks[5]), std::optional(StepIndex(0))); // positions 0 to 15 of another
        CacheBlock other = blocks[2];
        other.tokens.assign(16, TokenId(7));
        QCOMPARE(firstStepIn(run, other), std::nullopt); // not what the run drew
    }

    void droppedTokensMoveWhatIsLeft()
    {
        const KvShape shape = test::smallShape();
        Run run = test::cacheRun(0, 10, 30, shape);
        // before step 20 sixteen tokens left
        for (std::size_t i = 20; i < 30; ++i)
            run.steps[i].kvTokens -= 16;
        run.steps[20].droppedTokens = 16;
        QCOMPARE(positionOf(run, StepIndex(25)), std::optional(19U));
        QCOMPARE(positionOf(run, StepIndex(10)), std::optional(4U));
        QCOMPARE(positionOf(run, StepIndex(2)), std::nullopt);
        CacheBlock block;
        block.ownership = BlockOwnership::Active;
        block.fill = 16;
        block.firstPosition = 0;
        QCOMPARE(firstStepIn(run, block), std::optional(StepIndex(6)));
    }

    void theCurveFallsWhereTokensWereDropped()
    {
        const KvShape shape = test::smallShape();
        Run run = test::cacheRun(0, 10, 30, shape);
        for (std::size_t i = 20; i < 30; ++i)
            run.steps[i].kvBytes -= 16 * shape.bytesPerToken();
        run.steps[20].droppedTokens = 10;
        run.steps[21].droppedTokens = 6;
        QVERIFY(growthPoint(run, 20).y() < growthPoint(run, 19).y());
        QCOMPARE(growthPoint(run, 20).x(), growthPoint(run, 19).x() + 1.0);
        const std::vector<LabelledPoint> dips = growthDips(run);
        QCOMPARE(dips.size(), std::size_t(1)); // neighbours are one place
        QCOMPARE(dips[0].at, growthPoint(run, 20));
        QVERIFY2(dips[0].label.contains(QStringLiteral("16")), qPrintable(dips[0].label));
        // Many places share one label.
        for (const std::size_t step : {5U, 10U, 15U})
            run.steps[step].droppedTokens = 16;
        const std::vector<LabelledPoint> many = growthDips(run);
        QCOMPARE(many.size(), std::size_t(4));
        QCOMPARE(many[0].label, QString());
        QVERIFY2(many[3].label.contains(QStringLiteral("64")), qPrintable(many[3].label));
        const std::vector<QPointF> stairs = promptStairs(run, shape);
        QCOMPARE(stairs.size(), std::size_t(1));
        QCOMPARE(stairs[0].y(), double(run.steps[0].kvBytes) / mebibyte);
    }

    void theFormulaBendsAtWindowsAndEndsAtTheContext()
    {
        const std::vector<LinearTerm> plain = growthFormula(test::smallShape(), 2048);
        QCOMPARE(evaluate(plain, 100), 100 * 30 * 1536 / mebibyte);
        QCOMPARE(evaluate(plain, 5000), evaluate(plain, 2048));
        const std::vector<LinearTerm> windows = growthFormula(test::smallShape(512), 2048);
        QCOMPARE(evaluate(windows, 512), evaluate(plain, 512));
        QCOMPARE(evaluate(windows, 1000), (512 * 25 + 1000 * 5) * 1536 / mebibyte);
        const auto cache = test::emptyCache(test::smallShape(512), 8);
        QCOMPARE(budgetTokens(*cache), std::uint64_t(128));
        const auto bounded = test::emptyCache(KvShape{{{1, 4, 4, 64}}}, 8);
        QCOMPARE(budgetTokens(*bounded), std::uint64_t(0));
    }

    void contextWarning_data()
    {
        QTest::addColumn<ContextOutlook>("outlook");
        QTest::addColumn<QString>("text");
        QTest::newRow("fits") << ContextOutlook{1000, 100, 1, 512} << QString();
        QTest::newRow("exactly") << ContextOutlook{611, 100, 1, 512} << QString();
        QTest::newRow("one short") << ContextOutlook{610, 100, 1, 512}
                                   << QStringLiteral(
                                          "Context ends at step 511 of 512: the reply will stop there");
        QTest::newRow("turns") << ContextOutlook{300, 250, 100, 512, OverflowPolicy::DropTurns}
                               << QStringLiteral("Context ends at step 150 of 512: the oldest turns will go");
        QTest::newRow("sinks")
            << ContextOutlook{300, 250, 100, 512, OverflowPolicy::Streaming, 4}
            << QStringLiteral("Context ends at step 150 of 512: the oldest tokens after the first 4 will go");
        QTest::newRow("no length") << ContextOutlook{300, 250, 100, 0} << QString();
    }
    void contextWarning()
    {
        QFETCH(ContextOutlook, outlook);
        QFETCH(QString, text);
        QCOMPARE(tokenloupe::contextWarning(outlook), text);
    }

    void wasteIsAddedUp()
    {
        const KvShape shape = test::smallShape();
        auto cache = test::emptyCache(shape, 32);
        test::addSequence(*cache, RunId(0), 0, tokens(40)); // 3 blocks, 8 slots empty
        cache->counters = {200, 50, 240, 1, 2, 7, 0};
        const std::vector<WasteRow> rows = wasteRows(*cache, {30, 90, 2});
        const std::uint64_t token = shape.bytesPerToken();
        const auto row = [&](const QString &name) -> WasteRow {
            const auto found =
                std::find_if(rows.begin(), rows.end(), [&](const WasteRow &r) { return r.name == name; });
            return found == rows.end() ? WasteRow{} : *found;
        };
        QCOMPARE(row(QStringLiteral("Blocks in use")).amount, formatBytes(48 * token));
        QCOMPARE(row(QStringLiteral("Blocks in use")).share, 3.0 / 32.0);
        QCOMPARE(row(QStringLiteral("Unfilled slots")).amount, formatBytes(8 * token));
        QCOMPARE(row(QStringLiteral("Unfilled slots")).share, 8.0 / 48.0);
        QCOMPARE(row(QStringLiteral("One stretch, context")).amount, formatBytes(512 * token));
        QCOMPARE(row(QStringLiteral("One stretch, context")).share, (512.0 - 40.0) / 512.0);
        QCOMPARE(row(QStringLiteral("One stretch, request")).amount, formatBytes(120 * token));
        QCOMPARE(row(QStringLiteral("Prefix hits")).share, 0.25);
        QVERIFY(row(QStringLiteral("Prefix hits")).amount.startsWith(QStringLiteral("50")));
        QVERIFY(row(QStringLiteral("Evictions")).amount.startsWith(QStringLiteral("2")));
        QVERIFY(row(QStringLiteral("Dropped at overflow")).amount.startsWith(QStringLiteral("7")));
        QVERIFY(row(QStringLiteral("Turns dropped")).amount.startsWith(QStringLiteral("2")));
        // every amount says what it counts
        for (const WasteRow &each : rows)
            QVERIFY2(each.amount.contains(QRegularExpression(QStringLiteral("[A-Za-z]"))),
                     qPrintable(each.name));
    }

    void windowsBoundAContiguousReservation()
    {
        const KvShape windows = test::smallShape(512);
        QCOMPARE(contiguousBytes(windows, 2048), std::uint64_t((25 * 512 + 5 * 2048) * 1536));
        QCOMPARE(contiguousBytes(test::smallShape(), 2048), std::uint64_t(30 * 2048 * 1536));
    }

    void theModelKeepsItsRows()
    {
        CacheWasteModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
        auto cache = test::emptyCache(test::smallShape(), 32);
        model.setRows(wasteRows(*cache, {}));
        QCOMPARE(reset.size(), 1);
        test::addSequence(*cache, RunId(0), 0, tokens(40));
        model.setRows(wasteRows(*cache, {}));
        QCOMPARE(reset.size(), 1);
        QCOMPARE(changed.size(), 1);
        const QModelIndex amount = model.index(0, CacheWasteModel::AmountColumn);
        QCOMPARE(amount.data().toString(), model.rows()[0].amount);
        QCOMPARE(model.index(0, CacheWasteModel::ShareColumn).data().toString(), QStringLiteral("9.4"));
        QVERIFY(amount.data(Qt::ToolTipRole).toString().contains(QStringLiteral("of the pool")));
        model.setRows({});
        QCOMPARE(model.rowCount(), 0);
    }
};

TOKENLOUPE_TEST_MAIN(TestCacheFigures)
#include "tst_cachefigures.moc"
