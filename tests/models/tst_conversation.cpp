// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/enginefixture.h"
#include "tests/support/testmain.h"
#include "widgets/models/conversation.h"
#include "widgets/models/samplermodel.h"

#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>
#include <cmath>

using namespace tokenloupe;
using test::EngineFixture;

namespace {

constexpr std::uint32_t longContext = 16384;

struct Chat : EngineFixture
{
    SamplerModel sampler;
    Conversation conversation{host, runs, sampler};

    Chat() { conversation.setMaxTokens(10); }

    const std::vector<ConversationEntry> &entries() const { return conversation.entries(); }
    bool waitForTheEnd()
    {
        return QTest::qWaitFor(
            [&] { return !conversation.isReplying() && host.status().state == EngineState::Idle; }, patience);
    }
    bool say(const QString &text)
    {
        conversation.send(text);
        return waitForTheEnd();
    }
    /// What the tokens of the newest run stand for; a SentencePiece decoder takes the first space away, a
    /// chat shows it.
    QString decoded() const
    {
        std::vector<TokenId> ids;
        for (const StepRecord &step : run()->steps)
            ids.push_back(step.token);
        const Tokenizer &tokenizer = *host.status().model->tokenizer;
        std::string text = tokenizer.decode(ids);
        for (const TokenId id : ids) {
            if (tokenizer.isControl(id))
                continue;
            if (tokenizer.bytes(id).substr(0, 1) == " ")
                text.insert(0, " ");
            break;
        }
        return QString::fromStdString(sanitizedUtf8(text));
    }
    QString reply() const { return QString::fromStdString(entries().back().text); }
    TokenId byte(int value) const { return TokenId(test::tinyFirstByte + std::uint32_t(value)); }
    bool take(TokenId token)
    {
        const std::size_t steps = run()->steps.size();
        host.force(StepIndex(std::uint32_t(steps)), token);
        return waitForSteps(steps + 1);
    }
};

} // namespace

class TestConversation : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void aMessageIsAnswered()
    {
        Chat chat;
        QVERIFY(chat.open());
        QSignalSpy appended(&chat.conversation, &Conversation::entryAppended);
        QSignalSpy changed(&chat.conversation, &Conversation::entryChanged);
        chat.conversation.send(QStringLiteral("hello there"));
        QVERIFY(chat.conversation.isReplying());
        QCOMPARE(appended.count(), 2);
        QVERIFY(chat.waitForTheEnd());
        QCOMPARE(chat.entries().size(), std::size_t(2));
        QCOMPARE(chat.entries()[0].author, ConversationEntry::Author::User);
        QCOMPARE(chat.entries()[0].text, std::string("hello there"));
        QCOMPARE(chat.entries()[1].author, ConversationEntry::Author::Assistant);
        QCOMPARE(chat.entries()[1].run, chat.runs.newestRun());
        QCOMPARE(chat.reply(), chat.decoded());
        QVERIFY(!chat.reply().isEmpty());
        QVERIFY(changed.count() > 0);
        QCOMPARE(changed.last().at(0).toInt(), 1);
    }

    void thePromptHoldsTheWholeTalk()
    {
        Chat chat;
        QVERIFY(chat.open());
        chat.conversation.setSystemPrompt(QStringLiteral("be kind"));
        QVERIFY(chat.say(QStringLiteral("first")));
        const std::string reply = chat.entries()[1].text;
        QVERIFY(chat.say(QStringLiteral("second")));
        const auto prompt = chatPrompt(
            *chat.host.status().model,
            toJson({{"system", "be kind"}, {"user", "first"}, {"assistant", reply}, {"user", "second"}}));
        QCOMPARE(chat.run()->start.promptText->text, prompt->text);
        QCOMPARE(chat.run()->start.prompt, prompt->ids());
        QVERIFY(chat.run()->start.reusedTokens > 0); // the cache still holds the first turn
    }

    void regeneratingDrawsAnew()
    {
        Chat chat;
        QVERIFY(chat.open());
        QVERIFY(chat.say(QStringLiteral("hello")));
        const RunRecord first = chat.run()->start;
        QSignalSpy removed(&chat.conversation, &Conversation::entriesRemoved);
        chat.conversation.regenerate();
        QCOMPARE(removed.count(), 1);
        QCOMPARE(removed.at(0).at(0).toInt(), 1);
        QVERIFY(chat.waitForTheEnd());
        QCOMPARE(chat.entries().size(), std::size_t(2));
        QVERIFY(chat.run()->start.run != first.run);
        QVERIFY(chat.run()->start.seed != first.seed);
        QCOMPARE(chat.run()->start.prompt, first.prompt);
        QCOMPARE(chat.entries()[1].run, chat.run()->start.run);
        QCOMPARE(chat.reply(), chat.decoded());
    }

    void withAFixedSeedTheReplyIsTheSameAgain()
    {
        Chat chat;
        QVERIFY(chat.open());
        chat.sampler.setSeed(1234);
        chat.sampler.setSeedMode(SeedMode::Fixed);
        QVERIFY(chat.say(QStringLiteral("hello")));
        const QString first = chat.reply();
        chat.conversation.regenerate();
        QVERIFY(chat.waitForTheEnd());
        QCOMPARE(chat.run()->start.seed, std::uint64_t(1234));
        QCOMPARE(chat.reply(), first);
    }

    void editingReplacesTheLastMessageAndItsReply()
    {
        Chat chat;
        QVERIFY(chat.open());
        QVERIFY(chat.say(QStringLiteral("first")));
        QVERIFY(chat.say(QStringLiteral("secnod")));
        QCOMPARE(chat.conversation.lastUserMessage(), QStringLiteral("secnod"));
        chat.conversation.editLast(QStringLiteral("second"));
        QVERIFY(chat.waitForTheEnd());
        QCOMPARE(chat.entries().size(), std::size_t(4));
        QCOMPARE(chat.entries()[0].text, std::string("first"));
        QCOMPARE(chat.entries()[2].text, std::string("second"));
        QVERIFY(chat.run()->start.promptText->text.find("secnod") == std::string::npos);
        QCOMPARE(chat.reply(), chat.decoded());
    }

    void aNewChatForgetsTheOld()
    {
        Chat chat;
        QVERIFY(chat.open(longContext));
        chat.conversation.setMaxTokens(0);
        chat.conversation.send(QStringLiteral("hello"));
        QVERIFY(chat.waitForSteps(1));
        QSignalSpy reset(&chat.conversation, &Conversation::reset);
        chat.conversation.newChat();
        QCOMPARE(reset.count(), 1);
        QVERIFY(chat.entries().empty());
        QVERIFY(!chat.conversation.isReplying());
        QVERIFY(!chat.conversation.canEditLast());
        QVERIFY(chat.waitFor(EngineState::Idle));
        chat.conversation.setMaxTokens(4);
        QVERIFY(chat.say(QStringLiteral("again")));
        QCOMPARE(chat.entries().size(), std::size_t(2));
    }

    void aStoppedReplyKeepsWhatIsThere()
    {
        Chat chat;
        QVERIFY(chat.open(longContext));
        chat.conversation.setMaxTokens(0);
        SamplerSettings settings = SamplerSettings::defaults();
        // Never the end of the turn.
        settings.find(StageKind::LogitBias)->params =
            LogitBiasParams{{{TokenId(test::tinyEos), -INFINITY}, {TokenId(test::tinyTurnEnd), -INFINITY}}};
        chat.sampler.setSettings(settings);
        chat.conversation.send(QStringLiteral("hello"));
        QVERIFY(chat.waitForSteps(3));
        chat.host.stop();
        QVERIFY(chat.waitForTheEnd());
        QCOMPARE(chat.entries().size(), std::size_t(2));
        QCOMPARE(*chat.run()->end, EndReason::Cancelled);
        QCOMPARE(chat.reply(), chat.decoded());
    }

    void sendingInTheMiddleOfAReplyEndsIt()
    {
        Chat chat;
        QVERIFY(chat.open(longContext));
        chat.conversation.setMaxTokens(0);
        chat.conversation.send(QStringLiteral("hello"));
        QVERIFY(chat.waitForSteps(1));
        const RunId first = chat.runs.newestRun();
        chat.conversation.setMaxTokens(5);
        QVERIFY(chat.say(QStringLiteral("and now this")));
        QCOMPARE(chat.entries().size(), std::size_t(4));
        QVERIFY(chat.runs.newestRun() != first);
        QVERIFY(chat.runs.run(first)->end);
    }

    void aCharacterOfSeveralTokensAppearsWhole()
    {
        Chat chat;
        QVERIFY(chat.open());
        chat.conversation.send(QStringLiteral("hello"), true);
        QVERIFY(chat.waitFor(EngineState::Paused));
        QStringList texts;
        connect(&chat.conversation, &Conversation::entryChanged, this, [&] { texts << chat.reply(); });
        for (const int value : {0x61, 0xE4, 0xB8, 0xAD, 0x62, 0xF0, 0x9F, 0x98, 0x80}) // a中b😀
            QVERIFY(chat.take(chat.byte(value)));
        QCOMPARE(chat.reply(), QString::fromUtf8("a\xE4\xB8\xAD"
                                                 "b\xF0\x9F\x98\x80"));
        for (const QString &text : texts)
            QVERIFY2(!text.contains(QChar::ReplacementCharacter), qPrintable(text));
        QVERIFY(texts.contains(QStringLiteral("a")));
    }

    void aCharacterThatStaysCutIsMarkedAtTheEnd()
    {
        Chat chat;
        QVERIFY(chat.open());
        chat.conversation.send(QStringLiteral("hello"), true);
        QVERIFY(chat.waitFor(EngineState::Paused));
        QVERIFY(chat.take(chat.byte('a')));
        QVERIFY(chat.take(chat.byte(0xE4)));
        QCOMPARE(chat.reply(), QStringLiteral("a"));
        chat.host.stop();
        QVERIFY(chat.waitForTheEnd());
        QCOMPARE(chat.reply(), QString(QStringLiteral("a") + QChar(QChar::ReplacementCharacter)));
    }

    void aForcedTokenChangesTheText()
    {
        Chat chat;
        QVERIFY(chat.open());
        chat.conversation.send(QStringLiteral("hello"), true);
        QVERIFY(chat.waitFor(EngineState::Paused));
        for (const int value : {'a', 'b', 'c'})
            QVERIFY(chat.take(chat.byte(value)));
        chat.host.force(StepIndex(1), chat.byte('X'));
        QTRY_COMPARE_WITH_TIMEOUT(chat.reply(), QStringLiteral("aX"), EngineFixture::patience);
    }

    void controlTokensAreNoText()
    {
        Chat chat;
        QVERIFY(chat.open());
        chat.conversation.send(QStringLiteral("hello"), true);
        QVERIFY(chat.waitFor(EngineState::Paused));
        QVERIFY(chat.take(chat.byte('a')));
        QVERIFY(chat.take(TokenId(test::tinyTurnStart)));
        QVERIFY(chat.take(chat.byte('b')));
        QCOMPARE(chat.reply(), QStringLiteral("ab"));
    }

    void aFailingReplyKeepsTheMessage()
    {
        Chat chat;
        test::TinyModelOptions options = EngineFixture::chatModel();
        options.chatTemplate = "{{ raise_exception('only poems, please') }}";
        QVERIFY(chat.open(256, options));
        QSignalSpy failed(&chat.conversation, &Conversation::failed);
        chat.conversation.send(QStringLiteral("prose"));
        QVERIFY(failed.wait(EngineFixture::patience));
        QVERIFY2(failed.at(0).at(0).toString().contains(QStringLiteral("only poems, please")),
                 qPrintable(failed.at(0).at(0).toString()));
        QCOMPARE(chat.entries().size(), std::size_t(1));
        QCOMPARE(chat.entries()[0].text, std::string("prose"));
        QVERIFY(!chat.conversation.isReplying());
        QVERIFY(chat.conversation.canEditLast());
    }
};

TOKENLOUPE_TEST_MAIN(TestConversation)
#include "tst_conversation.moc"
