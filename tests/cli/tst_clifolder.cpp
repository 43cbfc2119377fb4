// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"
#include "tests/support/tinyfolder.h"

#include <QRegularExpression>

using namespace tokenloupe::test;
using nlohmann::json;

/// Hugging Face folders, one without a tokenizer and one that is not run, at the command line.
class CliFolderTest : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void inspects();
    void inspectsWhatIsNotRun();
    void runsIds();
    void hasNoTokenizer();
    void estimates();
    void measures();
    void refusesBrokenWeights();

private:
    QString make(const char *name, const TinyFolderOptions &options = {}) const
    {
        const TinyArchitecture model = asFolderHasIt(tinyArchitectureNamed(name));
        const QString path = m_cli.folder() + QStringLiteral("/some-model");
        std::filesystem::remove_all(path.toStdString());
        writeTinyFolder(path.toStdString(), model, tinyTensors(model), options);
        return path;
    }
    CliRunner m_cli;
};

void CliFolderTest::inspects()
{
    TinyFolderOptions options;
    options.type = StoreAs::Bf16;
    options.spelling = Spelling::Version4;
    const auto result = m_cli.run({"inspect", make("gemma3", options), "--json"});
    QCOMPARE(result.status, 0);
    const json facts = result.json();
    COMPARE_JSON(facts["format"], "hf");
    COMPARE_JSON(facts["architecture"], "gemma3_text");
    COMPARE_JSON(facts["supported"], true);
    COMPARE_JSON(facts["layers"], 7);
    COMPARE_JSON(facts["kv_heads"], 2);
    COMPARE_JSON(facts["sliding_window"], 5);
    COMPARE_JSON(facts["rope"]["scaling"], "linear");
    COMPARE_JSON(facts["tokenizer"]["recognised"], false);
    COMPARE_JSON(facts["chat_template"], nullptr);
    COMPARE_JSON(facts["types"]["BF16"], facts["weights_bytes"]);
    COMPARE_JSON(facts["metadata"]["model_type"], "gemma3_text");
    COMPARE_JSON(facts["tensors"][0]["shape"], (std::vector<int>{391, 45}));
    QVERIFY(!facts["tensors"][0].contains("file"));

    TinyFolderOptions several;
    several.shards = 2;
    const json shards = m_cli.run({"inspect", make("phi3 longrope, long", several), "--json"}).json();
    COMPARE_JSON(shards["rope"]["scaling"], "longrope");
    COMPARE_JSON(shards["tensors"][0]["file"], "model-1.safetensors");
}

void CliFolderTest::inspectsWhatIsNotRun()
{
    const QString folder = make("llama");
    m_cli.file(QStringLiteral("some-model/config.json"),
               R"({"model_type": "rwkv", "hidden_size": 45, "num_hidden_layers": 3, "vocab_size": 391})");
    const auto result = m_cli.run({"inspect", folder, "--json"});
    QCOMPARE(result.status, 0);
    const json facts = result.json();
    COMPARE_JSON(facts["supported"], false);
    COMPARE_JSON(facts["architecture"], "rwkv");
    COMPARE_JSON(facts["layers"], 3);
    QVERIFY(facts["reason"].get<std::string>().find("rwkv") != std::string::npos);
    const auto run = m_cli.run({"run", folder, "--ids", "1"});
    QCOMPARE(run.status, 1);
    QCOMPARE(run.messageLines(), 1);
    QVERIFY(run.messages.contains("model_type") && run.messages.contains("rwkv"));
}

void CliFolderTest::runsIds()
{
    const auto result = m_cli.run({"run", make("falcon with two norms"), "--ids", "3,5,7", "-n", "6",
                                   "--temp", "0", "--ignore-eos", "--json"});
    QCOMPARE(result.status, 0);
    const auto tokens = eventsOf(result.lines(), "token");
    QCOMPARE(tokens.size(), std::size_t(6));
    for (const json &token : tokens)
        COMPARE_JSON(token["text"], "");
    const auto scored =
        m_cli.run({"score", make("bloom"), "--ids", "3,5,7", "--precision", "exact", "--json"});
    QCOMPARE(scored.status, 0);
    QCOMPARE(scored.json()["nll"].size(), std::size_t(2));
}

void CliFolderTest::hasNoTokenizer()
{
    const QString folder = make("llama");
    for (const QStringList &arguments :
         {QStringList{"tokenize", folder, "hello"}, QStringList{"run", folder, "--prompt", "hello"},
          QStringList{"score", folder, "--file", folder + "/config.json"}}) {
        const auto result = m_cli.run(arguments);
        QCOMPARE(result.status, 1);
        QCOMPARE(result.messageLines(), 1);
        QVERIFY2(result.messages.contains("tokenizer"), result.messages.constData());
    }
}

void CliFolderTest::estimates()
{
    TinyFolderOptions halves;
    halves.type = StoreAs::F16;
    const auto result =
        m_cli.run({"estimate", make("llama", halves), "--context", "64", "--vram", "1GiB", "--json"});
    QCOMPARE(result.status, 0);
    const json facts = result.json();
    const json inspected = m_cli.run({"inspect", make("llama", halves), "--json"}).json();
    COMPARE_JSON(facts["parts"][0]["name"], "weights");
    COMPARE_JSON(facts["parts"][0]["bytes"], inspected["weights_bytes"]);
}

/// Copies of turned matrices are weights, too.
void CliFolderTest::measures()
{
    const auto result = m_cli.run({"estimate", make("gpt2"), "--context", "64", "--measure", "--json"});
    QCOMPARE(result.status, 0);
    const json facts = result.json();
    double planned = 0.0;
    double measured = 0.0;
    for (const json &part : facts["parts"]) {
        if (part["name"] == "weights")
            planned = part["bytes"];
    }
    for (const json &part : facts["measured"]) {
        if (part["name"] == "weights")
            measured = part["bytes"];
    }
    QVERIFY(planned > 0.0);
    QVERIFY2(measured > 0.9 * planned && measured < 1.1 * planned, dumped(facts["measured"]).constData());
}

void CliFolderTest::refusesBrokenWeights()
{
    const QString folder = make("llama");
    m_cli.file(QStringLiteral("some-model/model.safetensors"), QByteArray(16, '\xff'));
    for (const char *command : {"inspect", "run", "score", "bench"}) {
        QStringList arguments{QString::fromLatin1(command), folder};
        if (arguments[0] == QStringLiteral("run") || arguments[0] == QStringLiteral("score"))
            arguments << QStringLiteral("--ids") << QStringLiteral("1,2");
        const auto result = m_cli.run(arguments);
        QCOMPARE(result.status, 1);
        QCOMPARE(result.messageLines(), 1);
        QVERIFY2(result.messages.contains("read model.safetensors: expected a header of at most 8 bytes"),
                 result.messages.constData());
    }
}

TOKENLOUPE_TEST_MAIN(CliFolderTest)
#include "tst_clifolder.moc"
