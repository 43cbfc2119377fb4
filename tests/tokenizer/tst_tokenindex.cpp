// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/textlist.h"
#include "engine/tokenizer/tokenindex.h"
#include "tests/support/testmain.h"
#include "tests/tokenizer/vocabularies.h"

#include <unordered_map>

using namespace tokenloupe;
using namespace tokenloupe::test;

class TestTokenIndex : public QObject
{
    Q_OBJECT

private slots:
    void listOfTexts()
    {
        TextList list;
        QVERIFY(list.empty());
        list.reserve(4, 16);
        const std::string withZero("a\0b", 3);
        list.push_back("one");
        list.push_back("");
        list.push_back(withZero);
        QCOMPARE(list.size(), std::size_t(3));
        QCOMPARE(list.textBytes(), std::size_t(6));
        QCOMPARE(std::string(list[0]), std::string("one"));
        QCOMPARE(std::string(list[1]), std::string());
        QCOMPARE(std::string(list[2]), withZero);
        list.push_back(std::string(list[0])); // grows
        QCOMPARE(std::string(list[3]), std::string("one"));
    }

    void nothingInIt()
    {
        const TextList texts;
        QCOMPARE(TokenIndex().find(texts, "a"), TokenIndex::none);
        QCOMPARE(TokenIndex(100).find(texts, ""), TokenIndex::none);
    }

    // Of equal texts the first, texts of every length, full to the last place that was asked for.
    void sameAsAMap()
    {
        TextList texts;
        for (std::uint64_t i = 0; i < 5000; ++i)
            texts.push_back(randomBytes(i, i % 41, i % 3 == 0 ? "ab" : "abcdefgh\xFF"));
        texts.push_back(std::string(100'000, 'x'));
        TokenIndex index(texts.size());
        std::unordered_map<std::string, std::uint32_t> expected;
        for (std::uint32_t i = 0; i < texts.size(); ++i) {
            index.insert(texts, i);
            expected.emplace(texts[i], i);
        }
        QVERIFY(expected.size() < texts.size());
        for (std::uint32_t i = 0; i < texts.size(); ++i)
            QCOMPARE(index.find(texts, texts[i]), expected.at(std::string(texts[i])));
        std::size_t absent = 0;
        for (std::uint64_t i = 0; i < 5000; ++i) {
            const std::string text = randomBytes(10'000 + i, i % 13, "abch");
            const auto it = expected.find(text);
            QCOMPARE(index.find(texts, text), it == expected.end() ? TokenIndex::none : it->second);
            absent += it == expected.end() ? 1 : 0;
        }
        QVERIFY(absent > 1000);
    }
};

TOKENLOUPE_TEST_MAIN(TestTokenIndex)
#include "tst_tokenindex.moc"
