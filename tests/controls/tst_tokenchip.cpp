// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/tokenchip.h"
#include "widgets/theme/theme.h"

#include <QApplication>
#include <QImage>
#include <QPainter>
#include <QTest>

using namespace tokenloupe;

class TestTokenChip : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void texts_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<TokenKind>("kind");
        QTest::addColumn<QString>("text");
        QTest::addColumn<ChipForm>("form");
        const auto row = [](const char *name, const QByteArray &bytes, const QString &text,
                            ChipForm form = ChipForm::Plain, TokenKind kind = TokenKind::Normal) {
            QTest::newRow(name) << bytes << kind << text << form;
        };
        row("word with its space", " The", QStringLiteral("·The"));
        row("spaces only", "   ", QStringLiteral("···"));
        row("line break", "\n", QStringLiteral("⏎"));
        row("two line breaks", "\n\n", QStringLiteral("⏎⏎"));
        row("tab", "\t", QStringLiteral("⇥"));
        row("carriage return", "\r", QStringLiteral("␍"));
        row("null", QByteArray("\0", 1), QStringLiteral("␀"));
        row("escape in a word",
            "a\x1B"
            "b",
            QStringLiteral("a␛b"));
        row("delete", "\x7F", QStringLiteral("␡"));
        row("control character above ASCII", "\xC2\x85", QStringLiteral("U+0085"));
        row("zero-width space", "\xE2\x80\x8B", QStringLiteral("U+200B"));
        row("right-to-left override", "\xE2\x80\xAE", QStringLiteral("U+202E"));
        row("empty", "", QStringLiteral("∅"));
        row("part of a character", "\xE4\xB8", QStringLiteral("E4 B8"), ChipForm::Bytes);
        row("letters and a part", "a\xE4", QStringLiteral("61 E4"), ChipForm::Bytes);
        row("emoji", "\xF0\x9F\x98\x80", QStringLiteral("😀"));
        row("Arabic", " \xD8\xB3\xD9\x84", QStringLiteral("·سل"));
        row("Chinese", "\xE4\xB8\xAD", QStringLiteral("中"));
        row("control token", "<|im_end|>", QStringLiteral("<|im_end|>"), ChipForm::Control,
            TokenKind::Control);
        row("the same as plain text", "<|im_end|>", QStringLiteral("<|im_end|>"));
        row("empty control token", "", QStringLiteral("∅"), ChipForm::Control, TokenKind::Control);
        row("control token with a break", "<a\n>", QStringLiteral("<a⏎>"), ChipForm::Control,
            TokenKind::Control);
    }
    void texts()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(TokenKind, kind);
        const ChipText chip =
            chipText(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())), kind);
        QTEST(chip.text, "text");
        QTEST(chip.form, "form");
    }

    void longTextsKeepBothEnds()
    {
        const std::string exact(40, 'x');
        QCOMPARE(chipText(exact, TokenKind::Normal).text, QString::fromStdString(exact));
        const std::string large = "BEGIN" + std::string(100'000, '-') + "END";
        const QString shown = chipText(large, TokenKind::Normal).text;
        QCOMPARE(shown.size(), 40);
        QVERIFY(shown.startsWith(QStringLiteral("BEGIN-")));
        QVERIFY(shown.endsWith(QStringLiteral("-END")));
        QVERIFY(shown.contains(QChar(0x2026)));
    }

    void longTextsAreNotCutInsideOfACharacter()
    {
        std::string large;
        for (int i = 0; i < 40'000; ++i)
            large += "\xE4\xB8\xAD";
        const QString shown = chipText("x" + large, TokenKind::Normal).text; // no multiple of three
        QCOMPARE(shown.count(QStringLiteral("中")), 38);
        QVERIFY(!shown.contains(QStringLiteral("E4")));
        const ChipText bytes = chipText(std::string(1000, '\xFF'), TokenKind::Byte);
        QCOMPARE(bytes.form, ChipForm::Bytes);
        QVERIFY(bytes.text.size() <= 48);
    }

    void aCaptionMakesItHigher()
    {
        TokenChip chip;
        chip.label = chipText(" sky", TokenKind::Normal);
        const QSizeF bare = chip.size();
        chip.caption = QStringLiteral("6376");
        QVERIFY(chip.size().height() > bare.height());
        chip.caption = QStringLiteral("a caption longer than the text");
        QVERIFY(chip.size().width() > bare.width());
    }

    void statesAreDrawnDifferently()
    {
        Theme::instance().setMode(ThemeMode::Light);
        const auto groundOf = [](TokenChip chip) {
            chip.label = {QStringLiteral("x"), chip.label.form};
            QImage image(60, 40, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            chip.paint(painter, QPointF(10, 10));
            painter.end();
            return image.pixelColor(12, 10 + static_cast<int>(chip.size().height()) / 2);
        };
        const ThemeColors &c = Theme::instance().colors();
        TokenChip chip;
        QCOMPARE(groundOf(chip), c.chip);
        chip.state = ChipState::Drawn;
        QCOMPARE(groundOf(chip), c.accent);
        chip.state = ChipState::Removed;
        QVERIFY(groundOf(chip) != c.chip);
        chip.state = ChipState::Normal;
        chip.label.form = ChipForm::Control;
        QCOMPARE(groundOf(chip), c.softAccent);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestTokenChip)
#include "tst_tokenchip.moc"
