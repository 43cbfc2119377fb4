// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <QStringDecoder>
#include <random>

using namespace tokenloupe;

namespace {

std::string fromHex(const QByteArray &hex)
{
    return QByteArray::fromHex(hex).toStdString();
}

} // namespace

class TestUtf8 : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void repairs_data()
    {
        QTest::addColumn<QByteArray>("input");
        QTest::addColumn<QByteArray>("expected");
        const QByteArray bad = "efbfbd";
        QTest::newRow("empty") << QByteArray() << QByteArray();
        QTest::newRow("ascii") << QByteArray("6162") << QByteArray("6162");
        QTest::newRow("zero byte") << QByteArray("610062") << QByteArray("610062");
        QTest::newRow("two bytes") << QByteArray("c3a9") << QByteArray("c3a9");
        QTest::newRow("three bytes") << QByteArray("e4b8ad") << QByteArray("e4b8ad");
        QTest::newRow("four bytes") << QByteArray("f09f9880") << QByteArray("f09f9880");
        QTest::newRow("highest") << QByteArray("f48fbfbf") << QByteArray("f48fbfbf");
        QTest::newRow("lone continuation") << QByteArray("80") << bad;
        QTest::newRow("two lone continuations") << QByteArray("80bf") << bad + bad;
        QTest::newRow("never a byte of text") << QByteArray("feff") << bad + bad;
        QTest::newRow("overlong slash") << QByteArray("c0af") << bad + bad;
        QTest::newRow("overlong three bytes") << QByteArray("e080af") << bad + bad + bad;
        QTest::newRow("overlong four bytes") << QByteArray("f08080af") << bad + bad + bad + bad;
        QTest::newRow("surrogate") << QByteArray("eda080") << bad + bad + bad;
        QTest::newRow("just below the surrogates") << QByteArray("ed9fbf") << QByteArray("ed9fbf");
        QTest::newRow("above the highest") << QByteArray("f4908080") << bad + bad + bad + bad;
        QTest::newRow("five-byte lead") << QByteArray("f888808080") << bad + bad + bad + bad + bad;
        QTest::newRow("cut three, then letter") << QByteArray("e4b841") << bad + "41";
        QTest::newRow("cut four, then letter") << QByteArray("f09f9841") << bad + "41";
        QTest::newRow("cut at the end") << QByteArray("41f09f98") << "41" + bad;
        QTest::newRow("cut, then whole") << QByteArray("e4b8e4b8ad") << bad + "e4b8ad";
        // The example of the Unicode standard, table 3-11.
        QTest::newRow("truncated sequences")
            << QByteArray("e180e2f09192f1bf41") << bad + bad + bad + bad + "41";
    }

    void repairs()
    {
        QFETCH(QByteArray, input);
        QFETCH(QByteArray, expected);
        const std::string text = fromHex(input);
        const std::string repaired = fromHex(expected);
        QCOMPARE(hexOf(sanitizedUtf8(text)), expected.toStdString());
        QCOMPARE(isValidUtf8(text), text == repaired);
        QVERIFY(isValidUtf8(repaired));
        // Qt's decoder is an independent judge of what is valid.
        QStringDecoder judge(QStringDecoder::Utf8, QStringDecoder::Flag::Stateless);
        const QString decoded = judge.decode(QByteArray::fromHex(input));
        QCOMPARE(judge.hasError(), !isValidUtf8(text));
        Q_UNUSED(decoded);

        // However the bytes are cut, a stream says the same.
        for (std::size_t size = 1; size <= text.size() + 1; ++size) {
            Utf8Stream stream;
            std::string out;
            for (std::size_t i = 0; i < text.size(); i += size) {
                out += stream.push(std::string_view(text).substr(i, size));
                QVERIFY(isValidUtf8(out));
                QVERIFY(stream.pending().size() <= 3);
            }
            out += stream.finish();
            QCOMPARE(hexOf(out), expected.toStdString());
            QVERIFY(stream.pending().empty());
            QVERIFY(stream.finish().empty());
        }
    }

    void streamIsNeitherEarlyNorLate()
    {
        Utf8Stream stream;
        QCOMPARE(stream.push("a\xF0"), std::string("a"));
        QCOMPARE(stream.push("\x9F\x98"), std::string());
        QCOMPARE(stream.pending(), std::string_view("\xF0\x9F\x98"));
        QCOMPARE(stream.push("\x80z"), std::string("\xF0\x9F\x98\x80z"));
        // A byte that can begin nothing is not held back.
        QCOMPARE(stream.push("\xFF"), std::string("\xEF\xBF\xBD"));
        // E0 must be followed by A0..BF: certain with the second byte.
        QCOMPARE(stream.push("\xE0"), std::string());
        QCOMPARE(stream.push("\x9F"), std::string("\xEF\xBF\xBD\xEF\xBF\xBD"));
    }

    void unitsCoverTheText()
    {
        std::mt19937 random(5);
        for (int round = 0; round < 300; ++round) {
            std::string text;
            for (unsigned i = 0; i < 40; ++i) {
                // Lead and continuation bytes far more often than chance.
                const unsigned kind = random() % 4;
                const unsigned byte = kind == 0   ? random() % 128
                                      : kind == 1 ? 0xC0 + random() % 64
                                                  : 0x80 + random() % 64;
                text += static_cast<char>(byte);
            }
            std::string rebuilt;
            for (std::size_t offset = 0; offset < text.size();) {
                const Utf8Unit unit = decodeUtf8(text, offset);
                QCOMPARE(std::size_t(unit.begin), offset);
                QVERIFY(unit.length >= 1 && unit.length <= 4 && offset + unit.length <= text.size());
                QCOMPARE(unit.valid, isValidUtf8(std::string_view(text).substr(offset, unit.length)));
                appendUtf8(rebuilt, unit.valid ? unit.codePoint : U'\uFFFD');
                offset += unit.length;
            }
            QCOMPARE(rebuilt, sanitizedUtf8(text));
        }
    }

    void everyCodePointComesBack()
    {
        for (char32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 61) {
            if (code >= 0xD800 && code <= 0xDFFF)
                continue;
            std::string text;
            appendUtf8(text, code);
            const Utf8Unit unit = decodeUtf8(text, 0);
            QVERIFY(unit.valid);
            QCOMPARE(std::uint32_t(unit.codePoint), std::uint32_t(code));
            QCOMPARE(std::size_t(unit.length), text.size());
            QCOMPARE(QString::fromStdString(text), QString::fromUcs4(&code, 1));
        }
        std::string text;
        appendUtf8(text, 0xD800);
        appendUtf8(text, 0x110000);
        QCOMPARE(text, std::string("\xEF\xBF\xBD\xEF\xBF\xBD"));
    }

    void hex()
    {
        QCOMPARE(hexOf(std::string_view("\xE4\xB8\0", 3)), std::string("e4b800"));
        QCOMPARE(*bytesOfHex("e4B800"), std::string("\xE4\xB8\0", 3));
        QCOMPARE(*bytesOfHex(""), std::string());
        for (const char *bad : {"e", "eg", "0x", " 1", "-1", "e4b"})
            QVERIFY2(!bytesOfHex(bad), bad);
        QVERIFY(QString::fromStdString(bytesOfHex("zz").error().text()).contains(QStringLiteral("\"zz\"")));
    }

    void quotes()
    {
        QCOMPARE(quotedForMessage("blk.0"), std::string("\"blk.0\""));
        QCOMPARE(quotedForMessage(std::string_view("a\0b\n\x1b[31m\xFF\"\\", 12)),
                 std::string("\"a\\x00b\\n\\x1b[31m\\xff\\\"\\\\\""));
        QCOMPARE(quotedForMessage("\xE2\x80\xAE"
                                  "abc"),
                 std::string("\"\\u202eabc\""));
        const std::string cut = quotedForMessage(std::string(1000000, 'x'));
        QVERIFY(cut.size() < 120);
        QVERIFY(QString::fromStdString(cut).contains(QStringLiteral("1000000 bytes")));
        // A cut never splits a character.
        std::string wide;
        for (int i = 0; i < 100; ++i)
            wide += "\xE4\xB8\xAD";
        QVERIFY(isValidUtf8(quotedForMessage(wide)));
    }
};

TOKENLOUPE_TEST_MAIN(TestUtf8)
#include "tst_utf8.moc"
