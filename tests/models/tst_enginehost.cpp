// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/enginefixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;
using test::EngineFixture;

namespace {

constexpr std::uint32_t longContext = 16384; // no reply fills it while a test looks
constexpr std::uint32_t shortContext = 64;

} // namespace

class TestEngineHost : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void opensAModel()
    {
        EngineFixture fixture;
        QCOMPARE(fixture.host.status().state, EngineState::NoModel);
        QVERIFY(!fixture.host.logits());
        QVERIFY(fixture.open(128));
        const EngineStatus &status = fixture.host.status();
        QCOMPARE(status.state, EngineState::Idle);
        QCOMPARE(status.model->config().name, std::string("tiny"));
        QCOMPARE(status.session.contextTokens, 128U);
        QCOMPARE(status.threads, 1);
        QVERIFY(status.device.startsWith(QStringLiteral("CPU")));
        QCOMPARE(status.kvShape.layers.size(), std::size_t(2));
        QVERIFY(status.plan.total() > 0);
        QVERIFY(!status.canContinue);
        QVERIFY(fixture.host.logits());
        const EngineProgress progress = fixture.host.progress();
        QCOMPARE(progress.done, progress.total);
        QVERIFY(progress.total > 0);
    }

    void aFileThatCannotBeOpenedLeavesThePresentModel_data()
    {
        QTest::addColumn<QByteArray>("content"); // null: no such file
        QTest::newRow("no file") << QByteArray();
        QTest::newRow("no GGUF") << QByteArray("this is no model at all");
        QTest::newRow("cut off") << QByteArray("GGUF\3\0\0\0\7\0\0\0", 12);
    }

    void aFileThatCannotBeOpenedLeavesThePresentModel()
    {
        QFETCH(QByteArray, content);
        EngineFixture fixture;
        QVERIFY(fixture.open());
        const auto model = fixture.host.status().model;
        const QString path = fixture.folder.filePath(QStringLiteral("broken.gguf"));
        if (!content.isNull()) {
            QFile file(path);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(content);
        }
        QSignalSpy failed(&fixture.host, &EngineHost::modelFailed);
        QSignalSpy opened(&fixture.host, &EngineHost::modelOpened);
        fixture.host.openModel(path, EngineFixture::session(64));
        QVERIFY(failed.wait(EngineFixture::patience));
        QCOMPARE(failed.at(0).at(0).toString(), path);
        QVERIFY(!failed.at(0).at(1).value<EngineFailure>().message.isEmpty());
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(fixture.host.status().model, model);
        QCOMPARE(opened.count(), 0);
        QVERIFY(fixture.replyPaused("still here"));
    }

    void theNewerOfTwoModelsIsTheOneThatOpens()
    {
        EngineFixture fixture;
        const QString first = fixture.write(EngineFixture::chatModel("first"));
        const QString second = fixture.write(EngineFixture::chatModel("second"));
        QSignalSpy failed(&fixture.host, &EngineHost::modelFailed);
        fixture.host.openModel(first, EngineFixture::session(64));
        fixture.host.openModel(second, EngineFixture::session(64));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.host.status().model &&
                                     fixture.host.status().model->config().name == "second" &&
                                     fixture.host.status().state == EngineState::Idle,
                                 EngineFixture::patience);
        for (const QList<QVariant> &arguments : failed)
            QCOMPARE(arguments.at(1).value<EngineFailure>().message, QString()); // cancelled, nothing to tell
    }

    void stopLeavesAModelThatIsBeingOpenedAlone()
    {
        EngineFixture fixture;
        QSignalSpy opened(&fixture.host, &EngineHost::modelOpened);
        fixture.host.openModel(fixture.write(EngineFixture::chatModel()), EngineFixture::session(64));
        fixture.host.stop();
        QVERIFY(opened.wait(EngineFixture::patience));
        QCOMPARE(fixture.host.status().state, EngineState::Idle);
    }

    void aReplyRunsToItsEnd()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        std::vector<TraceEvent> events;
        disconnect(&fixture.host, nullptr, &fixture.pump, nullptr);
        QObject::connect(&fixture.runs, &RunStore::runEnded, [&](RunId) { events.emplace_back(RunEnded{}); });
        QObject::connect(&fixture.runs, &RunStore::runStarted,
                         [&](RunId) { events.emplace_back(RunRecord{}); });
        QObject::connect(&fixture.runs, &RunStore::stepsAppended, [&](RunId, int, int count) {
            events.insert(events.end(), std::size_t(count), StepRecord{});
        });
        fixture.host.reply(EngineFixture::request("hello there", 9));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run() && fixture.run()->end, EngineFixture::patience);
        QCOMPARE(events.size(), std::size_t(11));
        QVERIFY(std::holds_alternative<RunRecord>(events.front()));
        QVERIFY(std::holds_alternative<RunEnded>(events.back()));

        const Run &run = *fixture.run();
        QCOMPARE(run.start.tag, std::uint64_t(42));
        QCOMPARE(run.start.seed, std::uint64_t(5));
        const auto prompt = chatPrompt(*fixture.host.status().model, toJson({{"user", "hello there"}}));
        QCOMPARE(run.start.prompt, prompt->ids());
        QCOMPARE(run.start.promptText->text, prompt->text);
        QCOMPARE(*run.end, EndReason::Length);
        for (std::uint32_t i = 0; i < 9; ++i) {
            QCOMPARE(run.steps[i].ref, (StepRef{run.start.run, StepIndex(i)}));
            QCOMPARE(std::size_t(run.steps[i].position), run.start.prompt.size() + i);
        }
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(fixture.host.status().steps, 9U);
        QVERIFY(fixture.host.status().canContinue);
    }

    void itsTokensAreThoseOfASessionOfItsOwn()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        fixture.host.reply(EngineFixture::request("hello there", 12));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run() && fixture.run()->end, EngineFixture::patience);
        const auto model = fixture.host.status().model;
        auto session = Session::create(model, EngineFixture::session(256));
        QVERIFY(session);
        const auto prompt = chatPrompt(*model, toJson({{"user", "hello there"}}));
        QVERIFY((*session)->prefill(prompt->ids(), 5));
        StepRequest request;
        request.settings = std::make_shared<const SamplerSettings>(SamplerSettings::defaults());
        for (const StepRecord &recorded : fixture.run()->steps) {
            const auto step = (*session)->step(request);
            QVERIFY(step);
            QCOMPARE(recorded.token, step->token);
            QCOMPARE(recorded.p, step->p);
            QCOMPARE(recorded.u, step->u);
        }
    }

    void theContextEndsAReply()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(shortContext));
        fixture.host.reply(EngineFixture::request("hello there"));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run() && fixture.run()->end, EngineFixture::patience);
        QCOMPARE(*fixture.run()->end, EndReason::Context);
        // The last token is drawn from the last place of the context and needs none itself.
        QCOMPARE(fixture.run()->start.prompt.size() + fixture.run()->steps.size(),
                 std::size_t(shortContext) + 1);
    }

    void aPromptLongerThanTheContextIsRefused()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(shortContext));
        std::string text;
        for (int i = 0; i < 100; ++i)
            text += "hello world ";
        QSignalSpy failed(&fixture.host, &EngineHost::replyFailed);
        fixture.host.reply(EngineFixture::request(text));
        QVERIFY(failed.wait(EngineFixture::patience));
        QCOMPARE(failed.at(0).at(0).toULongLong(), 42ULL);
        QVERIFY2(failed.at(0).at(1).toString().contains(QStringLiteral("64")),
                 qPrintable(failed.at(0).at(1).toString()));
        QVERIFY(!fixture.run());
        QVERIFY(fixture.replyPaused("shorter"));
    }

    void stepsOneTokenAPress()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open());
        QVERIFY(fixture.replyPaused("hello", 20));
        QVERIFY(fixture.run()->steps.empty());
        QVERIFY(fixture.step(3));
        // A command of another kind after the steps: when it was worked on, so were they.
        fixture.host.force(StepIndex(3), TokenId(test::tinyFirstByte));
        QVERIFY(fixture.waitForSteps(4));
        QCOMPARE(fixture.run()->steps.size(), std::size_t(4));
        QCOMPARE(fixture.host.status().state, EngineState::Paused);
        QVERIFY(!fixture.run()->end);
        fixture.host.run();
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run()->end, EngineFixture::patience);
        QCOMPARE(fixture.run()->steps.size(), std::size_t(20));
    }

    void pausesAndGoesOn()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(longContext));
        fixture.host.reply(EngineFixture::request("hello"));
        QVERIFY(fixture.waitForSteps(1));
        fixture.host.pause();
        QVERIFY(fixture.waitFor(EngineState::Paused));
        const std::size_t paused = fixture.run()->steps.size();
        QVERIFY(!fixture.run()->end);
        QVERIFY(fixture.step());
        QCOMPARE(fixture.run()->steps.size(), paused + 1);
        fixture.host.run();
        QVERIFY(fixture.waitForSteps(paused + 5));
        QVERIFY(fixture.waitFor(EngineState::Running));
    }

    void stopsWhileRunning()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(longContext));
        fixture.host.reply(EngineFixture::request("hello"));
        QVERIFY(fixture.waitForSteps(2));
        fixture.host.stop();
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(*fixture.run()->end, EndReason::Cancelled);
        const std::size_t steps = fixture.run()->steps.size();
        QVERIFY(fixture.host.status().canContinue);
        fixture.host.run();
        QVERIFY(fixture.waitForSteps(steps + 1));
        QVERIFY(!fixture.run()->end);
    }

    void stopsInTheMiddleOfAPrefill()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(longContext));
        std::string text;
        for (int i = 0; i < 4000; ++i)
            text += "hello world ";
        QSignalSpy failed(&fixture.host, &EngineHost::replyFailed);
        fixture.host.reply(EngineFixture::request(text));
        QVERIFY(QTest::qWaitFor(
            [&] {
                return fixture.host.status().state == EngineState::Prefilling &&
                       fixture.host.progress().total > 0;
            },
            EngineFixture::patience));
        fixture.host.stop();
        QVERIFY(failed.wait(EngineFixture::patience));
        QCOMPARE(failed.at(0).at(0).toULongLong(), 42ULL);
        QCOMPARE(failed.at(0).at(1).toString(), QString());
        QVERIFY(fixture.host.progress().done < fixture.host.progress().total);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QVERIFY(!fixture.run());
        QVERIFY(!fixture.host.status().canContinue);
        // What was stopped does not stop what comes after.
        fixture.host.reply(EngineFixture::request("hello", 3));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run() && fixture.run()->end, EngineFixture::patience);
        QCOMPARE(*fixture.run()->end, EndReason::Length);
    }

    void anotherModelOpensWhileOneReplies()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(longContext));
        fixture.host.reply(EngineFixture::request("hello"));
        QVERIFY(fixture.waitForSteps(1));
        QVERIFY(fixture.open(64, EngineFixture::chatModel("other")));
        QCOMPARE(fixture.host.status().model->config().name, std::string("other"));
        QCOMPARE(fixture.host.status().state, EngineState::Idle);
        QCOMPARE(fixture.host.status().steps, 0U);
        QVERIFY(!fixture.host.status().canContinue);
    }

    void closesTheModel()
    {
        EngineFixture fixture;
        QVERIFY(fixture.open(longContext));
        fixture.host.reply(EngineFixture::request("hello"));
        QVERIFY(fixture.waitForSteps(1));
        fixture.host.closeModel();
        QVERIFY(fixture.waitFor(EngineState::NoModel));
        QVERIFY(!fixture.host.status().model);
        QVERIFY(!fixture.host.logits());
    }

    void isDestroyedWhileRunning()
    {
        auto fixture = std::make_unique<EngineFixture>();
        QVERIFY(fixture->open(longContext));
        fixture->host.reply(EngineFixture::request("hello"));
        QVERIFY(fixture->waitForSteps(1));
        QVERIFY(fixture->waitFor(EngineState::Running));
        const std::weak_ptr<const LoadedModel> model = fixture->host.status().model;
        fixture.reset(); // joins the thread
        QVERIFY(model.expired());
    }

    void withoutAModelCommandsDoNothing()
    {
        EngineFixture fixture;
        QSignalSpy status(&fixture.host, &EngineHost::statusChanged);
        fixture.host.run();
        fixture.host.pause();
        fixture.host.step();
        fixture.host.stop();
        fixture.host.force(StepIndex(0), TokenId(1));
        fixture.host.setSampler(std::make_shared<const SamplerSettings>(SamplerSettings::defaults()));
        fixture.host.cancelWork();
        QSignalSpy failed(&fixture.host, &EngineHost::replyFailed);
        fixture.host.reply(EngineFixture::request("hello")); // the last one: all before it are done then
        QVERIFY(failed.wait(EngineFixture::patience));
        QVERIFY(!failed.at(0).at(1).toString().isEmpty());
        QCOMPARE(fixture.host.status().state, EngineState::NoModel);
        QVERIFY(!fixture.run());
    }
};

TOKENLOUPE_TEST_MAIN(TestEngineHost)
#include "tst_enginehost.moc"
