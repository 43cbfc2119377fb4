// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of the cache panel with pictures of a cache that are made by hand, with real events.
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/kvcache/cachefixtures.h"
#include "widgets/controls/blockmap.h"
#include "widgets/controls/blockmaplegend.h"
#include "widgets/controls/panel.h"
#include "widgets/controls/progressstrip.h"
#include "widgets/controls/segmenttabs.h"
#include "widgets/plots/comparisonplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/kvcache/blockdetail.h"
#include "widgets/views/kvcache/cachesections.h"
#include "widgets/views/kvcache/cachewastemodel.h"
#include "widgets/views/kvcache/growthview.h"
#include "widgets/views/kvcache/labelledbars.h"
#include "widgets/views/kvcache/layerbars.h"
#include "widgets/views/kvcache/layersview.h"
#include "widgets/views/kvcache/poolview.h"
#include "widgets/views/kvcache/sectionheading.h"
#include "widgets/views/kvcache/wasteview.h"
#include "widgets/views/kvcache/withoutcacheview.h"

#include <QApplication>
#include <QDir>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QVBoxLayout>

using namespace tokenloupe;

namespace {

std::vector<AttentionVariant> variants()
{
    return {{"multi-head", 276480, 1.0, false, "30 layers x 9 heads"},
            {"grouped-query", 92160, 1.0 / 3.0, true, "30 layers x 3 heads"},
            {"multi-query", 30720, 1.0 / 9.0, false, "30 layers x 1 head"},
            {"latent", 69120, 0.25, false, "30 layers x 576 numbers"}};
}

std::shared_ptr<CacheWork> workOf(std::size_t steps, std::size_t measured)
{
    auto work = std::make_shared<CacheWork>();
    for (std::size_t i = 0; i < measured; ++i) {
        work->cachedMs.push_back(12.0 + double(i % 3));
        work->uncachedMs.push_back(180.0 + 4.0 * double(i));
        work->cachedFlops.push_back(1.34e8);
        work->uncachedFlops.push_back(1.34e8 * double(26 + i));
    }
    work->complete = measured == steps;
    work->largestDifference = 3.1e-5F;
    work->sameTokens = true;
    return work;
}

/// Everything that a panel would hand to its parts.
void fill(CacheSections &sections, const Run &run, const std::shared_ptr<CacheSnapshot> &cache,
          std::uint32_t window = 0)
{
    const KvShape shape = test::smallShape(window);
    sections.growth()->setRun(run, shape, cache->contextTokens, cache.get());
    sections.growth()->setSelected(StepIndex(13), run);
    sections.growth()->setWarning(
        QStringLiteral("Context ends at step 212 of 512: the reply will stop there"));
    sections.pool()->setSnapshot(cache, {run.start.run, 26 + 13});
    sections.waste()->setSnapshot(cache, {26, 512, 0});
    sections.withoutCache()->setWork(workOf(40, 40));
    sections.withoutCache()->setSelectedStep(13);
    sections.layers()->setShape(shape, 65);
    sections.layers()->setVariants(variants());
}

std::shared_ptr<const Tokenizer> tinyTokenizer(const QTemporaryDir &folder)
{
    const auto model = loadModel(test::writeTinyModel(folder.path().toStdString()));
    return model ? (*model)->tokenizer : nullptr;
}

/// Widgets that stick out of what they lie in, where nothing scrolls to them.
QStringList clipped(const QWidget &root)
{
    QStringList names;
    for (const QWidget *widget : root.findChildren<QWidget *>()) {
        const QWidget *parent = widget->parentWidget();
        if (!widget->isVisibleTo(&root) || !parent ||
            qobject_cast<const QScrollArea *>(parent->parentWidget()) || widget->isWindow())
            continue;
        const bool inside = parent->rect().adjusted(-1, -1, 1, 1).contains(widget->geometry());
        if (!inside && widget->width() > 0 && widget->height() > 0)
            names << QStringLiteral("%1 (%2 pixels at %3) in %4 of %5")
                         .arg(QLatin1String(widget->metaObject()->className()))
                         .arg(widget->height())
                         .arg(widget->y())
                         .arg(QLatin1String(parent->metaObject()->className()))
                         .arg(parent->height());
    }
    return names;
}

} // namespace

class TestCacheSections : public QObject
{
    Q_OBJECT

    const KvShape m_shape = test::smallShape();
    const Run m_run = test::cacheRun(3, 26, 40, m_shape);

    /// Layers with a window, a full context, tokens that were dropped.
    void savePictureOfWindows(const QString &file) const
    {
        const KvShape windows = test::smallShape(48);
        Run run = test::cacheRun(3, 26, 90, windows);
        for (std::size_t i = 70; i < run.steps.size(); ++i) {
            run.steps[i].kvTokens -= 32;
            run.steps[i].kvBytes -= 32 * windows.bytesPerToken();
        }
        run.steps[70].droppedTokens = 32;
        const auto cache = test::livelyCache(test::cacheRun(3, 26, 60, windows), windows, 16);
        cache->contextTokens = 96;
        Panel panel(QStringLiteral("KV cache"));
        auto *sections = new CacheSections;
        panel.content()->addWidget(sections, 1);
        fill(*sections, run, cache, 48);
        panel.resize(480, 700);
        sections->tabs()->setCurrentIndex(2);
        panel.show();
        QCoreApplication::processEvents();
        panel.grab().save(file);
    }

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }
    void cleanup() { Theme::instance().setMode(ThemeMode::Light); }

    void hoverTellsWhatIsInABlock()
    {
        QTemporaryDir folder;
        PoolView view;
        view.setTokenizer(tinyTokenizer(folder));
        const auto cache = test::livelyCache(m_run, m_shape, 32);
        cache->pools[0].blocks[2].tokens[0] = TokenId(test::tinyFirstByte + '\n');
        cache->pools[0].blocks[2].tokens[1] = TokenId(test::tinyTurnEnd);
        view.setSnapshot(cache, {m_run.start.run, {}});
        view.resize(340, 300);
        view.show();
        BlockMap *map = view.map(0);
        QCOMPARE(view.detail()->chipCount(), 0);
        QTest::mouseMove(map, map->blockRect(2).center());
        QTRY_COMPARE(view.detail()->chipCount(), 16);
        QCOMPARE(view.detail()->text(), blockText(*cache, 0, 2));
        QCOMPARE(view.detail()->chipTextAt(0), QStringLiteral("⏎")); // control characters are visible
        QVERIFY(view.detail()->chipTextAt(1).contains(QStringLiteral("im_end")));
        QTest::mouseMove(map, map->blockRect(12).center());
        QTRY_COMPARE(view.detail()->chipCount(), 0); // a free one
        QCOMPARE(view.detail()->text(), QStringLiteral("block 12: free"));
    }

    void theKeyboardDoesTheSame()
    {
        PoolView view;
        const auto cache = test::livelyCache(m_run, m_shape, 32);
        view.setSnapshot(cache, {m_run.start.run, {}});
        view.resize(340, 300);
        view.show();
        view.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&view));
        BlockMap *map = view.map(0);
        map->clearFocus(); // a window gives the focus to its first widget
        map->setFocus(Qt::TabFocusReason);
        QTRY_VERIFY(map->hasFocus());
        QCOMPARE(view.detail()->chipCount(), 16);
        QTest::keyClick(map, Qt::Key_Right);
        QCOMPARE(view.detail()->text(), blockText(*cache, 0, 1));
        QCOMPARE(map->accessibleDescription(), blockText(*cache, 0, 1));
        QTest::keyClick(map, Qt::Key_End);
        QCOMPARE(view.detail()->text(), QStringLiteral("block 31: free"));
        QTest::keyClick(map, Qt::Key_Home);
        QSignalSpy activated(&view, &PoolView::blockActivated);
        QTest::keyClick(map, Qt::Key_Right);
        QTest::keyClick(map, Qt::Key_Return);
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated[0], (QVariantList{0, 1}));
    }

    void theLegendNamesWhatIsThere()
    {
        PoolView view;
        auto cache = test::emptyCache(m_shape, 8);
        view.setSnapshot(cache, {});
        QCOMPARE(view.legend()->marks(), std::vector<BlockMark>{BlockMark::Free});
        view.setSnapshot(test::livelyCache(m_run, m_shape, 32), {m_run.start.run, {}});
        QCOMPARE(view.legend()->marks().size(), std::size_t(9));
        QVERIFY(view.legend()->accessibleDescription().contains(QStringLiteral("kept for later")));
    }

    void everyPoolHasItsMap()
    {
        const KvShape windows = test::smallShape(512);
        const Run run = test::cacheRun(3, 26, 40, windows);
        PoolView view;
        view.setSnapshot(test::livelyCache(run, windows, 32), {run.start.run, {}});
        view.resize(340, 400);
        view.show();
        QCOMPARE(view.poolCount(), 2);
        QVERIFY(view.heading(0)->title().startsWith(QStringLiteral("Window 512")));
        QVERIFY(view.heading(1)->title().startsWith(QStringLiteral("Sees all")));
        QSignalSpy activated(&view, &PoolView::blockActivated);
        QTest::mouseClick(view.map(1), Qt::LeftButton, {}, view.map(1)->blockRect(3).center());
        QCOMPARE(activated.size(), 1);
        QCOMPARE(activated[0], (QVariantList{1, 3}));
        view.setSnapshot(nullptr, {});
        QCOMPARE(view.poolCount(), 0);
        QVERIFY(!view.detail()->text().isEmpty());
    }

    void theCompactFooterDoesNotMoveTheMap()
    {
        PoolView view;
        view.setForm(PoolForm::Compact);
        view.setSnapshot(test::livelyCache(m_run, m_shape, 32), {m_run.start.run, {}});
        view.resize(296, 180);
        view.show();
        QCoreApplication::processEvents(); // the layout settles
        BlockMap *map = view.map(0);
        QTest::mouseMove(&view, QPoint(view.width() - 2, view.height() - 2));
        QTRY_VERIFY(view.legend()->isVisible());
        const QRect before = map->geometry();
        QVERIFY(view.legend()->isVisible() && !view.detail()->isVisible());
        QTest::mouseMove(map, map->blockRect(2).center());
        QTRY_VERIFY(view.detail()->isVisible());
        QVERIFY(!view.legend()->isVisible());
        QCOMPARE(map->geometry(), before);
    }

    void theArrangementFollowsTheRoom_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("form");
        QTest::addColumn<int>("tabs");
        QTest::newRow("dock") << QSize(320, 360) << int(CacheForm::Small) << 4;
        QTest::newRow("tall") << QSize(480, 700) << int(CacheForm::Tall) << 3;
        QTest::newRow("wide") << QSize(900, 700) << int(CacheForm::Wide) << 3;
    }
    void theArrangementFollowsTheRoom()
    {
        QFETCH(QSize, size);
        QFETCH(int, form);
        QFETCH(int, tabs);
        CacheSections sections;
        fill(sections, m_run, test::livelyCache(m_run, m_shape, 32));
        sections.show();
        for (const QSize &step : {QSize(320, 360), QSize(900, 700), QSize(480, 700), QSize(320, 360), size}) {
            sections.resize(step);
            QCoreApplication::processEvents();
        }
        QCOMPARE(int(sections.form()), form);
        QCOMPARE(sections.tabs()->count(), tabs);
        QVERIFY(sections.growth()->isVisible()); // curve and blocks in every form
        QVERIFY(sections.pool()->isVisible());
        for (int tab = 0; tab < tabs; ++tab) {
            QTest::mouseClick(sections.tabs(), Qt::LeftButton, {}, sections.tabs()->tabRect(tab).center());
            QCOMPARE(sections.tabs()->currentIndex(), tab);
            QCoreApplication::processEvents();
            QVERIFY2(clipped(sections).isEmpty(), qPrintable(clipped(sections).join(QLatin1Char('\n'))));
        }
        QVERIFY(sections.layers()->isVisible()); // the last one
    }

    void aReplyIsMeasuredOnDemand()
    {
        WithoutCacheView view;
        view.resize(340, 320);
        view.show();
        auto *button = view.findChild<QPushButton *>();
        QSignalSpy asked(&view, &WithoutCacheView::measureRequested);
        view.setBlockedBy(QStringLiteral("Pause first."));
        for (QPushButton *each : view.findChildren<QPushButton *>())
            if (each->text().startsWith(QStringLiteral("Measure")))
                button = each;
        QVERIFY(!button->isEnabled());
        QCOMPARE(button->accessibleDescription(), QStringLiteral("Pause first."));
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(asked.size(), 0);
        view.setBlockedBy({});
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(asked.size(), 1);

        auto *strip = view.findChild<ProgressStrip *>();
        QVERIFY(!strip->isVisible());
        view.showProgress({12, 40, 2.0});
        QVERIFY(strip->isVisible() && !button->isVisible());
        QVERIFY2(strip->detail().startsWith(QStringLiteral("12 of 40 steps")), qPrintable(strip->detail()));
        QSignalSpy cancelled(&view, &WithoutCacheView::cancelRequested);
        QTest::mouseClick(strip->findChild<QPushButton *>(), Qt::LeftButton);
        QCOMPARE(cancelled.size(), 1);
        view.setWork(workOf(40, 12));
        view.hideProgress();
        QVERIFY(view.verdict().contains(QStringLiteral("cancelled")));
        QVERIFY(button->isVisible());
    }

    void theVerdictSaysTheFactor()
    {
        CacheWork work;
        work.cachedMs = {100.0, 105.0, 105.0};
        work.uncachedMs = {1700.0, 1700.0, 1800.0};
        work.cachedFlops = {1e9, 1e9, 1e9};
        work.uncachedFlops = {2e10, 2e10, 2e10};
        QCOMPARE(measuredSentence(totalsOf(work)),
                 QStringLiteral("3\u00A0steps: 0.31\u00A0s with, 5.2\u00A0s without: 17 times"));
        QCOMPARE(formulaSentence(totalsOf(work)),
                 QStringLiteral("By formula: 3.00\u00A0G multiply-adds with, 60.0\u00A0G without: 20 times"));
        // what was not measured both ways does not count
        work.cachedMs.push_back(1e6);
        QCOMPARE(totalsOf(work).steps, std::size_t(3));
        QCOMPARE(totalsOf(work).cachedMs, 310.0);

        WithoutCacheView view;
        work.largestDifference = 0.5F;
        work.sameTokens = false;
        work.complete = true;
        view.setWork(std::make_shared<CacheWork>(work));
        QVERIFY2(
            view.verdict().contains(QStringLiteral("Same tokens: no; largest difference of a logit: 0.50")),
            qPrintable(view.verdict()));
        QCOMPARE(view.plot()->pointCount(1), 3);
    }

    void theOtherQuantityIsOneTabAway()
    {
        WithoutCacheView view;
        view.setWork(workOf(40, 40));
        view.resize(340, 320);
        view.show();
        auto *tabs = view.findChild<SegmentTabs *>();
        QVERIFY(view.plot()->csv().startsWith(QStringLiteral("step,\"with (ms)\"")));
        QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(1).center());
        QVERIFY2(view.plot()->csv().startsWith(QStringLiteral("step,\"with (G multiply-adds)\"")),
                 qPrintable(view.plot()->csv().left(60)));
        // a click on the curve selects the step
        auto *plot = view.findChild<ComparisonPlot *>();
        plot->replotNow();
        QSignalSpy clicked(&view, &WithoutCacheView::stepClicked);
        const QPoint at = plot->pixelAt(8, 1).toPoint();
        QTest::mouseClick(plot->childAt(at), Qt::LeftButton, {}, at);
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][0].toInt(), 7);
    }

    void kindsOfAttentionAreCompared()
    {
        LayersView view;
        view.setShape(test::smallShape(512), 600);
        view.setVariants(variants());
        view.resize(320, 240);
        view.show();
        const LabelledBars *bars = view.variants();
        QCOMPARE(bars->bars().size(), std::size_t(4));
        QVERIFY(bars->bars()[1].own && !bars->bars()[0].own);
        QVERIFY(bars->bars()[1].valueText.contains(formatBytes(92160)));
        QVERIFY(bars->bars()[1].valueText.contains(QStringLiteral("×0.33")));
        QVERIFY(std::abs(bars->barRect(1).width() * 3 - bars->barRect(0).width()) < 3.0);
        auto *keyboard = view.findChild<LabelledBars *>();
        keyboard->setFocus(Qt::TabFocusReason);
        QTRY_VERIFY(keyboard->hasFocus());
        QTest::keyClick(keyboard, Qt::Key_Down);
        QVERIFY2(keyboard->accessibleDescription().contains(QStringLiteral("grouped-query")),
                 qPrintable(keyboard->accessibleDescription()));
        // a layer with a window holds no more than it
        QVERIFY2(view.layers()->textOf(0).contains(QStringLiteral("512 tokens; window 512")),
                 qPrintable(view.layers()->textOf(0)));
        QVERIFY(!view.layers()->textOf(5).contains(QStringLiteral("window")));
        QVERIFY(view.layers()->textOf(5).contains(QStringLiteral("600 tokens")));
    }

    void itLooksRight_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("320x360") << QSize(320, 360);
        QTest::newRow("480x700") << QSize(480, 700);
        QTest::newRow("900x700") << QSize(900, 700);
    }
    /// Pictures for people, where TOKENLOUPE_PICTURES names a folder; everywhere: both themes differ and no
    /// theme leaves a part unpainted.
    void itLooksRight()
    {
        QFETCH(QSize, size);
        const QString folder = qEnvironmentVariable("TOKENLOUPE_PICTURES");
        QTemporaryDir model;
        const auto tokenizer = tinyTokenizer(model);
        std::vector<QImage> images;
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark}) {
            Theme::instance().setMode(mode);
            Panel panel(QStringLiteral("KV cache"));
            panel.setSummary(QStringLiteral("2.00 MiB · 22.5 KiB a token · 3 of 9 heads"));
            auto *sections = new CacheSections;
            panel.content()->addWidget(sections, 1);
            sections->pool()->setTokenizer(tokenizer);
            fill(*sections, m_run, test::livelyCache(m_run, m_shape, 64));
            panel.resize(size);
            panel.show();
            QCoreApplication::processEvents();
            for (int tab = 0; tab < sections->tabs()->count(); ++tab) {
                sections->tabs()->setCurrentIndex(tab);
                if (sections->form() != CacheForm::Small || (tab == 0 && mode == ThemeMode::Dark)) {
                    BlockMap *map = sections->pool()->map(0);
                    QTest::mouseMove(map, map->blockRect(2).center());
                }
                QCoreApplication::processEvents();
                images.push_back(panel.grab().toImage());
                if (!folder.isEmpty())
                    images.back().save(QDir(folder).filePath(
                        QStringLiteral("cache-%1-%2-%3.png")
                            .arg(QString::fromLatin1(QTest::currentDataTag()),
                                 mode == ThemeMode::Dark ? QStringLiteral("dark") : QStringLiteral("light"))
                            .arg(tab)));
            }
        }
        if (!folder.isEmpty())
            savePictureOfWindows(QDir(folder).filePath(
                QStringLiteral("cache-%1-windows.png").arg(QString::fromLatin1(QTest::currentDataTag()))));
        const std::size_t half = images.size() / 2;
        for (std::size_t i = 0; i < half; ++i)
            QVERIFY(images[i] != images[half + i]);
        QVERIFY(images[0] != images[1]);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestCacheSections)
#include "tst_cachesections.moc"
