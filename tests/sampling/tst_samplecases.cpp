// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplecases.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace tokenloupe;
using nlohmann::json;

namespace {

const std::set<std::string> knownSamplers = {"temperature",        "top_k",  "top_p", "min_p", "penalties",
                                             "repetition_penalty", "softmax"};

double numberOf(const json &value)
{
    if (!value.is_string())
        return value.get<double>();
    const auto text = value.get<std::string>();
    return text == "nan"   ? std::numeric_limits<double>::quiet_NaN()
           : text == "inf" ? std::numeric_limits<double>::infinity()
                           : -std::numeric_limits<double>::infinity();
}

json one(const json &sampleCase)
{
    const Result<json> result = runSampleCases({{"cases", json::array({sampleCase})}});
    return result ? (*result)["results"][0] : json{{"error", "the document"}};
}

/// A case whose input is a formula, with the values written out.
json withValues(json sampleCase)
{
    json &input = sampleCase["input"];
    if (!input.contains("logits_formula"))
        return sampleCase;
    const auto formula = input["logits_formula"].get<std::string>();
    const int n = input["n_vocab"].get<int>();
    json values = json::array();
    for (int i = 0; i < n; ++i) {
        if (formula.rfind("logit[i] = ln(i)", 0) == 0)
            values.push_back(i ? json(std::log(i)) : json("-inf"));
        else if (formula.rfind("logit[0] = 50", 0) == 0)
            values.push_back(i ? -50.0 : 50.0);
        else
            return json();
    }
    input = {{"logits", values}};
    return sampleCase;
}

bool near(double a, double b, double tolerance)
{
    return a == b || std::abs(a - b) <= std::max(tolerance, 1e-6 * std::abs(b));
}

/// What in `result` is not as the case expects; empty when all is.
QString difference(const json &sampleCase, const json &result)
{
    const json &expect = sampleCase["expect"];
    if (expect.contains("error"))
        return result.contains("error") ? QString() : QStringLiteral("no error");
    if (result.contains("error"))
        return QString::fromStdString(result["error"].get<std::string>());

    const double tolerance = std::max(sampleCase.value("tolerance", 1e-5), 1e-5);
    const auto kept = result["kept"].get<std::set<int>>();
    const json &probabilities = result["probs"];
    const json &logits = result["logits"];
    const auto probability = [&](const std::string &id) { return probabilities.value(id, 0.0); };
    const QString what = QStringLiteral("%1: got %2");
    const auto report = [&](const char *key, const json &got) {
        return what.arg(QLatin1StringView(key), QString::fromStdString(got.dump()).left(120));
    };

    if (expect.contains("final_probs")) {
        for (const auto &[id, p] : expect["final_probs"].items()) {
            if (std::abs(probability(id) - p.get<double>()) > tolerance)
                return report("final_probs", probabilities);
        }
        for (const auto &[id, p] : probabilities.items()) {
            if (expect.contains("others") && !expect["final_probs"].contains(id) && p.get<double>() > 1e-6)
                return report("others", probabilities);
        }
    }
    if (expect.contains("kept_ids") && kept != expect["kept_ids"].get<std::set<int>>())
        return report("kept_ids", result["kept"]);
    const auto count = static_cast<int>(kept.size());
    if (expect.contains("kept_count") && count != expect["kept_count"].get<int>())
        return report("kept_count", count);
    if (expect.contains("kept_count_at_least") && count < expect["kept_count_at_least"].get<int>())
        return report("kept_count_at_least", count);
    if (expect.contains("lowest_kept_id") && *kept.begin() != expect["lowest_kept_id"].get<int>())
        return report("lowest_kept_id", *kept.begin());
    if (expect.contains("highest_kept_id") && *kept.rbegin() != expect["highest_kept_id"].get<int>())
        return report("highest_kept_id", *kept.rbegin());
    if (expect.contains("argmax") && result["argmax"] != expect["argmax"])
        return report("argmax", result["argmax"]);
    if (expect.contains("final_probs_sum")) {
        double sum = 0.0;
        for (const json &p : probabilities)
            sum += p.get<double>();
        if (std::abs(sum - expect["final_probs_sum"].get<double>()) > 1e-4)
            return report("final_probs_sum", sum);
    }
    if (expect.contains("final_logits")) {
        for (std::size_t i = 0; i < logits.size(); ++i) {
            if (!near(numberOf(logits[i]), numberOf(expect["final_logits"][i]), tolerance))
                return report("final_logits", logits);
        }
    }
    const json &input = sampleCase["input"].contains("logits") ? sampleCase["input"]["logits"] : json();
    const bool othersUnchanged = expect.value("others", "") == "unchanged" || expect.contains("unchanged");
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const bool named = expect.contains("logits_at") && expect["logits_at"].contains(std::to_string(i));
        if (named && !near(numberOf(logits[i]), numberOf(expect["logits_at"][std::to_string(i)]), tolerance))
            return report("logits_at", logits[i]);
        if (!named && othersUnchanged && !near(numberOf(logits[i]), numberOf(input[i]), 0.0))
            return report("unchanged", logits[i]);
    }
    if (expect.contains("descending_order")) {
        const auto order = expect["descending_order"].get<std::vector<std::size_t>>();
        if (!std::is_sorted(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                return numberOf(logits[a]) > numberOf(logits[b]);
            }))
            return report("descending_order", logits);
    }
    return {};
}

} // namespace

// QCOMPARE would ask json for conversions that it has not.
#define COMPARE_JSON(actual, ...)                                                                            \
    do {                                                                                                     \
        const json actualValue = actual, expectedValue = __VA_ARGS__;                                        \
        QVERIFY2(actualValue == expectedValue,                                                               \
                 (actualValue.dump() + " is not " + expectedValue.dump()).c_str());                          \
    } while (false)

class TestSampleCases : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void resultHasEveryKey()
    {
        const json result =
            one({{"id", "a"},
                 {"steps",
                  {{{"sampler", "top_k"}, {"k", 2}}, {{"sampler", "temperature"}, {"temperature", 0.5}}}},
                 {"input", {{"logits", {3, 2, 1, 0, "-inf"}}}}});
        COMPARE_JSON(result["id"], json("a"));
        COMPARE_JSON(result["kept"], json({0, 1}));
        COMPARE_JSON(result["argmax"], json(0));
        COMPARE_JSON(result["logits"], json({6.0, 4.0, "-inf", "-inf", "-inf"}));
        QVERIFY(qAbs(result["probs"]["0"].get<double>() - 0.880797) < 1e-6);
        QCOMPARE(result["probs"].size(), std::size_t(2));
        QVERIFY(!result.contains("error"));
        QVERIFY(!result.contains("mu"));
        QCOMPARE(result["stages"].size(), std::size_t(2));
        COMPARE_JSON(result["stages"][0]["name"], json("top_k"));
        COMPARE_JSON(result["stages"][0]["candidates"], json(2));
        QVERIFY(qAbs(result["stages"][0]["mass"].get<double>() - 0.880797) < 1e-6); // of 3, 2, 1, 0
        COMPARE_JSON(result["stages"][1]["mass"], json(1.0));
    }

    void probabilitiesAsInput()
    {
        const json result =
            one({{"id", 7}, {"steps", json::array()}, {"input", {{"probs", {0.5, 0.0, 0.25, 0.25}}}}});
        COMPARE_JSON(result["id"], json(7));
        COMPARE_JSON(result["kept"], json({0, 1, 2, 3}));
        COMPARE_JSON(result["logits"][1], json("-inf"));
        QVERIFY(qAbs(result["probs"]["2"].get<double>() - 0.25) < 1e-7);
        COMPARE_JSON(result["probs"]["1"], json(0.0));
        COMPARE_JSON(result["stages"], json::array());
    }

    void minKeepOverridesAFilter()
    {
        const json input = {{"logits", {0, 1, 2, 3, 40}}};
        const auto keptBy = [&](const json &step) {
            return one({{"id", ""}, {"steps", {step}}, {"input", input}})["kept"];
        };
        COMPARE_JSON(keptBy({{"sampler", "top_k"}, {"k", 1}, {"min_keep", 3}}), json({2, 3, 4}));
        COMPARE_JSON(keptBy({{"sampler", "top_p"}, {"p", 0.5}, {"min_keep", 2}}), json({3, 4}));
        COMPARE_JSON(keptBy({{"sampler", "min_p"}, {"p", 0.5}, {"min_keep", 4}}), json({1, 2, 3, 4}));
        COMPARE_JSON(keptBy({{"sampler", "min_p"}, {"p", 0.5}, {"min_keep", 9}}), json({0, 1, 2, 3, 4}));
        COMPARE_JSON(keptBy({{"sampler", "min_p"}, {"p", 0.5}, {"min_keep", 0}}), json::array({4}));
        COMPARE_JSON(keptBy({{"sampler", "min_p"}, {"p", 1.5}}), json::array({4}));
    }

    void biasAndRepetition()
    {
        json result = one(json::parse(R"({"id": "", "input": {"logits": [1, 2, 3]},
            "steps": [{"sampler": "logit_bias", "biases": {"0": 2.5, "2": "-inf"}}]})"));
        COMPARE_JSON(result["kept"], json({0, 1}));
        COMPARE_JSON(result["logits"], json({3.5, 2.0, "-inf"}));

        result = one(json::parse(R"({"id": "", "input": {"logits": [1.0, -2.0, 3.0]}, "history": [2, 0, 1, 1],
            "steps": [{"sampler": "repetition_penalty", "penalty": 2.0, "ignore_first_n_history": 1}]})"));
        COMPARE_JSON(result["logits"], json({0.5, -4.0, 3.0}));
    }

    void wrongCasesGetAnErrorAndTheRestGoOn_data()
    {
        QTest::addColumn<QString>("sampleCase");
        QTest::addColumn<QString>("named");
        const auto row = [](const char *name, const char *text, const char *named) {
            QTest::newRow(name) << text << named;
        };
        row("unknown sampler", R"({"steps":[{"sampler":"magic"}],"input":{"logits":[1,2]}})", "magic");
        row("no sampler", R"({"steps":[{"k":1}],"input":{"logits":[1,2]}})", "sampler");
        row("missing parameter", R"({"steps":[{"sampler":"top_k"}],"input":{"logits":[1,2]}})",
            "k is missing");
        row("unknown parameter", R"({"steps":[{"sampler":"top_k","k":1,"kk":2}],"input":{"logits":[1,2]}})",
            "kk");
        row("wrong type", R"({"steps":[{"sampler":"top_k","k":"many"}],"input":{"logits":[1,2]}})", "many");
        row("fraction", R"({"steps":[{"sampler":"top_k","k":1.5}],"input":{"logits":[1,2]}})", "1.5");
        row("negative p", R"({"steps":[{"sampler":"top_p","p":-0.1}],"input":{"logits":[1,2]}})",
            "p must be");
        row("p too large for a float",
            R"({"steps":[{"sampler":"min_p","p":1e300}],"input":{"logits":[1,2]}})", "finite");
        row("negative temperature",
            R"({"steps":[{"sampler":"temperature","temperature":-1}],"input":{"logits":[1,2]}})",
            "temperature");
        row("repeat 0", R"({"steps":[{"sampler":"penalties","repeat":0}],"input":{"logits":[1,2]}})",
            "repeat");
        row("penalty 0",
            R"({"steps":[{"sampler":"repetition_penalty","penalty":0}],"input":{"logits":[1,2]}})",
            "penalty");
        row("not a flag",
            R"({"steps":[{"sampler":"repetition_penalty","penalty":2,"on_log_softmax":1}],"input":{"logits":[1,2]}})",
            "on_log_softmax");
        row("bias of no token",
            R"({"steps":[{"sampler":"logit_bias","biases":{"9":1}}],"input":{"logits":[1,2]}})", "9");
        row("everything banned",
            R"({"steps":[{"sampler":"logit_bias","biases":{"0":"-inf","1":"-inf"}}],"input":{"logits":[1,2]}})",
            "no finite logit");
        row("all NaN", R"({"steps":[],"input":{"logits":["nan","nan"]}})", "no finite logit");
        row("+inf", R"({"steps":[],"input":{"logits":[1,"inf"]}})", "+inf");
        row("no logits", R"({"steps":[],"input":{"logits":[]}})", "input");
        row("no input", R"({"steps":[]})", "input");
        row("both inputs", R"({"steps":[],"input":{"logits":[1],"probs":[1]}})", "input");
        row("negative probability", R"({"steps":[],"input":{"probs":[-1,1]}})", "negative");
        row("word in the logits", R"({"steps":[],"input":{"logits":[1,"two"]}})", "two");
        row("history outside", R"({"steps":[],"history":[2],"input":{"logits":[1,2]}})", "history");
        row("history negative", R"({"steps":[],"history":[-1],"input":{"logits":[1,2]}})", "history");
        row("steps missing", R"({"input":{"logits":[1,2]}})", "steps");
        row("not an object", R"(3)", "object");
    }
    void wrongCasesGetAnErrorAndTheRestGoOn()
    {
        QFETCH(QString, sampleCase);
        QFETCH(QString, named);
        json wrong = json::parse(sampleCase.toStdString());
        if (wrong.is_object())
            wrong["id"] = "wrong";
        const json good = {
            {"id", "good"}, {"steps", {{{"sampler", "top_k"}, {"k", 1}}}}, {"input", {{"logits", {1, 2}}}}};
        const Result<json> result = runSampleCases({{"cases", {wrong, good}}});
        QVERIFY(result.has_value());
        const json &results = (*result)["results"];
        QCOMPARE(results.size(), std::size_t(2));
        QVERIFY(results[0].contains("error"));
        const QString text = QString::fromStdString(results[0]["error"].get<std::string>());
        QVERIFY2(text.contains(named), qPrintable(text));
        QVERIFY(!results[0].contains("kept"));
        COMPARE_JSON(results[1]["kept"], json::array({1}));
        COMPARE_JSON(results[1]["id"], json("good"));
    }

    void documentsOfAnotherForm()
    {
        for (const json &document : {json::array(), json::object(), json(1), json{{"cases", 3}}}) {
            const Result<json> result = runSampleCases(document);
            QVERIFY(!result);
            QVERIFY(result.error().code == ErrorCode::BadFile);
        }
        COMPARE_JSON((*runSampleCases({{"cases", json::array()}}))["results"], json::array());
    }

    void casesOfOtherEngines()
    {
        TOKENLOUPE_NEED_SHARED(path, "sampling/cases.json");
        const json cases = test::readJson(path)["cases"];
        QStringList wrong;
        int run = 0;
        for (const json &entry : cases) {
            const json &steps = entry["steps"];
            if (!std::all_of(steps.begin(), steps.end(), [](const json &step) {
                    return knownSamplers.count(step["sampler"].get<std::string>()) > 0;
                }))
                continue;
            const json sampleCase = withValues(entry);
            if (sampleCase.is_null())
                continue;
            ++run;
            if (const QString text = difference(sampleCase, one(sampleCase)); !text.isEmpty())
                wrong +=
                    QString::fromStdString(entry["id"].get<std::string>()) + QLatin1StringView(": ") + text;
        }
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(QLatin1Char('\n'))));
        QVERIFY2(run >= 90, qPrintable(QString::number(run)));
        qInfo("%d cases", run);
    }
};

TOKENLOUPE_TEST_MAIN(TestSampleCases)
#include "tst_samplecases.moc"
