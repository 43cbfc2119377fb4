// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chat/chatlayout.h"

#include <QApplication>
#include <QTest>

using namespace tokenloupe;

namespace {

/// A reply whose tokens are the given pieces.
ChatText replyOf(const QStringList &pieces)
{
    ChatText text;
    text.role = QStringLiteral("MODEL");
    for (const QString &piece : pieces) {
        const auto index = static_cast<std::uint32_t>(text.tokens.size());
        text.tokens.push_back({static_cast<int>(text.text.size()),
                               static_cast<int>(piece.size()),
                               {RunId(0), StepIndex(index)}});
        text.text += piece;
    }
    return text;
}

ChatLayout layoutOf(double width)
{
    ChatLayout layout;
    layout.setFonts({Theme::instance().font(TextRole::Small), Theme::instance().font(TextRole::Chat)});
    layout.setWidth(width);
    return layout;
}

int laidOut(const ChatLayout &layout)
{
    return static_cast<int>(std::count_if(layout.rows().begin(), layout.rows().end(),
                                          [](const ChatLayout::Row &row) { return row.layout != nullptr; }));
}

const QStringList story{QStringLiteral("Once"),       QStringLiteral(" upon"), QStringLiteral(" a"),
                        QStringLiteral(" time"),      QStringLiteral(",\n"),   QString(),
                        QStringLiteral("there"),      QStringLiteral(" was"),  QStringLiteral("\n\n"),
                        QStringLiteral("\U0001F600"), QStringLiteral("中文"),  QStringLiteral(" end.")};

} // namespace

class TestChatLayout : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void everyTokenIsFoundWhereItIsDrawn_data()
    {
        QTest::addColumn<double>("width");
        QTest::newRow("wide") << 600.0;
        QTest::newRow("narrow") << 90.0;
    }

    void everyTokenIsFoundWhereItIsDrawn()
    {
        QFETCH(double, width);
        ChatLayout layout = layoutOf(width);
        layout.appendMessage({QStringLiteral("YOU"), QStringLiteral("tell me"), {}});
        layout.appendMessage(replyOf(story));
        layout.rowsIn(0, 10'000);
        const ChatText &reply = layout.message(1);
        for (const TokenSpan &token : reply.tokens) {
            if (reply.text.mid(token.start, token.length).trimmed().isEmpty())
                continue;
            const auto rects = layout.rectsOf(1, token.start, token.length);
            QVERIFY(!rects.empty());
            // The last one: a space in front of a word may stay behind at the end of the line before.
            const TokenSpan *found = layout.tokenAt(rects.back().center());
            QVERIFY(found);
            QCOMPARE(found->step, token.step);
            QCOMPARE(layout.positionAt({rects.front().left() + 0.5, rects.front().center().y()}),
                     (ChatPosition{1, token.start}));
        }
    }

    void besideTheTextThereIsNoToken()
    {
        ChatLayout layout = layoutOf(400);
        layout.appendMessage({QStringLiteral("YOU"), QStringLiteral("tell me"), {}});
        layout.appendMessage(replyOf({QStringLiteral("Once"), QStringLiteral(" upon")}));
        layout.rowsIn(0, 10'000);
        const QRectF last = layout.rectsOf(1, 4, 5).front();
        QVERIFY(layout.tokenAt(last.center()));
        QVERIFY(!layout.tokenAt({last.right() + 20, last.center().y()}));
        QVERIFY(!layout.tokenAt({-3, last.center().y()}));
        QVERIFY(!layout.tokenAt({last.center().x(), layout.height() + 50}));
        QVERIFY(!layout.tokenAt({5, -5}));
        QVERIFY(!layout.tokenAt({5, 2}));                        // the role
        QVERIFY(!layout.tokenAt({5, layout.rows()[1].top + 5})); // what a person wrote
        QVERIFY(!layoutOf(100).positionAt({0, 0}).isValid());
    }

    void linesDoNotOverlap()
    {
        ChatLayout layout = layoutOf(120);
        layout.appendMessage(replyOf(story));
        layout.appendMessage(
            {QStringLiteral("YOU"), QStringLiteral("a longer line that has to be broken"), {}});
        layout.rowsIn(0, 10'000);
        double below = 0;
        for (const ChatLayout::Row &row : layout.rows()) {
            QCOMPARE(row.top, below);
            QVERIFY(row.height > 0);
            below += row.height;
        }
        QCOMPARE(layout.height(), below);
        QVERIFY(layout.rows().back().height > 1.5 * layout.lineHeight());
        QVERIFY(layout.lineHeight() >= 1.7 * Theme::instance().font(TextRole::Chat).pixelSize());
    }

    void aTokenOverTwoLinesHasARectangleOnEach()
    {
        ChatLayout layout = layoutOf(90);
        layout.appendMessage(replyOf({QStringLiteral("Donaudampfschifffahrtsgesellschaft")}));
        layout.rowsIn(0, 10'000);
        const auto rects = layout.rectsOf(0, 0, layout.message(0).text.size());
        QVERIFY(rects.size() >= 2);
        QVERIFY(rects[1].top() > rects[0].top());
        for (const QRectF &rect : rects)
            QCOMPARE(layout.tokenAt(rect.center()), &layout.message(0).tokens.front());
    }

    void onlyWhatIsSeenIsLaidOut()
    {
        QStringList pieces;
        for (int i = 0; i < 100'000; ++i)
            pieces << (i % 50 == 49 ? QStringLiteral("word\n") : QStringLiteral(" word"));
        ChatLayout layout = layoutOf(500);
        layout.appendMessage(replyOf(pieces));
        QCOMPARE(laidOut(layout), 0);
        const double height = layout.height();
        QVERIFY(height > 2000 * layout.lineHeight());
        auto seen = layout.rowsIn(0, 600);
        QVERIFY(seen.size() > 2);
        QVERIFY2(laidOut(layout) < 30, qPrintable(QString::number(laidOut(layout))));
        // In the middle, and a second time at no cost.
        seen = layout.rowsIn(height / 2, height / 2 + 600);
        const int twice = laidOut(layout);
        QVERIFY(twice < 60);
        const std::vector<const ChatLayout::Row *> again = layout.rowsIn(height / 2, height / 2 + 600);
        QCOMPARE(laidOut(layout), twice);
        QVERIFY(again == seen);
        QVERIFY(layout.rectsOf(0, 0, 4).size() == 1); // laid out
        const TokenSpan &last = layout.message(0).tokens[99'000];
        QVERIFY(layout.rectsOf(0, last.start, last.length).empty());
        layout.layOutAt({0, last.start});
        QCOMPARE(layout.rectsOf(0, last.start, last.length).size(), std::size_t(1));
        seen = layout.rowsIn(height / 2, height / 2 + 600);
        for (const ChatLayout::Row *row : seen)
            QVERIFY(row->layout && row->top + row->height >= height / 2 - 1 && row->top < height / 2 + 600);
    }

    void extendingTheLastEqualsAFreshLayout_data()
    {
        QTest::addColumn<QStringList>("pieces");
        QTest::newRow("story") << story;
        QTest::newRow("breaks alone") << QStringList{QStringLiteral("\n"), QStringLiteral("\n"),
                                                     QStringLiteral("a"), QStringLiteral("\n")};
        QTest::newRow("break inside")
            << QStringList{QStringLiteral("ab"), QStringLiteral("c\nd"), QStringLiteral("e\n\nf")};
        QTest::newRow("nothing") << QStringList{QString(), QString()};
        QStringList wrapping;
        for (int i = 0; i < 60; ++i)
            wrapping << QStringLiteral(" word");
        QTest::newRow("wraps") << wrapping;
    }

    void extendingTheLastEqualsAFreshLayout()
    {
        QFETCH(QStringList, pieces);
        ChatLayout fresh = layoutOf(200);
        fresh.appendMessage({QStringLiteral("YOU"), QStringLiteral("hi"), {}});
        fresh.appendMessage(replyOf(pieces));
        ChatLayout grown = layoutOf(200);
        grown.appendMessage({QStringLiteral("YOU"), QStringLiteral("hi"), {}});
        grown.appendMessage({QStringLiteral("MODEL"), {}, {}});
        for (std::size_t i = 0; i < std::size_t(pieces.size()); ++i) {
            grown.extendLast(pieces[qsizetype(i)], {fresh.message(1).tokens[i]});
            if (i % 2)
                grown.rowsIn(0, 10'000); // looked at in between
        }
        fresh.rowsIn(0, 10'000);
        grown.rowsIn(0, 10'000);
        QCOMPARE(grown.message(1).text, fresh.message(1).text);
        QCOMPARE(grown.message(1).tokens.size(), fresh.message(1).tokens.size());
        QCOMPARE(grown.rows().size(), fresh.rows().size());
        QCOMPARE(grown.height(), fresh.height());
        for (std::size_t i = 0; i < fresh.rows().size(); ++i) {
            QCOMPARE(grown.rows()[i].start, fresh.rows()[i].start);
            QCOMPARE(grown.rows()[i].length, fresh.rows()[i].length);
            QCOMPARE(grown.rows()[i].top, fresh.rows()[i].top);
            QCOMPARE(grown.rows()[i].height, fresh.rows()[i].height);
        }
        for (const TokenSpan &token : fresh.message(1).tokens)
            QCOMPARE(grown.rectsOf(1, token.start, token.length),
                     fresh.rectsOf(1, token.start, token.length));
    }

    void textBetweenTwoPlaces()
    {
        ChatLayout layout = layoutOf(200);
        layout.appendMessage({QStringLiteral("YOU"), QStringLiteral("one\ntwo"), {}});
        layout.appendMessage({QStringLiteral("MODEL"), QStringLiteral("three"), {}});
        QCOMPARE(layout.textBetween({0, 1}, {0, 5}), QStringLiteral("ne\nt"));
        QCOMPARE(layout.textBetween({0, 4}, {1, 2}), QStringLiteral("two\n\nth"));
        QCOMPARE(layout.textBetween({1, 2}, {0, 4}), QStringLiteral("two\n\nth"));
        QCOMPARE(layout.textBetween({1, 3}, {1, 3}), QString());
    }

    void messagesAreReplacedAndRemoved()
    {
        ChatLayout layout = layoutOf(200);
        layout.appendMessage({QStringLiteral("YOU"), QStringLiteral("one\ntwo"), {}});
        const double first = layout.height();
        layout.appendMessage(replyOf(story));
        layout.replaceLast({QStringLiteral("MODEL"), QStringLiteral("short"), {}});
        QCOMPARE(layout.messageCount(), 2);
        QCOMPARE(layout.rows().size(), std::size_t(5));
        layout.removeFrom(1);
        QCOMPARE(layout.messageCount(), 1);
        QCOMPARE(layout.height(), first);
        layout.removeFrom(3); // there is none
        QCOMPARE(layout.messageCount(), 1);
        layout.clear();
        QCOMPARE(layout.height(), 0.0);
        QVERIFY(layout.rowsIn(0, 100).empty());
    }

    void anotherWidthBreaksLinesAnew()
    {
        ChatLayout layout = layoutOf(1000);
        layout.appendMessage(
            {QStringLiteral("YOU"), QStringLiteral("a longer line that has to be broken"), {}});
        layout.rowsIn(0, 1000);
        const double wide = layout.height();
        layout.setWidth(100);
        layout.rowsIn(0, 1000);
        QVERIFY(layout.height() > wide);
        layout.setWidth(1000);
        layout.rowsIn(0, 1000);
        QCOMPARE(layout.height(), wide);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestChatLayout)
#include "tst_chatlayout.moc"
