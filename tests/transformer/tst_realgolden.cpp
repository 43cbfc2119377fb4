// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/transformer/runmodel.h"

#include <algorithm>
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

/// Real models against a float64 forward pass over their dequantised weights.
class TestRealGolden : public QObject
{
    Q_OBJECT

private slots:
    void greedyRuns_data() { addModels(); }
    void greedyRuns();
    void likelihoods_data() { addModels(); }
    void likelihoods();

private:
    static void addModels();
    void followGreedy(RunModel &run, const json &golden);
};

void TestRealGolden::followGreedy(RunModel &run, const json &golden)
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
    const std::size_t steps = isSanitized ? std::min<std::size_t>(4, expected.size()) : expected.size();
    for (std::size_t step = 0; step < steps; ++step) {
        const std::uint32_t got = argmax(logits);
        QVERIFY2(got == expected[step], qPrintable(off(name, "token", step, got, expected[step])));
        for (const json &entry : golden["greedy"]["top5_logprob"][step]) {
            const double logProbability = -negativeLogLikelihood(logits, entry[0]);
            QVERIFY2(std::abs(logProbability - entry[1].get<double>()) < 1e-3,
                     qPrintable(off(name, "log-probability at step", step, logProbability, entry[1])));
        }
        if (step + 1 < steps)
            logits = run.feed({got});
    }
}

void TestRealGolden::addModels()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("folder");
    QTest::addColumn<int>("runs");
    QTest::newRow("SmolLM2") << QStringLiteral("SmolLM2-135M-Instruct.Q4_1.gguf")
                             << QStringLiteral("models/smollm2-135m-instruct-q4_1") << 6;
    QTest::newRow("Gemma 3") << QStringLiteral("gemma-3-270m-q4_k_m.gguf")
                             << QStringLiteral("models/gemma-3-270m-q4_k_m") << 4;
}

void TestRealGolden::greedyRuns()
{
    QFETCH(QString, file);
    QFETCH(QString, folder);
    QFETCH(int, runs);
    const auto path = realModelPath(file.toStdString());
    const auto data = sharedPath(folder.toStdString());
    if (!path || !data)
        QSKIP(qPrintable(QStringLiteral("%1 or its reference data is not here").arg(file)));
    const auto model = Model::load(*path);
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    RunOptions options;
    options.context = 1024;
    RunModel run(*model, options);
    int found = 0;
    for (const json &golden : goldens(*data)) {
        if (!golden.contains("greedy"))
            continue;
        followGreedy(run, golden);
        if (QTest::currentTestFailed())
            return;
        ++found;
    }
    QCOMPARE(found, runs);
}

void TestRealGolden::likelihoods()
{
    QFETCH(QString, file);
    QFETCH(QString, folder);
    const auto path = realModelPath(file.toStdString());
    const auto data = sharedPath(folder.toStdString());
    if (!path || !data)
        QSKIP(qPrintable(QStringLiteral("%1 or its reference data is not here").arg(file)));
    constexpr std::size_t batch = 64; // logits of all positions together can be too many for a small machine
    RunOptions options;
    options.context = 1024;
    options.batch = batch;
    const auto model = Model::load(*path);
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    RunModel run(*model, options);
    int texts = 0;
    for (const json &golden : goldens(*data)) {
        if (!golden.contains("nll"))
            continue;
        ++texts;
        const std::string name = golden["name"];
        const Ids ids = golden["ids"];
        const std::size_t count = isSanitized ? std::min(2 * batch, ids.size()) : ids.size();
        run.cache().truncate(run.sequence(), 0);
        std::vector<float> logits;
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (i % batch == 0)
                logits = run.feedAll(Ids(ids.begin() + std::ptrdiff_t(i),
                                         ids.begin() + std::ptrdiff_t(std::min(i + batch, count))));
            const auto row = std::span(logits).subspan(i % batch * run.vocabulary(), run.vocabulary());
            QCOMPARE(argmax(row), golden["argmax"][i].get<std::uint32_t>());
            if (i + 1 == ids.size())
                break;
            const double nll = negativeLogLikelihood(row, ids[i + 1]);
            QVERIFY2(std::abs(nll - golden["nll"][i].get<double>()) < 1e-3,
                     qPrintable(off(name, "nll", i, nll, golden["nll"][i])));
            sum += nll;
        }
        if (count == ids.size())
            QVERIFY(std::abs(sum / static_cast<double>(count - 1) - golden["mean_nll"].get<double>()) < 1e-4);
    }
    QCOMPARE(texts, 1);
}

TOKENLOUPE_TEST_MAIN(TestRealGolden)
#include "tst_realgolden.moc"
