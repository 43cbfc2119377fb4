// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfvocabulary.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/tokenizer/vocabularies.h"

#include <QTemporaryDir>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<std::uint32_t>;

std::shared_ptr<const Tokenizer> load(const std::filesystem::path &path)
{
    const auto tokenizer = readHfVocabulary(path, nullptr).and_then([](VocabularyData &&data) {
        return makeTokenizer(std::move(data));
    });
    if (!tokenizer)
        qWarning("%s", tokenizer.error().text().c_str());
    return tokenizer ? *tokenizer : nullptr;
}

/// Empty, or what does not fit.
std::string faultOf(const Tokenizer &tokenizer, const std::string &text, const Ids &expected,
                    const EncodeOptions &options)
{
    const auto tokens = tokenizer.encode(text, options);
    if (!tokens)
        return tokens.error().text();
    if (idsOf(*tokens) != expected)
        return "other ids for \"" + text + "\"";
    return coverageFault(*tokens, text);
}

std::vector<TokenId> tokenIdsOf(const Ids &ids)
{
    std::vector<TokenId> tokens;
    for (const std::uint32_t id : ids)
        tokens.emplace_back(id);
    return tokens;
}

} // namespace

/// Vocabularies of Hugging Face against what their own library and llama.cpp give.
class TestHfVectors : public QObject
{
    Q_OBJECT

private slots:
    void tokenizerJson_data()
    {
        QTest::addColumn<QByteArray>("folder");
        for (const char *folder : {"gpt2-hf", "llama3", "qwen3", "deepseek_v3", "gemma3", "mistral-v1"})
            QTest::newRow(folder) << QByteArray(folder);
    }

    void tokenizerJson()
    {
        QFETCH(QByteArray, folder);
        TOKENLOUPE_NEED_SHARED(root, "tokenizers");
        const std::filesystem::path path = root / folder.toStdString();
        const auto tokenizer = load(path / "tokenizer.json");
        QVERIFY(tokenizer);
        EncodeOptions parse, whole;
        parse.special = whole.special = SpecialTokens::Parse;
        whole.add = AddSpecial::AsModelWants;
        const nlohmann::json vectors = readJson(path / "vectors.json");
        QVERIFY(vectors.at("cases").size() > 60);
        for (const auto &one : vectors.at("cases")) {
            const std::string text = one["text"];
            const Ids ids = one["ids"];
            QCOMPARE(faultOf(*tokenizer, text, ids, parse), std::string());
            QCOMPARE(faultOf(*tokenizer, text, one["ids_with_special"].get<Ids>(), whole), std::string());
            QCOMPARE(tokenizer->decode(tokenIdsOf(ids), ShowControl::Yes),
                     one["decoded_keep_special"].get<std::string>());
            QCOMPARE(tokenizer->decode(tokenIdsOf(ids), ShowControl::No),
                     one["decoded_skip_special"].get<std::string>());
        }
        const nlohmann::json more = readJson(root / "llama_cpp_vectors.json");
        const std::string name = folder == "gpt2-hf" ? "gpt-2" : folder.toStdString();
        if (!more.contains(name))
            return;
        for (const auto &one : more.at(name).at("cases"))
            QCOMPARE(faultOf(*tokenizer, one[0], one[1].get<Ids>(), {}), std::string());
    }

    void tokenizerModel_data()
    {
        QTest::addColumn<QByteArray>("folder");
        for (const char *folder : {"llama2", "mistral-v1"})
            QTest::newRow(folder) << QByteArray(folder);
    }

    void tokenizerModel()
    {
        QFETCH(QByteArray, folder);
        TOKENLOUPE_NEED_SHARED(root, "tokenizers");
        const std::filesystem::path path = root / folder.toStdString();
        const auto tokenizer = load(path / "tokenizer.model");
        QVERIFY(tokenizer);
        const nlohmann::json vectors = readJson(path / "vectors_spm.json");
        QVERIFY(vectors.at("cases").size() > 60);
        for (const auto &one : vectors.at("cases")) {
            const Ids ids = one["ids"];
            QCOMPARE(faultOf(*tokenizer, one["text"], ids, {}), std::string());
            QCOMPARE(tokenizer->decode(tokenIdsOf(ids)), one["decoded"].get<std::string>());
        }
    }

    void vocabAndMerges()
    {
        TOKENLOUPE_NEED_SHARED(root, "tokenizers/gpt2-hf");
        QTemporaryDir folder;
        const std::filesystem::path copy = folder.path().toStdString();
        std::filesystem::copy_file(root / "vocab.json", copy / "vocab.json");
        std::filesystem::copy_file(root / "merges.txt", copy / "merges.txt");
        const auto tokenizer = load(copy);
        QVERIFY(tokenizer);
        EncodeOptions parse;
        parse.special = SpecialTokens::Parse;
        int compared = 0;
        const nlohmann::json vectors = readJson(root / "vectors.json");
        for (const auto &one : vectors.at("cases")) {
            if (one["text"].get<std::string>().find("<|") != std::string::npos)
                continue; // no file says which tokens are special
            QCOMPARE(faultOf(*tokenizer, one["text"], one["ids"].get<Ids>(), parse), std::string());
            ++compared;
        }
        QVERIFY(compared > 60);
    }

    void folders()
    {
        TOKENLOUPE_NEED_SHARED(root, "models/stories260K");
        const auto fromJson = load(root / "hf");
        const auto fromModel = load(root / "hf" / "tokenizer.model");
        QVERIFY(fromJson && fromModel);
        QCOMPARE(fromJson->data().bos, std::optional(TokenId(1)));
        QVERIFY(fromJson->isEndOfTurn(TokenId(2)));
        EncodeOptions whole;
        whole.add = AddSpecial::AsModelWants;
        int compared = 0;
        const nlohmann::json golden = readJson(root / "golden_greedy_f32.json");
        for (const auto &one : golden.at("runs")) {
            const Ids ids = one["prompt_ids"];
            QCOMPARE(faultOf(*fromJson, one["prompt"], ids, whole), std::string());
            QCOMPARE(faultOf(*fromModel, one["prompt"], ids, whole), std::string());
            ++compared;
        }
        QVERIFY(compared > 0);
    }

    void whatFoldersSay()
    {
        TOKENLOUPE_NEED_SHARED(root, "tokenizers");
        const auto qwen = load(root / "qwen3");
        QVERIFY(qwen);
        QVERIFY(!qwen->data().addBos);
        QVERIFY(qwen->isEndOfTurn(idOf(qwen->data(), "<|im_end|>")));
        const auto deepseek = load(root / "deepseek_v3");
        QVERIFY(deepseek);
        QVERIFY(deepseek->data().addBos);
        QCOMPARE(deepseek->data().bos, std::optional(TokenId(0)));
        for (const char *folder : {"qwen3", "deepseek_v3", "gemma3", "llama3"}) {
            const auto text = readHfChatTemplate(root / folder);
            QVERIFY(text);
            QVERIFY(text->find("messages") != std::string::npos);
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestHfVectors)
#include "tst_hfvectors.moc"
