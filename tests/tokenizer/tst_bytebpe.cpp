// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tokenizer/bytealphabet.h"
#include "engine/tokenizer/pretokenizer.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/testmain.h"
#include "tests/tokenizer/vocabularies.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <thread>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<std::uint32_t>;

std::shared_ptr<const Tokenizer> make(VocabularyData data)
{
    auto tokenizer = makeTokenizer(std::move(data));
    return tokenizer ? *tokenizer : nullptr;
}

/// Pieces of a text as bytes, put side by side: "hell|o".
std::string pieces(const Tokenizer &tokenizer, std::string_view text, const EncodeOptions &options = {})
{
    const auto tokens = tokenizer.encode(text, options);
    if (!tokens)
        return tokens.error().text();
    std::string result;
    for (const EncodedToken &token : *tokens)
        result += std::string(result.empty() ? "" : "|") + std::string(tokenizer.bytes(token.id));
    return result;
}

/// BPE by its definition: look at all neighbours, join the best, begin again.
std::vector<std::string> slowly(const VocabularyData &data, std::string_view word)
{
    const ByteAlphabet alphabet;
    std::map<std::string, std::size_t> ranks;
    for (std::size_t i = 0; i < data.merges.size(); ++i)
        ranks.emplace(data.merges[i], i);
    std::vector<std::string> parts;
    for (const char byte : word)
        parts.push_back(alphabet.letter(static_cast<unsigned char>(byte)));
    for (;;) {
        std::size_t best = std::numeric_limits<std::size_t>::max();
        std::size_t place = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            const auto it = ranks.find(parts[i] + " " + parts[i + 1]);
            if (it != ranks.end() && it->second < best) {
                best = it->second;
                place = i;
            }
        }
        if (best == std::numeric_limits<std::size_t>::max())
            break;
        parts[place] += parts[place + 1];
        parts.erase(parts.begin() + std::ptrdiff_t(place) + 1);
    }
    for (std::string &part : parts)
        part = alphabet.decode(part);
    return parts;
}

void putFirst(TextList &list, std::initializer_list<std::string_view> first)
{
    TextList all;
    for (const std::string_view text : first)
        all.push_back(text);
    for (std::size_t i = 0; i < list.size(); ++i)
        all.push_back(list[i]);
    list = std::move(all);
}

} // namespace

class TestByteBpe : public QObject
{
    Q_OBJECT

private slots:
    void merges_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("expected");
        QTest::newRow("empty") << QByteArray() << QByteArray();
        QTest::newRow("words") << QByteArray("hello world") << QByteArray("hello| world");
        QTest::newRow("rank before length") << QByteArray("abc") << QByteArray("abc");
        QTest::newRow("leftmost first") << QByteArray("aaa") << QByteArray("aaa");
        QTest::newRow("longer run") << QByteArray("aaaaaaaaa") << QByteArray("aaaa|aa|aaa");
        QTest::newRow("run of a power of two") << QByteArray("aaaaaaaa") << QByteArray("aaaaaaaa");
        QTest::newRow("no merge over words") << QByteArray("he llo") << QByteArray("he| |ll|o");
        QTest::newRow("whole character") << QByteArray("\xE4\xB8\xAD") << QByteArray("\xE4\xB8\xAD");
        QTest::newRow("part of a character") << QByteArray("\xE4\xB8\xAE") << QByteArray("\xE4\xB8|\xAE");
    }

    void merges()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, expected);
        const auto tokenizer = make(tinyByteBpe());
        QVERIFY(tokenizer);
        QCOMPARE(QByteArray::fromStdString(pieces(*tokenizer, text.toStdString())), expected);
    }

    // Random words of few letters, against the definition; with them the merges that were reported.
    void sameAsTheDefinition()
    {
        const VocabularyData data = tinyByteBpe();
        const auto tokenizer = make(data);
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            const std::string word = randomBytes(seed, 1 + seed % 60, "heloabcw");
            const std::vector<std::string> expected = slowly(data, word);
            std::vector<MergeStep> steps;
            EncodeOptions options;
            options.merges = &steps;
            const auto tokens = tokenizer->encode(word, options);
            QVERIFY(tokens);
            std::vector<std::string> found;
            for (const EncodedToken &token : *tokens)
                found.emplace_back(tokenizer->bytes(token.id));
            QCOMPARE(found, expected);
            QCOMPARE(replayFault(steps, {word}, {expected}, Units::Bytes), std::string());
        }
    }

    void mergesAreToldInOrder()
    {
        const auto tokenizer = make(tinyByteBpe());
        std::vector<MergeStep> steps{MergeStep{"left", "over", "leftover", 1, 1}};
        EncodeOptions options;
        options.merges = &steps;
        QVERIFY(tokenizer->encode("hell world", options));
        std::string shown;
        for (const MergeStep &step : steps)
            shown += std::to_string(step.word) + ":" + std::to_string(step.rank) + ":" + step.left + "+" +
                     step.right + "=" + step.result + ";";
        QCOMPARE(shown, std::string("0:0:l+l=ll;0:1:h+e=he;0:3:he+ll=hell;"
                                    "1:2: +w= w;1:4:o+r=or;1:6: w+or= wor;1:7:l+d=ld;1:8: wor+ld= world;"));
    }

    void anyBytesComeBack_data()
    {
        QTest::addColumn<QByteArray>("pre");
        for (const char *pre :
             {"gpt-2", "smollm", "default", "falcon", "llama-bpe", "qwen2", "deepseek-coder"})
            QTest::newRow(pre) << QByteArray(pre);
    }

    void anyBytesComeBack()
    {
        QFETCH(QByteArray, pre);
        const auto tokenizer = make(tinyByteBpe(pre.toStdString()));
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            const std::string letters = seed % 2 ? std::string() : "hello world12 \n<>|\xE4\xB8\xAD\xC3\xA9";
            const std::string text = randomBytes(seed, seed * 17, letters);
            const auto tokens = tokenizer->encode(text);
            QVERIFY(tokens);
            QCOMPARE(tokenizer->decode(tokenIds(*tokens), ShowControl::Yes), text);
            QCOMPARE(coverageFault(*tokens, text), std::string());
            for (const EncodedToken &token : *tokens)
                QCOMPARE(std::string(tokenizer->bytes(token.id)),
                         text.substr(token.range.begin, token.range.end - token.range.begin));
        }
    }

    // The words of a long text come out of a cache, those of its parts do not.
    void longTextsAreTheSumOfTheirWords()
    {
        const auto tokenizer = make(tinyByteBpe());
        std::string text;
        Ids expected;
        for (std::uint64_t seed = 0; seed < 3000; ++seed) {
            const std::string word = " " + randomBytes(seed % 700, 1 + seed % 9, "helowrda");
            text += word;
            const auto tokens = tokenizer->encode(word);
            QVERIFY(tokens);
            for (const EncodedToken &token : *tokens)
                expected.push_back(token.id.value());
        }
        const auto tokens = tokenizer->encode(text);
        QVERIFY(tokens);
        QCOMPARE(idsOf(*tokens), expected);
        QCOMPARE(coverageFault(*tokens, text), std::string());
    }

    // Would not end in a lifetime if it were quadratic.
    void aWordOfAMegabyte()
    {
        const auto tokenizer = make(tinyByteBpe());
        const std::string text(1'000'000, 'a');
        const auto tokens = tokenizer->encode(text);
        QVERIFY(tokens);
        QCOMPARE(tokens->size(), std::size_t(125'000));
        QCOMPARE(coverageFault(*tokens, text), std::string());
    }

    void specialTokens()
    {
        const VocabularyData data = tinyByteBpe();
        const auto tokenizer = make(data);
        const std::string text = "<|im_start|>x<tool><|im_start|>";
        // In plain text only the user-defined one is a token.
        const auto plain = tokenizer->encode(text);
        QVERIFY(plain);
        const Ids plainIds = idsOf(*plain);
        QVERIFY(std::find(plainIds.begin(), plainIds.end(), idOf(data, "<tool>").value()) != plainIds.end());
        QVERIFY(std::none_of(plain->begin(), plain->end(),
                             [&](const EncodedToken &token) { return tokenizer->isControl(token.id); }));
        QCOMPARE(tokenizer->decode(tokenIds(*plain)), text);

        EncodeOptions parse;
        parse.special = SpecialTokens::Parse;
        const auto parsed = tokenizer->encode(text, parse);
        QVERIFY(parsed);
        QCOMPARE(idsOf(*parsed), (Ids{idOf(data, "<|im_start|>x").value(), idOf(data, "<tool>").value(),
                                      idOf(data, "<|im_start|>").value()}));
        QCOMPARE(coverageFault(*parsed, text), std::string());
        QCOMPARE(tokenizer->decode(tokenIds(*parsed)), std::string("<tool>"));
        QCOMPARE(tokenizer->decode(tokenIds(*parsed), ShowControl::Yes), text);
    }

    // A word goes on over the border of what was typed; a control token does not come out of what was typed.
    void literalRanges()
    {
        const VocabularyData data = tinyByteBpe();
        const auto tokenizer = make(data);
        const std::string text = "<|end|>hel"
                                 "lo<|end|>"
                                 "<|end|>";
        const std::vector<ByteRange> literal{{10, 19}};
        EncodeOptions options;
        options.special = SpecialTokens::Parse;
        options.literal = literal;
        const auto tokens = tokenizer->encode(text, options);
        QVERIFY(tokens);
        QCOMPARE(pieces(*tokenizer, text, options), std::string("<|end|>|hello|<|||e|n|d|||>|<|end|>"));
        QCOMPARE(tokens->front().id, idOf(data, "<|end|>"));
        QCOMPARE(tokens->back().id, idOf(data, "<|end|>"));
        QCOMPARE(coverageFault(*tokens, text), std::string());
    }

    void addedTokens()
    {
        VocabularyData data = tinyByteBpe();
        data.bos = idOf(data, "<|im_start|>");
        data.addBos = true;
        data.addEos = true;
        const auto tokenizer = make(data);
        EncodeOptions options;
        options.add = AddSpecial::AsModelWants;
        for (const char *text : {"", "he"}) {
            const auto tokens = tokenizer->encode(text, options);
            QVERIFY(tokens);
            QCOMPARE(tokens->front().id, *data.bos);
            QCOMPARE(tokens->front().range, (ByteRange{0, 0}));
            QCOMPARE(tokens->back().id, *data.eos);
            QCOMPARE(coverageFault(*tokens, text), std::string());
            QCOMPARE(tokens->size(), std::size_t(*text ? 3 : 2));
        }
        QCOMPARE(tokenizer->encode("he")->size(), std::size_t(1));
    }

    void endOfTurn()
    {
        VocabularyData data = tinyByteBpe();
        data.texts.insert(data.texts.end(), {"<|im_end|>", "<|eot_id|>", "</s>"});
        data.kinds.insert(data.kinds.end(), {TokenKind::Control, TokenKind::Control, TokenKind::Normal});
        data.eos.reset();
        data.eot = idOf(data, "<tool>");
        const auto tokenizer = make(data);
        Ids ids;
        for (const TokenId id : tokenizer->endOfTurnTokens()) {
            ids.push_back(id.value());
            QVERIFY(tokenizer->isEndOfTurn(id));
        }
        QCOMPARE(ids, (Ids{idOf(data, "<|end|>").value(), data.eot->value(), idOf(data, "<|im_end|>").value(),
                           idOf(data, "<|eot_id|>").value()}));
        QVERIFY(!tokenizer->isEndOfTurn(idOf(data, "</s>")));

        // Formats in which "<|end|>" only closes a message name these two as well.
        data.texts.insert(data.texts.end(), {"<|return|>", "<|call|>"});
        data.kinds.insert(data.kinds.end(), {TokenKind::Control, TokenKind::Control});
        const auto harmony = make(data);
        QVERIFY(!harmony->isEndOfTurn(idOf(data, "<|end|>")));
        QVERIFY(harmony->isEndOfTurn(idOf(data, "<|return|>")));
    }

    void wholeWordsBeforeMerges()
    {
        VocabularyData data = tinyByteBpe("llama-bpe");
        data.texts.push_back("ehlo"); // no merges lead here
        data.kinds.push_back(TokenKind::Normal);
        data.scores.push_back(0);
        QCOMPARE(pieces(*make(data), "ehlo ehlox"), std::string("ehlo| |e|h|l|o|x"));
        data.pre = "gpt-2";
        QCOMPARE(pieces(*make(data), "ehlo"), std::string("e|h|l|o"));
    }

    void preTokenizerNames()
    {
        QVERIFY(make(tinyByteBpe("smollm"))->recognised());
        QCOMPARE(pieces(*make(tinyByteBpe("smollm")), "12"), std::string("1|2"));
        const auto unknown = make(tinyByteBpe("no-such-name"));
        QVERIFY(!unknown->recognised());
        QCOMPARE(pieces(*unknown, "12"), std::string("12"));
    }

    void brokenVocabularies_data()
    {
        QTest::addColumn<QByteArray>("fault");
        for (const char *fault : {"duplicates", "no merges", "bad merges", "short kinds",
                                  "kinds out of range", "ids out of range", "empty tokens", "long token",
                                  "merge without a token", "all control", "short scores"})
            QTest::newRow(fault) << QByteArray(fault);
    }

    void brokenVocabularies()
    {
        QFETCH(QByteArray, fault);
        VocabularyData data = tinyByteBpe();
        if (fault == "duplicates")
            data.texts.insert(data.texts.end(), data.texts.begin(), data.texts.end());
        if (fault == "no merges")
            data.merges.clear();
        if (fault == "bad merges")
            putFirst(data.merges, {"", " ", "x", "x ", " x", "a  b", "\xFF \xFE", "l l", "q q"});
        if (fault == "short kinds")
            data.kinds.resize(3);
        if (fault == "kinds out of range")
            std::fill(data.kinds.begin(), data.kinds.end(), static_cast<TokenKind>(200));
        if (fault == "ids out of range")
            data.bos = data.eos = data.eot = data.unknown = TokenId(4'000'000'000U);
        if (fault == "empty tokens")
            std::fill(data.texts.begin() + 256, data.texts.end(), std::string());
        if (fault == "long token")
            data.texts.back() = std::string(100'000, 'x');
        if (fault == "merge without a token")
            putFirst(data.merges, {"w o", "o r l"});
        if (fault == "all control")
            std::fill(data.kinds.begin(), data.kinds.end(), TokenKind::Control);
        if (fault == "short scores")
            data.scores.resize(2);
        data.kinds.resize(fault == "duplicates" ? data.texts.size() : data.kinds.size(), TokenKind::Normal);
        const auto tokenizer = make(data);
        QVERIFY(tokenizer);
        QCOMPARE(tokenizer->data().kinds.size(), std::size_t(tokenizer->size()));
        EncodeOptions options;
        options.special = SpecialTokens::Parse;
        options.add = AddSpecial::AsModelWants;
        const std::string text = "hello world qq \xFF\xC3 12aaaa<|end|>" + std::string(2000, 'x');
        const auto tokens = tokenizer->encode(text, options);
        if (fault == "all control") {
            QVERIFY(!tokens);
            QVERIFY(tokens.error().text().find("no token for the byte") != std::string::npos);
            return;
        }
        QVERIFY2(tokens, tokens ? "" : tokens.error().text().c_str());
        QCOMPARE(coverageFault(*tokens, text), std::string());
        QCOMPARE(tokenizer->decode(tokenIds(*tokens), ShowControl::Yes), text);
        if (fault == "duplicates")
            QCOMPARE(tokenizer->encode("h")->front().id, idOf(data, "h"));
    }

    void aByteWithoutAToken()
    {
        VocabularyData data = tinyByteBpe();
        data.texts[idOf(data, "q").value()] = "nothing";
        const auto none = make(data)->encode("hq");
        QVERIFY(!none);
        QVERIFY(none.error().text().find("71") != std::string::npos);
        data.unknown = idOf(data, "<tool>");
        const auto tokens = make(data)->encode("hq");
        QVERIFY(tokens);
        QCOMPARE(idsOf(*tokens), (Ids{idOf(data, "h").value(), data.unknown->value()}));
    }

    void otherKinds_data()
    {
        QTest::addColumn<QByteArray>("model");
        for (const char *model : {"bert", "t5", "rwkv", "", "gpt\n2"})
            QTest::newRow(*model ? model : "none") << QByteArray(model);
    }

    void otherKinds()
    {
        QFETCH(QByteArray, model);
        VocabularyData data = tinyByteBpe();
        data.model = model.toStdString();
        const auto tokenizer = makeTokenizer(data);
        QVERIFY(!tokenizer);
        QCOMPARE(tokenizer.error().code, ErrorCode::Unsupported);
        QVERIFY(tokenizer.error().text().find('\n') == std::string::npos);
        QVERIFY(model.contains('\n') || tokenizer.error().text().find(data.model) != std::string::npos);
        QCOMPARE(makeTokenizer(VocabularyData{}).error().code, ErrorCode::BadFile);
    }

    void threads()
    {
        const auto tokenizer = make(tinyByteBpe());
        const std::string text = randomBytes(5, 50'000, "hello world a\n");
        const Ids expected = idsOf(*tokenizer->encode(text));
        std::array<Ids, 4> found;
        {
            std::vector<std::jthread> threads;
            for (Ids &ids : found)
                threads.emplace_back([&] { ids = idsOf(*tokenizer->encode(text)); });
        }
        for (const Ids &ids : found)
            QCOMPARE(ids, expected);
    }
};

TOKENLOUPE_TEST_MAIN(TestByteBpe)
#include "tst_bytebpe.moc"
