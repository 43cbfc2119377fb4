// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chat/chatview.h"

#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QScrollBar>
#include <QTest>
#include <QToolTip>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

/// The transcript over a reply that is paused and whose tokens the test chooses.
struct ChatFixture : test::ViewFixture
{
    ChatView view{context};

    ChatFixture()
    {
        view.resize(500, 300);
        view.show();
    }
    bool begin()
    {
        if (!openTinyModel())
            return false;
        conversation.send(QStringLiteral("hello there"), true);
        return QTest::qWaitFor([this] { return host.status().state == EngineState::Paused && newest(); },
                               patience);
    }
    bool take(TokenId token)
    {
        const std::size_t steps = newest()->steps.size();
        host.force(StepIndex(std::uint32_t(steps)), token);
        return QTest::qWaitFor([&] { return newest()->steps.size() == steps + 1; }, patience);
    }
    bool takeText(const QByteArray &text)
    {
        for (const char byte : text) {
            if (!take(TokenId(test::tinyFirstByte + static_cast<unsigned char>(byte))))
                return false;
        }
        view.grab(); // lays out what is seen
        return true;
    }
    const Run *newest() const { return runs.run(runs.newestRun()); }
    StepRef ref(std::uint32_t step) const { return {runs.newestRun(), StepIndex(step)}; }
    QRect rect(std::uint32_t step) { return view.tokenRect(ref(step)); }
    QString replyText() const
    {
        return view.layoutOfText().message(view.layoutOfText().messageCount() - 1).text;
    }
    void drag(const QPoint &from, const QPoint &to)
    {
        QTest::mousePress(view.viewport(), Qt::LeftButton, {}, from);
        QTest::mouseMove(view.viewport(), (from + to) / 2);
        QTest::mouseMove(view.viewport(), to);
        QTest::mouseRelease(view.viewport(), Qt::LeftButton, {}, to);
    }
    /// Share of a token's rectangle that is painted in `color`.
    double shareOf(const QColor &color, std::uint32_t step)
    {
        const QImage image = view.viewport()->grab().toImage();
        const QRect area = rect(step);
        int hits = 0;
        for (int y = area.top(); y <= area.bottom(); ++y) {
            for (int x = area.left(); x <= area.right(); ++x)
                hits += image.valid(x, y) && image.pixelColor(x, y).rgb() == color.rgb();
        }
        return double(hits) / (area.width() * area.height());
    }
};

} // namespace

class TestChatView : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void showsMessagesAndTokens()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("abc"));
        const ChatLayout &layout = chat.view.layoutOfText();
        QCOMPARE(layout.messageCount(), 2);
        QCOMPARE(layout.message(0).text, QStringLiteral("hello there"));
        QCOMPARE(layout.message(1).text, QStringLiteral("abc"));
        QVERIFY(layout.message(1).role.contains(QStringLiteral("TINY")));
        QCOMPARE(layout.message(1).tokens.size(), std::size_t(3));
        QVERIFY(chat.rect(0).right() <= chat.rect(1).left() + 1);
        QVERIFY(chat.rect(1).right() <= chat.rect(2).left() + 1);
    }

    void aClickOnATokenSelectsItsStep()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("mnopq"));
        for (const std::uint32_t step : {1U, 3U, 0U}) {
            QTest::mouseClick(chat.view.viewport(), Qt::LeftButton, {}, chat.rect(step).center());
            QCOMPARE(chat.selection.current(), chat.ref(step));
        }
        QVERIFY(!chat.selection.isLive());
        QTest::mouseClick(chat.view.viewport(), Qt::RightButton, {}, chat.rect(2).center());
        QCOMPARE(chat.selection.current(), chat.ref(0));
        // Beside the text: nothing.
        QTest::mouseClick(chat.view.viewport(), Qt::LeftButton, {},
                          QPoint(chat.rect(4).right() + 60, chat.rect(4).center().y()));
        QCOMPARE(chat.selection.current(), chat.ref(0));
    }

    void hoveringTellsAboutTheToken()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("Q"));
        const StepRecord &record = *chat.runs.record(chat.ref(0));
        const QPoint at = chat.rect(0).center();
        QHelpEvent help(QEvent::ToolTip, at, chat.view.viewport()->mapToGlobal(at));
        QApplication::sendEvent(chat.view.viewport(), &help);
        const QString tip = QToolTip::text();
        QVERIFY2(tip.contains(QStringLiteral("token %1").arg(record.token.value())), qPrintable(tip));
        QVERIFY2(tip.contains(QStringLiteral("byte: 51")), qPrintable(tip)); // Q
        QVERIFY2(tip.contains(QString::number(record.pRaw * 100.0, 'g', 4)), qPrintable(tip));
        QVERIFY2(tip.contains(QStringLiteral("rank %1").arg(record.rank + 1)), qPrintable(tip));
        QVERIFY2(tip.contains(QStringLiteral("taken by hand")), qPrintable(tip));
        QVERIFY2(tip.contains(QStringLiteral("step 1 ")), qPrintable(tip));
    }

    void draggingSelectsTextAndCopiesItExactly()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("ab \xE4\xB8\xAD\ncd"));
        const QString text = QString::fromUtf8("ab \xE4\xB8\xAD\ncd");
        QCOMPARE(chat.replyText(), text);
        // From before b to behind c on the second line. The tokens of the line break and of partial bytes
        // have no width.
        const QRect b = chat.rect(1);
        const QRect c = chat.rect(7);
        chat.drag({b.left() + 1, b.center().y()}, {c.right(), c.center().y()});
        QCOMPARE(chat.view.selectedText(), QString::fromUtf8("b \xE4\xB8\xAD\nc"));
        chat.view.setFocus();
        QTest::keyClick(&chat.view, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), QString::fromUtf8("b \xE4\xB8\xAD\nc"));
        // A drag selects no step.
        QVERIFY(chat.selection.isLive());
        QTest::keyClick(&chat.view, Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(chat.view.selectedText(), QString(QStringLiteral("hello there\n\n") + text));
        QTest::mouseClick(chat.view.viewport(), Qt::LeftButton, {}, b.center());
        QCOMPARE(chat.view.selectedText(), QString());
    }

    void tokensAreTintedByWhatIsAskedFor()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("WWW"));
        chat.selection.select(chat.ref(0)); // its outline lies on that token only
        const StepRecord &record = *chat.runs.record(chat.ref(1));
        for (const TokenColouring colouring : {TokenColouring::Surprise, TokenColouring::Probability,
                                               TokenColouring::Entropy, TokenColouring::Rank}) {
            chat.view.setColouring(colouring);
            const QColor tint = tintColor(colouring, record);
            if (tint.isValid())
                QVERIFY2(chat.shareOf(tint, 1) > 0.2, qPrintable(colouringName(colouring)));
        }
        // "W" by hand from a random model: surely surprising.
        const QColor surprise = tintColor(TokenColouring::Surprise, record);
        QVERIFY(surprise.isValid());
        chat.view.setColouring(TokenColouring::None);
        QCOMPARE(chat.shareOf(surprise, 1), 0.0);
    }

    void theSelectedTokenIsOutlined()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("WWWW"));
        const QColor accent = Theme::instance().colors().accent;
        chat.selection.select(chat.ref(1));
        QTRY_VERIFY(chat.shareOf(accent, 1) > 0.02);
        QCOMPARE(chat.shareOf(accent, 3), 0.0);
    }

    void aForcedTokenReplacesWhatWasShown()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("abcd"));
        chat.host.force(StepIndex(1), TokenId(test::tinyFirstByte + 'X'));
        QTRY_COMPARE_WITH_TIMEOUT(chat.replyText(), QStringLiteral("aX"), patience);
        QCOMPARE(chat.view.layoutOfText().message(1).tokens.size(), std::size_t(2));
    }

    void followsTheEndUntilOneScrollsAway()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        chat.view.resize(300, 120);
        QVERIFY(chat.takeText("a\nb\nc\nd\ne\nf\ng\nh\n"));
        QScrollBar *bar = chat.view.verticalScrollBar();
        QVERIFY(bar->maximum() > 0);
        QTRY_COMPARE(bar->value(), bar->maximum());
        bar->setValue(0);
        QVERIFY(chat.takeText("i\nj\nk\n"));
        QCOMPARE(bar->value(), 0);
        // A step chosen elsewhere is brought into view.
        chat.selection.select(chat.ref(14));
        QVERIFY(chat.view.viewport()->rect().contains(chat.rect(14)));
        // Also one whose line was not laid out since the width changed.
        chat.view.resize(250, 120);
        bar->setValue(bar->maximum());
        chat.selection.select(chat.ref(0));
        QVERIFY(!chat.rect(0).isEmpty());
        QVERIFY(chat.view.viewport()->rect().contains(chat.rect(0)));
    }

    void aNewChatIsEmpty()
    {
        ChatFixture chat;
        QVERIFY(chat.begin());
        QVERIFY(chat.takeText("ab"));
        chat.conversation.newChat();
        QCOMPARE(chat.view.layoutOfText().messageCount(), 0);
        chat.view.grab();
        QCOMPARE(chat.view.selectedText(), QString());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestChatView)
#include "tst_chatview.moc"
