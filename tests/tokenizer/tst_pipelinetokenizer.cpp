// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/tokenizer/hffolder.h"
#include "tests/tokenizer/vocabularies.h"

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

json splitBy(const char *pattern, const char *behaviour, bool invert = false)
{
    return {
        {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", behaviour}, {"invert", invert}};
}

json sequence(std::vector<json> steps)
{
    return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

const json bytesOnly{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};

std::shared_ptr<const Tokenizer> make(const json &content)
{
    HfFolder folder;
    folder.write("tokenizer.json", content);
    const auto tokenizer = folder.tokenizer();
    if (!tokenizer)
        qWarning("%s", tokenizer.error().text().c_str());
    return tokenizer ? *tokenizer : nullptr;
}

EncodeOptions parsed()
{
    EncodeOptions options;
    options.special = SpecialTokens::Parse;
    return options;
}

} // namespace

class TestPipelineTokenizer : public QObject
{
    Q_OBJECT

private slots:
    void words_data()
    {
        QTest::addColumn<QByteArray>("preTokenizer");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char *name, const json &pre, const char *text, const char *expected) {
            QTest::newRow(name) << QByteArray::fromStdString(pre.dump()) << QByteArray(text)
                                << QByteArray(expected);
        };
        const json level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
        row("byte level", level, "hello world12", "hello|Ġwor|l|d|12");
        row("space in front", {{"type", "ByteLevel"}, {"add_prefix_space", true}}, "w", "Ġw");
        row("space is there", {{"type", "ByteLevel"}, {"add_prefix_space", true}}, " w", "Ġw");
        row("each digit alone", sequence({{{"type", "Digits"}, {"individual_digits", true}}, level}), "a12",
            "a|1|2");
        row("digits together", sequence({{{"type", "Digits"}, {"individual_digits", false}}, level}), "a12",
            "a|12");
        row("isolated", sequence({splitBy("b", "Isolated"), bytesOnly}), "abc", "a|b|c");
        row("removed", sequence({splitBy("b", "Removed"), bytesOnly}), "abc", "a|c");
        row("with the previous", sequence({splitBy("b", "MergedWithPrevious"), bytesOnly}), "abc", "ab|c");
        row("with the next", sequence({splitBy("b", "MergedWithNext"), bytesOnly}), "abc", "a|bc");
        row("between characters", sequence({splitBy("(?=b)", "Isolated"), bytesOnly}), "abca", "a|bc|a");
        row("contiguous", sequence({splitBy("[bc]", "Contiguous"), bytesOnly}), "abc", "a|bc");
        row("inverted", sequence({splitBy("b", "Removed", true), bytesOnly}), "abc", "b");
        row("white space goes", sequence({{{"type", "WhitespaceSplit"}}, bytesOnly}), " ab  c ", "ab|c");
        row("words", sequence({{{"type", "Whitespace"}}, bytesOnly}), "ab, c", "ab|,|c");
        row("punctuation", sequence({{{"type", "Punctuation"}, {"behavior", "Removed"}}, bytesOnly}), "a!c",
            "a|c");
        row("delimiter", sequence({{{"type", "CharDelimiterSplit"}, {"delimiter", "-"}}, bytesOnly}), "a-c",
            "a|c");
    }

    void words()
    {
        QFETCH(QByteArray, preTokenizer);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        json content = tinyByteLevelJson();
        content["pre_tokenizer"] = json::parse(preTokenizer.toStdString());
        const auto tokenizer = make(content);
        QVERIFY(tokenizer);
        QCOMPARE(QByteArray::fromStdString(piecesOf(*tokenizer, text.toStdString())), expected);
        QCOMPARE(coverageFault(*tokenizer->encode(text.toStdString()), text.toStdString()), std::string());
    }

    void normalizers_data()
    {
        QTest::addColumn<QByteArray>("normalizer");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char *name, const json &normalizer, const char *text,
                            const char *expected) {
            QTest::newRow(name) << QByteArray::fromStdString(normalizer.dump()) << QByteArray(text)
                                << QByteArray(expected);
        };
        row("composed", {{"type", "NFC"}}, "e\u0301", "Ã©");
        row("decomposed", {{"type", "NFD"}}, "é", "e|Ì|ģ");
        row("compatible", {{"type", "NFKC"}}, "①②", "12");
        row("stripped", {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}, "  ab ", "ab");
        row("replaced text", {{"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", "hello"}}, "x",
            "hello");
        row("replaced pattern", {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}},
            "a   w", "a|Ġw");
    }

    void normalizers()
    {
        QFETCH(QByteArray, normalizer);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        json content = tinyByteLevelJson();
        content["normalizer"] = json::parse(normalizer.toStdString());
        const auto tokenizer = make(content);
        QVERIFY(tokenizer);
        QCOMPARE(QByteArray::fromStdString(piecesOf(*tokenizer, text.toStdString())), expected);
        QCOMPARE(coverageFault(*tokenizer->encode(text.toStdString()), text.toStdString()), std::string());
    }

    void characters_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        QTest::addColumn<QByteArray>("decoded");
        const auto row = [](const char *name, const char *text, const char *expected, const char *decoded) {
            QTest::newRow(name) << QByteArray(text) << QByteArray(expected) << QByteArray(decoded);
        };
        row("empty", "", "", "");
        row("word", "hello", "▁hello", "hello");
        row("spaces", "a  w", "▁|a|▁|▁w", "a  w");
        row("bytes", "aü", "▁|a|<0xC3>|<0xBC>", "aü");
        row("not UTF-8", "a\xFFw", "▁|a|<0xFF>|w", "a\xFFw");
        row("special text", "<s>", "▁|<|s|>", "<s>");
    }

    void characters()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        QFETCH(QByteArray, decoded);
        const auto tokenizer = make(tinyCharacterJson());
        QVERIFY(tokenizer);
        QCOMPARE(QByteArray::fromStdString(piecesOf(*tokenizer, text.toStdString())), expected);
        const auto tokens = tokenizer->encode(text.toStdString());
        QCOMPARE(coverageFault(*tokens, text.toStdString()), std::string());
        QCOMPARE(QByteArray::fromStdString(tokenizer->decode(tokenIds(*tokens))), decoded);
    }

    void specialTokens()
    {
        const auto tokenizer = make(tinyCharacterJson());
        EncodeOptions options = parsed();
        options.add = AddSpecial::AsModelWants;
        QCOMPARE(piecesOf(*tokenizer, "a</s>hello", options), std::string("<s>|▁|a|</s>|▁hello"));
        const std::vector<ByteRange> literal{{0, 3}};
        options.literal = literal;
        QCOMPARE(piecesOf(*tokenizer, "<s></s>", options), std::string("<s>|▁|<|s|>|</s>"));
        QVERIFY(tokenizer->data().addBos);
        QCOMPARE(tokenizer->kind(TokenId(0)), TokenKind::Unknown);
        QCOMPARE(tokenizer->kind(TokenId(3)), TokenKind::Byte);
    }

    void addedTokens_data()
    {
        QTest::addColumn<QByteArray>("flags");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char *name, const json &flags, const char *text, const char *expected) {
            QTest::newRow(name) << QByteArray::fromStdString(flags.dump()) << QByteArray(text)
                                << QByteArray(expected);
        };
        row("plain", json::object(), "a <x> b", "a|Ġ|<x>|Ġ|b");
        row("takes what is before", {{"lstrip", true}}, "a <x> b", "a|<x>|Ġ|b");
        row("takes what is behind", {{"rstrip", true}}, "a <x> b", "a|Ġ|<x>|b");
        row("a word of its own", {{"single_word", true}}, "<x> a<x>", "<x>|Ġ|a|<|x|>");
        row("after the normaliser", {{"normalized", true}}, "a<y>b", "a|<x>|b");
        row("before the normaliser", {{"normalized", false}}, "a<y>b", "a|<|x|>|b");
    }

    void addedTokens()
    {
        QFETCH(QByteArray, flags);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        json content = tinyByteLevelJson();
        json token{{"id", content["model"]["vocab"].size() + 2},
                   {"content", "<x>"},
                   {"special", false},
                   {"normalized", false}};
        token.update(json::parse(flags.toStdString()));
        content["added_tokens"].push_back(token);
        content["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "y"}}}, {"content", "x"}};
        const auto tokenizer = make(content);
        QVERIFY(tokenizer);
        QCOMPARE(QByteArray::fromStdString(piecesOf(*tokenizer, text.toStdString())), expected);
        QCOMPARE(coverageFault(*tokenizer->encode(text.toStdString()), text.toStdString()), std::string());
    }

    void wholeWordsFirst()
    {
        json content = tinyByteLevelJson();
        // Merges alone make "ab" + "c" of it.
        QCOMPARE(piecesOf(*make(content), "abc"), std::string("ab|c"));
        content["model"]["ignore_merges"] = true;
        QCOMPARE(piecesOf(*make(content), "abc"), std::string("abc"));
    }

    void mergesInOrder()
    {
        const auto tokenizer = make(tinyByteLevelJson());
        std::vector<MergeStep> steps;
        EncodeOptions options;
        options.merges = &steps;
        QVERIFY(tokenizer->encode("hello wor", options));
        QCOMPARE(replayFault(steps, {"hello", " wor"}, {{"hello"}, {" wor"}}, Units::Bytes), std::string());
    }

    void unigram()
    {
        json content = tinyCharacterJson();
        content["model"] = {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", json::array()}};
        const std::vector<std::pair<const char *, double>> pieces = {
            {"<unk>", 0.0}, {"<s>", 0.0}, {"</s>", 0.0}, {"▁", -2.0}, {"a", -3.0},
            {"b", -3.0},    {"ab", -4.0}, {"▁a", -4.5},  {"ba", -7.0}};
        for (const auto &[text, score] : pieces)
            content["model"]["vocab"].push_back(json::array({text, score}));
        const auto tokenizer = make(content);
        QVERIFY(tokenizer);
        QCOMPARE(piecesOf(*tokenizer, "ab"), std::string("▁|ab")); // -6 against -7.5 and -8
        QCOMPARE(piecesOf(*tokenizer, "aba"), std::string("▁|ab|a"));
        QCOMPARE(piecesOf(*tokenizer, "axyb"), std::string("▁a|<unk>|b"));
        QCOMPARE(coverageFault(*tokenizer->encode("axyb"), "axyb"), std::string());
    }

    void anyBytes()
    {
        for (const json &content : {tinyByteLevelJson(), tinyCharacterJson()}) {
            const auto tokenizer = make(content);
            for (std::uint64_t seed = 0; seed < 60; ++seed) {
                const std::string text =
                    randomBytes(seed, seed * 9, seed % 2 ? "hello w<s>\xC3\xA9\xFF" : "");
                const auto tokens = tokenizer->encode(text, parsed());
                QVERIFY(tokens);
                QCOMPARE(coverageFault(*tokens, text), std::string());
                QCOMPARE(tokenizer->decode(tokenIds(*tokens), ShowControl::Yes).size() >= text.size(), true);
            }
        }
    }

    void endlessPatternsAreStopped()
    {
        json content = tinyByteLevelJson();
        content["pre_tokenizer"] = sequence({splitBy("(a+)+(?=b)c", "Isolated"), bytesOnly});
        const auto tokenizer = make(content);
        QVERIFY(tokenizer);
        const auto tokens = tokenizer->encode(std::string(300, 'a') + "b");
        QVERIFY(!tokens || !tokens->empty());
        content["pre_tokenizer"] = sequence({splitBy("(a|aa)+$", "Isolated"), bytesOnly});
        const auto second = make(content);
        QVERIFY(second);
        const auto stopped = second->encode(std::string(200, 'a') + "b");
        QVERIFY(!stopped);
        QVERIFY(!stopped.error().message.empty());
    }
};

TOKENLOUPE_TEST_MAIN(TestPipelineTokenizer)
#include "tst_pipelinetokenizer.moc"
