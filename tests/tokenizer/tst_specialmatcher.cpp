// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/specialmatcher.h"
#include "tests/support/testmain.h"
#include "tests/tokenizer/vocabularies.h"

#include <algorithm>

using namespace tokenloupe;

namespace {

struct Text
{
    std::string text;
    SpecialMatcher::When when = SpecialMatcher::When::Always;
};

SpecialMatcher matcherOf(const std::vector<Text> &texts)
{
    SpecialMatcher matcher;
    for (std::uint32_t i = 0; i < texts.size(); ++i)
        matcher.add(texts[i].text, TokenId(i), texts[i].when);
    matcher.build();
    return matcher;
}

std::string shown(const std::vector<SpecialMatch> &matches)
{
    std::string text;
    for (const SpecialMatch &match : matches)
        text += std::to_string(match.id.value()) + "@" + std::to_string(match.range.begin) + "-" +
                std::to_string(match.range.end) + " ";
    return text;
}

/// The definition: text by text, longest first, each taken from the left wherever it still fits.
std::vector<SpecialMatch> slowly(const std::vector<Text> &texts, std::string_view text)
{
    std::vector<std::uint32_t> lengths;
    for (const Text &t : texts)
        lengths.push_back(static_cast<std::uint32_t>(t.text.size()));
    std::sort(lengths.rbegin(), lengths.rend());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    std::vector<bool> taken(text.size(), false);
    std::vector<SpecialMatch> matches;
    for (const std::uint32_t length : lengths) {
        for (std::uint32_t i = 0; i + length <= text.size(); ++i) {
            if (std::find(taken.begin() + i, taken.begin() + i + length, true) != taken.begin() + i + length)
                continue;
            for (std::uint32_t id = 0; id < texts.size(); ++id) {
                if (texts[id].text != text.substr(i, length))
                    continue;
                matches.push_back({{i, i + length}, TokenId(id)});
                std::fill(taken.begin() + i, taken.begin() + i + length, true);
                break;
            }
        }
    }
    std::sort(matches.begin(), matches.end(),
              [](const SpecialMatch &a, const SpecialMatch &b) { return a.range.begin < b.range.begin; });
    return matches;
}

} // namespace

class TestSpecialMatcher : public QObject
{
    Q_OBJECT

private slots:
    void nothingToFind()
    {
        SpecialMatcher matcher;
        matcher.add("", TokenId(0), SpecialMatcher::When::Always);
        matcher.build();
        QVERIFY(matcher.find("abc", SpecialTokens::Parse, {}).empty());
        QVERIFY(matcherOf({{"abcd"}}).find("abc", SpecialTokens::Parse, {}).empty());
        QVERIFY(matcherOf({{"a"}}).find("", SpecialTokens::Parse, {}).empty());
    }

    void longestWins()
    {
        const SpecialMatcher matcher = matcherOf({{"ab"}, {"bcde"}, {"cd"}});
        QCOMPARE(shown(matcher.find("abcde", SpecialTokens::AsText, {})), std::string("1@1-5 "));
        QCOMPARE(shown(matcher.find("abcd", SpecialTokens::AsText, {})), std::string("0@0-2 2@2-4 "));
    }

    void theFirstTokenOfATextWins()
    {
        QCOMPARE(shown(matcherOf({{"x"}, {"x"}}).find("x", SpecialTokens::AsText, {})),
                 std::string("0@0-1 "));
    }

    void controlOnlyWhenParsedAndNotLiteral()
    {
        const SpecialMatcher matcher =
            matcherOf({{"<c>", SpecialMatcher::When::WhenParsed}, {"<u>"}, {"c>"}});
        const std::string text = "<c><u><c>";
        QCOMPARE(shown(matcher.find(text, SpecialTokens::AsText, {})), std::string("2@1-3 1@3-6 2@7-9 "));
        QCOMPARE(shown(matcher.find(text, SpecialTokens::Parse, {})), std::string("0@0-3 1@3-6 0@6-9 "));
        const std::vector<ByteRange> literal{{0, 0}, {2, 2}, {2, 3}, {6, 6}, {9, 9}};
        QCOMPARE(shown(matcher.find(text, SpecialTokens::Parse, literal)), std::string("2@1-3 1@3-6 0@6-9 "));
        const std::vector<ByteRange> all{{0, 9}};
        QCOMPARE(shown(matcher.find(text, SpecialTokens::Parse, all)), std::string("2@1-3 1@3-6 2@7-9 "));
    }

    void sameAsTheDefinition()
    {
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            std::vector<Text> texts;
            for (std::uint64_t i = 0; i < 1 + seed % 7; ++i)
                texts.push_back({test::randomBytes(1000 * seed + i, 1 + (seed * 7 + i * 3) % 5, "ab")});
            const std::string text = test::randomBytes(seed, 40, "aabbc");
            QCOMPARE(shown(matcherOf(texts).find(text, SpecialTokens::AsText, {})),
                     shown(slowly(texts, text)));
        }
    }

    // Would take hours if the work were text × longest token.
    void longTextsOfLongTokens()
    {
        std::vector<Text> texts{{std::string(100'000, 'a')}, {std::string(50'001, 'a') + 'b'}, {"aa"}};
        const std::string text(1'000'001, 'a');
        const auto matches = matcherOf(texts).find(text, SpecialTokens::AsText, {});
        QCOMPARE(matches.size(), std::size_t(10));
        QCOMPARE(matches.back().range.end, std::uint32_t(1'000'000));
    }
};

TOKENLOUPE_TEST_MAIN(TestSpecialMatcher)
#include "tst_specialmatcher.moc"
