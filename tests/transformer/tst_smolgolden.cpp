// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/transformer/runmodel.h"

#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

using Ids = std::vector<std::uint32_t>;

json goldens(const std::filesystem::path &folder)
{
    return readJson(folder / "golden.json");
}

QString off(const std::string &name, const char *what, std::size_t index, double got, double expected)
{
    return QStringLiteral("%1: %2 %3 is %4, expected %5")
        .arg(QString::fromStdString(name), QLatin1String(what))
        .arg(index)
        .arg(got, 0, 'g', 9)
        .arg(expected, 0, 'g', 9);
}

} // namespace

/// SmolLM2 against a float64 forward pass over its dequantised weights.
class TestSmolGolden : public QObject
{
    Q_OBJECT

private slots:
    void greedyRuns();
    void likelihoods();

private:
    void followGreedy(RunModel &run, const json &golden);
};

void TestSmolGolden::followGreedy(RunModel &run, const json &golden)
{
    const std::string name = golden["name"];
    run.cache().truncate(run.sequence(), 0);
    std::vector<float> logits = run.feed(golden["ids"]);
    QVERIFY(std::abs(logSumExp(logits) - golden["last_logits"]["logsumexp"].get<double>()) < 1e-3);
    for (const json &entry : golden["last_logits"]["top20"]) {
        const auto got = static_cast<double>(logits[entry[0].get<std::size_t>()]);
        QVERIFY(std::abs(got - entry[1].get<double>()) < 1e-3);
    }
    const Ids expected = golden["greedy"]["ids"];
    for (std::size_t step = 0; step < expected.size(); ++step) {
        const std::uint32_t got = argmax(logits);
        QVERIFY2(got == expected[step], qPrintable(off(name, "token", step, got, expected[step])));
        for (const json &entry : golden["greedy"]["top5_logprob"][step]) {
            const double logProbability = -negativeLogLikelihood(logits, entry[0]);
            QVERIFY2(std::abs(logProbability - entry[1].get<double>()) < 1e-3,
                     qPrintable(off(name, "log-probability at step", step, logProbability, entry[1])));
        }
        if (step + 1 < expected.size())
            logits = run.feed({got});
    }
}

void TestSmolGolden::greedyRuns()
{
    TOKENLOUPE_NEED_SMOL(path);
    TOKENLOUPE_NEED_SHARED(folder, "models/smollm2-135m-instruct-q4_1");
    RunModel run(path);
    int runs = 0;
    for (const json &golden : goldens(folder)) {
        if (!golden.contains("greedy"))
            continue;
        followGreedy(run, golden);
        if (QTest::currentTestFailed())
            return;
        ++runs;
    }
    QCOMPARE(runs, 6);
}

void TestSmolGolden::likelihoods()
{
    TOKENLOUPE_NEED_SMOL(path);
    TOKENLOUPE_NEED_SHARED(folder, "models/smollm2-135m-instruct-q4_1");
    RunOptions options;
    options.context = 1024;
    options.batch = 128;
    RunModel run(path, options);
    int texts = 0;
    for (const json &golden : goldens(folder)) {
        if (!golden.contains("nll"))
            continue;
        ++texts;
        const std::string name = golden["name"];
        const Ids ids = golden["ids"];
        run.cache().truncate(run.sequence(), 0);
        const std::vector<float> logits = run.feedAll(ids);
        double sum = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto row = std::span(logits).subspan(i * run.vocabulary(), run.vocabulary());
            QCOMPARE(argmax(row), golden["argmax"][i].get<std::uint32_t>());
            if (i + 1 == ids.size())
                break;
            const double nll = negativeLogLikelihood(row, ids[i + 1]);
            QVERIFY2(std::abs(nll - golden["nll"][i].get<double>()) < 1e-3,
                     qPrintable(off(name, "nll", i, nll, golden["nll"][i])));
            sum += nll;
        }
        QVERIFY(std::abs(sum / static_cast<double>(ids.size() - 1) - golden["mean_nll"].get<double>()) <
                1e-4);
    }
    QCOMPARE(texts, 1);
}

TOKENLOUPE_TEST_MAIN(TestSmolGolden)
#include "tst_smolgolden.moc"
