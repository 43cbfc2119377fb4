// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/pretokenizer.h"
#include "tests/support/testmain.h"
#include "tests/tokenizer/vocabularies.h"

using namespace tokenloupe;

namespace {

QByteArrayList wordsOf(const char *rule, const QByteArray &text)
{
    const auto preTokenizer = PreTokenizer::create(*splitRule(rule));
    if (!preTokenizer)
        return {QByteArray::fromStdString(preTokenizer.error().text())};
    const auto ends = preTokenizer->wordEnds({text.constData(), std::size_t(text.size())});
    if (!ends)
        return {QByteArray::fromStdString(ends.error().text())};
    QByteArrayList words;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : *ends) {
        words << text.mid(begin, int(end - begin));
        begin = end;
    }
    return words;
}

} // namespace

class TestPreTokenizer : public QObject
{
    Q_OBJECT

private slots:
    void words_data()
    {
        QTest::addColumn<QByteArray>("rule");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArrayList>("words");
        const auto row = [](const char *name, const char *rule, const QByteArray &text,
                            const QByteArrayList &words) {
            QTest::newRow(name) << QByteArray(rule) << text << words;
        };
        row("empty", "gpt-2", "", {});
        row("words", "gpt-2", "Hello my world", {"Hello", " my", " world"});
        row("contractions", "gpt-2", "it's I'LL", {"it", "'s", " I", "'", "LL"});
        row("spaces before a word", "gpt-2", "a   b", {"a", "  ", " b"});
        row("spaces at the end", "gpt-2", "a   ", {"a", "   "});
        row("digits together", "gpt-2", "a 123", {"a", " 123"});
        row("marks", "gpt-2", "a!!! (b)", {"a", "!!!", " (", "b", ")"});
        row("no-break space", "gpt-2",
            "a\xC2\xA0"
            "b",
            {"a", "\xC2\xA0", "b"});
        row("U+180E is no space", "gpt-2",
            "a \xE1\xA0\x8E"
            "b",
            {"a", " \xE1\xA0\x8E", "b"});
        row("ideographic space", "gpt-2",
            "a\xE3\x80\x80\xE3\x80\x80"
            "b",
            {"a", "\xE3\x80\x80", "\xE3\x80\x80", "b"});
        row("digits alone", "smollm", "a 123 4", {"a", " ", "1", "2", "3", " ", "4"});
        row("digits of other scripts", "starcoder", "\xD9\xA1\xD9\xA2", {"\xD9\xA1", "\xD9\xA2"});
        row("groups of three", "llama-bpe", "12345 x", {"123", "45", " x"});
        row("contractions of any case", "llama-bpe", "I'LL\n\n x", {"I", "'LL", "\n\n", " x"});
        row("a mark before letters", "qwen2", "(ab) 12", {"(ab", ")", " ", "1", "2"});
        row("falcon", "falcon", "a1234+b", {"a", "123", "4", "+", "b"});
        row("unnamed", "default", " ab,1234", {" ab", ",", "123", "4"});
        row("camel case", "gpt-4o", "fooBar ABC's 1234", {"foo", "Bar", " ABC's", " ", "123", "4"});
        row("tekken digits", "tekken", "Ab12", {"Ab", "1", "2"});
        row("bad bytes apart", "gpt-2",
            "ab\xFF\xFE"
            "cd\xC3",
            {"ab", "\xFF\xFE", "cd", "\xC3"});
        row("surrogate in UTF-8", "gpt-2", "x\xED\xA0\x80y", {"x", "\xED\xA0\x80", "y"});
        row("overlong", "gpt-2", "x\xC0\xAFy", {"x", "\xC0\xAF", "y"});
        row("above U+10FFFF", "gpt-2", "x\xF4\x90\x80\x80y", {"x", "\xF4\x90\x80\x80", "y"});
        row("NUL", "gpt-2", QByteArray("a\0b", 3), {"a", QByteArray("\0", 1), "b"});
    }

    void words()
    {
        QFETCH(QByteArray, rule);
        QFETCH(QByteArray, text);
        QFETCH(QByteArrayList, words);
        QCOMPARE(wordsOf(rule.constData(), text), words);
    }

    void anyBytes_data()
    {
        QTest::addColumn<QByteArray>("rule");
        for (const char *rule : {"gpt-2", "smollm", "default", "falcon", "llama-bpe", "qwen2",
                                 "deepseek-coder", "deepseek-v3", "tekken", "gpt-4o", "bloom"})
            QTest::newRow(rule) << QByteArray(rule);
    }

    // Whatever the bytes are, the words put together are the text again.
    void anyBytes()
    {
        QFETCH(QByteArray, rule);
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            const std::string letters = seed % 2 ? std::string() : "aA1 \n'\xE4\xB8\xAD\xC3\xA9";
            const auto text = QByteArray::fromStdString(test::randomBytes(seed, 1 + seed * 20, letters));
            const QByteArrayList words = wordsOf(rule.constData(), text);
            QCOMPARE(words.join(), text);
            QVERIFY(!words.contains(QByteArray()));
        }
    }

    void longRuns_data() { anyBytes_data(); }

    // Backtracking over a long run must neither fail nor take quadratic time.
    void longRuns()
    {
        QFETCH(QByteArray, rule);
        for (const char letter : {' ', '\n', 'a', 'A', '1', '!', '\xFF'}) {
            const QByteArray text = QByteArray(200'000, letter) + "x";
            QCOMPARE(wordsOf(rule.constData(), text).join().size(), text.size());
        }
    }

    void unknownNames()
    {
        QVERIFY(!splitRule(""));
        QVERIFY(!splitRule("gpt-3"));
        QVERIFY(splitRule("smollm"));
    }
};

TOKENLOUPE_TEST_MAIN(TestPreTokenizer)
#include "tst_pretokenizer.moc"
