// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>

using namespace tokenloupe::test;
using nlohmann::json;

class CliRunTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void keysOfTheEvents();
    void textIsTheBytes();
    void threadsAndRecordingDoNotMatter();
    void noCacheIsTheSame();
    void greedyTakesTheBest();
    void stagesAreDistributions();
    void samplersInOrder();
    void biasBansAndFavours();
    void emptyPrompt();
    void noTokens();
    void promptWithAMinusSign();
    void contextEnds();
    void endOfTurn();
    void chat();
    void promptFile();
    void readableText();
    void weightsThatAreNaN();
    void badUtf8InTheFile();

private:
    CliResult run(QStringList arguments) const
    {
        arguments.prepend(QStringLiteral("run"));
        arguments.append(QStringLiteral("--json"));
        return m_cli.run(arguments);
    }
    static QStringList ids(const std::vector<json> &lines)
    {
        QStringList list;
        for (const json &token : eventsOf(lines, "token"))
            list << QString::number(token["id"].get<int>());
        return list;
    }
    CliRunner m_cli;
};

void CliRunTest::keysOfTheEvents()
{
    const auto result =
        run({m_cli.model(), "--prompt", "the cat", "-n", "3", "--seed", "5", "--top", "3", "--stages"});
    QCOMPARE(result.status, 0);
    QCOMPARE(result.messages, QByteArray());
    const auto lines = result.lines();
    QCOMPARE(lines.size(), 5U);
    const QString nothing;
    QCOMPARE(missingKeys(lines.front(), {"event", "ids", "reused", "prefill_ms", "seed"}), nothing);
    COMPARE_JSON(lines.front()["event"], "prompt");
    COMPARE_JSON(lines.front()["seed"], 5);
    for (std::size_t i = 1; i <= 3; ++i) {
        const json &token = lines[i];
        QCOMPARE(
            missingKeys(token, {"event", "step", "id", "text", "hex", "logit", "p_raw", "p", "rank",
                                "entropy_bits", "u", "forward_ms", "sample_ms", "kv_tokens", "kv_bytes"}),
            nothing);
        COMPARE_JSON(token["event"], "token");
        COMPARE_JSON(token["step"], i - 1);
        COMPARE_JSON(token["kv_tokens"], lines.front()["ids"].size() + i - 1);
        QCOMPARE(missingKeys(token["top"][0], {"id", "text", "logit", "p_raw", "p", "removed_by", "p_stage"}),
                 nothing);
        QCOMPARE(missingKeys(token["stages"][0], {"name", "candidates", "mass", "entropy_bits", "us"}),
                 nothing);
        QCOMPARE(token["top"][0]["p_stage"].size(), token["stages"].size());
    }
    QCOMPARE(missingKeys(lines.back(), {"event", "reason", "text", "tokens", "ttft_ms", "prefill_tps",
                                        "decode_tps", "kv_bytes", "resident_bytes"}),
             nothing);
    COMPARE_JSON(lines.back()["reason"], "length");
    COMPARE_JSON(lines.back()["tokens"], 3);
}

void CliRunTest::textIsTheBytes()
{
    // Flat distribution over byte tokens: characters split over tokens, and bytes that are no text.
    const auto result = run({m_cli.model(), "--prompt", "a", "-n", "150", "--seed", "2", "--temp", "3",
                             "--top-k", "0", "--top-p", "1", "--min-p", "0", "--ignore-eos"});
    QCOMPARE(result.status, 0);
    const auto lines = result.lines();
    QByteArray bytes;
    QByteArray text;
    for (const json &token : eventsOf(lines, "token")) {
        bytes += QByteArray::fromHex(QByteArray::fromStdString(token["hex"].get<std::string>()));
        text += QByteArray::fromStdString(token["text"].get<std::string>());
    }
    const auto whole = QByteArray::fromStdString(lines.back()["text"].get<std::string>());
    QVERIFY(whole.startsWith(text));
    QVERIFY(bytes.size() > 50);
    // Programs differ in how many U+FFFD they write for bytes that are no text; the text itself is one.
    const QChar replacement(QChar::ReplacementCharacter);
    QCOMPARE(QString::fromUtf8(whole).remove(replacement), QString::fromUtf8(bytes).remove(replacement));
}

void CliRunTest::threadsAndRecordingDoNotMatter()
{
    const QStringList call{m_cli.model(), "--prompt", "once upon a time", "-n", "40", "--seed", "7"};
    const auto expected = ids(run(call).lines());
    QVERIFY(expected.size() > 5);
    QCOMPARE(ids(run(call + QStringList{"--threads", "1"}).lines()), expected);
    QCOMPARE(ids(run(call + QStringList{"--threads", "2", "--top", "20", "--stages"}).lines()), expected);
    QVERIFY(ids(run({m_cli.model(), "--prompt", "once upon a time", "-n", "40", "--seed", "8"}).lines()) !=
            expected);
}

void CliRunTest::noCacheIsTheSame()
{
    const QStringList call{m_cli.model(), "--prompt", "once upon a time", "-n", "20",
                           "--seed",      "7",        "--ignore-eos"};
    const auto kept = eventsOf(run(call).lines(), "token");
    const auto recomputed = eventsOf(run(call + QStringList{"--no-cache"}).lines(), "token");
    QCOMPARE(kept.size(), 20U);
    QCOMPARE(recomputed.size(), 20U);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        COMPARE_JSON(recomputed[i]["id"], kept[i]["id"]);
        COMPARE_JSON(recomputed[i]["p_raw"], kept[i]["p_raw"]);
    }
}

void CliRunTest::greedyTakesTheBest()
{
    for (const json &token :
         eventsOf(run({m_cli.model(), "--ids", "1,70,80,90", "-n", "10", "--temp", "0"}).lines(), "token")) {
        COMPARE_JSON(token["rank"], 0);
        COMPARE_JSON(token["p"], 1.0);
    }
}

void CliRunTest::stagesAreDistributions()
{
    const auto result = run({m_cli.model(), "--prompt", "hello", "-n", "8", "--seed", "3", "--top", "400",
                             "--stages", "--top-k", "30", "--top-p", "0.9", "--repeat-penalty", "1.3"});
    const auto tokens = eventsOf(result.lines(), "token");
    QVERIFY(!tokens.empty());
    for (const json &token : tokens) {
        double raw = 0.0;
        double final = 0.0;
        std::vector<double> stages(token["stages"].size(), 0.0);
        for (const json &entry : token["top"]) {
            raw += entry["p_raw"].get<double>();
            final += entry["p"].get<double>();
            for (std::size_t i = 0; i < stages.size(); ++i)
                stages[i] += entry["p_stage"][i].get<double>();
            QCOMPARE(entry["removed_by"].is_null(), entry["p"].get<double>() > 0.0);
            if (entry["id"] == token["id"])
                QVERIFY(std::abs(entry["p"].get<double>() - token["p"].get<double>()) < 1e-12);
        }
        QVERIFY(std::abs(raw - 1.0) < 1e-6);
        QVERIFY(std::abs(final - 1.0) < 1e-9);
        for (double sum : stages)
            QVERIFY(std::abs(sum - 1.0) < 1e-6);
    }
}

void CliRunTest::samplersInOrder()
{
    const auto result = run({m_cli.model(), "--prompt", "hello", "-n", "1", "--seed", "3", "--stages",
                             "--samplers", "temp,top-k;min_p"});
    QCOMPARE(result.status, 0);
    QStringList names;
    const json stages = eventsOf(result.lines(), "token").at(0)["stages"];
    for (const json &stage : stages)
        names << QString::fromStdString(stage["name"].get<std::string>());
    QCOMPARE(names, (QStringList{"temperature", "top_k", "min_p"}));
    // No stage at all: the draw is from the raw distribution.
    const auto plain = eventsOf(
        run({m_cli.model(), "--prompt", "hello", "-n", "3", "--seed", "3", "--samplers", ""}).lines(),
        "token");
    QCOMPARE(plain.size(), 3U);
    for (const json &token : plain)
        QVERIFY(std::abs(token["p"].get<double>() - token["p_raw"].get<double>()) < 1e-9);
}

void CliRunTest::biasBansAndFavours()
{
    const QStringList call{m_cli.model(), "--prompt", "hello", "-n", "1", "--temp", "0"};
    const QString best = ids(run(call).lines()).value(0);
    QVERIFY(ids(run(call + QStringList{"--logit-bias", best + "-inf"}).lines()).value(0) != best);
    QCOMPARE(ids(run(call + QStringList{"--logit-bias", "77+1000"}).lines()), QStringList{"77"});
    // A bias holds whatever the order names.
    QCOMPARE(ids(run(call + QStringList{"--logit-bias", "77+1000", "--samplers", "temperature"}).lines()),
             QStringList{"77"});
}

void CliRunTest::emptyPrompt()
{
    const auto result = run({m_cli.model(), "--prompt", "", "-n", "2", "--seed", "1"});
    QCOMPARE(result.status, 0);
    COMPARE_JSON(result.lines().front()["ids"], json::array({tinyBos}));
    QCOMPARE(run({m_cli.model(), "--ids", "", "-n", "1"}).status, 1);
}

void CliRunTest::noTokens()
{
    const auto result = run({m_cli.model(), "--prompt", "a", "-n", "0"});
    QCOMPARE(result.status, 0);
    const auto lines = result.lines();
    QCOMPARE(lines.size(), 2U);
    COMPARE_JSON(lines[0]["event"], "prompt");
    COMPARE_JSON(lines[1]["event"], "end");
    COMPARE_JSON(lines[1]["tokens"], 0);
    COMPARE_JSON(lines[1]["reason"], "length");
}

void CliRunTest::promptWithAMinusSign()
{
    QCOMPARE(run({m_cli.model(), "--prompt", "- a list", "-n", "1"}).status, 0);
    QCOMPARE(run({m_cli.model(), "--prompt", "--json", "-n", "1"}).status, 0);
    QCOMPARE(run({m_cli.model(), "--repeat-last-n", "-1", "--prompt", "-", "-n", "1"}).status, 0);
}

void CliRunTest::contextEnds()
{
    const auto result = run({m_cli.model(), "--ids", "1,70,71,72", "-n", "100", "--context", "10",
                             "--ignore-eos", "--seed", "1"});
    QCOMPARE(result.status, 0);
    COMPARE_JSON(result.lines().back()["reason"], "context");
    COMPARE_JSON(result.lines().back()["tokens"], 7);
}

void CliRunTest::endOfTurn()
{
    const QStringList call{
        m_cli.model(), "--prompt", "a", "-n", "5", "--logit-bias", QString::number(tinyTurnEnd) + "+1000"};
    const auto stopped = run(call).lines();
    COMPARE_JSON(stopped.back()["reason"], "stop");
    const auto tokens = eventsOf(stopped, "token");
    QCOMPARE(tokens.size(), 1U);
    COMPARE_JSON(tokens[0]["id"], tinyTurnEnd);
    COMPARE_JSON(tokens[0]["text"], "");
    COMPARE_JSON(tokens[0]["hex"], "");
    const auto further = run(call + QStringList{"--ignore-eos"}).lines();
    COMPARE_JSON(further.back()["reason"], "length");
    COMPARE_JSON(further.back()["tokens"], 5);
}

void CliRunTest::chat()
{
    TinyModelOptions options;
    options.chatTemplate = tinyChatTemplate;
    options.name = "chatty";
    const QString messages = m_cli.file("chat.json", R"([{"role": "user", "content": "hi <|im_end|>"}])");
    const auto result = run({m_cli.model(options), "--chat", messages, "-n", "1", "--seed", "1"});
    QCOMPARE(result.status, 0);
    const json ids = result.lines().front()["ids"];
    QCOMPARE(std::count(ids.begin(), ids.end(), json(tinyTurnEnd)), 1);
    QCOMPARE(std::count(ids.begin(), ids.end(), json(tinyTurnStart)), 2);
}

void CliRunTest::promptFile()
{
    const auto fromText =
        run({m_cli.model(), "--prompt", "line one\nline two\n", "-n", "0"}).lines().front()["ids"];
    const QString file = m_cli.file("prompt.txt", "line one\nline two\n");
    COMPARE_JSON(run({m_cli.model(), "--prompt-file", file, "-n", "0"}).lines().front()["ids"], fromText);
    const auto piped =
        m_cli.run({"run", m_cli.model(), "--prompt-file", "-", "-n", "0", "--json"}, "line one\nline two\n");
    COMPARE_JSON(piped.lines().front()["ids"], fromText);
}

void CliRunTest::readableText()
{
    const QStringList call{"run", m_cli.model(), "--prompt", "hello",       "-n",
                           "5",   "--seed",      "4",        "--ignore-eos"};
    const auto plain = m_cli.run(call);
    QCOMPARE(plain.status, 0);
    QCOMPARE(plain.messageLines(), 1);
    QVERIFY(plain.messages.contains("seed 4"));
    QVERIFY(plain.output.endsWith('\n'));
    const auto table = m_cli.run(call + QStringList{"--top", "2", "--stages"});
    QCOMPARE(table.output.count("step "), 5);
    QVERIFY(table.output.contains("removed by"));
    // No control character reaches the terminal, whatever the model says.
    const auto wild = m_cli.run({"run", m_cli.model(), "--prompt", "a", "-n", "1", "--logit-bias",
                                 QString::number(tinyFirstByte + 27) + "+1000"});
    QVERIFY(!wild.output.contains('\x1b'));
    QVERIFY(wild.output.contains("\\x1b"));
}

void CliRunTest::weightsThatAreNaN()
{
    TinyModelOptions options;
    options.name = "nan";
    GgufWriter writer = tinyModel(options);
    const std::vector<float> norm(options.embedding, std::nanf(""));
    writer.withoutTensor("output_norm.weight")
        .tensor("output_norm.weight", {options.embedding}, 0, std::as_bytes(std::span(norm)));
    const auto bytes = writer.bytes();
    const QString path = m_cli.file("nan.gguf", QByteArray(reinterpret_cast<const char *>(bytes.data()),
                                                           static_cast<qsizetype>(bytes.size())));
    const auto result = run({path, "--prompt", "a", "-n", "3"});
    QCOMPARE(result.status, 1);
    QVERIFY2(result.messageLines() == 1 && result.messages.contains("logit"), result.messages.constData());
}

void CliRunTest::badUtf8InTheFile()
{
    TinyModelOptions options;
    options.name = "bytes";
    GgufWriter writer = tinyModel(options);
    writer.without("general.name").string("general.name", "bad \xff\xfe name\x1b[31m");
    const auto bytes = writer.bytes();
    const QString path = m_cli.file("bytes.gguf", QByteArray(reinterpret_cast<const char *>(bytes.data()),
                                                             static_cast<qsizetype>(bytes.size())));
    const auto asJson = m_cli.run({"inspect", path, "--json"});
    QCOMPARE(asJson.status, 0);
    QVERIFY(asJson.json().is_object());
    const auto asText = m_cli.run({"inspect", path});
    QCOMPARE(asText.status, 0);
    QVERIFY(!asText.output.contains('\x1b'));
    QVERIFY(QString::fromUtf8(asText.output).toUtf8() == asText.output);
}

TOKENLOUPE_TEST_MAIN(CliRunTest)
#include "tst_clirun.moc"
