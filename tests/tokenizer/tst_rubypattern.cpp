// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/textfinder.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;

namespace {

/// The matches of a pattern, side by side: "ab|c".
std::string matches(const std::string &pattern, std::string_view text)
{
    const auto finder = TextFinder::create({TextPattern::Kind::Regex, pattern});
    if (!finder)
        return "refused";
    const TextFinder::Scratch scratch;
    std::string result;
    for (std::size_t at = 0; at <= text.size();) {
        const auto match = finder->find(text, at, scratch);
        if (!match || !*match)
            break;
        result += (result.empty() ? "" : "|") +
                  std::string(text.substr((*match)->begin, (*match)->end - (*match)->begin));
        at = (*match)->end;
    }
    return result;
}

} // namespace

class TestRubyPattern : public QObject
{
    Q_OBJECT

private slots:
    void dialect_data()
    {
        QTest::addColumn<QByteArray>("pattern");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        const auto row = [](const char *name, const char *pattern, const char *text, const char *expected) {
            QTest::newRow(name) << QByteArray(pattern) << QByteArray(text) << QByteArray(expected);
        };
        row("white space", "\\s+", "a\u0085\u3000b\u180Ec", "\u0085\u3000");
        row("all but it", "[^\\S ]+", "a \t\nb", "\t\n");
        row("word", "\\w+", "aé٣_\u0301-½", "aé٣_\u0301|½");
        row("hexadecimal", "\\h+", "xAf9g", "Af9");
        row("intersection", "[a-z&&[^aeiou]]+", "hello", "h|ll");
        row("intersection of none", "[^a-z&&[^aeiou]]+", "hello", "e|o");
        row("nested class", "[a[xy]]+", "aybx", "ay|x");
        row("script", "\\p{Han}+", "ab中文、c", "中文");
        row("long name", "\\p{Letter}+", "a1b", "a|b");
        row("not", "\\p{^L}+", "a12b", "12");
        row("named class", "[[:alpha:]]+", "a1b", "a|b");
        row("counts add up", "\\d{1,3}+", "12345", "12345");
        row("no lower count", "a{,2}", "aaa", "aa|a");
        row("a brace is a brace", "{|}", "a{b}", "{|}");
        row("possessive", "a++b", "aab", "aab");
        row("end of a line", "a$", "a\nba", "a|a");
        row("start of a line", "^b", "a\nb", "b");
        row("dot and newline", "a.b", "a\nb", "");
        row("m is for all", "(?m:a.b)", "a\nb", "a\nb");
        row("any case", "(?i:'LL)", "'ll'lL", "'ll|'lL");
        row("looks back", "(?<=a)b", "abb", "b");
        row("name", "(?<n>l)\\k<n>", "hello", "ll");
        row("edge", "\\bw", "w ww", "w|w");
        row("code point", "\\u00e9|\\x{4e2d}", "é中", "é|中");
        row("bracket first", "[]a]", "]b", "]");
        row("empty matches do not count", "x*", "axxb", "xx");
        row("class that is open", "[ab", "a", "refused");
        row("group that is open", "(a", "a", "refused");
        row("group that is not", "a)", "a", "refused");
        row("no such script", "\\p{Klingonish}", "a", "refused");
        row("property without a name", "\\p", "a", "refused");
        row("backslash at the end", "a\\", "a", "refused");
    }

    void dialect()
    {
        QFETCH(QByteArray, pattern);
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        QCOMPARE(QByteArray::fromStdString(matches(pattern.toStdString(), text.toStdString())), expected);
    }

    void hostile()
    {
        QCOMPARE(matches(std::string(100000, 'a'), "a"), std::string("refused"));
        QCOMPARE(matches(std::string(5000, '('), "a"), std::string("refused"));
        QCOMPARE(matches(std::string(5000, '['), "a"), std::string("refused"));
        QCOMPARE(matches("", "a"), std::string("refused"));
    }
};

TOKENLOUPE_TEST_MAIN(TestRubyPattern)
#include "tst_rubypattern.moc"
