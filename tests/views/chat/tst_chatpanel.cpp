// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/plaintext.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chat/chatinput.h"
#include "widgets/views/chat/chatpanel.h"
#include "widgets/views/chat/chatview.h"

#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QTest>
#include <QToolButton>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

struct PanelFixture : test::ViewFixture
{
    ChatPanel panel{context};
    ChatInput *input = panel.findChild<ChatInput *>();

    PanelFixture()
    {
        conversation.setMaxTokens(8);
        sampler.setSettings(test::plainTextSettings());
        panel.resize(500, 400);
        panel.show();
    }
    bool ready() { return openTinyModel() && QTest::qWaitForWindowActive(&panel); }
    bool waitForReply()
    {
        return QTest::qWaitFor(
            [this] { return !conversation.isReplying() && host.status().state == EngineState::Idle; },
            patience);
    }
    bool say(const QString &text)
    {
        input->setFocus();
        QTest::keyClicks(input, text);
        QTest::keyClick(input, Qt::Key_Return);
        return waitForReply();
    }
    QToolButton *button(const QString &tip)
    {
        for (QToolButton *button : panel.findChildren<QToolButton *>()) {
            if (button->toolTip().startsWith(tip))
                return button;
        }
        return nullptr;
    }
    bool isEditing()
    {
        for (const QLabel *label : panel.findChildren<QLabel *>()) {
            if (label->text().startsWith(QStringLiteral("Editing")))
                return label->isVisible();
        }
        return false;
    }
};

} // namespace

class TestChatPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAModelItOffersToOpenOne()
    {
        PanelFixture fixture;
        QVERIFY(fixture.panel.isEmptyState());
        fixture.input->setPlainText(QStringLiteral("hello"));
        fixture.panel.submit(SubmitMode::Run);
        QVERIFY(fixture.conversation.entries().empty());
        QCOMPARE(fixture.input->toPlainText(), QStringLiteral("hello")); // what was typed is not lost
        QVERIFY(fixture.openTinyModel());
        QVERIFY(!fixture.panel.isEmptyState());
    }

    void enterSendsAndShiftEnterBreaksTheLine()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        fixture.input->setFocus();
        QTest::keyClicks(fixture.input, QStringLiteral("hello"));
        QTest::keyClick(fixture.input, Qt::Key_Return, Qt::ShiftModifier);
        QTest::keyClicks(fixture.input, QStringLiteral("there"));
        QCOMPARE(fixture.input->toPlainText(), QStringLiteral("hello\nthere"));
        QVERIFY(fixture.conversation.entries().empty());
        QTest::keyClick(fixture.input, Qt::Key_Return);
        QCOMPARE(fixture.conversation.entries().size(), std::size_t(2));
        QCOMPARE(fixture.conversation.entries()[0].text, std::string("hello\nthere"));
        QCOMPARE(fixture.input->toPlainText(), QString());
        QVERIFY(fixture.waitForReply());
        QCOMPARE(fixture.panel.view()->layoutOfText().message(1).text,
                 QString::fromStdString(fixture.conversation.entries()[1].text));
    }

    void nothingTypedSendsNothing()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        fixture.input->setFocus();
        QTest::keyClicks(fixture.input, QStringLiteral("  "));
        QTest::keyClick(fixture.input, Qt::Key_Return);
        QVERIFY(fixture.conversation.entries().empty());
        QVERIFY(!fixture.panel.hasDraft());
    }

    void theFieldGrowsWithItsText()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        const int one = fixture.input->height();
        fixture.input->setPlainText(QStringLiteral("a\nb\nc"));
        const int three = fixture.input->height();
        QVERIFY(three > one);
        fixture.input->setPlainText(QStringLiteral("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl"));
        const int twelve = fixture.input->height();
        QVERIFY(twelve > three);
        QVERIFY(twelve < one * 7);
        fixture.input->clear();
        QCOMPARE(fixture.input->height(), one);
    }

    void aPausedSendWaitsForTheFirstStep()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        fixture.input->setPlainText(QStringLiteral("hello"));
        fixture.panel.submit(SubmitMode::Paused);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().state, EngineState::Paused, patience);
        QTRY_VERIFY(!fixture.runs.isEmpty());
        QVERIFY(fixture.runs.run(fixture.runs.newestRun())->steps.empty());
    }

    void theSystemPromptIsTyped()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        auto *system = fixture.panel.findChild<QLineEdit *>();
        system->setFocus();
        QTest::keyClicks(system, QStringLiteral("be kind"));
        QCOMPARE(fixture.conversation.systemPrompt(), QStringLiteral("be kind"));
        QVERIFY(fixture.say(QStringLiteral("hello")));
        const Run *run = fixture.runs.run(fixture.runs.newestRun());
        QVERIFY(run->start.promptText->text.find("system\nbe kind<|im_end|>") != std::string::npos);
    }

    void theLastMessageIsEdited()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        QVERIFY(!fixture.button(QStringLiteral("Edit"))->isEnabled());
        QVERIFY(fixture.say(QStringLiteral("helo")));
        const RunId first = fixture.runs.newestRun();
        QVERIFY(fixture.button(QStringLiteral("Edit"))->isEnabled());
        QTest::mouseClick(fixture.button(QStringLiteral("Edit")), Qt::LeftButton);
        QCOMPARE(fixture.input->toPlainText(), QStringLiteral("helo"));
        QVERIFY(fixture.isEditing());
        QTest::keyClick(fixture.input, Qt::Key_Escape);
        QCOMPARE(fixture.input->toPlainText(), QString());
        QVERIFY(!fixture.isEditing());
        QCOMPARE(fixture.conversation.entries()[0].text, std::string("helo"));

        fixture.panel.beginEditLast();
        QTest::keyClick(fixture.input, Qt::Key_Backspace);
        QTest::keyClicks(fixture.input, QStringLiteral("lo"));
        QTest::keyClick(fixture.input, Qt::Key_Return);
        QVERIFY(!fixture.isEditing());
        QVERIFY(fixture.waitForReply());
        QCOMPARE(fixture.conversation.entries().size(), std::size_t(2));
        QCOMPARE(fixture.conversation.entries()[0].text, std::string("hello"));
        QVERIFY(fixture.runs.newestRun() != first);
        // The next message is a new one again.
        QVERIFY(fixture.say(QStringLiteral("more")));
        QCOMPARE(fixture.conversation.entries().size(), std::size_t(4));
    }

    void regenerateAndNewChatByTheirButtons()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        QVERIFY(!fixture.button(QStringLiteral("Regenerate"))->isEnabled());
        QVERIFY(fixture.say(QStringLiteral("hello")));
        const RunId first = fixture.runs.newestRun();
        QTest::mouseClick(fixture.button(QStringLiteral("Regenerate")), Qt::LeftButton);
        QVERIFY(fixture.waitForReply());
        QVERIFY(fixture.runs.newestRun() != first);
        QCOMPARE(fixture.conversation.entries().size(), std::size_t(2));
        QTest::mouseClick(fixture.button(QStringLiteral("New chat")), Qt::LeftButton);
        QVERIFY(fixture.conversation.entries().empty());
        QVERIFY(!fixture.button(QStringLiteral("New chat"))->isEnabled());
    }

    void aNewChatEndsAnEdit()
    {
        PanelFixture fixture;
        QVERIFY(fixture.ready());
        QVERIFY(fixture.say(QStringLiteral("hello")));
        fixture.panel.beginEditLast();
        QVERIFY(fixture.isEditing());
        fixture.conversation.newChat();
        QVERIFY(!fixture.isEditing());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestChatPanel)
#include "tst_chatpanel.moc"
