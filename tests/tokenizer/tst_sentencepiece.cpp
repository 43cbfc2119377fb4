// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/bytetokentext.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/testmain.h"
#include "tests/tokenizer/vocabularies.h"

#include <algorithm>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<std::uint32_t>;

std::shared_ptr<const Tokenizer> make(VocabularyData data)
{
    auto tokenizer = makeTokenizer(std::move(data));
    return tokenizer ? *tokenizer : nullptr;
}

/// The vocabulary's own texts of the tokens, put side by side: "▁hello|▁".
std::string pieces(const Tokenizer &tokenizer, std::string_view text, const EncodeOptions &options = {})
{
    const auto tokens = tokenizer.encode(text, options);
    if (!tokens)
        return tokens.error().text();
    std::string result;
    for (const EncodedToken &token : *tokens)
        result += (result.empty() ? "" : "|") + tokenizer.data().texts[token.id.value()];
    return result;
}

std::string ranges(const Tokenizer &tokenizer, std::string_view text)
{
    const auto tokens = tokenizer.encode(text);
    if (!tokens)
        return tokens.error().text();
    std::string result;
    for (const EncodedToken &token : *tokens)
        result += std::to_string(token.range.begin) + "-" + std::to_string(token.range.end) + " ";
    return result;
}

} // namespace

class TestSentencePiece : public QObject
{
    Q_OBJECT

private slots:
    void pieces_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        QTest::addColumn<QByteArray>("expectedRanges");
        const auto row = [](const char *name, const char *text, const char *expected,
                            const char *expectedRanges) {
            QTest::newRow(name) << QByteArray(text) << QByteArray(expected) << QByteArray(expectedRanges);
        };
        row("empty", "", "", "");
        row("one word", "hello", "▁hello", "0-5 ");
        row("two words", "hello world", "▁hello|▁world", "0-5 5-11 ");
        row("space in front", " hello", "▁|▁hello", "0-0 0-6 ");
        row("only a space", " ", "▁▁", "0-1 ");
        row("spaces", "a   b", "▁a|▁▁|▁|b", "0-1 1-3 3-4 4-5 ");
        row("letter in two bytes", "ée", "▁|ée", "0-0 0-3 ");
        row("byte tokens", "hello😀", "▁hello|<0xF0>|<0x9F>|<0x98>|<0x80>", "0-5 5-6 6-7 7-8 8-9 ");
        row("two unknown characters", "😀ü", "▁|<0xF0>|<0x9F>|<0x98>|<0x80>|<0xC3>|<0xBC>",
            "0-0 0-1 1-2 2-3 3-4 4-5 5-6 ");
        row("not UTF-8", "hello\xFFhello", "▁hello|<0xFF>|hello", "0-5 5-6 6-11 ");
        row("not UTF-8 at the start", "\xC3hello", "▁|<0xC3>|hello", "0-0 0-1 1-6 ");
        row("user-defined", "a<tool>hello", "▁a|<tool>|▁hello", "0-1 1-7 7-12 ");
        row("control text is text", "[INST]", "▁|[|I|N|S|T|]", "0-0 0-1 1-2 2-3 3-4 4-5 5-6 ");
        row("byte token's text is text", "<0xFF>", "▁|<|<0x30>|<0x78>|<0x46>|<0x46>|>",
            "0-0 0-1 1-2 2-3 3-4 4-5 5-6 ");
    }

    void pieces()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        QFETCH(QByteArray, expectedRanges);
        const auto tokenizer = make(tinySentencePiece());
        QVERIFY(tokenizer);
        QCOMPARE(QByteArray::fromStdString(::pieces(*tokenizer, text.toStdString())), expected);
        QCOMPARE(QByteArray::fromStdString(ranges(*tokenizer, text.toStdString())), expectedRanges);
        // Only the space in front of the whole text is taken away again.
        const QByteArray expectedText = QByteArray(text).replace("<tool>hello", "<tool> hello");
        QCOMPARE(
            QByteArray::fromStdString(tokenizer->decode(tokenIds(*tokenizer->encode(text.toStdString())))),
            expectedText);
    }

    void bytesOfTokens()
    {
        const VocabularyData data = tinySentencePiece();
        const auto tokenizer = make(data);
        QCOMPARE(std::string(tokenizer->bytes(idOf(data, "▁hello"))), std::string(" hello"));
        QCOMPARE(std::string(tokenizer->bytes(idOf(data, "<0x0A>"))), std::string("\n"));
        QCOMPARE(std::string(tokenizer->bytes(idOf(data, "<0x00>"))), std::string(1, '\0'));
        QCOMPARE(std::string(tokenizer->bytes(idOf(data, "</s>"))), std::string("</s>"));
        QVERIFY(tokenizer->isEndOfTurn(idOf(data, "</s>")));
    }

    void specialTokens()
    {
        const auto tokenizer = make(tinySentencePiece());
        EncodeOptions options;
        options.special = SpecialTokens::Parse;
        options.add = AddSpecial::AsModelWants;
        // The space in front comes back after each token that was matched as a whole.
        const std::string text = "[INST] hello [INST]hello";
        QCOMPARE(::pieces(*tokenizer, text, options), std::string("<s>|[INST]|▁|▁hello|▁|[INST]|▁hello"));
        const std::vector<ByteRange> literal{{6, 19}};
        options.literal = literal;
        QCOMPARE(::pieces(*tokenizer, text, options), std::string("<s>|[INST]|▁|▁hello|▁|[|I|N|S|T|]|hello"));
        QCOMPARE(coverageFault(*tokenizer->encode(text, options), text), std::string());
    }

    void decoding()
    {
        const VocabularyData data = tinySentencePiece();
        const auto tokenizer = make(data);
        const TokenId bos = *data.bos;
        const TokenId hello = idOf(data, "▁hello");
        const TokenId world = idOf(data, "▁world");
        QCOMPARE(tokenizer->decode(std::vector{bos, hello, world}), std::string("hello world"));
        QCOMPARE(tokenizer->decode(std::vector{bos, hello}, ShowControl::Yes), std::string("<s> hello"));
        QCOMPARE(tokenizer->decode(std::vector{idOf(data, "▁▁"), hello}), std::string("  hello"));
        QCOMPARE(tokenizer->decode(std::vector{idOf(data, "<tool>"), hello}), std::string("<tool> hello"));
        QCOMPARE(tokenizer->decode(std::vector{hello, *data.unknown, TokenId(), world}),
                 std::string("hello world"));
        QCOMPARE(tokenizer->decode({}), std::string());

        VocabularyData noPrefix = data;
        noPrefix.addSpacePrefix = false;
        QCOMPARE(make(noPrefix)->decode(std::vector{hello, world}), std::string(" hello world"));
        QCOMPARE(::pieces(*make(noPrefix), "hello hello"), std::string("hello|▁hello"));
    }

    void extraWhiteSpace()
    {
        VocabularyData data = tinySentencePiece();
        data.removeExtraWhitespaces = true;
        const auto tokenizer = make(data);
        const std::string text = "  hello   hello  ";
        QCOMPARE(::pieces(*tokenizer, text), std::string("▁hello|▁hello"));
        QCOMPARE(ranges(*tokenizer, text), std::string("0-7 7-17 "));
        QCOMPARE(::pieces(*tokenizer, "   "), std::string());
    }

    // The library's pieces, and those that the reported merges lead to.
    void mergesLeadToThePieces_data()
    {
        QTest::addColumn<bool>("unused");
        QTest::newRow("all pieces used") << false;
        QTest::newRow("some taken back") << true;
    }

    void mergesLeadToThePieces()
    {
        QFETCH(bool, unused);
        VocabularyData data = tinySentencePiece();
        if (unused) {
            for (const char *piece : {"▁the", "hello", "aaaa", "or"})
                data.kinds[idOf(data, piece).value()] = TokenKind::Unused;
        }
        const auto tokenizer = make(data);
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            const std::string text = randomBytes(seed, 1 + seed % 50, "hello world the ainraaaa");
            std::vector<MergeStep> steps;
            EncodeOptions options;
            options.merges = &steps;
            const auto tokens = tokenizer->encode(text, options);
            QVERIFY(tokens);
            std::vector<std::string> found;
            for (const EncodedToken &token : *tokens) {
                QVERIFY(tokenizer->kind(token.id) != TokenKind::Unused);
                found.emplace_back(tokenizer->bytes(token.id));
            }
            QCOMPARE(replayFault(steps, {" " + text}, {found}, Units::Characters), std::string());
            for (std::size_t i = 0; i < steps.size(); ++i)
                QCOMPARE(std::string(tokenizer->bytes(TokenId(steps[i].rank))), steps[i].result);
        }
    }

    void mergesAreToldInOrder()
    {
        const auto tokenizer = make(tinySentencePiece());
        std::vector<MergeStep> steps;
        EncodeOptions options;
        options.merges = &steps;
        QVERIFY(tokenizer->encode("hello\xFFhe", options));
        std::string shown;
        for (const MergeStep &step : steps)
            shown += std::to_string(step.word) + ":" + step.left + "+" + step.right + ";";
        QCOMPARE(shown, std::string("0:h+e;0:l+l;0:ll+o;0:he+llo;0: +hello;2:h+e;"));
    }

    void anyBytesComeBack()
    {
        const auto tokenizer = make(tinySentencePiece());
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            // Not U+2581 itself, which stands for a space.
            const std::string letters = seed % 2 ? std::string() : "hello world <tool>\n\xE4\xB8\xAD\xC3\xA9";
            const std::string text = randomBytes(seed, seed * 11, letters);
            const auto tokens = tokenizer->encode(text);
            QVERIFY(tokens);
            QCOMPARE(coverageFault(*tokens, text), std::string());
            QCOMPARE(tokenizer->decode(tokenIds(*tokens)), text);
        }
    }

    void aWordOfAMegabyte()
    {
        const auto tokenizer = make(tinySentencePiece());
        const std::string text(1'000'000, 'a');
        const auto tokens = tokenizer->encode(text);
        QVERIFY(tokens);
        QCOMPARE(coverageFault(*tokens, text), std::string());
        QVERIFY(tokens->size() < 130'000);
    }

    // Characters without a piece, which the library would join one by one.
    void unknownCharactersOfAMegabyte()
    {
        VocabularyData data = tinySentencePiece();
        const std::string text(1'000'000, '\n');
        QCOMPARE(make(data)->encode(text)->size(), std::size_t(1'000'001));
        std::fill(data.kinds.begin() + 3, data.kinds.begin() + 259, TokenKind::Unused);
        const auto tokens = make(data)->encode(text);
        QVERIFY(tokens);
        QCOMPARE(idsOf(*tokens), (Ids{idOf(data, "▁").value(), data.unknown->value()}));
        QCOMPARE(coverageFault(*tokens, text), std::string());
    }

    void brokenVocabularies_data()
    {
        QTest::addColumn<QByteArray>("fault");
        for (const char *fault :
             {"duplicates", "empty pieces", "NaN scores", "infinite scores", "no scores", "long piece",
              "bad byte tokens", "byte tokens missing", "kinds out of range", "ids out of range", "not UTF-8",
              "unknown missing", "all unknown", "control with a letter's text", "two unknown",
              "nested unused"})
            QTest::newRow(fault) << QByteArray(fault);
    }

    void brokenVocabularies()
    {
        QFETCH(QByteArray, fault);
        VocabularyData data = tinySentencePiece();
        const auto push = [&](std::string text, TokenKind kind) {
            data.texts.push_back(std::move(text));
            data.kinds.push_back(kind);
            data.scores.push_back(0);
        };
        if (fault == "duplicates") {
            for (std::uint32_t i = 0, count = std::uint32_t(data.texts.size()); i < count; ++i)
                push(std::string(data.texts[i]), data.kinds[i]);
        }
        if (fault == "empty pieces")
            data.texts[idOf(data, "he").value()] = data.texts[idOf(data, "llo").value()] = "";
        if (fault == "NaN scores")
            std::fill(data.scores.begin() + 250, data.scores.end(), std::numeric_limits<float>::quiet_NaN());
        if (fault == "infinite scores") {
            for (std::size_t i = 0; i < data.scores.size(); ++i)
                data.scores[i] = (i % 2 ? 1.0F : -1.0F) * std::numeric_limits<float>::infinity();
        }
        if (fault == "no scores")
            data.scores.clear();
        if (fault == "long piece")
            data.texts[idOf(data, "▁the").value()] = std::string(100'000, 'h');
        if (fault == "bad byte tokens")
            data.texts[5] = "<0xZZ>", data.texts[6] = "<0x", data.texts[7] = "<0x123>",
            data.texts[8] = "<0x-1>";
        if (fault == "byte tokens missing")
            std::fill(data.kinds.begin() + 3, data.kinds.begin() + 259, TokenKind::Unused);
        if (fault == "kinds out of range")
            std::fill(data.kinds.begin() + 10, data.kinds.begin() + 20, static_cast<TokenKind>(99));
        if (fault == "ids out of range")
            data.bos = data.eos = data.eot = data.unknown = TokenId(4'000'000'000U);
        if (fault == "not UTF-8")
            data.texts[idOf(data, "he").value()] = "\xFF\xFE", data.texts[idOf(data, "ll").value()] = "\xFF"
                                                                                                      "300";
        if (fault == "unknown missing") {
            data.kinds[0] = TokenKind::Normal;
            data.unknown.reset();
        }
        if (fault == "all unknown")
            std::fill(data.kinds.begin() + 259, data.kinds.end(), TokenKind::Unknown);
        if (fault == "control with a letter's text")
            push("h", TokenKind::Control), push("e", TokenKind::Byte), push("o", TokenKind::Unknown);
        if (fault == "two unknown")
            push("<unk2>", TokenKind::Unknown);
        if (fault == "nested unused") {
            for (std::size_t length = 2; length < 600; ++length)
                push(std::string(length, 'h'), TokenKind::Unused);
        }
        const auto tokenizer = make(data);
        QVERIFY(tokenizer);
        std::vector<MergeStep> merges;
        EncodeOptions options;
        options.add = AddSpecial::AsModelWants;
        options.merges = &merges;
        const std::string text = "hello the world\xFF\xC3 ü" + std::string(700, 'h') + "<0x05>";
        const auto tokens = tokenizer->encode(text, options);
        QVERIFY2(tokens, tokens ? "" : tokens.error().text().c_str());
        QCOMPARE(coverageFault(*tokens, text), std::string());
        // Bytes without a token are lost to the unknown one; a space without a piece comes back as U+2581.
        const bool lost =
            fault == "byte tokens missing" || fault == "kinds out of range" || fault == "all unknown";
        if (!lost)
            QCOMPARE(tokenizer->decode(tokenIds(*tokens)), text);
        if (fault == "duplicates")
            QCOMPARE(::pieces(*tokenizer, "hello"), std::string("▁hello"));
        for (const EncodedToken &token : *tokens)
            QVERIFY(token.id.value() < tokenizer->size());
    }

    void nothingForAByte()
    {
        VocabularyData data = tinySentencePiece();
        std::fill(data.kinds.begin(), data.kinds.begin() + 259, TokenKind::Normal);
        data.unknown.reset();
        QVERIFY(make(data)->encode("hello"));
        const auto tokens = make(data)->encode("ü");
        QVERIFY(!tokens);
        QVERIFY(tokens.error().text().find("c3") != std::string::npos);
    }

    void unknownRuns()
    {
        VocabularyData data = tinySentencePiece();
        std::fill(data.kinds.begin() + 3, data.kinds.begin() + 259, TokenKind::Unused);
        const auto tokenizer = make(data);
        QCOMPARE(::pieces(*tokenizer, "aüüa"), std::string("▁a|<unk>|a"));
        QCOMPARE(ranges(*tokenizer, "aüüa"), std::string("0-1 1-5 5-6 "));
    }

    // A vocabulary without U+2581: the space's three bytes stand for one byte of the text.
    void spaceWithoutAPiece()
    {
        VocabularyData data = tinySentencePiece();
        for (std::uint32_t i = 259; i < data.texts.size(); ++i) {
            if (data.texts[i].starts_with("▁"))
                data.texts[i] = "unreachable" + std::to_string(i);
        }
        const auto tokenizer = make(data);
        QCOMPARE(::pieces(*tokenizer, "a b"), std::string("<0xE2>|<0x96>|<0x81>|a|<0xE2>|<0x96>|<0x81>|b"));
        QCOMPARE(ranges(*tokenizer, "a b"), std::string("0-0 0-0 0-0 0-1 1-1 1-1 1-2 2-3 "));
    }

    void byteTokenTexts()
    {
        QCOMPARE(int(byteOfTokenText("<0x0A>").value()), 10);
        QCOMPARE(int(byteOfTokenText("<0xff>").value()), 255);
        for (const char *text :
             {"", "<0x>", "<0x0>", "<0x000>", "<0xG0>", "<0x0G>", "<0x-1>", "<0x+1>", "0x0A", "<0x 1>"})
            QVERIFY2(!byteOfTokenText(text), text);
        for (unsigned byte = 0; byte < 256; ++byte)
            QCOMPARE(unsigned(byteOfTokenText(tokenTextOfByte(static_cast<unsigned char>(byte))).value()),
                     byte);
    }
};

TOKENLOUPE_TEST_MAIN(TestSentencePiece)
#include "tst_sentencepiece.moc"
