// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "app/window/commandpalette.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/window/windowfixture.h"
#include "widgets/controls/messagebar.h"
#include "widgets/views/chain/chainpanel.h"
#include "widgets/views/chat/chatview.h"
#include "widgets/views/precision/precisionpanel.h"
#include "widgets/views/settings/enginesettingsdialog.h"

#include <QAbstractButton>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QSpinBox>
#include <QTest>

using namespace tokenloupe;
using namespace tokenloupe::test;
using test::WindowFixture;

/// The window on a tiny model: run control, selection, palette, messages, what-if.
class TestWindow : public QObject
{
    Q_OBJECT

    QTemporaryDir m_settings;

private Q_SLOTS:
    void initTestCase()
    {
        WindowFixture::useOwnSettings(m_settings);
        Theme::instance().install();
    }
    void init()
    {
        QTest::failOnWarning(test::anyWarning());
        WindowFixture::clearSettings();
        Theme::instance().setMode(ThemeMode::Light);
    }

    void keysRunPauseStepAndStop()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        fixture.input()->setFocus();
        QTest::keyClicks(fixture.input(), QStringLiteral("hello"));
        fixture.press(Qt::Key_F10); // sends, and waits before the first token
        QVERIFY(fixture.waitFor(EngineState::Paused));
        QCOMPARE(fixture.steps(), std::size_t(0));
        QCOMPARE(fixture.inspector().conversation.entries()[0].text, std::string("hello"));
        fixture.press(Qt::Key_F10);
        fixture.press(Qt::Key_F10);
        QVERIFY(fixture.waitForSteps(2));
        QCOMPARE(fixture.state(), EngineState::Paused);
        QCOMPARE(fixture.steps(), std::size_t(2));
        fixture.press(Qt::Key_F5);
        QVERIFY(fixture.waitFor(EngineState::Running)); // told apart from the steps, sooner or later
        QVERIFY(fixture.waitForSteps(4));
        fixture.press(Qt::Key_F6);
        QVERIFY(fixture.waitFor(EngineState::Paused));
        QVERIFY(!fixture.run()->end);
        const std::size_t paused = fixture.steps();
        fixture.press(Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(*fixture.run()->end, EndReason::Cancelled);
        QCOMPARE(fixture.steps(), paused);
    }

    void actionsAreEnabledWhereTheyCanDoSomething()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        const auto enabled = [&](const char *name) {
            return fixture.action(QString::fromLatin1(name))->isEnabled();
        };
        for (const char *name :
             {"Run, or continue", "Pause", "Step one token", "Stop the reply", "New chat",
              "Regenerate the reply", "Edit the last message", "Cancel loading or prefill"})
            QVERIFY2(!enabled(name), name);
        QVERIFY(fixture.openTiny());
        QVERIFY(enabled("Run, or continue") && enabled("Step one token") && enabled("New chat"));
        QVERIFY(!enabled("Pause") && !enabled("Stop the reply") && !enabled("Regenerate the reply"));
        fixture.inspector().conversation.send(QStringLiteral("hello"));
        QVERIFY(fixture.waitFor(EngineState::Running));
        QVERIFY(enabled("Pause") && enabled("Stop the reply") && !enabled("Run, or continue"));
        fixture.action(QStringLiteral("Pause"))->trigger();
        QVERIFY(fixture.waitFor(EngineState::Paused));
        QVERIFY(enabled("Run, or continue") && enabled("Stop the reply") && !enabled("Pause"));
        QVERIFY(enabled("Regenerate the reply") && enabled("Edit the last message"));
    }

    void controlNBeginsANewChat()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        QCOMPARE(fixture.inspector().conversation.entries().size(), std::size_t(2));
        fixture.press(Qt::Key_N, Qt::ControlModifier);
        QVERIFY(fixture.inspector().conversation.entries().empty());
        QVERIFY(fixture.input()->hasFocus());
    }

    void arrowsMoveTheSelection()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.say(QStringLiteral("hello"), 5));
        SelectionState &selection = fixture.inspector().selection;
        auto *view = fixture.panel<ChatView>();
        view->setFocus();
        const auto current = [&] { return selection.current().step.value(); };
        QCOMPARE(current(), 4U);
        QTest::keyClick(view, Qt::Key_Left);
        QTest::keyClick(view, Qt::Key_Left);
        QCOMPARE(current(), 2U);
        QVERIFY(!selection.isLive());
        QTest::keyClick(view, Qt::Key_Right);
        QCOMPARE(current(), 3U);
        QTest::keyClick(view, Qt::Key_Left);
        QTest::keyClick(view, Qt::Key_End);
        QCOMPARE(current(), 4U);
        QVERIFY(selection.isLive());
        // In the message field the same keys move the cursor.
        fixture.input()->setFocus();
        QTest::keyClicks(fixture.input(), QStringLiteral("ab"));
        QTest::keyClick(fixture.input(), Qt::Key_Left);
        QTest::keyClicks(fixture.input(), QStringLiteral("x"));
        QCOMPARE(fixture.input()->toPlainText(), QStringLiteral("axb"));
        QCOMPARE(current(), 4U);
        // In an empty one there is nothing to move over.
        fixture.input()->clear();
        QTest::keyClick(fixture.input(), Qt::Key_Left);
        QCOMPARE(current(), 3U);
        QTest::keyClick(fixture.input(), Qt::Key_End);
        QCOMPARE(current(), 4U);
    }

    void thePaletteFindsAndTriggers()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        auto *palette = fixture.window->findChild<CommandPalette *>();
        QVERIFY(!palette->isVisible());
        QTest::keyClick(fixture.window.get(), Qt::Key_K, Qt::ControlModifier);
        QVERIFY(palette->isVisible());
        auto *field = palette->findChild<QLineEdit *>();
        auto *list = palette->findChild<QListView *>();
        QVERIFY(field->hasFocus());
        const int all = list->model()->rowCount();
        QVERIFY(all > 15);
        QTest::keyClicks(field, QStringLiteral("dark theme")); // words in any order
        QCOMPARE(list->model()->rowCount(), 1);
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(!palette->isVisible());
        QVERIFY(Theme::instance().isDark());

        QTest::keyClick(fixture.window.get(), Qt::Key_K, Qt::ControlModifier);
        QCOMPARE(field->text(), QString());
        QTest::keyClicks(field, QStringLiteral("workspace:"));
        QVERIFY(list->model()->rowCount() >= 3);
        const auto title = [&](int row) { return list->model()->index(row, 0).data().toString(); };
        QVERIFY(title(0).startsWith(QStringLiteral("Workspace: Chat")));
        QVERIFY(title(1).startsWith(QStringLiteral("Workspace: Decode")));
        QVERIFY(title(2).startsWith(QStringLiteral("Workspace: Memory")));
        QTest::keyClick(field, Qt::Key_Down);
        QTest::keyClick(field, Qt::Key_Down);
        QTest::keyClick(field, Qt::Key_Down);
        QTest::keyClick(field, Qt::Key_Up);
        QCOMPARE(list->currentIndex().row(), list->model()->rowCount() > 3 ? 2 : 1);
        list->setCurrentIndex(list->model()->index(2, 0));
        QTest::keyClick(field, Qt::Key_Enter);
        QVERIFY(fixture.action(QStringLiteral("Workspace: Memory"))->isChecked());

        QTest::keyClick(fixture.window.get(), Qt::Key_K, Qt::ControlModifier);
        QTest::keyClicks(field, QStringLiteral("no such thing"));
        QCOMPARE(list->model()->rowCount(), 0);
        QTest::keyClick(field, Qt::Key_Return); // nothing to trigger
        QVERIFY(palette->isVisible());
        QTest::keyClick(field, Qt::Key_Escape);
        QVERIFY(!palette->isVisible());
    }

    void thePaletteOffersWhatIsEnabled()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        auto *palette = fixture.window->findChild<CommandPalette *>();
        auto *list = palette->findChild<QListView *>();
        auto *field = palette->findChild<QLineEdit *>();
        QTest::keyClick(fixture.window.get(), Qt::Key_K, Qt::ControlModifier);
        QTest::keyClicks(field, QStringLiteral("step one token"));
        QCOMPARE(list->model()->rowCount(), 0);
        QTest::keyClick(field, Qt::Key_Escape);
        QVERIFY(fixture.openTiny());
        QTest::keyClick(fixture.window.get(), Qt::Key_K, Qt::ControlModifier);
        QTest::keyClicks(field, QStringLiteral("step one token"));
        QCOMPARE(list->model()->rowCount(), 1);
    }

    void aFullContextSaysWhatWouldFit()
    {
        QSettings().setValue(QStringLiteral("engine/context"), 64);
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        fixture.inspector().conversation.send(QStringLiteral("hello"));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.run() && fixture.run()->end, WindowFixture::patience);
        QCOMPARE(*fixture.run()->end, EndReason::Context); // its settings ban the end of a turn
        auto *bar =
            fixture.window->findChild<QWidget *>(QStringLiteral("messageRow"))->findChild<MessageBar *>();
        QTRY_VERIFY_WITH_TIMEOUT(bar->isVisible(), WindowFixture::patience);
        QVERIFY(bar->message().what.contains(QStringLiteral("64 tokens")));
        QVERIFY(bar->message().advice.contains(QStringLiteral("256"))); // what it was trained for
        QCOMPARE(fixture.inspector().conversation.entries().size(), std::size_t(2));
        // The button leads to the settings.
        auto *dialog = fixture.window->findChild<EngineSettingsDialog *>();
        QVERIFY(!dialog->isVisible());
        for (QAbstractButton *button : bar->findChildren<QAbstractButton *>()) {
            if (button->text() == bar->message().action)
                QTest::mouseClick(button, Qt::LeftButton);
        }
        QVERIFY(dialog->isVisible());
    }

    void thePrecisionIsChosenAndRemembered()
    {
        {
            WindowFixture fixture;
            QVERIFY(fixture.openTiny());
            QVERIFY(fixture.say(QStringLiteral("hello"), 3));
            const auto precision = [&] { return fixture.inspector().host.status().session.precision; };
            QAction *exact = fixture.action(QStringLiteral("Precision: Exact"));
            QAction *fast = fixture.action(QStringLiteral("Precision: Fast"));
            QVERIFY(exact && fast);
            QCOMPARE(precision(), Precision::Fast); // without a choice
            QVERIFY(fast->isChecked() && !exact->isChecked());
            QSignalSpy configured(&fixture.inspector().host, &EngineHost::configured);
            exact->trigger();
            QVERIFY(configured.wait(WindowFixture::patience));
            QCOMPARE(precision(), Precision::Exact);
            QVERIFY(exact->isChecked());
            QCOMPARE(QSettings().value(QStringLiteral("engine/precision")).toString(),
                     QStringLiteral("exact"));
            // The chat goes on, in the other precision.
            QCOMPARE(fixture.inspector().conversation.entries().size(), std::size_t(2));
            QVERIFY(fixture.say(QStringLiteral("again"), 3));
            QCOMPARE(fixture.inspector().conversation.entries().size(), std::size_t(4));
            QCOMPARE(fixture.run()->start.arithmetic.precision, Precision::Exact);
            bool shown = false;
            for (const QLabel *label : fixture.window->findChildren<QLabel *>())
                shown = shown || (label->accessibleName() == QStringLiteral("Engine") &&
                                  label->text().contains(QStringLiteral("exact precision")) &&
                                  label->toolTip().contains(QStringLiteral("exact kernels: F32")));
            QVERIFY(shown);
        }
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QCOMPARE(fixture.inspector().host.status().session.precision, Precision::Exact);
    }

    void theShortcutComparesTheSelectedStep()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QAction *compare = fixture.action(QStringLiteral("Compare precisions at the selected step"));
        QVERIFY(compare && !compare->isEnabled());
        QVERIFY(fixture.say(QStringLiteral("hello"), 4));
        QTRY_VERIFY(compare->isEnabled());
        const StepRef step{fixture.run()->start.run, StepIndex(1)};
        fixture.inspector().selection.select(step);
        QTest::keyClick(fixture.window.get(), Qt::Key_P, Qt::ControlModifier);
        auto *panel = fixture.panel<PrecisionPanel>();
        QTRY_VERIFY(panel->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(
            panel->store().position(step.run, ComparisonStore::positionOf(*fixture.run(), step.step)),
            WindowFixture::patience);
        QTRY_COMPARE(fixture.state(), EngineState::Idle);
    }

    void anEditedStageAsksWhatIf()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.say(QStringLiteral("hello"), 4));
        const StepRef step{fixture.inspector().runs.newestRun(), StepIndex(1)};
        fixture.inspector().selection.select(step);
        QVERIFY(fixture.waitForExplanationOf(StepIndex(1)));
        const auto own = fixture.inspector().explanations.current();
        QVERIFY(own->settings == fixture.inspector().runs.record(step)->settings);

        auto *list = fixture.panel<ChainPanel>()->findChild<QListView *>();
        SamplerModel &sampler = fixture.inspector().sampler;
        for (int row = 0; row < sampler.rowCount(); ++row) {
            if (sampler.stage(row).kind() == StageKind::TopK)
                list->setCurrentIndex(sampler.index(row));
        }
        auto *box = fixture.panel<ChainPanel>()->findChild<QSpinBox *>();
        box->setFocus();
        box->selectAll();
        QTest::keyClicks(box, QStringLiteral("2"));
        QTest::keyClick(box, Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.inspector().explanations.current() != own, WindowFixture::patience);
        const auto whatIf = fixture.inspector().explanations.current();
        QCOMPARE(whatIf->ref, step);
        QCOMPARE(std::get<TopKParams>(whatIf->settings->find(StageKind::TopK)->params).k, 2);
        QVERIFY(whatIf->finalIds.size() <= 2);
        QCOMPARE(fixture.steps(), std::size_t(4));
        QCOMPARE(fixture.state(), EngineState::Idle);
        // Another step is shown as it was drawn.
        fixture.inspector().selection.select({step.run, StepIndex(2)});
        QVERIFY(fixture.waitForExplanationOf(StepIndex(2)));
        QTRY_VERIFY(!fixture.inspector().explanations.whatIf());
        QTRY_COMPARE(std::get<TopKParams>(
                         fixture.inspector().explanations.current()->settings->find(StageKind::TopK)->params)
                         .k,
                     40);
    }

    void aSettingThatIsRefusedIsTold()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        StageSettings stage = fixture.inspector().sampler.stage(5);
        stage.params = TemperatureParams{std::numeric_limits<float>::quiet_NaN()};
        fixture.inspector().sampler.setStage(5, stage);
        auto *bar =
            fixture.window->findChild<QWidget *>(QStringLiteral("messageRow"))->findChild<MessageBar *>();
        QTRY_VERIFY(bar->isVisible());
        QCOMPARE(bar->message().kind, MessageKind::Warning);
        QVERIFY(!bar->message().why.isEmpty());
    }

    void theTopRowAndTheStatusBarTellWhereTheEngineIs()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.say(QStringLiteral("hello"), 4));
        const auto label = [&](const char *name) {
            for (const QLabel *candidate : fixture.window->findChildren<QLabel *>()) {
                if (candidate->accessibleName() == QLatin1String(name))
                    return candidate->text();
            }
            return QString();
        };
        QTRY_VERIFY2(label("Position").startsWith(QStringLiteral("step 4 of 4")),
                     qPrintable(label("Position")));
        fixture.inspector().selection.selectPrevious();
        QTRY_VERIFY2(label("Position").startsWith(QStringLiteral("step 3 of 4")),
                     qPrintable(label("Position")));
        const QString used = QString::number(fixture.run()->start.prompt.size() + 4);
        QTRY_VERIFY2(label("Speed and context")
                         .contains(QString(QStringLiteral("<b>") + used + QStringLiteral("</b>"))),
                     qPrintable(label("Speed and context")));
        QTRY_VERIFY2(label("Engine").contains(QStringLiteral("idle")), qPrintable(label("Engine")));
        QTRY_VERIFY2(label("Trace").contains(QStringLiteral("lossless")), qPrintable(label("Trace")));
    }

    void isClosedInTheMiddleOfAReply()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        fixture.inspector().conversation.send(QStringLiteral("hello"));
        QVERIFY(fixture.waitForSteps(2));
        QVERIFY(fixture.waitFor(EngineState::Running));
        const std::weak_ptr<const LoadedModel> model = fixture.inspector().host.status().model;
        fixture.window->close();
        fixture.window.reset();
        QVERIFY(model.expired());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestWindow)
#include "tst_window.moc"
