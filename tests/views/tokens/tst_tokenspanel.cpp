// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/theme/theme.h"
#include "widgets/views/tokens/tokenspanel.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QPlainTextEdit>
#include <QTest>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

struct TokensFixture : test::ViewFixture
{
    TokensPanel panel{context};
    QPlainTextEdit *text = panel.findChild<QPlainTextEdit *>();
    FlowChips *chips = panel.findChild<FlowChips *>();
    QCheckBox *control = panel.findChild<QCheckBox *>();

    TokensFixture()
    {
        panel.resize(500, 400);
        panel.show();
    }
    bool ready() { return openTinyModel() && QTest::qWaitForWindowActive(&panel); }
    std::vector<TokenId> encoded(SpecialTokens special = SpecialTokens::AsText) const
    {
        EncodeOptions options;
        options.special = special;
        const auto tokens =
            host.status().model->tokenizer->encode(text->toPlainText().toStdString(), options);
        std::vector<TokenId> ids;
        for (const EncodedToken &token : *tokens)
            ids.push_back(token.id);
        return ids;
    }
    bool waitForSplit(SpecialTokens special = SpecialTokens::AsText)
    {
        const auto wanted = encoded(special);
        return QTest::qWaitFor(
            [&] {
                return panel.split().text == text->toPlainText().toStdString() &&
                       panel.split().ids() == wanted;
            },
            patience);
    }
};

} // namespace

class TestTokensPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAModelItSaysWhatToDo()
    {
        TokensFixture fixture;
        QVERIFY(fixture.panel.isEmptyState());
        fixture.text->setPlainText(QStringLiteral("hello"));
        QVERIFY(fixture.panel.split().tokens.empty());
        // What was typed is split as soon as there is a model.
        QVERIFY(fixture.openTinyModel());
        QVERIFY(!fixture.panel.isEmptyState());
        QVERIFY(fixture.waitForSplit());
        fixture.host.closeModel();
        QTRY_VERIFY_WITH_TIMEOUT(fixture.panel.isEmptyState(), patience);
        QVERIFY(fixture.panel.split().tokens.empty());
    }

    void splitsAsOneTypes()
    {
        TokensFixture fixture;
        QVERIFY(fixture.ready());
        fixture.text->setFocus();
        for (const QString &piece : {QStringLiteral("hel"), QStringLiteral("lo wor"), QStringLiteral("ld")}) {
            QTest::keyClicks(fixture.text, piece);
            QVERIFY(fixture.waitForSplit());
        }
        QCOMPARE(fixture.text->toPlainText(), QStringLiteral("hello world"));
        const auto count = fixture.panel.split().tokens.size();
        QVERIFY2(fixture.panel.summary().startsWith(QStringLiteral("%1 tokens · 11 bytes").arg(count)),
                 qPrintable(fixture.panel.summary()));
        fixture.chips->setFocus();
        QTest::keyClick(fixture.chips, Qt::Key_End);
        QCOMPARE(fixture.chips->current(), int(count) - 1);
        fixture.text->selectAll();
        fixture.text->setFocus();
        QTest::keyClick(fixture.text, Qt::Key_Delete);
        QTRY_VERIFY(fixture.panel.split().tokens.empty());
        QCOMPARE(fixture.panel.summary(), QString());
    }

    void textOfOtherScriptsIsPasted()
    {
        TokensFixture fixture;
        QVERIFY(fixture.ready());
        QGuiApplication::clipboard()->setText(QStringLiteral("é中\U0001F600\tz"));
        fixture.text->setFocus();
        QTest::keyClick(fixture.text, Qt::Key_V, Qt::ControlModifier);
        QVERIFY(!fixture.text->toPlainText().isEmpty());
        QVERIFY(fixture.waitForSplit());
        QVERIFY(fixture.panel.split().tokens.size() >= 5);
    }

    void controlTokensAreTextUnlessAskedFor()
    {
        TokensFixture fixture;
        QVERIFY(fixture.ready());
        fixture.text->setFocus();
        QTest::keyClicks(fixture.text, QStringLiteral("<|im_start|>user"));
        QVERIFY(fixture.waitForSplit());
        const auto plain = fixture.panel.split().ids();
        QVERIFY(std::find(plain.begin(), plain.end(), TokenId(test::tinyTurnStart)) == plain.end());
        fixture.control->setFocus();
        QTest::keyClick(fixture.control, Qt::Key_Space);
        QVERIFY(fixture.waitForSplit(SpecialTokens::Parse));
        QCOMPARE(fixture.panel.split().ids().front(), TokenId(test::tinyTurnStart));
        QVERIFY(fixture.panel.split().tokens.size() < plain.size());
        QTest::keyClick(fixture.control, Qt::Key_Space);
        QVERIFY(fixture.waitForSplit());
        QCOMPARE(fixture.panel.split().ids(), plain);
    }

    void pointingAtAChipMarksItsBytesInTheText()
    {
        TokensFixture fixture;
        QVERIFY(fixture.ready());
        QGuiApplication::clipboard()->setText(QStringLiteral("中 hello"));
        fixture.text->setFocus();
        QTest::keyClick(fixture.text, Qt::Key_V, Qt::ControlModifier);
        QVERIFY(fixture.waitForSplit());
        const auto &tokens = fixture.panel.split().tokens;
        for (int i = 0; i < int(tokens.size()); ++i) {
            const ByteRange range = tokens[std::size_t(i)].range;
            const QString piece = QString::fromStdString(
                fixture.panel.split().text.substr(range.begin, range.end - range.begin));
            QTest::mouseMove(fixture.chips->viewport(), fixture.chips->itemRect(i).center());
            QTRY_COMPARE(fixture.text->extraSelections().size(), 1);
            QTRY_COMPARE(fixture.text->extraSelections().first().cursor.selectedText(), piece);
        }
    }

    void aBookIsSplitWithoutHoldingTheWindow()
    {
        TokensFixture fixture;
        QVERIFY(fixture.ready());
        QString book;
        for (int i = 0; i < 3000; ++i)
            book += QStringLiteral("the story of a world ");
        fixture.text->setPlainText(book);
        fixture.text->setPlainText(QStringLiteral("hello")); // before the book is done, or just after
        QVERIFY(fixture.waitForSplit());
        QCOMPARE(fixture.panel.split().text, std::string("hello"));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestTokensPanel)
#include "tst_tokenspanel.moc"
