// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/theme/guiwarnings.h"
#include "tests/window/windowfixture.h"
#include "widgets/controls/celltable.h"
#include "widgets/controls/flowchips.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/models/candidatemodel.h"
#include "widgets/models/penaltymodel.h"
#include "widgets/plots/stackedtimeplot.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/chain/chainpanel.h"
#include "widgets/views/chat/chatview.h"
#include "widgets/views/cumulative/cumulativepanel.h"
#include "widgets/views/distribution/distributionpanel.h"
#include "widgets/views/distribution/vocabularypanel.h"
#include "widgets/views/kvcache/kvcachepanel.h"
#include "widgets/views/memory/memorypanel.h"
#include "widgets/views/penalties/penaltiespanel.h"
#include "widgets/views/prompt/promptpanel.h"
#include "widgets/views/timeline/timelinepanel.h"

#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QTest>

using namespace tokenloupe;
using test::WindowFixture;

namespace {

constexpr std::uint32_t replyTokens = 24;
const QString question = QStringLiteral("What is the capital of France?");

} // namespace

/// The real model in the real window: a message is typed, and what every panel shows is what the engine
/// reported, which is what the engine alone (and so the command line) gives for the same messages.
class TestEndToEnd : public QObject
{
    Q_OBJECT

    QTemporaryDir m_settings;
    std::unique_ptr<WindowFixture> m_fixture;

    Inspector &inspector() { return m_fixture->inspector(); }
    const Run &run() { return *m_fixture->run(); }
    /// The panel of a dock that stands in front, after `index` of the reply was selected.
    template <class Panel>
    Panel *shown(const char *dock)
    {
        m_fixture->dock(dock)->show();
        m_fixture->dock(dock)->raise();
        auto *panel = m_fixture->panel<Panel>();
        return QTest::qWaitFor([&] { return panel->isVisible(); }, WindowFixture::patience) ? panel : nullptr;
    }
    bool select(std::uint32_t step)
    {
        inspector().selection.select({run().start.run, StepIndex(step)});
        return m_fixture->waitForExplanationOf(StepIndex(step));
    }

private Q_SLOTS:
    void initTestCase()
    {
        TOKENLOUPE_NEED_SMOL(path);
        WindowFixture::useOwnSettings(m_settings);
        WindowFixture::clearSettings();
        QSettings().setValue(QStringLiteral("engine/context"), 512);
        Theme::instance().install();
        Theme::instance().setMode(ThemeMode::Light);
        m_fixture = std::make_unique<WindowFixture>();
        QVERIFY(m_fixture->ready());
        QVERIFY(m_fixture->open(QString::fromStdString(path.string())));
        // Penalties on, so that their panel has something to tell; then greedy, by the chain's own preset.
        SamplerSettings settings = SamplerSettings::defaults();
        settings.find(StageKind::Penalties)->params = PenaltiesParams{64, 1.1F, 0.0F, 0.0F};
        inspector().sampler.setSettings(settings);
        bool greedy = false;
        for (QAction *action : m_fixture->panel<ChainPanel>()->findChild<QMenu *>()->actions()) {
            if (action->text() == QLatin1String("Greedy")) {
                action->trigger();
                greedy = true;
            }
        }
        QVERIFY(greedy);
        QVERIFY(m_fixture->say(question, replyTokens));
        QVERIFY(run().steps.size() <= replyTokens && run().steps.size() > 3);
    }
    void cleanupTestCase() { m_fixture.reset(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void theEngineAloneGivesTheSame()
    {
        const auto model = inspector().host.status().model;
        auto session = Session::create(model, inspector().host.status().session);
        QVERIFY(session);
        const auto prompt = chatPrompt(*model, toJson({{"user", question.toStdString()}}));
        QVERIFY(prompt);
        QCOMPARE(run().start.prompt, prompt->ids());
        QVERIFY((*session)->prefill(prompt->ids(), run().start.seed));
        StepRequest request;
        request.settings = inspector().sampler.settings();
        for (const StepRecord &record : run().steps) {
            const auto step = (*session)->step(request);
            QVERIFY(step);
            QCOMPARE(record.token, step->token);
            QCOMPARE(record.logit, step->logit);
            QCOMPARE(record.pRaw, step->pRaw);
            QCOMPARE(record.p, step->p);
            QCOMPARE(record.rank, step->rank);
            QCOMPARE(record.entropyBits, step->entropyBits);
            QCOMPARE(record.kvBytes, step->kvBytes);
        }
        if (*run().end == EndReason::Stop)
            QVERIFY(run().steps.back().endsTurn);
        else
            QCOMPARE(run().steps.size(), std::size_t(replyTokens));
    }

    void theCommandLinePrintsTheSame()
    {
        const test::CliRunner cli;
        const QString chat =
            cli.file(QStringLiteral("chat.json"),
                     QByteArray::fromStdString(toJson({{"user", question.toStdString()}}).dump()));
        const auto model = inspector().host.status().model->model;
        const test::CliResult result = cli.run(
            {QStringLiteral("run"), QString::fromStdString(model->path().string()), QStringLiteral("--chat"),
             chat, QStringLiteral("--temp"), QStringLiteral("0"), QStringLiteral("--repeat-penalty"),
             QStringLiteral("1.1"), QStringLiteral("-n"), QString::number(replyTokens),
             QStringLiteral("--context"), QStringLiteral("512"), QStringLiteral("--json")});
        QVERIFY2(result.status == 0, result.messages.constData());
        const auto lines = result.lines();
        const auto tokens = test::eventsOf(lines, "token");
        QCOMPARE(lines.front()["ids"].size(), run().start.prompt.size());
        for (std::size_t i = 0; i < run().start.prompt.size(); ++i)
            QCOMPARE(lines.front()["ids"][i].get<std::uint32_t>(), run().start.prompt[i].value());
        QCOMPARE(tokens.size(), run().steps.size());
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const StepRecord &record = run().steps[i];
            QCOMPARE(tokens[i]["id"].get<std::uint32_t>(), record.token.value());
            QCOMPARE(tokens[i]["rank"].get<std::uint32_t>(), record.rank);
            QCOMPARE(tokens[i]["logit"].get<float>(), record.logit);
            QCOMPARE(tokens[i]["p_raw"].get<double>(), record.pRaw);
            QCOMPARE(tokens[i]["p"].get<double>(), record.p);
            QCOMPARE(tokens[i]["entropy_bits"].get<double>(), record.entropyBits);
            QCOMPARE(tokens[i]["kv_bytes"].get<std::uint64_t>(), record.kvBytes);
        }
        QCOMPARE(lines.back()["text"].get<std::string>(), inspector().conversation.entries()[1].text);
    }

    void theChatShowsTheReply()
    {
        std::vector<TokenId> ids;
        for (const StepRecord &step : run().steps)
            ids.push_back(step.token);
        const std::string text = inspector().host.status().model->tokenizer->decode(ids);
        QVERIFY2(text.find("Paris") != std::string::npos, text.c_str());
        const ChatLayout &layout = m_fixture->panel<ChatView>()->layoutOfText();
        QCOMPARE(layout.messageCount(), 2);
        QCOMPARE(layout.message(0).text, question);
        QCOMPARE(layout.message(1).text, QString::fromStdString(text));
        QCOMPARE(layout.message(1).tokens.size(), run().steps.size());
        QCOMPARE(inspector().conversation.entries()[1].text, text);
    }

    void aClickOnATokenShowsItsDistribution()
    {
        auto *view = m_fixture->panel<ChatView>();
        auto *panel = shown<DistributionPanel>("distribution");
        QVERIFY(panel);
        const auto *model = qobject_cast<CandidateModel *>(panel->findChild<CellTable *>()->model());
        for (const std::uint32_t step : {0U, 2U, 1U}) {
            const StepRef ref{run().start.run, StepIndex(step)};
            view->grab();
            const QRect rect = view->tokenRect(ref);
            QVERIFY(!rect.isEmpty());
            QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, rect.center());
            QCOMPARE(inspector().selection.current(), ref);
            QTRY_VERIFY_WITH_TIMEOUT(model->explanation() && model->explanation()->ref == ref,
                                     WindowFixture::patience);
            const StepRecord &record = run().steps[step];
            bool found = false;
            for (int row = 0; row < model->rowCount(); ++row) {
                const auto at = [&](int column) { return model->index(row, column); };
                if (at(0).data(CandidateModel::TokenIdRole).toUInt() != record.token.value())
                    continue;
                found = true;
                QCOMPARE(at(CandidateModel::RankColumn).data().toUInt(), record.rank + 1);
                QCOMPARE(at(CandidateModel::RawColumn).data(CandidateModel::ProbabilityRole).toDouble(),
                         record.pRaw);
                QCOMPARE(at(model->columnCount() - 1).data(CandidateModel::ProbabilityRole).toDouble(),
                         record.p);
                QCOMPARE(at(CandidateModel::LogitColumn).data().toString(),
                         QString::number(double(record.logit), 'f', 2));
                QVERIFY(at(0).data(CandidateModel::ChosenRole).toBool());
                QVERIFY(at(0).data(CandidateModel::DrawnRole).toBool());
            }
            QVERIFY(found);
            // The top row is the largest of the stored logits.
            const auto row = inspector().host.logits()->get(ref);
            QVERIFY(row);
            const auto top = std::max_element(row->begin(), row->end()) - row->begin();
            QCOMPARE(model->index(0, 0).data(CandidateModel::TokenIdRole).toUInt(), unsigned(top));
        }
    }

    void theTimelineHoldsEveryMeasurement()
    {
        auto *panel = shown<TimelinePanel>("timeline");
        QVERIFY(panel);
        QVERIFY(select(3));
        auto *plot = panel->findChild<StackedTimePlot *>();
        QTRY_COMPARE(plot->tokenCount(), int(run().steps.size()));
        const QStringList lines = plot->csv().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        for (const StepRecord &step : run().steps) {
            const QString forward = QString::number(step.forwardMs, 'g', 17);
            const QString sampling = QString::number(step.sampleMs, 'g', 17);
            QVERIFY2(std::any_of(lines.begin(), lines.end(),
                                 [&](const QString &line) {
                                     return line.contains(forward) && line.contains(sampling);
                                 }),
                     qPrintable(lines.join(QLatin1Char('\n'))));
        }
        const TimelineStatistics statistics = timelineStatistics(run());
        QTRY_VERIFY2(panel->summary().startsWith(QStringLiteral("step 4 ")), qPrintable(panel->summary()));
        QVERIFY2(panel->summary().contains(formatMilliseconds(statistics.firstTokenMs)),
                 qPrintable(panel->summary()));
        QVERIFY2(panel->summary().contains(formatRate(statistics.tokensPerSecond, QStringLiteral("tok/s"))),
                 qPrintable(panel->summary()));
    }

    void theCacheIsAsLargeAsItWas()
    {
        auto *panel = shown<KvCachePanel>("kvcache");
        QVERIFY(panel);
        QVERIFY(select(3));
        QTRY_VERIFY2(panel->summary().startsWith(formatBytes(run().steps[3].kvBytes)),
                     qPrintable(panel->summary()));
        // 30 layers × 3 heads × (64 + 64) values × 4 bytes
        QVERIFY2(panel->summary().contains(formatBytes(30 * 3 * 128 * 4)), qPrintable(panel->summary()));
        QVERIFY2(panel->summary().contains(QStringLiteral("3 of 9 heads")), qPrintable(panel->summary()));
    }

    void theMemoryIsThePlan()
    {
        auto *panel = shown<MemoryPanel>("memory");
        QVERIFY(panel);
        QVERIFY(select(3));
        const MemoryPlan &plan = inspector().host.status().plan;
        const StackedBar *inUse = nullptr;
        for (const StackedBar *bar : panel->findChildren<StackedBar *>()) {
            if (bar->accessibleName().startsWith(QStringLiteral("Planned memory")))
                inUse = bar;
        }
        QVERIFY(inUse && inUse->segments().size() >= plan.items.size());
        for (std::size_t i = 0; i < plan.items.size(); ++i) {
            const BarSegment &segment = inUse->segments()[i];
            QCOMPARE(segment.tooltip, QString::fromStdString(plan.items[i].how));
            QVERIFY(segment.value <= double(plan.items[i].bytes));
            if (plan.items[i].part == MemoryPart::Weights)
                QCOMPARE(segment.value, double(plan.items[i].bytes));
            if (plan.items[i].part == MemoryPart::KvCache)
                QTRY_COMPARE(inUse->segments()[i].value, double(run().steps[3].kvBytes));
        }
        QVERIFY2(panel->summary().contains(QStringLiteral("measured")), qPrintable(panel->summary()));
        QCOMPARE(plan.bytesOf(MemoryPart::Weights), inspector().host.status().model->model->weightsBytes());
    }

    void thePenaltiesAreThoseOfTheStep()
    {
        auto *panel = shown<PenaltiesPanel>("penalties");
        QVERIFY(panel);
        QVERIFY(select(3));
        const auto explanation = inspector().explanations.current();
        const QAbstractItemModel *model = panel->findChild<CellTable *>()->model();
        QTRY_COMPARE(model->rowCount(), int(explanation->penalties.size()));
        const auto history = run().historyBefore(StepIndex(3));
        const auto logits = inspector().host.logits()->get({run().start.run, StepIndex(3)});
        const std::size_t window = std::min<std::size_t>(64, history.size());
        QTRY_COMPARE(model->index(0, 0).data(PenaltyModel::TokenIdRole).toUInt(),
                     explanation->penalties[0].id.value());
        for (int row = 0; row < model->rowCount(); ++row) {
            const TokenId id(model->index(row, 0).data(PenaltyModel::TokenIdRole).toUInt());
            QCOMPARE(model->index(row, PenaltyModel::CountColumn).data().toInt(),
                     int(std::count(history.end() - std::ptrdiff_t(window), history.end(), id)));
            const float before = (*logits)[id.value()];
            const float after = before > 0 ? before / 1.1F : before * 1.1F;
            QCOMPARE(model->index(row, PenaltyModel::BeforeColumn).data().toString(),
                     QString::number(double(before), 'f', 2));
            QCOMPARE(model->index(row, PenaltyModel::AfterColumn).data().toString(),
                     QString::number(double(after), 'f', 2));
        }
    }

    void headingsCarryTheEntropy()
    {
        QVERIFY(select(3));
        const QString bits = QString::number(run().steps[3].entropyBits, 'f', 2);
        auto *cumulative = shown<CumulativePanel>("cumulative");
        QVERIFY(cumulative);
        QTRY_VERIFY2(cumulative->summary().contains(QStringLiteral("step 4")),
                     qPrintable(cumulative->summary()));
        QVERIFY2(cumulative->summary().contains(QString(bits + QStringLiteral(" bits"))),
                 qPrintable(cumulative->summary()));
        auto *vocabulary = shown<VocabularyPanel>("vocabulary");
        QVERIFY(vocabulary);
        QTRY_VERIFY2(vocabulary->summary().contains(bits), qPrintable(vocabulary->summary()));
        QVERIFY2(vocabulary->summary().startsWith(formatCount(49152)), qPrintable(vocabulary->summary()));
    }

    void thePromptIsShownTokenByToken()
    {
        auto *panel = shown<PromptPanel>("prompt");
        QVERIFY(panel);
        const auto tokens = int(run().start.prompt.size());
        QTRY_VERIFY2(panel->summary().startsWith(QStringLiteral("%1 tokens").arg(tokens)),
                     qPrintable(panel->summary()));
        auto *chips = panel->findChild<FlowChips *>();
        chips->setFocus();
        QTest::keyClick(chips, Qt::Key_End);
        QCOMPARE(chips->current() + 1, tokens);
        m_fixture->dock("chat")->raise();
    }

    void theTopRowCountsTheContext()
    {
        const QString used = formatCount(run().start.prompt.size() + run().steps.size());
        QString metrics;
        for (const QLabel *label : m_fixture->window->findChildren<QLabel *>()) {
            if (label->accessibleName() == QLatin1String("Speed and context"))
                metrics = label->text();
        }
        QVERIFY2(metrics.contains(QString(QStringLiteral("<b>") + used + QStringLiteral("</b>"))),
                 qPrintable(metrics));
    }

    /// Last: it changes the reply.
    void aTokenTakenByHandChangesWhatFollows()
    {
        const std::vector<StepRecord> before = run().steps;
        QVERIFY(select(1));
        const auto &candidates = inspector().explanations.current()->candidates;
        const TokenId other = candidates[0].id == before[1].token ? candidates[1].id : candidates[0].id;
        inspector().host.force(StepIndex(1), other);
        QTRY_VERIFY_WITH_TIMEOUT(run().steps.size() == 2 && run().steps[1].token == other,
                                 WindowFixture::patience);
        inspector().host.step();
        QTRY_COMPARE_WITH_TIMEOUT(run().steps.size(), std::size_t(3), WindowFixture::patience);
        // The distribution after it is another one than before: its logits differ.
        QVERIFY(run().steps[2].logSumExp != before[2].logSumExp);
        QCOMPARE(run().steps[0].token, before[0].token);
        QCOMPARE(m_fixture->panel<ChatView>()->layoutOfText().message(1).tokens.size(), std::size_t(3));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestEndToEnd)
#include "tst_endtoend.moc"
