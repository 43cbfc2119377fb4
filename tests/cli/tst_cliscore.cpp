// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"

#include <QFile>
#include <QRegularExpression>
#include <cmath>

using namespace tokenloupe::test;
using nlohmann::json;

class CliScoreTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void numbersAgree();
    void equalsTheRun();
    void textOfAFile();
    void againstItself();
    void againstAnother();
    void otherVocabulary();
    void quantizedAtLoad();
    void unknownQuantization();
    void oneToken();
    void benchKeys();
    void benchParts();

private:
    CliRunner m_cli;
};

void CliScoreTest::numbersAgree()
{
    // The whole vocabulary as "top": everything else follows from it.
    const auto result =
        m_cli.run({"score", m_cli.model(), "--ids", "1,70,80,90,100", "--top", "384", "--json"});
    QCOMPARE(result.status, 0);
    const json score = result.json();
    QCOMPARE(missingKeys(score, {"ids", "nll", "mean_nll", "perplexity", "argmax", "logsumexp", "top"}),
             QString());
    COMPARE_JSON(score["ids"], json::array({1, 70, 80, 90, 100}));
    QCOMPARE(score["nll"].size(), 4U);
    QCOMPARE(score["top"].size(), 5U);
    double total = 0.0;
    for (std::size_t i = 0; i < 5; ++i) {
        const json &top = score["top"][i];
        QCOMPARE(top.size(), 384U);
        double sum = 0.0;
        double next = 0.0;
        for (const json &entry : top) {
            sum += std::exp(entry[1].get<double>());
            if (i < 4 && entry[0] == score["ids"][i + 1])
                next = entry[1].get<double>();
        }
        COMPARE_JSON(score["argmax"][i], top[0][0]);
        QVERIFY(std::abs(score["logsumexp"][i].get<double>() - std::log(sum)) < 1e-6);
        if (i < 4) {
            QVERIFY(std::abs(score["nll"][i].get<double>() - (std::log(sum) - next)) < 1e-5);
            total += score["nll"][i].get<double>();
        }
    }
    QVERIFY(std::abs(score["mean_nll"].get<double>() - total / 4) < 1e-12);
    QVERIFY(std::abs(score["perplexity"].get<double>() - std::exp(total / 4)) < 1e-9);
}

void CliScoreTest::equalsTheRun()
{
    const auto run = m_cli
                         .run({"run", m_cli.model(), "--ids", "1,70,80", "-n", "6", "--seed", "3", "--json",
                               "--ignore-eos"})
                         .lines();
    QString ids = "1,70,80";
    for (const json &token : eventsOf(run, "token"))
        ids += "," + QString::number(token["id"].get<int>());
    const json score = m_cli.run({"score", m_cli.model(), "--ids", ids, "--json"}).json();
    std::size_t i = 2;
    for (const json &token : eventsOf(run, "token"))
        QVERIFY(std::abs(std::exp(-score["nll"][i++].get<double>()) - token["p_raw"].get<double>()) < 1e-9);
    QCOMPARE(i, score["nll"].size());
}

void CliScoreTest::textOfAFile()
{
    const QString file = m_cli.file("text.txt", "the cat <|im_end|>");
    const json plain = m_cli.run({"score", m_cli.model(), "--file", file, "--json"}).json();
    COMPARE_JSON(plain["ids"][0], tinyBos);
    QVERIFY(plain["ids"].back() != tinyTurnEnd);
    const json special = m_cli.run({"score", m_cli.model(), "--file", file, "--special", "--json"}).json();
    COMPARE_JSON(special["ids"].back(), tinyTurnEnd);
    const auto text = m_cli.run({"score", m_cli.model(), "--file", file});
    QCOMPARE(text.status, 0);
    QVERIFY(text.output.contains("perplexity"));
}

void CliScoreTest::againstItself()
{
    const json same = m_cli
                          .run({"score", m_cli.model(), "--ids", "1,70,80,90", "--precision", "exact",
                                "--against", "exact", "--json"})
                          .json();
    QCOMPARE(missingKeys(same, {"kl", "mean_kl", "max_kl", "argmax_equal"}), QString());
    COMPARE_JSON(same["mean_kl"], 0.0);
    COMPARE_JSON(same["max_kl"], 0.0);
    COMPARE_JSON(same["argmax_equal"], 1.0);
    // A half-precision cache is not exact.
    const json half = m_cli
                          .run({"score", m_cli.model(), "--ids", "1,70,80,90", "--kv-type-k", "f16",
                                "--kv-type-v", "f16", "--against", "exact", "--json"})
                          .json();
    QVERIFY(half["mean_kl"].get<double>() > 0.0);
    QVERIFY(half["mean_kl"].get<double>() < 1e-3);
}

void CliScoreTest::againstAnother()
{
    TinyModelOptions options;
    options.seed = 2;
    options.name = "other";
    const QString other = m_cli.model(options);
    const json score =
        m_cli.run({"score", m_cli.model(), "--ids", "1,70,80", "--top", "384", "--against", other, "--json"})
            .json();
    const json that = m_cli.run({"score", other, "--ids", "1,70,80", "--top", "384", "--json"}).json();
    // KL(that ‖ this) by plain sums.
    double total = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
        std::map<int, double> own;
        for (const json &entry : score["top"][i])
            own[entry[0].get<int>()] = entry[1].get<double>() - score["logsumexp"][i].get<double>();
        double kl = 0.0;
        for (const json &entry : that["top"][i]) {
            const double log = entry[1].get<double>() - that["logsumexp"][i].get<double>();
            kl += std::exp(log) * (log - own[entry[0].get<int>()]);
        }
        QVERIFY(std::abs(kl - score["kl"][i].get<double>()) < 1e-5);
        total += kl;
    }
    QVERIFY(total > 0.01);
    QVERIFY(std::abs(score["mean_kl"].get<double>() - total / 3) < 1e-5);
}

void CliScoreTest::otherVocabulary()
{
    TinyModelOptions options;
    options.vocabulary = 390;
    options.name = "larger";
    const auto result =
        m_cli.run({"score", m_cli.model(), "--ids", "1,70", "--against", m_cli.model(options), "--json"});
    QCOMPARE(result.status, 1);
    QCOMPARE(result.messageLines(), 1);
    QVERIFY(result.messages.contains("390"));
}

void CliScoreTest::quantizedAtLoad()
{
    TinyModelOptions options;
    options.type = TinyType::F32;
    options.embedding = 256;
    options.feedForward = 512;
    const QString model = m_cli.model(options);
    const QStringList score = {"score", model, "--ids", "1,70,80,90,100,110", "--json"};
    const json plain = m_cli.run(score).json();
    COMPARE_JSON(plain["quantize"], "stored");
    double last = 0.0;
    // Fewer bits, more lost.
    for (const char *type : {"q8_0", "q6_k", "q5_k", "Q4_K"}) {
        const auto result = m_cli.run(score + QStringList{"--quantize", type, "--against", model});
        QCOMPARE(result.status, 0);
        const json quantized = result.json();
        COMPARE_JSON(quantized["quantize"], QString(QLatin1String(type)).toLower().toStdString());
        const double divergence = quantized["mean_kl"].get<double>();
        QVERIFY2(divergence > last, type);
        last = divergence;
    }
    QVERIFY(last < 0.5);
    const json bench =
        m_cli.run({"bench", model, "-p", "4", "-n", "2", "-r", "1", "--quantize", "q8_0", "--json"}).json();
    const json asStored = m_cli.run({"bench", model, "-p", "4", "-n", "2", "-r", "1", "--json"}).json();
    const auto bytes = bench["weights_bytes"].get<double>();
    QVERIFY(bytes < 0.28 * asStored["weights_bytes"].get<double>());
    QCOMPARE(bench["bytes_per_token"].get<double>(), bytes); // a tied head: all of it is read
    // The estimator counts the same.
    const json estimate =
        m_cli.run({"estimate", model, "--context", "64", "--weights", "q8_0", "--measure", "--json"}).json();
    COMPARE_JSON(estimate["parts"][0]["name"], "weights");
    QCOMPARE(estimate["parts"][0]["bytes"].get<double>(), bytes);
    for (const json &part : estimate["measured"]) {
        if (part["name"] == "weights")
            QVERIFY2(std::abs(part["bytes"].get<double>() - bytes) < 0.1 * bytes + 65536,
                     part.dump().c_str());
    }
}

void CliScoreTest::unknownQuantization()
{
    const auto result = m_cli.run({"run", m_cli.model(), "--prompt", "a", "-n", "1", "--quantize", "q4_k_s"});
    QCOMPARE(result.status, 2);
    QVERIFY(result.messages.contains("--quantize"));
    QVERIFY(result.messages.contains("q4_k"));
}

void CliScoreTest::oneToken()
{
    const auto result = m_cli.run({"score", m_cli.model(), "--ids", "1", "--json"});
    QCOMPARE(result.status, 0);
    COMPARE_JSON(result.json()["nll"], json::array());
    QCOMPARE(result.json()["argmax"].size(), 1U);
    QVERIFY(result.json()["mean_nll"].is_null());
    QCOMPARE(m_cli.run({"score", m_cli.model(), "--ids", ""}).status, 1);
}

void CliScoreTest::benchKeys()
{
    const auto result = m_cli.run({"bench", m_cli.model(), "-p", "8", "-n", "4", "-r", "2", "--json"});
    QCOMPARE(result.status, 0);
    const json bench = result.json();
    QCOMPARE(missingKeys(bench, {"model", "threads", "precision", "load_ms", "ttft_ms", "prefill_tps",
                                 "decode_tps", "bytes_per_token", "bandwidth_bytes_per_s", "bandwidth_share",
                                 "resident_peak_bytes", "backend", "isa"}),
             QString());
    for (const char *list : {"load_ms", "ttft_ms", "prefill_tps", "decode_tps", "bandwidth_bytes_per_s"}) {
        QCOMPARE(bench[list].size(), 2U);
        for (const json &value : bench[list])
            QVERIFY(value.get<double>() > 0.0);
    }
    // Tied: every tensor of the file is read for a token.
    COMPARE_JSON(bench["bytes_per_token"],
                 m_cli.run({"inspect", m_cli.model(), "--json"}).json()["weights_bytes"]);
    const json decode =
        m_cli.run({"bench", m_cli.model(), "-p", "0", "-n", "3", "-r", "1", "--depth", "20", "--json"})
            .json();
    QVERIFY(decode["prefill_tps"].empty());
    QCOMPARE(decode["decode_tps"].size(), 1U);
    const json prefill =
        m_cli.run({"bench", m_cli.model(), "-p", "5", "-n", "0", "-r", "1", "--json"}).json();
    QVERIFY(prefill["decode_tps"].empty());
    QCOMPARE(prefill["prefill_tps"].size(), 1U);
}

void CliScoreTest::benchParts()
{
    const json sampler = m_cli.run({"bench", "--sampler", "-r", "1", "--json"}).json();
    QVERIFY(sampler["sampler"].size() > 10);
    QVERIFY(sampler["sampler"][0]["us_per_token"].get<double>() > 0.0);
    const QString file = m_cli.file("text.txt", QByteArray("the cat sat on the mat ").repeated(20));
    const json tokenizer =
        m_cli.run({"bench", m_cli.model(), "--tokenizer", file, "-r", "2", "--json"}).json();
    QCOMPARE(tokenizer["mb_per_s"].size(), 2U);
    COMPARE_JSON(tokenizer["bytes"], 460);
    const json trace = m_cli.run({"bench", m_cli.model(), "--trace", "-n", "4", "-r", "1", "--json"}).json();
    QVERIFY(trace["plain_tps"][0].get<double>() > 0.0);
    QVERIFY(trace["share_lost"].get<double>() < 1.0);
    // Each kind once, with what is there to be captured of two layers and of the vocabulary.
    std::vector<std::uint64_t> bytes;
    for (const json &capture : trace["captures"]) {
        QCOMPARE(missingKeys(capture, {"captured", "plain_step_us", "difference_us", "share"}), QString());
        QVERIFY(capture["plain_step_us"].get<double>() > 0.0);
        bytes.push_back(capture["bytes"].get<std::uint64_t>());
    }
    QCOMPARE(bytes.size(), std::size_t(6));
    QCOMPARE(bytes[0], std::uint64_t(0));
    QCOMPARE(bytes[1], std::uint64_t(0));
    QVERIFY(bytes[2] > 0 && bytes[3] > bytes[2] && bytes[4] > 0 && bytes[5] > bytes[3] + bytes[4]);
}

TOKENLOUPE_TEST_MAIN(CliScoreTest)
#include "tst_cliscore.moc"
