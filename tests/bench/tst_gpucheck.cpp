// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/loadedmodel.h"
#include "tests/bench/gpucheck/randommodel.h"
#include "tests/bench/gpucheck/report.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

struct Outcome
{
    int status = -1;
    QByteArray output;
    QByteArray messages;
};

Outcome runScript(const QStringList &arguments)
{
    QProcess process;
    process.start(QString::fromStdString(sourcePath("tests/bench/gpu_check").string()), arguments);
    if (!process.waitForFinished(300000))
        return {};
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
            process.readAllStandardOutput(), process.readAllStandardError()};
}

void write(const QString &path, const QByteArray &content)
{
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(content);
}

/// What the command line's bench says of 8 GB a token at 400 tokens a second.
constexpr const char *benchOfEight = R"({"backend": "CUDA", "weights_bytes": 8500000000, "load_ms": [5, 4, 6],
"bytes_per_token": 8000000000, "prefill_tps": [10000], "decode_tps": [390, 400, 410], "prompt_tokens": 512,
"depth": 0, "fallback_reason": null})";
constexpr const char *benchOfFallback = R"({"backend": "CPU", "weights_bytes": 800000000, "load_ms": [5],
"bytes_per_token": 700000000, "prefill_tps": [], "decode_tps": [30], "prompt_tokens": 512, "depth": 0,
"fallback_reason": "out of memory"})";
constexpr const char *device = R"({"device": "A card", "capability": "9.0", "driver": "13.0",
"copy_bytes_per_s": 4e12, "half_operations_per_s": 7e14,
"kernels": [{"kernel": "normRows", "microseconds": 2.5}]})";

} // namespace

class TestGpuCheck : public QObject
{
    Q_OBJECT

private slots:
    void countsWeights();
    void writesModels_data();
    void writesModels();
    void reports();
    void saysWhereGoalsAreMissed();
    void refusesBrokenParts();
    void scriptRefusesWrongUsage_data();
    void scriptRefusesWrongUsage();
    void scriptRehearses();
};

void TestGpuCheck::countsWeights()
{
    const RandomModelShape *one = randomModelShape("1b");
    const RandomModelShape *eight = randomModelShape("8b");
    QVERIFY(one && eight && !randomModelShape("2b"));
    // Published: 1.24 and 8.03 billion parameters, the second with a table of its own for the input.
    QCOMPARE(one->layerWeights() + one->headWeights(), 1235746816U);
    QCOMPARE(eight->layerWeights() + 2 * eight->headWeights(), 8029995008U);
    QCOMPARE(eight->headSize(), 128U);
    const double few = eight->prefillOperations(1);
    QVERIFY(few > 2.0 * 7.5e9 && few < 2.0 * 7.6e9);
}

void TestGpuCheck::writesModels_data()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("headType");
    const auto row = [](const char *name, TensorType type, TensorType head) {
        QTest::newRow(name) << int(type) << int(head);
    };
    row("Q4_0", TensorType::Q4_0, TensorType::Q6_K);
    row("Q8_0", TensorType::Q8_0, TensorType::Q8_0);
    row("F16", TensorType::F16, TensorType::F16);
}

void TestGpuCheck::writesModels()
{
    QFETCH(const int, type);
    QFETCH(const int, headType);
    const QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath(QStringLiteral("model.gguf")).toStdString();
    const RandomModelShape &shape = *randomModelShape("tiny");
    const std::uint64_t bytes = writeRandomModel(path, shape, static_cast<TensorType>(type), 7);
    QCOMPARE(std::filesystem::file_size(path), bytes);
    const auto loaded = loadModel(path.string(), nullptr, {}, {});
    QVERIFY2(loaded, loaded ? "" : loaded.error().text().c_str());
    const Model &model = *(*loaded)->model;
    QCOMPARE(model.config().layers, shape.layers);
    QCOMPARE(model.config().embedding, shape.embedding);
    QCOMPARE(model.config().feedForward, shape.feedForward);
    QCOMPARE(model.config().vocabulary, shape.vocabulary);
    for (const LayerWeights &layer : model.weights().layers) {
        for (const Weight *weight :
             {&layer.query, &layer.key, &layer.value, &layer.output, &layer.gate, &layer.up, &layer.down})
            QCOMPARE(int(weight->type), type);
    }
    QCOMPARE(int(model.weights().outputHead.type), headType);
    QVERIFY_EXCEPTION_THROWN(writeRandomModel(path, shape, TensorType::Q5_1, 1), std::runtime_error);
}

void TestGpuCheck::reports()
{
    const QTemporaryDir folder;
    write(folder.filePath(QStringLiteral("device.json")), device);
    write(folder.filePath(QStringLiteral("tests.json")), R"({"passed": 12, "failed": 0, "skipped": 1})");
    write(folder.filePath(QStringLiteral("sanitizer.json")), R"({"memcheck": "no errors"})");
    write(folder.filePath(QStringLiteral("8b-q8_0.bench.json")), benchOfEight);
    write(folder.filePath(QStringLiteral("8b-q8_0.inorder.json")), R"({"decode_tps": [361, 360, 362]})");
    const nlohmann::json report = gpuReport(folder.path().toStdString());
    QCOMPARE(report["problems"].size(), 0U);
    QCOMPARE(report["models"].size(), 1U);
    const nlohmann::json &model = report["models"][0];
    QCOMPARE(QString::fromStdString(model["shape"]), QStringLiteral("8b"));
    QCOMPARE(QString::fromStdString(model["type"]), QStringLiteral("q8_0"));
    QCOMPARE(model["decode_tps"].get<double>(), 400.0);
    QCOMPARE(model["decode_in_order_tps"].get<double>(), 361.0);
    QCOMPARE(model["load_ms"].get<double>(), 5.0);
    QCOMPARE(model["decode_share"].get<double>(), 0.8);
    QCOMPARE(model["decode_meets_goal"].get<bool>(), false);
    const double operations = randomModelShape("8b")->prefillOperations(512) / 512.0 * 10000.0;
    QCOMPARE(model["prefill_share"].get<double>(), operations / 7e14);
    const std::string text = gpuReportText(report);
    for (const char *part : {"A card", "4000 GB/s", "700.0 TFLOP/s", "12 passed, 0 failed, 1 skipped",
                             "compute-sanitizer memcheck: no errors", "q8_0", "400.0", "361.0",
                             "80.0 % (short of 85)", "normRows", "2.50"})
        QVERIFY2(text.find(part) != std::string::npos, part);
}

void TestGpuCheck::saysWhereGoalsAreMissed()
{
    const QTemporaryDir folder;
    write(folder.filePath(QStringLiteral("device.json")), device);
    write(folder.filePath(QStringLiteral("8b-q4_0.bench.json")), benchOfEight);
    write(folder.filePath(QStringLiteral("1b-f16.bench.json")), benchOfFallback);
    write(folder.filePath(QStringLiteral("8b-f16.problem")), "left out, as the time was up\n");
    const nlohmann::json report = gpuReport(folder.path().toStdString());
    QCOMPARE(report["models"].size(), 2U);
    QCOMPARE(report["models"][1]["decode_meets_goal"].get<bool>(), true); // 80 of 75 %
    QVERIFY(!report["models"][0].contains("decode_goal"));
    QVERIFY(!report["models"][0].contains("prefill_tps"));
    QCOMPARE(report["problems"].size(), 2U);
    const std::string text = gpuReportText(report);
    QVERIFY(text.find("problem: 8b-f16: left out, as the time was up") != std::string::npos);
    QVERIFY(text.find("problem: 1b-f16: out of memory") != std::string::npos);
    QVERIFY(text.find("80.0 % (goal 75)") != std::string::npos);
}

void TestGpuCheck::refusesBrokenParts()
{
    const QTemporaryDir folder;
    write(folder.filePath(QStringLiteral("device.json")), "[1, 2");
    QVERIFY_EXCEPTION_THROWN(gpuReport(folder.path().toStdString()), std::runtime_error);
}

void TestGpuCheck::scriptRefusesWrongUsage_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("option") << QStringList{QStringLiteral("--fast")};
    QTest::newRow("no value") << QStringList{QStringLiteral("--build")};
    QTest::newRow("no folder") << QStringList{QStringLiteral("--build"), QStringLiteral("/no/such/folder")};
    QTest::newRow("no scratch") << QStringList{QStringLiteral("--scratch"),
                                               QStringLiteral("/no/such/folder")};
    QTest::newRow("shape") << QStringList{QStringLiteral("--shapes"), QStringLiteral("1b,2b")};
}

void TestGpuCheck::scriptRefusesWrongUsage()
{
    QFETCH(const QStringList, arguments);
    const Outcome outcome = runScript(arguments);
    QCOMPARE(outcome.status, 2);
    QCOMPARE(outcome.messages.count('\n'), 1);
    QCOMPARE(outcome.output, QByteArray());
}

void TestGpuCheck::scriptRehearses()
{
    const QTemporaryDir folder;
    const QString results = folder.filePath(QStringLiteral("results.json"));
    const Outcome outcome = runScript({QStringLiteral("--rehearse"), QStringLiteral("--build"),
                                       QStringLiteral(TOKENLOUPE_BUILD_DIR), QStringLiteral("--output"),
                                       results, QStringLiteral("--scratch"), folder.path()});
    QVERIFY2(outcome.status == 77, outcome.messages.constData());
    QVERIFY2(outcome.messages.endsWith("skipped: asked to\n"), outcome.messages.constData());
    const nlohmann::json report = readJson(results.toStdString());
    QCOMPARE(report["models"].size(), 3U);
    for (const nlohmann::json &model : report["models"]) {
        QCOMPARE(QString::fromStdString(model["shape"]), QStringLiteral("tiny"));
        QVERIFY(model["decode_tps"].get<double>() > 0.0);
        QVERIFY(model["prefill_tps"].get<double>() > 0.0);
    }
    QVERIFY(outcome.output.contains("q4_0") && outcome.output.contains("f16"));
    QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot),
             QStringList{QStringLiteral("results.json")});
}

TOKENLOUPE_TEST_MAIN(TestGpuCheck)
#include "tst_gpucheck.moc"
