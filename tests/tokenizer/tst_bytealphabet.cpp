// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/bytealphabet.h"
#include "tests/support/testmain.h"

#include <set>

using namespace tokenloupe;

class TestByteAlphabet : public QObject
{
    Q_OBJECT

private slots:
    void lettersAreDistinctAndComeBack()
    {
        const ByteAlphabet alphabet;
        std::set<std::string> letters;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const std::string &letter = alphabet.letter(static_cast<unsigned char>(byte));
            QVERIFY(letters.insert(letter).second);
            QCOMPARE(alphabet.decode(letter), std::string(1, static_cast<char>(byte)));
        }
    }

    // The letters that people know from vocabulary files.
    void knownLetters_data()
    {
        QTest::addColumn<int>("byte");
        QTest::addColumn<QString>("letter");
        QTest::newRow("space") << 0x20 << QStringLiteral("Ġ");
        QTest::newRow("newline") << 0x0A << QStringLiteral("Ċ");
        QTest::newRow("tab") << 0x09 << QStringLiteral("ĉ");
        QTest::newRow("nul") << 0x00 << QStringLiteral("Ā");
        QTest::newRow("exclamation mark") << 0x21 << QStringLiteral("!");
        QTest::newRow("delete") << 0x7F << QStringLiteral("ġ");
        QTest::newRow("soft hyphen") << 0xAD << QStringLiteral("Ń");
        QTest::newRow("last") << 0xFF << QStringLiteral("ÿ");
    }

    void knownLetters()
    {
        QFETCH(int, byte);
        QFETCH(QString, letter);
        QCOMPARE(QString::fromStdString(ByteAlphabet().letter(static_cast<unsigned char>(byte))), letter);
    }

    void otherCharactersStay_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("above") << QByteArray("a\xE2\x96\x81") << QByteArray("a\xE2\x96\x81");
        QTest::newRow("just above") << QByteArray("\xC5\x84") << QByteArray("\xC5\x84");
        QTest::newRow("raw space") << QByteArray("a b") << QByteArray("a b");
        QTest::newRow("cut character") << QByteArray("\xC4") << QByteArray("\xC4");
        QTest::newRow("not UTF-8") << QByteArray("\xFF\xC4x") << QByteArray("\xFF\xC4x");
    }

    void otherCharactersStay()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, bytes);
        QCOMPARE(QByteArray::fromStdString(ByteAlphabet().decode(text.toStdString())), bytes);
    }
};

TOKENLOUPE_TEST_MAIN(TestByteAlphabet)
#include "tst_bytealphabet.moc"
