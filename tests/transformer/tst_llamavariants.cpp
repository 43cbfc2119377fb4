// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/transformer/runmodel.h"

#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

/// Random models of the Llama family, each with an option of its own, against another implementation's
/// float32 results for the same weights.
class TestLlamaVariants : public QObject
{
    Q_OBJECT

private slots:
    void agreesWithGoldens_data();
    void agreesWithGoldens();
};

void TestLlamaVariants::agreesWithGoldens_data()
{
    QTest::addColumn<QString>("name");
    for (const char *name : {"llama", "llama-tied-headdim", "llama-rope-linear", "llama-rope-llama3"})
        QTest::newRow(name) << QString::fromLatin1(name);
}

void TestLlamaVariants::agreesWithGoldens()
{
    QFETCH(QString, name);
    TOKENLOUPE_NEED_SHARED(folder, "models/tiny_gguf");
    RunModel run(folder / (name.toStdString() + ".gguf"));
    const json golden = readJson(folder / (name.toStdString() + ".json"));
    QCOMPARE(golden["runs"].size(), std::size_t(2));
    for (const json &expected : golden["runs"]) {
        const std::vector<std::uint32_t> ids = expected["ids"];
        run.cache().truncate(run.sequence(), 0);
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

TOKENLOUPE_TEST_MAIN(TestLlamaVariants)
#include "tst_llamavariants.moc"
