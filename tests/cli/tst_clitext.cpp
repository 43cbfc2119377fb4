// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>

using namespace tokenloupe::test;
using nlohmann::json;

/// The commands that run no model: inspect, tokenize, render, sample.
class CliTextTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void inspectKeys();
    void inspectOtherArchitecture();
    void inspectEmptyContainer();
    void inspectText();
    void tokenizeRanges();
    void tokenizeSpecial();
    void tokenizeMerges();
    void tokenizeLines();
    void decodeLines();
    void vocabularyOnly();
    void renderTemplate();
    void renderLines();
    void raisedByTheTemplate();
    void sampleCases();

private:
    QString written(const GgufWriter &writer, const QString &name) const
    {
        const auto bytes = writer.bytes();
        return m_cli.file(name, QByteArray(reinterpret_cast<const char *>(bytes.data()),
                                           static_cast<qsizetype>(bytes.size())));
    }
    CliRunner m_cli;
};

void CliTextTest::inspectKeys()
{
    TinyModelOptions options;
    options.chatTemplate = tinyChatTemplate;
    const auto result = m_cli.run({"inspect", m_cli.model(options), "--json"});
    QCOMPARE(result.status, 0);
    const json facts = result.json();
    QCOMPARE(missingKeys(facts,
                         {"file",          "format",        "architecture", "supported",      "layers",
                          "embedding",     "heads",         "kv_heads",     "head_size",      "feed_forward",
                          "vocabulary",    "context_train", "rope",         "sliding_window", "tokenizer",
                          "chat_template", "weights_bytes", "types",        "tensors",        "metadata"}),
             QString());
    QCOMPARE(
        missingKeys(facts["tokenizer"], {"model", "pre", "recognised", "tokens", "bos", "eos", "add_bos"}),
        QString());
    COMPARE_JSON(facts["architecture"], "llama");
    COMPARE_JSON(facts["supported"], true);
    COMPARE_JSON(facts["layers"], options.layers);
    COMPARE_JSON(facts["kv_heads"], options.kvHeads);
    COMPARE_JSON(facts["head_size"], options.embedding / options.heads);
    COMPARE_JSON(facts["vocabulary"], options.vocabulary);
    COMPARE_JSON(facts["chat_template"], tinyChatTemplate);
    COMPARE_JSON(facts["tokenizer"]["bos"], tinyBos);
    // Bytes add up, and offsets are places in the file.
    std::uint64_t sum = 0;
    for (const json &tensor : facts["tensors"]) {
        sum += tensor["bytes"].get<std::uint64_t>();
        QVERIFY(tensor["offset"].get<std::uint64_t>() % 32 == 0 && tensor["offset"].get<std::uint64_t>() > 0);
    }
    COMPARE_JSON(facts["weights_bytes"], sum);
    COMPARE_JSON(facts["types"]["F32"], sum);
    COMPARE_JSON(facts["metadata"]["tokenizer.ggml.tokens"],
                 (json{{"type", "string"}, {"count", options.vocabulary}}));
}

void CliTextTest::inspectOtherArchitecture()
{
    GgufWriter writer;
    writer.string("general.architecture", "mamba9")
        .u32("mamba9.block_count", 12)
        .u32("mamba9.context_length", 77);
    const auto facts = m_cli.run({"inspect", written(writer, "other.gguf"), "--json"}).json();
    COMPARE_JSON(facts["architecture"], "mamba9");
    COMPARE_JSON(facts["supported"], false);
    COMPARE_JSON(facts["layers"], 12);
    COMPARE_JSON(facts["context_train"], 77);
    QVERIFY(facts["reason"].get<std::string>().find("mamba9") != std::string::npos);
}

void CliTextTest::inspectEmptyContainer()
{
    const QString path = written(GgufWriter(), "empty.gguf");
    const auto result = m_cli.run({"inspect", path, "--json"});
    QCOMPARE(result.status, 0);
    COMPARE_JSON(result.json()["supported"], false);
    QCOMPARE(m_cli.run({"inspect", path}).status, 0);
    QCOMPARE(m_cli.run({"run", path, "--prompt", "a"}).status, 1);
}

void CliTextTest::inspectText()
{
    const auto result = m_cli.run({"inspect", m_cli.model()});
    QCOMPARE(result.status, 0);
    QVERIFY(result.output.contains("token_embd.weight"));
    QVERIFY(result.output.contains("llama.block_count"));
}

void CliTextTest::tokenizeRanges()
{
    const QByteArray text = "the caf\xc3\xa9 \xe9\xbe\x98";
    const auto result = m_cli.run({"tokenize", m_cli.model(), QString::fromUtf8(text), "--json"});
    QCOMPARE(result.status, 0);
    const json answer = result.json();
    int end = 0;
    for (std::size_t i = 0; i < answer["tokens"].size(); ++i) {
        const json &token = answer["tokens"][i];
        QCOMPARE(missingKeys(token, {"id", "text", "hex", "begin", "end", "kind"}), QString());
        COMPARE_JSON(token["id"], answer["ids"][i]);
        COMPARE_JSON(token["begin"], end);
        end = token["end"].get<int>();
    }
    QCOMPARE(end, static_cast<int>(text.size()));
    COMPARE_JSON(answer["tokens"].back()["kind"], "byte");
    COMPARE_JSON(answer["tokens"].back()["hex"], "98");
    COMPARE_JSON(answer["tokens"].back()["text"], "\xef\xbf\xbd");
    const auto empty = m_cli.run({"tokenize", m_cli.model(), "", "--json"});
    COMPARE_JSON(empty.json()["ids"], json::array());
    const auto withBos = m_cli.run({"tokenize", m_cli.model(), "", "--add-special", "--json"});
    COMPARE_JSON(withBos.json()["ids"], json::array({tinyBos}));
}

void CliTextTest::tokenizeSpecial()
{
    const QString text = "<|im_end|>";
    const auto plain = m_cli.run({"tokenize", m_cli.model(), text, "--json"}).json();
    for (const json &token : plain["tokens"])
        QVERIFY(token["kind"] != "control");
    const auto special = m_cli.run({"tokenize", m_cli.model(), text, "--special", "--json"}).json();
    COMPARE_JSON(special["ids"], json::array({tinyTurnEnd}));
    COMPARE_JSON(special["tokens"][0]["kind"], "control");
}

void CliTextTest::tokenizeMerges()
{
    const auto answer = m_cli.run({"tokenize", m_cli.model(), "the the", "--merges", "--json"}).json();
    QVERIFY(!answer["merges"].empty());
    for (const json &merge : answer["merges"]) {
        QCOMPARE(missingKeys(merge, {"left", "right", "result", "rank", "word"}), QString());
        QCOMPARE(merge["result"].get<std::string>(),
                 merge["left"].get<std::string>() + merge["right"].get<std::string>());
    }
}

void CliTextTest::tokenizeLines()
{
    const QString lines = m_cli.file("lines.jsonl", "{\"text\": \"the cat\"}\n\n{\"hex\": \"ff00\"}\n");
    const auto result = m_cli.run({"tokenize", m_cli.model(), "--jsonl", lines, "--json"});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.lines().size(), 2U);
    COMPARE_JSON(result.lines()[0]["ids"],
                 m_cli.run({"tokenize", m_cli.model(), "the cat", "--json"}).json()["ids"]);
    const QString bad =
        m_cli.file("bad.jsonl", "{\"text\": \"a\"}\n{\"txt\": \"a\"}\nnot json\n{\"text\": \"a\"}\n");
    const auto partly = m_cli.run({"tokenize", m_cli.model(), "--jsonl", bad, "--json"});
    QCOMPARE(partly.status, 1);
    QCOMPARE(partly.lines().size(), 4U);
    COMPARE_JSON(partly.lines()[0], partly.lines()[3]);
    QVERIFY(partly.lines()[1].contains("error") && partly.lines()[2].contains("error"));
    QCOMPARE(partly.messageLines(), 1);
}

void CliTextTest::decodeLines()
{
    const QByteArray text = "the caf\xc3\xa9 \xe9\xbe\x98";
    const auto ids = m_cli.run({"tokenize", m_cli.model(), QString::fromUtf8(text), "--json"}).json()["ids"];
    json cut = ids;
    cut.erase(cut.size() - 1); // the last byte of the last character
    json closed = ids;
    closed.push_back(tinyTurnEnd);
    const QString lines = m_cli.file(
        "ids.jsonl", QByteArray::fromStdString(json{{"ids", ids}}.dump() + "\n" + json{{"ids", cut}}.dump() +
                                               "\n" + json{{"ids", closed}}.dump() + "\n"));
    const auto decoded =
        m_cli.run({"tokenize", m_cli.model(), "--jsonl", lines, "--decode", "--json"}).lines();
    QCOMPARE(decoded.size(), 3U);
    COMPARE_JSON(decoded[0]["text"], text.toStdString());
    COMPARE_JSON(decoded[0]["hex"], text.toHex().toStdString());
    COMPARE_JSON(decoded[1]["hex"], text.chopped(1).toHex().toStdString());
    QVERIFY(decoded[1]["text"].get<std::string>().find("\xef\xbf\xbd") != std::string::npos);
    COMPARE_JSON(decoded[2], decoded[0]);
    const auto shown =
        m_cli.run({"tokenize", m_cli.model(), "--jsonl", lines, "--decode", "--special", "--json"}).lines();
    COMPARE_JSON(shown[2]["text"], text.toStdString() + "<|im_end|>");
}

void CliTextTest::vocabularyOnly()
{
    GgufWriter writer = tinyModel();
    for (const char *name : {"token_embd.weight", "output_norm.weight"})
        writer.withoutTensor(name);
    const QString path = written(writer, "vocabulary.gguf");
    COMPARE_JSON(m_cli.run({"tokenize", path, "the", "--json"}).json(),
                 m_cli.run({"tokenize", m_cli.model(), "the", "--json"}).json());
    QCOMPARE(m_cli.run({"run", path, "--prompt", "the"}).status, 1);
}

void CliTextTest::renderTemplate()
{
    const QString source =
        m_cli.file("t.jinja", "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if "
                              "add_generation_prompt %}>{% endif %}{{ extra }}");
    const QString messages = m_cli.file("m.json", R"([{"role": "user", "content": "hi"}])");
    const QStringList call{"render", "--template", source, "--messages", messages};
    COMPARE_JSON(m_cli.run(call + QStringList{"--json"}).json()["prompt"], "<user>hi>");
    QCOMPARE(m_cli.run(call).output, QByteArray("<user>hi>"));
    QCOMPARE(m_cli.run(call + QStringList{"--no-generation-prompt"}).output, QByteArray("<user>hi"));
    QCOMPARE(m_cli.run(call + QStringList{"--vars", R"({"extra": "!"})"}).output, QByteArray("<user>hi>!"));
    TinyModelOptions options;
    options.chatTemplate = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}";
    options.name = "own";
    QCOMPARE(m_cli.run({"render", m_cli.model(options), "--messages", messages}).output,
             QByteArray("<s>hi</s>"));
}

void CliTextTest::renderLines()
{
    const QString lines = m_cli.file(
        "r.jsonl",
        R"({"template": "{{ messages[0].content }}{{ x }}", "messages": [{"role": "user", "content": "a"}], "vars": {"x": "b"}})"
        "\n"
        R"({"template": "{{ raise_exception('no') }}", "messages": []})"
        "\n"
        R"({"template": "{% if %}", "messages": []})"
        "\n"
        R"({"messages": []})"
        "\n"
        R"({"template": "{{ 'y' if add_generation_prompt else 'n' }}", "messages": [], "add_generation_prompt": false})"
        "\n");
    const auto result = m_cli.run({"render", "--jsonl", lines, "--json"});
    QCOMPARE(result.status, 0);
    const auto answers = result.lines();
    QCOMPARE(answers.size(), 5U);
    COMPARE_JSON(answers[0]["prompt"], "ab");
    QVERIFY(answers[1]["error"].get<std::string>().find("no") != std::string::npos);
    QVERIFY(answers[2].contains("error"));
    QVERIFY(answers[3].contains("error"));
    COMPARE_JSON(answers[4]["prompt"], "n");
}

void CliTextTest::raisedByTheTemplate()
{
    const QString source = m_cli.file("raise.jinja", "{{ raise_exception('roles must alternate') }}");
    const auto result =
        m_cli.run({"render", "--template", source, "--messages", m_cli.file("none.json", "[]"), "--json"});
    QCOMPARE(result.status, 1);
    QVERIFY(result.messages.contains("roles must alternate"));
    QCOMPARE(result.messageLines(), 1);
}

void CliTextTest::sampleCases()
{
    const QString cases = m_cli.file("cases.json", R"({"cases": [
        {"id": "k", "steps": [{"sampler": "top_k", "k": 2}], "input": {"logits": [0, 1, 2, "-inf"]}},
        {"id": "unknown", "steps": [{"sampler": "magic"}], "input": {"logits": [0, 1]}},
        {"id": "nan", "steps": [], "input": {"logits": ["nan", "nan"]}},
        {"id": "p", "steps": [{"sampler": "min_p", "p": 0.45}], "input": {"probs": [0.1, 0.2, 0.3, 0.4]}}]})");
    const auto result = m_cli.run({"sample", "--cases", cases, "--json"});
    QCOMPARE(result.status, 0);
    const json results = result.json()["results"];
    QCOMPARE(results.size(), 4U);
    QCOMPARE(missingKeys(results[0], {"id", "kept", "probs", "logits", "argmax", "mu", "error", "stages"}),
             QString());
    COMPARE_JSON(results[0]["kept"], json::array({1, 2}));
    COMPARE_JSON(results[0]["argmax"], 2);
    COMPARE_JSON(results[0]["logits"][0], "-inf");
    QVERIFY(std::abs(results[0]["probs"]["2"].get<double>() - 1.0 / (1.0 + std::exp(-1.0))) < 1e-6);
    QVERIFY(results[1]["error"].get<std::string>().find("magic") != std::string::npos);
    QVERIFY(results[2]["error"].is_string());
    COMPARE_JSON(results[3]["kept"], json::array({1, 2, 3}));
    QVERIFY(results[3]["error"].is_null());
    const auto text = m_cli.run({"sample", "--cases", cases});
    QCOMPARE(text.status, 0);
    QVERIFY(text.output.contains("top_k (2)"));
}

TOKENLOUPE_TEST_MAIN(CliTextTest)
#include "tst_clitext.moc"
