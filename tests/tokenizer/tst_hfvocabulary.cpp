// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfvocabulary.h"
#include "engine/model/hf/protoreader.h"
#include "tests/support/testmain.h"
#include "tests/tokenizer/hffolder.h"
#include "tests/tokenizer/protowriter.h"
#include "tests/tokenizer/vocabularies.h"

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

/// A SentencePiece model: kind 2 is BPE.
std::string sentencePieceFile(std::uint64_t kind, std::string_view rules = {})
{
    ProtoWriter file;
    const std::vector<std::tuple<const char *, float, std::uint64_t>> pieces = {
        {"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"▁a", -1, 1},
        {"▁", -2, 1},    {"a", -3, 1},  {"b", -4, 1}};
    for (const auto &[text, score, type] : pieces) {
        ProtoWriter piece;
        piece.bytes(1, text);
        piece.number(2, score);
        piece.integer(3, type);
        file.message(1, piece);
    }
    ProtoWriter trainer;
    trainer.integer(3, kind);
    file.message(2, trainer);
    ProtoWriter normalizer;
    normalizer.bytes(1, "some_rules");
    normalizer.bytes(2, rules);
    normalizer.integer(4, 0);
    file.message(3, normalizer);
    return file.take();
}

std::string errorOf(const json &content)
{
    HfFolder folder;
    folder.write("tokenizer.json", content);
    const auto tokenizer = folder.tokenizer();
    return tokenizer ? std::string("none") : tokenizer.error().text();
}

} // namespace

class TestHfVocabulary : public QObject
{
    Q_OBJECT

private slots:
    void refusals_data()
    {
        QTest::addColumn<QByteArray>("patch"); // RFC 7396 on the small tokenizer.json
        QTest::addColumn<QByteArray>("named");
        const auto row = [](const char *name, const json &patch, const char *named) {
            QTest::newRow(name) << QByteArray::fromStdString(patch.dump()) << QByteArray(named);
        };
        row("model", {{"model", {{"type", "WordPiece"}}}}, "WordPiece");
        row("no model", {{"model", nullptr}}, "model");
        row("normaliser", {{"normalizer", {{"type", "BertNormalizer"}}}}, "BertNormalizer");
        row("pre-tokenizer", {{"pre_tokenizer", {{"type", "UnicodeScripts"}}}}, "UnicodeScripts");
        row("decoder", {{"decoder", {{"type", "WordPiece"}}}}, "WordPiece");
        row("post-processor", {{"post_processor", {{"type", "Mystery"}}}}, "Mystery");
        row("behaviour",
            {{"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Eaten"}}}},
            "Eaten");
        row("pattern", {{"pre_tokenizer", {{"type", "Split"}, {"behavior", "Isolated"}}}}, "pattern");
        row("bad pattern",
            {{"pre_tokenizer",
              {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}}}},
            "(a");
        row("empty pattern",
            {{"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"String", ""}}}, {"behavior", "Isolated"}}}},
            "empty");
        row("steps behind bytes",
            {{"pre_tokenizer",
              {{"type", "Sequence"}, {"pretokenizers", {{{"type", "ByteLevel"}}, {{"type", "Digits"}}}}}}},
            "Digits");
        row("prefix of parts", {{"model", {{"continuing_subword_prefix", "##"}}}},
            "continuing_subword_prefix");
        row("merge of nothing", {{"model", {{"merges", {"h zz"}}}}}, "zz");
        row("merge of one", {{"model", {{"merges", {"hh"}}}}}, "hh");
        row("merge of three", {{"model", {{"merges", {json::array({"a", "b", "c"})}}}}}, "merges");
        row("merge of numbers", {{"model", {{"merges", {1}}}}}, "merges");
        row("id is a text", {{"model", {{"vocab", {{"q!", "x"}}}}}}, "q!");
        row("id is negative", {{"model", {{"vocab", {{"q!", -1}}}}}}, "q!");
        row("two of one id", {{"model", {{"vocab", {{"q!", 5}}}}}}, "same id 5");
        row("huge id", {{"model", {{"vocab", {{"q!", 4000000000U}}}}}}, "4000000000");
        row("unknown token", {{"model", {{"unk_token", "<nope>"}}}}, "<nope>");
        row("list of tokens", {{"model", {{"vocab", json::array({"a"})}}}}, "vocab");
        row("added without an id", {{"added_tokens", {{{"content", "<x>"}}}}}, "added_tokens");
        row("added over another", {{"added_tokens", {{{"content", "<x>"}, {"id", 7}}}}}, "id 7");
        row("added is no list", {{"added_tokens", 3}}, "added_tokens");
        row("template without text",
            {{"post_processor", {{"type", "TemplateProcessing"}, {"single", json::array()}}}}, "place");
        row("template of no token",
            {{"post_processor",
              {{"type", "TemplateProcessing"}, {"single", {{{"SpecialToken", {{"id", "<q>"}}}}}}}}},
            "<q>");
    }

    void refusals()
    {
        QFETCH(QByteArray, patch);
        QFETCH(QByteArray, named);
        json content = tinyByteLevelJson();
        content.merge_patch(json::parse(patch.toStdString()));
        const std::string error = errorOf(content);
        QVERIFY2(error.find(named.toStdString()) != std::string::npos, error.c_str());
        QVERIFY(error.find('\n') == std::string::npos);
    }

    void brokenText()
    {
        HfFolder folder;
        const std::string whole = tinyByteLevelJson().dump();
        for (std::size_t size = 1; size < whole.size(); size += whole.size() / 50) {
            folder.writeText("tokenizer.json", std::string_view(whole).substr(0, size));
            const auto tokenizer = folder.tokenizer();
            QVERIFY(!tokenizer);
            QCOMPARE(tokenizer.error().code, ErrorCode::BadFile);
        }
        folder.writeText("tokenizer.json", "{\"a\":" + std::string(100000, '[') + "\xFF");
        QVERIFY(!folder.tokenizer());
        for (std::uint64_t seed = 0; seed < 200; ++seed) { // a byte here and there
            std::string text = whole;
            const std::string noise = randomBytes(seed, 8);
            text[static_cast<unsigned char>(noise[0]) * 256U % text.size()] = noise[1];
            text[(static_cast<unsigned char>(noise[2]) * 251U + static_cast<unsigned char>(noise[3])) %
                 text.size()] = "{}[]\",:0"[static_cast<unsigned char>(noise[4]) % 8];
            folder.writeText("tokenizer.json", std::string_view(text));
            const auto tokenizer = folder.tokenizer();
            QVERIFY(tokenizer ? (*tokenizer)->encode("hello w").has_value() || true
                              : !tokenizer.error().message.empty());
        }
    }

    void holesAndDoubles()
    {
        json content = tinyByteLevelJson();
        content["model"]["vocab"]["far"] = 300;
        HfFolder folder;
        folder.write("tokenizer.json", content);
        std::vector<std::string> warnings;
        const auto tokenizer = folder.tokenizer({}, &warnings);
        QVERIFY(tokenizer);
        QCOMPARE((*tokenizer)->size(), 301U);
        QCOMPARE((*tokenizer)->kind(TokenId(299)), TokenKind::Unused);
        QCOMPARE(warnings.size(), std::size_t(1));

        // An added token that the vocabulary has under another id.
        content["added_tokens"].push_back({{"id", 280}, {"content", "hello"}, {"special", true}});
        folder.write("tokenizer.json", content);
        warnings.clear();
        const auto second = folder.tokenizer({}, &warnings);
        QVERIFY(second);
        QCOMPARE(warnings.size(), std::size_t(2));
        QVERIFY((*second)->isControl(idOf((*second)->data(), "hello")));
    }

    void mergesAsPairs()
    {
        json content = tinyByteLevelJson();
        for (json &merge : content["model"]["merges"]) {
            const std::string text = merge;
            const std::size_t space = text.find(' ');
            merge = json::array({text.substr(0, space), text.substr(space + 1)});
        }
        HfFolder folder;
        folder.write("tokenizer.json", content);
        const auto tokenizer = folder.tokenizer();
        QVERIFY(tokenizer);
        QCOMPARE(piecesOf(**tokenizer, "hello wor"), std::string("hello|Ġwor"));
    }

    void settingsOfAFolder()
    {
        HfFolder folder;
        folder.write("tokenizer.json", tinyByteLevelJson());
        folder.write("tokenizer_config.json", json{{"bos_token", {{"content", "<|end|>"}}},
                                                   {"eos_token", "<|end|>"},
                                                   {"add_bos_token", true},
                                                   {"add_eos_token", true},
                                                   {"pad_token", "<nope>"}});
        folder.write("generation_config.json", json{{"eos_token_id", {5, 9, 100000}}});
        std::vector<std::string> warnings;
        const auto tokenizer = folder.tokenizer({}, &warnings);
        QVERIFY(tokenizer);
        const VocabularyData &data = (*tokenizer)->data();
        const TokenId end = idOf(data, "<|end|>");
        QCOMPARE(data.bos, std::optional(end));
        QVERIFY(data.addBos && data.addEos);
        QVERIFY((*tokenizer)->isEndOfTurn(end) && (*tokenizer)->isEndOfTurn(TokenId(5)) &&
                (*tokenizer)->isEndOfTurn(TokenId(9)) && !(*tokenizer)->isEndOfTurn(TokenId(6)));
        QCOMPARE(warnings.size(), std::size_t(2)); // no such padding token, no such id
        EncodeOptions options;
        options.add = AddSpecial::AsModelWants;
        QCOMPARE(piecesOf(**tokenizer, "a", options), std::string("<|end|>|a|<|end|>"));
        // The file alone says none of this.
        const auto alone = folder.tokenizer("tokenizer.json");
        QVERIFY(alone);
        QCOMPARE(piecesOf(**alone, "a", options), std::string("a"));
    }

    void bosThatIsNotWanted()
    {
        HfFolder folder;
        folder.write("tokenizer.json", tinyCharacterJson());
        folder.write("tokenizer_config.json", json{{"bos_token", "<s>"}, {"add_bos_token", false}});
        EncodeOptions options;
        options.add = AddSpecial::AsModelWants;
        QCOMPARE(piecesOf(**folder.tokenizer(), "a", options), std::string("▁|a"));
    }

    void sentencePieceModel()
    {
        HfFolder folder;
        folder.writeText("tokenizer.model", sentencePieceFile(2));
        folder.write("tokenizer_config.json", json{{"added_tokens_decoder",
                                                    {{"7", {{"content", "<|im_start|>"}, {"special", true}}},
                                                     {"8", {{"content", "<tool>"}, {"special", false}}}}}});
        const auto tokenizer = folder.tokenizer();
        QVERIFY(tokenizer);
        EncodeOptions options;
        options.special = SpecialTokens::Parse;
        options.add = AddSpecial::AsModelWants;
        QCOMPARE(piecesOf(**tokenizer, "ab<|im_start|><tool>", options),
                 std::string("<s>|▁a|b|<|im_start|>|<tool>"));
        QVERIFY((*tokenizer)->isEndOfTurn(TokenId(2)));
        QCOMPARE((*tokenizer)->kind(TokenId(7)), TokenKind::Control);

        folder.writeText("tokenizer.model", sentencePieceFile(1));
        QVERIFY(folder.tokenizer().error().text().find("unigram") != std::string::npos);
        folder.writeText("tokenizer.model", sentencePieceFile(2, "rules"));
        QVERIFY(folder.tokenizer().error().text().find("some_rules") != std::string::npos);
        const std::string whole = sentencePieceFile(2);
        for (std::size_t size = 0; size < whole.size(); ++size) {
            folder.writeText("tokenizer.model", std::string_view(whole).substr(0, size));
            const auto cut = folder.tokenizer();
            QVERIFY(cut || !cut.error().message.empty());
        }
    }

    void vocabAndMerges()
    {
        const json content = tinyByteLevelJson();
        HfFolder folder;
        folder.write("vocab.json", content["model"]["vocab"]);
        std::string merges = "#version: 0.2\n";
        for (const auto &merge : content["model"]["merges"])
            merges += merge.get<std::string>() + "\n";
        folder.writeText("merges.txt", std::string_view(merges));
        folder.write("added_tokens.json", json{{"<tool>", content["model"]["vocab"].size()}});
        QVERIFY(hasHfVocabulary(folder.path()));
        const auto tokenizer = folder.tokenizer();
        QVERIFY(tokenizer);
        QCOMPARE(piecesOf(**tokenizer, "hello wor<tool>"), std::string("hello|Ġwor|<tool>"));
        folder.writeText("merges.txt", "broken\n");
        QVERIFY(folder.tokenizer().error().text().find("merges.txt") != std::string::npos);
        folder.write("vocab.json", json::array({1}));
        QVERIFY(!folder.tokenizer());
    }

    void chatTemplates()
    {
        HfFolder folder;
        QCOMPARE(*readHfChatTemplate(folder.path()), std::string());
        folder.write("tokenizer_config.json", json{{"chat_template",
                                                    {{{"name", "tool_use"}, {"template", "T"}},
                                                     {{"name", "default"}, {"template", "D"}}}}});
        QCOMPARE(*readHfChatTemplate(folder.path()), std::string("D"));
        folder.write("tokenizer_config.json", json{{"chat_template", "one"}});
        QCOMPARE(*readHfChatTemplate(folder.path()), std::string("one"));
        folder.write("chat_template.json", json{{"chat_template", "two"}});
        QCOMPARE(*readHfChatTemplate(folder.path()), std::string("two"));
        folder.writeText("chat_template.jinja", std::string_view("three"));
        QCOMPARE(*readHfChatTemplate(folder.path()), std::string("three"));
    }

    void noVocabulary()
    {
        HfFolder folder;
        QVERIFY(!hasHfVocabulary(folder.path()));
        QCOMPARE(folder.tokenizer().error().code, ErrorCode::NotFound);
        folder.writeText("tokenizer_config.json", std::string_view("[1"));
        folder.write("tokenizer.json", tinyByteLevelJson());
        QVERIFY(folder.tokenizer().error().text().find("tokenizer_config.json") != std::string::npos);
    }

    void moreRowsThanTokens()
    {
        HfFolder folder;
        folder.write("tokenizer.json", tinyByteLevelJson());
        auto data = readHfVocabulary(folder.path(), nullptr);
        QVERIFY(data);
        padVocabulary(*data, 300);
        const auto tokenizer = makeTokenizer(std::move(*data));
        QVERIFY(tokenizer);
        QCOMPARE((*tokenizer)->size(), 300U);
        QCOMPARE((*tokenizer)->kind(TokenId(299)), TokenKind::Unused);
    }
};

TOKENLOUPE_TEST_MAIN(TestHfVocabulary)
#include "tst_hfvocabulary.moc"
