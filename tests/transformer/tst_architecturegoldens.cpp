// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/transformer/runmodel.h"

#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

/// Random models of every architecture against another implementation's float32 results for the same weights.
class TestArchitectureGoldens : public QObject
{
    Q_OBJECT

private slots:
    void agreesWithGoldens_data();
    void agreesWithGoldens();
};

void TestArchitectureGoldens::agreesWithGoldens_data()
{
    QTest::addColumn<QString>("name");
    for (const char *name : {"bloom-alibi",
                             "falcon-mqa",
                             "gemma",
                             "gemma2",
                             "gemma3",
                             "gpt2",
                             "llama",
                             "llama-mha-bias",
                             "llama-rope-linear",
                             "llama-rope-llama3",
                             "llama-rope-yarn",
                             "llama-tied-headdim",
                             "mixtral",
                             "olmo2",
                             "phi3",
                             "phi3-longrope",
                             "qwen2",
                             "qwen3",
                             "qwen3-moe",
                             "smollm3",
                             "starcoder2"})
        QTest::newRow(name) << QString::fromLatin1(name);
}

void TestArchitectureGoldens::agreesWithGoldens()
{
    QFETCH(QString, name);
    TOKENLOUPE_NEED_SHARED(folder, "models/tiny_gguf");
    const json golden = readJson(folder / (name.toStdString() + ".json"));
    QVERIFY(!golden["runs"].empty());
    for (const json &expected : golden["runs"]) {
        const std::vector<std::uint32_t> ids = expected["ids"];
        RunOptions options;
        options.context = static_cast<std::uint32_t>(ids.size()); // what scalings that depend on it are for
        RunModel run(folder / (name.toStdString() + ".gguf"), options);
        const std::vector<float> logits = run.feedAll(ids, 10);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto row = std::span(logits).subspan(i * run.vocabulary(), run.vocabulary());
            QVERIFY(std::abs(logSumExp(row) - expected["logsumexp"][i].get<double>()) < 1e-4);
            for (const json &entry : expected["top"][i]) {
                const auto got = static_cast<double>(row[entry[0].get<std::size_t>()]);
                QVERIFY(std::abs(got - entry[1].get<double>()) < 1e-4);
            }
            if (i + 1 < ids.size()) {
                const double nll = negativeLogLikelihood(row, ids[i + 1]);
                QVERIFY(std::abs(nll - expected["nll"][i].get<double>()) < 1e-4);
            }
        }
    }
}

TOKENLOUPE_TEST_MAIN(TestArchitectureGoldens)
#include "tst_architecturegoldens.moc"
