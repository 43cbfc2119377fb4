// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/tokenizer/vocabularies.h"

#include <fstream>
#include <map>
#include <sstream>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<std::uint32_t>;

std::shared_ptr<const Tokenizer> load(const std::filesystem::path &path)
{
    const auto file = GgufFile::open(path);
    if (!file)
        return nullptr;
    auto data = readVocabulary(**file, nullptr);
    if (!data)
        return nullptr;
    auto tokenizer = makeTokenizer(std::move(*data));
    return tokenizer ? *tokenizer : nullptr;
}

/// A Hugging Face tokenizer.json of byte-level BPE with the pre-tokenizer that its model is known for.
std::shared_ptr<const Tokenizer> loadJson(const std::filesystem::path &path, const std::string &pre)
{
    const nlohmann::json json = readJson(path);
    VocabularyData data;
    data.model = "gpt2";
    data.pre = pre;
    data.addSpacePrefix = false;
    const auto put = [&data](std::size_t id, std::string text, TokenKind kind) {
        if (data.texts.size() <= id) {
            data.texts.resize(id + 1);
            data.kinds.resize(id + 1, TokenKind::Unused);
        }
        data.texts[id] = std::move(text);
        data.kinds[id] = kind;
    };
    for (const auto &[text, id] : json["model"]["vocab"].items())
        put(id, text, TokenKind::Normal);
    for (const auto &token : json["added_tokens"])
        put(token["id"], token["content"], token["special"] ? TokenKind::Control : TokenKind::UserDefined);
    for (const auto &merge : json["model"]["merges"]) {
        data.merges.push_back(merge.is_string()
                                  ? merge.get<std::string>()
                                  : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
    auto tokenizer = makeTokenizer(std::move(data));
    return tokenizer ? *tokenizer : nullptr;
}

std::string contentOf(const std::filesystem::path &path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

struct Case
{
    std::string text;
    Ids ids;
};

/// Texts and ids of a pair of .inp and .out files.
std::vector<Case> casesOf(const std::filesystem::path &stem)
{
    const std::string separator = "\n__ggml_vocab_test__\n";
    const std::string input = contentOf(stem.string() + ".inp");
    std::istringstream output(contentOf(stem.string() + ".out"));
    std::vector<Case> cases;
    for (std::size_t begin = 0; begin < input.size();) {
        const std::size_t end = input.find(separator, begin);
        Case one{input.substr(begin, end - begin), {}};
        std::string line;
        std::getline(output, line);
        std::istringstream numbers(line);
        for (std::uint32_t id = 0; numbers >> id;)
            one.ids.push_back(id);
        cases.push_back(std::move(one));
        if (end == std::string::npos)
            break;
        begin = end + separator.size();
    }
    return cases;
}

/// Empty, or the first thing that does not fit.
std::string faultOf(const Tokenizer &tokenizer, const Case &expected, const EncodeOptions &options = {})
{
    const auto tokens = tokenizer.encode(expected.text, options);
    if (!tokens)
        return tokens.error().text();
    if (idsOf(*tokens) != expected.ids) {
        std::string found;
        for (const std::uint32_t id : idsOf(*tokens))
            found += " " + std::to_string(id);
        return "other ids for \"" + expected.text + "\":" + found;
    }
    if (const std::string fault = coverageFault(*tokens, expected.text); !fault.empty())
        return "\"" + expected.text + "\": " + fault;
    return {};
}

} // namespace

class TestTokenizerVectors : public QObject
{
    Q_OBJECT

private slots:
    void vocabularies_data()
    {
        QTest::addColumn<QByteArray>("folder");
        for (const char *folder :
             {"gpt-2", "starcoder", "refact", "falcon", "deepseek-coder", "llama-spm", "phi-3"})
            QTest::newRow(folder) << QByteArray(folder);
    }

    void vocabularies()
    {
        QFETCH(QByteArray, folder);
        TOKENLOUPE_NEED_SHARED(root, "tokenizers");
        const std::filesystem::path stem =
            root / folder.toStdString() / ("ggml-vocab-" + folder.toStdString() + ".gguf");
        const auto tokenizer = load(stem);
        QVERIFY(tokenizer);
        QVERIFY(tokenizer->recognised());
        const std::vector<Case> cases = casesOf(stem);
        QVERIFY(cases.size() > 40);
        for (const Case &one : cases) {
            QCOMPARE(faultOf(*tokenizer, one), std::string());
            EncodeOptions parse;
            parse.special = SpecialTokens::Parse;
            QCOMPARE(faultOf(*tokenizer, one, parse), std::string());
            QCOMPARE(tokenizer->decode(tokenIds(*tokenizer->encode(one.text))), one.text);
        }
        const nlohmann::json vectors = readJson(root / "llama_cpp_vectors.json");
        QVERIFY(vectors.at(folder.toStdString()).at("cases").size() > 40);
        for (const auto &entry : vectors.at(folder.toStdString()).at("cases"))
            QCOMPARE(faultOf(*tokenizer, {entry[0], entry[1].get<Ids>()}), std::string());
    }

    void wordPieceIsRefusedByName()
    {
        TOKENLOUPE_NEED_SHARED(path, "tokenizers/bert-bge/ggml-vocab-bert-bge.gguf");
        const auto file = GgufFile::open(path);
        QVERIFY(file);
        const auto data = readVocabulary(**file, nullptr);
        QVERIFY(data);
        const auto tokenizer = makeTokenizer(*data);
        QVERIFY(!tokenizer);
        QCOMPARE(tokenizer.error().code, ErrorCode::Unsupported);
        QVERIFY(tokenizer.error().text().find("bert") != std::string::npos);
    }

    void otherSplitRules_data()
    {
        QTest::addColumn<QByteArray>("folder");
        QTest::addColumn<QByteArray>("pre");
        QTest::addColumn<QByteArray>("vectors");
        QTest::newRow("llama3") << QByteArray("llama3") << QByteArray("llama-bpe")
                                << QByteArray("ggml-vocab-llama-bpe");
        QTest::newRow("qwen3") << QByteArray("qwen3") << QByteArray("qwen2")
                               << QByteArray("ggml-vocab-qwen2");
        QTest::newRow("deepseek_v3") << QByteArray("deepseek_v3") << QByteArray("deepseek-v3")
                                     << QByteArray();
    }

    void otherSplitRules()
    {
        QFETCH(QByteArray, folder);
        QFETCH(QByteArray, pre);
        QFETCH(QByteArray, vectors);
        TOKENLOUPE_NEED_SHARED(root, "tokenizers");
        const std::filesystem::path path = root / folder.toStdString();
        const auto tokenizer = loadJson(path / "tokenizer.json", pre.toStdString());
        QVERIFY(tokenizer);
        QVERIFY(tokenizer->recognised());
        if (!vectors.isEmpty()) {
            for (const Case &one : casesOf(path / (vectors.toStdString() + ".gguf")))
                QCOMPARE(faultOf(*tokenizer, one), std::string());
        }
        EncodeOptions parse;
        parse.special = SpecialTokens::Parse;
        std::ifstream file(path / "vectors.json");
        int compared = 0;
        const nlohmann::json json = nlohmann::json::parse(file);
        for (const auto &one : json["cases"]) {
            // A vocabulary with a Unicode normaliser changes some texts first, which GGUF files do not ask
            // for.
            if (one["decoded_keep_special"] != one["text"])
                continue;
            QCOMPARE(faultOf(*tokenizer, {one["text"], one["ids"].get<Ids>()}, parse), std::string());
            ++compared;
        }
        QVERIFY(compared > 60);
    }

    void llama2AsTheLibrary()
    {
        TOKENLOUPE_NEED_SHARED(root, "tokenizers");
        const auto tokenizer = load(root / "llama-spm" / "ggml-vocab-llama-spm.gguf");
        QVERIFY(tokenizer);
        const nlohmann::json json = readJson(root / "llama2" / "vectors_spm.json");
        for (const auto &one : json["cases"]) {
            const Case expected{one["text"], one["ids"].get<Ids>()};
            QCOMPARE(faultOf(*tokenizer, expected), std::string());
            QCOMPARE(tokenizer->decode(tokenIds(*tokenizer->encode(expected.text))),
                     one["decoded"].get<std::string>());

            std::vector<MergeStep> steps;
            EncodeOptions options;
            options.merges = &steps;
            const auto tokens = tokenizer->encode(expected.text, options);
            QVERIFY(tokens);
            // Byte tokens are no pieces: a character that they spell has no merges.
            std::string word;
            std::vector<std::string> found;
            for (std::size_t i = 0; i < tokens->size(); ++i) {
                const std::string bytes(tokenizer->bytes((*tokens)[i].id));
                const bool isByte = tokenizer->kind((*tokens)[i].id) == TokenKind::Byte;
                word += bytes;
                if (isByte && (static_cast<unsigned char>(bytes[0]) & 0xC0) == 0x80)
                    found.back() += bytes;
                else
                    found.push_back(bytes);
            }
            if (!expected.text.empty())
                QCOMPARE(replayFault(steps, {word}, {found}, Units::Characters), std::string());
        }
    }

    void gpt2AsHuggingFace()
    {
        TOKENLOUPE_NEED_SHARED(root, "tokenizers");
        const auto tokenizer = load(root / "gpt-2" / "ggml-vocab-gpt-2.gguf");
        QVERIFY(tokenizer);
        EncodeOptions parse;
        parse.special = SpecialTokens::Parse;
        const nlohmann::json json = readJson(root / "gpt2-hf" / "vectors.json");
        for (const auto &one : json["cases"]) {
            const Case expected{one["text"], one["ids"].get<Ids>()};
            QCOMPARE(faultOf(*tokenizer, expected, parse), std::string());
            QCOMPARE(tokenizer->decode(tokenIds(*tokenizer->encode(expected.text, parse)), ShowControl::Yes),
                     one["decoded_keep_special"].get<std::string>());
        }
    }

    void smollm2()
    {
        TOKENLOUPE_NEED_SMOL(model);
        TOKENLOUPE_NEED_SHARED(golden, "models/smollm2-135m-instruct-q4_1/golden.json");
        const auto tokenizer = load(model);
        QVERIFY(tokenizer);
        QVERIFY(tokenizer->recognised());
        const nlohmann::json json = readJson(golden);
        for (const auto &one : json) {
            EncodeOptions options;
            options.add = AddSpecial::AsModelWants;
            options.special = one["parse_special"] ? SpecialTokens::Parse : SpecialTokens::AsText;
            QCOMPARE(faultOf(*tokenizer, {one["text"], one["ids"].get<Ids>()}, options), std::string());
        }
        const VocabularyData &data = tokenizer->data();
        QVERIFY(tokenizer->isEndOfTurn(idOf(data, "<|im_end|>")));
        QVERIFY(!tokenizer->isEndOfTurn(idOf(data, "<|im_start|>")));
    }

    void stories()
    {
        TOKENLOUPE_NEED_SHARED(root, "models/stories260K");
        const auto tokenizer = load(root / "stories260K-f32.gguf");
        QVERIFY(tokenizer);
        EncodeOptions options;
        options.add = AddSpecial::AsModelWants;
        const nlohmann::json json = readJson(root / "golden_greedy_f32.json");
        int compared = 0;
        for (const auto &one : json["runs"]) {
            QCOMPARE(faultOf(*tokenizer, {one["prompt"], one["prompt_ids"].get<Ids>()}, options),
                     std::string());
            ++compared;
        }
        QVERIFY(compared > 0);
    }

    void brokenFiles_data()
    {
        QTest::addColumn<QByteArray>("file");
        for (const char *file : {"tokens_duplicate", "scores_nan", "token_very_long", "byte_token_bad_hex",
                                 "token_types_too_short", "unk_id_out_of_range"})
            QTest::newRow(file) << QByteArray(file);
    }

    void brokenFiles()
    {
        QFETCH(QByteArray, file);
        TOKENLOUPE_NEED_SHARED(root, "malformed/gguf_model");
        const auto gguf = GgufFile::open(root / (file.toStdString() + ".gguf"));
        QVERIFY(gguf);
        const auto data = readVocabulary(**gguf, nullptr);
        if (!data) {
            QVERIFY(!data.error().message.empty());
            return;
        }
        const auto tokenizer = makeTokenizer(*data);
        QVERIFY(tokenizer);
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const std::string text = randomBytes(seed, seed * 30, seed % 2 ? "Once upon a time " : "");
            const auto tokens = (*tokenizer)->encode(text);
            if (!tokens) {
                QVERIFY(!tokens.error().message.empty());
                continue;
            }
            QCOMPARE(coverageFault(*tokens, text), std::string());
            (*tokenizer)->decode(tokenIds(*tokens));
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestTokenizerVectors)
#include "tst_tokenizervectors.moc"
