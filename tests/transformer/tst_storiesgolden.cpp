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

/// The first value that is off by more than 1e-4 of itself (or of a hundredth of the tensor's size, for
/// values near 0), in words; empty when all agree.
QString firstDifference(const QString &what, std::span<const float> got, const std::vector<double> &expected)
{
    if (got.size() != expected.size())
        return QStringLiteral("%1: %2 values, expected %3").arg(what).arg(got.size()).arg(expected.size());
    double squares = 0;
    for (const double value : expected)
        squares += value * value;
    const double floor = 1e-2 * std::sqrt(squares / static_cast<double>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
        // The negated form catches NaN.
        if (!(difference <= 1e-4 * std::max(std::abs(expected[i]), floor)))
            return QStringLiteral("%1[%2]: %3, expected %4")
                .arg(what)
                .arg(i)
                .arg(double(got[i]))
                .arg(expected[i]);
    }
    return {};
}

Ids greedy(RunModel &run, const Ids &prompt, std::size_t count)
{
    run.cache().truncate(run.sequence(), 0);
    Ids generated;
    std::vector<float> logits = run.feed(prompt);
    while (generated.size() < count) {
        generated.push_back(argmax(logits));
        if (generated.size() < count)
            logits = run.feed({generated.back()});
    }
    return generated;
}

} // namespace

/// The real tiny model against a float64 forward pass that shares no code with this program.
class TestStoriesGolden : public QObject
{
    Q_OBJECT

private slots:
    void everyIntermediateValue();
    void greedyIds_data();
    void greedyIds();
    void likelihoods();
};

void TestStoriesGolden::everyIntermediateValue()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const json golden = readJson(folder / "golden_trace_once_upon_a_time.json");
    const Ids ids = golden["ids"];
    RunModel run(folder / "stories260K-f32.gguf");

    const std::vector<std::pair<const char *, TapPoint>> perLayer = {
        {"attn_norm", TapPoint::AttentionNorm},
        {"q", TapPoint::Query},
        {"k", TapPoint::Key},
        {"v", TapPoint::Value},
        {"q_rope", TapPoint::QueryRotated},
        {"k_rope", TapPoint::KeyRotated},
        {"after_attn", TapPoint::AttentionResidual},
        {"ffn_norm", TapPoint::FeedForwardNorm},
        {"ffn_gate", TapPoint::Gate},
        {"ffn_up", TapPoint::Up},
        {"ffn_out", TapPoint::FeedForwardOutput},
        {"out", TapPoint::LayerOutput}};
    std::size_t compared = 0;
    for (std::size_t position = 0; position < ids.size(); ++position) {
        CollectingTap tap;
        run.feed({ids[position]}, 0, &tap);
        QCOMPARE(tap.lastPosition, static_cast<std::uint32_t>(position));
        const auto check = [&](const QString &name, TapPoint point, LayerIndex layer, const json &values) {
            const std::vector<double> expected = values;
            compared += expected.size();
            const QString difference = firstDifference(name, tap.taken[{point, layer}], expected);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        };
        const json &at = golden["positions"][position];
        check(QStringLiteral("embd"), TapPoint::Embedding, {}, at["embd"]);
        for (std::uint32_t index = 0; index < at["layers"].size(); ++index) {
            const LayerIndex layer(index);
            const json &values = at["layers"][index];
            for (const auto &[name, point] : perLayer)
                check(QStringLiteral("layer %1 %2").arg(index).arg(QLatin1String(name)), point, layer,
                      values[name]);
            json probabilities = json::array();
            for (const json &head : values["attn_probs"])
                probabilities.insert(probabilities.end(), head.begin(), head.end());
            check(QStringLiteral("layer %1 attn_probs").arg(index), TapPoint::AttentionWeights, layer,
                  probabilities);
            QCOMPARE((tap.taken[{TapPoint::AttentionOutput, layer}].size()), std::size_t(64));
        }
        check(QStringLiteral("final_norm"), TapPoint::FinalNorm, {}, at["final_norm"]);
        check(QStringLiteral("logits"), TapPoint::Logits, {}, at["logits"]);
    }
    QVERIFY(compared > 20000);
}

void TestStoriesGolden::greedyIds_data()
{
    QTest::addColumn<QString>("type");
    for (const char *type : {"f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"})
        QTest::newRow(type) << QString::fromLatin1(type);
}

void TestStoriesGolden::greedyIds()
{
    QFETCH(QString, type);
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    RunOptions options;
    options.context = 512;
    RunModel run(folder / ("stories260K-" + type.toStdString() + ".gguf"), options);
    const json runs =
        type == QStringLiteral("f32")
            ? readJson(folder / "golden_greedy_f32.json")["runs"]
            : readJson(folder / "golden_greedy_other_types.json")["variants"][type.toUpper().toStdString()];
    QCOMPARE(runs.size(), std::size_t(7));
    for (const json &golden : runs) {
        const Ids expected = golden["generated_ids"];
        const Ids got = greedy(run, golden["prompt_ids"], expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            QVERIFY2(got[i] == expected[i], qPrintable(QStringLiteral("\"%1\" token %2: %3, expected %4")
                                                           .arg(QString::fromStdString(golden["prompt"]))
                                                           .arg(i)
                                                           .arg(got[i])
                                                           .arg(expected[i])));
        if (!golden.contains("top5_logprobs_first_step"))
            continue;
        run.cache().truncate(run.sequence(), 0);
        const std::vector<float> logits = run.feed(golden["prompt_ids"]);
        for (const json &entry : golden["top5_logprobs_first_step"]) {
            const double got5 = -negativeLogLikelihood(logits, entry[0]);
            QVERIFY(std::abs(got5 - entry[1].get<double>()) < 1e-4);
        }
    }
}

void TestStoriesGolden::likelihoods()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const json golden = readJson(folder / "golden_nll.json");
    const Ids ids = golden["ids"];
    RunModel run(folder / "stories260K-f32.gguf");
    const std::vector<float> logits = run.feedAll(ids);
    QCOMPARE(logits.size(), ids.size() * run.vocabulary());
    double sum = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        const double nll = negativeLogLikelihood(
            std::span(logits).subspan(i * run.vocabulary(), run.vocabulary()), ids[i + 1]);
        QVERIFY(std::abs(nll - golden["nll_per_token"][i].get<double>()) < 1e-5);
        sum += nll;
    }
    QVERIFY(std::abs(sum / static_cast<double>(ids.size() - 1) - golden["mean_nll"].get<double>()) < 1e-6);
}

TOKENLOUPE_TEST_MAIN(TestStoriesGolden)
#include "tst_storiesgolden.moc"
