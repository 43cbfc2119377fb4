// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/compare/plaindivergence.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/celltable.h"
#include "widgets/controls/progressstrip.h"
#include "widgets/controls/segmenttabs.h"
#include "widgets/models/comparedcandidatemodel.h"
#include "widgets/plots/differenceplot.h"
#include "widgets/plots/divergenceplot.h"
#include "widgets/theme/theme.h"
#include "widgets/views/precision/precisionpanel.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QTest>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

struct PrecisionFixture : test::ViewFixture
{
    PrecisionPanel panel{context};
    SegmentTabs *tabs = panel.findChild<SegmentTabs *>();
    CellTable *table = panel.findChild<CellTable *>();
    DivergencePlot *bars = panel.findChild<DivergencePlot *>();
    ProgressStrip *progress = panel.findChild<ProgressStrip *>();

    PrecisionFixture()
    {
        panel.resize(800, 320);
        panel.show();
    }
    /// Weights with a kernel of integers, so that there is something to compare.
    bool open(Precision precision, test::TinyType type = test::TinyType::Q8_0,
              std::uint32_t contextTokens = 256)
    {
        test::TinyModelOptions options;
        options.chatTemplate = test::tinyChatTemplate;
        options.type = type;
        SessionSettings settings;
        settings.contextTokens = contextTokens;
        settings.threads = 1;
        settings.precision = precision;
        QSignalSpy opened(&host, &EngineHost::modelOpened);
        host.openModel(
            QString::fromStdString(test::writeTinyModel(folder.path().toStdString(), options).string()),
            settings);
        return opened.wait(patience);
    }
    QPushButton *button(const QString &text)
    {
        for (QPushButton *each : panel.findChildren<QPushButton *>()) {
            if (each->text() == text && each->isVisible())
                return each;
        }
        return nullptr;
    }
    QLabel *label(const QString &name)
    {
        for (QLabel *each : panel.findChildren<QLabel *>()) {
            if (each->accessibleName() == name)
                return each;
        }
        return nullptr;
    }
    void showPage(int page) { QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(page).center()); }
    bool press(const QString &text)
    {
        if (!QTest::qWaitFor([&] { return button(text) && button(text)->isEnabled(); }, patience))
            return false;
        QSignalSpy ended(&host, &EngineHost::comparisonEnded);
        QTest::mouseClick(button(text), Qt::LeftButton);
        return ended.wait(patience) && ended[0][0].toString().isEmpty();
    }
    const Run &run() { return *runs.run(runs.newestRun()); }
};

} // namespace

class TestPrecisionPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void emptyStatesSayWhatToDo()
    {
        PrecisionFixture fixture;
        QVERIFY(fixture.panel.isEmptyState());
        QVERIFY(fixture.button(QStringLiteral("Open a model…")));
        QVERIFY(fixture.open(Precision::Fast));
        QTRY_VERIFY(!fixture.button(QStringLiteral("Open a model…")));
        QVERIFY(fixture.panel.isEmptyState());
    }

    void comparesTheSelectedStep_data()
    {
        QTest::addColumn<int>("precision");
        QTest::newRow("a fast reply") << int(Precision::Fast);
        QTest::newRow("an exact reply") << int(Precision::Exact);
    }

    void comparesTheSelectedStep()
    {
        QFETCH(int, precision);
        PrecisionFixture fixture;
        const QAbstractItemModelTester tester(fixture.table->model(),
                                              QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(fixture.open(Precision(precision)));
        QVERIFY(fixture.reply(6));
        const RunId run = fixture.runs.newestRun();
        fixture.selection.select({run, StepIndex(2)});
        QTRY_VERIFY(fixture.button(QStringLiteral("Compare this step")));
        QTRY_VERIFY(fixture.label(QStringLiteral("What comparing takes"))
                        ->text()
                        .startsWith(QStringLiteral("takes ")));
        QVERIFY(fixture.press(QStringLiteral("Compare this step")));
        const std::uint32_t at = ComparisonStore::positionOf(fixture.run(), StepIndex(2));
        const auto compared = fixture.panel.store().position(run, at);
        QVERIFY(compared);
        QTRY_COMPARE(fixture.table->model()->rowCount(), int(compared->candidates.size()));
        QVERIFY(fixture.table->isVisible());
        QTRY_VERIFY(!fixture.button(QStringLiteral("Compare this step")));
        QVERIFY(fixture.panel.summary().contains(QStringLiteral("step 3")));
        QVERIFY(fixture.panel.summary().startsWith(QStringLiteral("KL ")));
        QVERIFY(fixture.label(QStringLiteral("KL(exact ‖ fast)"))
                    ->text()
                    .startsWith(
                        QStringLiteral("%1").arg(fixture.panel.summary().section(QLatin1Char(' '), 1, 1))));
        // The own precision's logits are those of the step, the other's differ a little.
        const LogitStore::Row stored = fixture.host.logits()->get({run, StepIndex(2)});
        QVERIFY(stored);
        const std::span<const float> kept = *stored;
        for (const ComparedCandidate &candidate : compared->candidates)
            QCOMPARE(precision == int(Precision::Fast) ? candidate.fastLogit : candidate.exactLogit,
                     kept[candidate.id.value()]);
        QVERIFY(compared->divergence.largestDifference > 0.0F);
        // The token that came is marked.
        int chosen = 0;
        for (int row = 0; row < fixture.table->model()->rowCount(); ++row) {
            const QModelIndex index = fixture.table->model()->index(row, 0);
            if (index.data(ComparedCandidateModel::ChosenRole).toBool()) {
                ++chosen;
                QCOMPARE(index.data(ComparedCandidateModel::TokenIdRole).toUInt(),
                         fixture.run().steps[2].token.value());
            }
        }
        QVERIFY(chosen <= 1);
        // Another step was not compared; the first one still is.
        fixture.selection.select({run, StepIndex(4)});
        QTRY_VERIFY(fixture.button(QStringLiteral("Compare this step")));
        QVERIFY(!fixture.table->isVisible());
        fixture.selection.select({run, StepIndex(2)});
        QTRY_VERIFY(fixture.table->isVisible());
    }

    void comparesTheWholeText()
    {
        PrecisionFixture fixture;
        QVERIFY(fixture.open(Precision::Fast));
        QVERIFY(fixture.reply(8));
        const RunId run = fixture.runs.newestRun();
        fixture.showPage(1);
        QVERIFY(fixture.press(QStringLiteral("Compare the whole text")));
        const auto length = ComparisonStore::textLength(fixture.run());
        DivergenceTotals totals;
        for (const auto &position : fixture.panel.store().positions(fixture.run())) {
            QVERIFY(position);
            totals.add(position->divergence);
        }
        QCOMPARE(totals.positions(), std::size_t(length));
        QTRY_VERIFY(fixture.bars->isVisible());
        // The parts that came first were shown first.
        QTRY_VERIFY(fixture.label(QStringLiteral("Divergence over the whole text"))
                        ->text()
                        .startsWith(QString(QString::number(length) + QChar(QChar::Nbsp) +
                                            QStringLiteral("positions"))));
        QTRY_VERIFY(!fixture.button(QStringLiteral("Compare the whole text")) &&
                    !fixture.button(QStringLiteral("Compare all positions")));

        // A click on a bar selects its step everywhere.
        const std::uint32_t at = ComparisonStore::positionOf(fixture.run(), StepIndex(5));
        fixture.bars->replotNow();
        const auto click = [&](std::uint32_t position) {
            const QPoint pixel = fixture.bars->pixelAt(position + 1.0, 0.1).toPoint();
            QTest::mouseClick(fixture.bars->childAt(pixel), Qt::LeftButton, {}, pixel);
        };
        click(at);
        QCOMPARE(fixture.selection.current(), (StepRef{run, StepIndex(5)}));
        QTRY_VERIFY(fixture.panel.summary().contains(QStringLiteral("step 6")));
        fixture.showPage(0);
        QTRY_VERIFY(fixture.table->isVisible()); // the pass over the text knows it

        // A position of the prompt has no step: it is shown here.
        fixture.showPage(1);
        QTRY_VERIFY(fixture.bars->isVisible());
        click(2);
        QTRY_VERIFY(fixture.panel.summary().contains(QStringLiteral("position 3")));
        QCOMPARE(fixture.selection.current(), (StepRef{run, StepIndex(5)}));
        fixture.showPage(0);
        QTRY_VERIFY(fixture.table->isVisible());
        const auto compared = fixture.panel.store().position(run, 2);
        QCOMPARE(fixture.table->model()->index(0, 0).data(ComparedCandidateModel::TokenIdRole).toUInt(),
                 compared->candidates[0].id.value());
        fixture.selection.select({run, StepIndex(1)});
        QTRY_VERIFY(fixture.panel.summary().contains(QStringLiteral("step 2")));
    }

    void sameKernelsAreSaidToBeTheSame()
    {
        PrecisionFixture fixture;
        QVERIFY(fixture.open(Precision::Fast, test::TinyType::F32));
        QVERIFY(fixture.reply(3));
        QTRY_VERIFY(fixture.label(QStringLiteral("What comparing takes"))
                        ->text()
                        .contains(QStringLiteral("both are the same")));
        QVERIFY(fixture.press(QStringLiteral("Compare this step")));
        QTRY_VERIFY(fixture.panel.summary().startsWith(QStringLiteral("KL 0 nats")));
    }

    void notWhileAReplyRuns()
    {
        PrecisionFixture fixture;
        // Room for a reply that is not over before anybody looks.
        QVERIFY(fixture.open(Precision::Fast, test::TinyType::Q8_0, 40'000));
        QVERIFY(fixture.reply(2));
        QTRY_VERIFY(fixture.button(QStringLiteral("Compare this step")));
        ReplyRequest request;
        request.messages = {{"user", "again"}};
        request.sampler = fixture.sampler.settings();
        request.ignoreEndOfTurn = true;
        request.startPaused = true;
        fixture.host.reply(request);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().state, EngineState::Paused, patience);
        fixture.host.run();
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().state, EngineState::Running, patience);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.button(QStringLiteral("Compare this step")) &&
                                     !fixture.button(QStringLiteral("Compare this step"))->isEnabled(),
                                 patience);
        QCOMPARE(fixture.host.status().state, EngineState::Running);
        fixture.host.stop();
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().state, EngineState::Idle, patience);
        QTRY_VERIFY(fixture.button(QStringLiteral("Compare this step"))->isEnabled());
    }

    void progressAndCancelAreInThePanel()
    {
        PrecisionFixture fixture;
        QVERIFY(fixture.open(Precision::Fast));
        QVERIFY(fixture.reply(3));
        CompareRequest request;
        request.run = fixture.runs.newestRun();
        request.positions = ComparedPositions::All;
        for (std::uint32_t i = 0; i < 20'000; ++i) // long enough not to be over by itself
            request.tokens.emplace_back(test::tinyFirstByte + i % 200);
        QSignalSpy ended(&fixture.host, &EngineHost::comparisonEnded);
        fixture.host.comparePrecisions(request);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.progress->isVisible(), patience);
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.progress->detail().isEmpty(), patience);
        QTest::mouseClick(fixture.button(QStringLiteral("Cancel")), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(ended.size(), 1, patience);
        QTRY_VERIFY(!fixture.progress->isVisible());
        QCOMPARE(fixture.host.status().state, EngineState::Idle);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestPrecisionPanel)
#include "tst_precisionpanel.moc"
