// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/tokenizer/unicodeforms.h"
#include "tests/support/testmain.h"

#include <QString>

using namespace tokenloupe;

namespace {

constexpr std::array<std::pair<UnicodeForm, QString::NormalizationForm>, 4> forms{{
    {UnicodeForm::Nfc, QString::NormalizationForm_C},
    {UnicodeForm::Nfd, QString::NormalizationForm_D},
    {UnicodeForm::Nfkc, QString::NormalizationForm_KC},
    {UnicodeForm::Nfkd, QString::NormalizationForm_KD},
}};

std::string byQt(const std::string &text, QString::NormalizationForm form)
{
    return QString::fromStdString(text).normalized(form, QChar::Unicode_13_0).toStdString();
}

} // namespace

class TestUnicodeForms : public QObject
{
    Q_OBJECT

private slots:
    void everyCharacter()
    {
        // In front of a mark and behind a letter, so that it can be composed with both.
        const UnicodeForms &own = UnicodeForms::instance();
        for (char32_t c = 1; c < 0x30000; ++c) {
            if ((c >= 0xD800 && c < 0xE000) || QChar::unicodeVersion(c) > QChar::Unicode_13_0 ||
                QChar::unicodeVersion(c) == QChar::Unicode_Unassigned)
                continue;
            std::string text = "a";
            appendUtf8(text, c);
            appendUtf8(text, 0x301);
            for (const auto &[form, qt] : forms) {
                if (own.converted(form, text) != byQt(text, qt))
                    QFAIL(qPrintable(QString::number(c, 16)));
            }
        }
    }

    void sequences_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("order of marks") << QByteArray("a\u0315\u0300\u05AE\u0301b");
        QTest::newRow("blocked") << QByteArray("a\u0327\u0328\u0301");
        QTest::newRow("syllables") << QByteArray("\u1100\u1161\u11A8\uAC00\u11A8\u1161");
        QTest::newRow("marks alone") << QByteArray("\u0301\u0300\u0F73");
        QTest::newRow("compatible") << QByteArray("ﬁ①ﷺ㍿ｶﾞ½");
        QTest::newRow("not composed again") << QByteArray("\u0958\u2ADC\uFB1D");
        QTest::newRow("plain") << QByteArray("plain text");
        QTest::newRow("empty") << QByteArray();
    }

    void sequences()
    {
        QFETCH(QByteArray, text);
        for (const auto &[form, qt] : forms) {
            const std::string found = UnicodeForms::instance().converted(form, text.toStdString());
            QCOMPARE(found, byQt(text.toStdString(), qt));
            QCOMPARE(UnicodeForms::instance().converted(form, found), found);
        }
    }

    void manyMarks()
    {
        std::string text = "a";
        for (int i = 0; i < 20000; ++i)
            appendUtf8(text, i % 2 ? 0x301 : 0x327);
        QCOMPARE(UnicodeForms::instance().converted(UnicodeForm::Nfd, text).size(), text.size());
    }

    void quickCheck()
    {
        QVERIFY(UnicodeForms::isSurelyIn(UnicodeForm::Nfc, "plain é"));
        QVERIFY(!UnicodeForms::isSurelyIn(UnicodeForm::Nfd, "é"));
        QVERIFY(!UnicodeForms::isSurelyIn(UnicodeForm::Nfc, "e\u0301"));
    }
};

TOKENLOUPE_TEST_MAIN(TestUnicodeForms)
#include "tst_unicodeforms.moc"
