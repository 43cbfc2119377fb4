// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/clirunner.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <cmath>
#include <map>
#include <numeric>

using namespace tokenloupe::test;
using nlohmann::json;

namespace {

std::map<std::string, std::uint64_t> bytesByName(const json &list)
{
    std::map<std::string, std::uint64_t> bytes;
    for (const json &item : list)
        bytes[item["name"].get<std::string>()] = item["bytes"].get<std::uint64_t>();
    return bytes;
}

std::uint64_t sumOf(const std::map<std::string, std::uint64_t> &bytes)
{
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t(0),
                           [](std::uint64_t sum, const auto &item) { return sum + item.second; });
}

const char *const smallShape =
    R"({"layers":4,"hidden":64,"heads":4,"kv_heads":2,"head_dim":16,"ffn":128,"vocab":1000,"context":2048})";

} // namespace

/// `estimate`, as a person or a script calls it.
class TestCliEstimate : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void keysAndUnits();
    void exitStatusSaysWhetherItFits();
    void humanText();
    void optionsReachTheEngine_data();
    void optionsReachTheEngine();
    void severalCards();
    void fitTable();
    void lists();
    void userCards();
    void wrongUsage_data();
    void wrongUsage();
    void badInput_data();
    void badInput();
    void measuresItself();
    void measuresTheRealModel();

private:
    CliResult estimate(const QString &arguments) const
    {
        QStringList list = arguments.split(QLatin1Char(' '));
        list.replaceInStrings(QStringLiteral("SHAPE"), m_shape);
        list.replaceInStrings(QStringLiteral("MODEL"), m_model);
        list.prepend(QStringLiteral("estimate"));
        return m_cli.run(list);
    }
    void compareMeasured(const json &result, double ofParts, double ofTotal) const;

    CliRunner m_cli;
    QString m_shape;
    QString m_model;
};

void TestCliEstimate::initTestCase()
{
    // Cards of whoever runs the test must not matter.
    qputenv("XDG_CONFIG_HOME", QFileInfo(m_cli.file("none", "")).absolutePath().toLocal8Bit());
    m_shape = m_cli.file("shape.json", smallShape);
    m_model = m_cli.model();
}

void TestCliEstimate::keysAndUnits()
{
    const CliResult result = estimate("--shape SHAPE --context 1000 --vram 1GiB --json");
    QCOMPARE(result.status, 0);
    QCOMPARE(result.messages, QByteArray());
    const json out = result.json();
    for (const char *key : {"parts", "total_bytes", "capacity_bytes", "fits", "max_context", "max_batch",
                            "kv_bytes_per_token", "kv_by_layer", "decode_tps_bound", "prefill_tps_bound",
                            "verdict", "textbook", "attention", "devices", "warnings"})
        QVERIFY2(out.contains(key), key);
    COMPARE_JSON(out["capacity_bytes"], 1073741824);
    COMPARE_JSON(out["fits"], true);
    COMPARE_JSON(out["kv_bytes_per_token"], 4 * 2 * (16 + 16) * 2);
    const auto parts = bytesByName(out["parts"]);
    QCOMPARE(sumOf(parts), out["total_bytes"].get<std::uint64_t>());
    QCOMPARE(parts.at("kv_cache"), std::uint64_t(512) * 1008); // whole blocks of 16
    COMPARE_JSON(out["kv_by_layer"], json(std::vector<std::uint64_t>(4, 128 * 1008)));
    for (const json &part : out["parts"])
        QVERIFY(!part["how"].get<std::string>().empty());
    QVERIFY(out["decode_tps_bound"].is_null()); // no card, no bandwidth
}

void TestCliEstimate::exitStatusSaysWhetherItFits()
{
    const CliResult small = estimate("--shape SHAPE --context 1000 --vram 1000000 --json");
    QCOMPARE(small.status, 3);
    COMPARE_JSON(small.json()["fits"], false);
    COMPARE_JSON(small.json()["max_context"], 0);
    QCOMPARE(small.messages, QByteArray());
    // The total itself fits, one byte less does not.
    const auto total = small.json()["total_bytes"].get<std::uint64_t>();
    QCOMPARE(estimate(QStringLiteral("--shape SHAPE --context 1000 --vram %1").arg(total)).status, 0);
    QCOMPARE(estimate(QStringLiteral("--shape SHAPE --context 1000 --vram %1").arg(total - 1)).status, 3);
    // The largest context that it names is one.
    const json out = estimate("--shape SHAPE --context 1000 --vram 1GiB --json").json();
    const auto most = out["max_context"].get<std::uint64_t>();
    QCOMPARE(estimate(QStringLiteral("--shape SHAPE --context %1 --vram 1GiB").arg(most)).status, 0);
    QCOMPARE(estimate(QStringLiteral("--shape SHAPE --context %1 --vram 1GiB").arg(most + 1)).status, 3);
}

void TestCliEstimate::humanText()
{
    const CliResult result = estimate("--shape SHAPE --context 4096 --gpu RTX4090");
    QCOMPARE(result.status, 0);
    for (const char *word : {"Weights", "KV cache", "Total", "It fits", "RTX 4090", "Largest context",
                             "Decode at most", "Prefill at most", "beyond the 2048 tokens"})
        QVERIFY2(result.output.contains(word), word);
    QVERIFY(estimate("--shape SHAPE --vram 1MiB").output.contains("does not fit"));
}

void TestCliEstimate::optionsReachTheEngine_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QString>("part");
    QTest::addColumn<double>("factor"); // to the same without them
    QTest::newRow("batch") << "--batch 3"
                           << "kv_cache" << 3.0;
    QTest::newRow("twice the context") << "--context 2048"
                                       << "kv_cache" << 2.0;
    QTest::newRow("types") << "--kv-type-k f32 --kv-type-v f32"
                           << "kv_cache" << 2.0;
    QTest::newRow("one type") << "--kv-type-k f32"
                              << "kv_cache" << 1.5;
    QTest::newRow("contiguous beams") << "--beams 4 --layout contiguous"
                                      << "kv_cache" << 4.0;
    QTest::newRow("paged beams") << "--beams 3 --prompt 512"
                                 << "kv_cache" << 2.0;
    QTest::newRow("blocks") << "--block-tokens 1000"
                            << "kv_cache" << 2000.0 / 1024.0;
    QTest::newRow("weights") << "--weights F32"
                             << "weights" << 2.0;
    QTest::newRow("micro-batch") << "--micro-batch 1024 --context 1024"
                                 << "activations" << 2.0;
}

void TestCliEstimate::optionsReachTheEngine()
{
    QFETCH(QString, arguments);
    QFETCH(QString, part);
    QFETCH(double, factor);
    const QString common = QStringLiteral("--shape SHAPE --vram 1TiB --json ");
    const json without = estimate(common + "--context 1024").json();
    const json with =
        estimate(common + (arguments.contains("--context") ? arguments : arguments + " --context 1024"))
            .json();
    const auto before = static_cast<double>(bytesByName(without["parts"]).at(part.toStdString()));
    const auto after = static_cast<double>(bytesByName(with["parts"]).at(part.toStdString()));
    QVERIFY2(std::abs(after / before / factor - 1.0) < 1e-3, std::to_string(after / before).c_str());
}

void TestCliEstimate::severalCards()
{
    const CliResult result =
        estimate("--shape Llama-3.3-70B --weights Q4_K_M --gpu 3090 --gpu RTX4090 --context 8192 --json");
    QCOMPARE(result.status, 0);
    const json out = result.json();
    QCOMPARE(out["devices"].size(), std::size_t(2));
    std::uint64_t bytes = 0;
    std::uint64_t layers = 0;
    for (const json &device : out["devices"]) {
        bytes += device["bytes"].get<std::uint64_t>();
        layers += device["layers"].get<std::uint64_t>();
    }
    QCOMPARE(bytes, out["total_bytes"].get<std::uint64_t>());
    QCOMPARE(layers, std::uint64_t(80));
    QVERIFY(out["decode_tps_bound"].get<double>() > 10 && out["decode_tps_bound"].get<double>() < 30);
    const CliResult tensors =
        estimate("--shape Llama-3.3-70B --weights Q4_K_M --gpu 3090 --gpu 3090 --split tensors --json");
    QVERIFY(tensors.json()["decode_tps_bound"].get<double>() > 1.5 * out["decode_tps_bound"].get<double>());
    const CliResult draft = estimate("--shape Llama-3.1-8B --draft Llama-3.2-1B --gpu H200SXM --json");
    QVERIFY(bytesByName(draft.json()["parts"]).at("draft_weights") > 2000000000U);
}

void TestCliEstimate::fitTable()
{
    const CliResult result = estimate("--shape Llama-3.1-8B --gpu 4090 --table --json");
    QCOMPARE(result.status, 0);
    const json rows = result.json()["table"];
    QVERIFY(rows.size() >= 5);
    for (const json &row : rows) {
        std::uint64_t before = 0;
        for (const json &cell : row["cells"]) {
            QVERIFY(cell["total_bytes"].get<std::uint64_t>() > before);
            before = cell["total_bytes"].get<std::uint64_t>();
            QCOMPARE(cell["fits"].get<bool>(), before <= 24 * (std::uint64_t(1) << 30));
        }
    }
    QVERIFY(estimate("--shape Llama-3.1-8B --gpu 4090 --table").output.contains("Q4_K_M"));
}

void TestCliEstimate::lists()
{
    const json gpus = estimate("--list-gpus --json").json()["gpus"];
    QVERIFY(gpus.size() >= 90);
    for (const char *key : {"name", "memory_bytes", "bandwidth_bytes_per_s", "half_flops"})
        QVERIFY2(gpus[0].contains(key), key);
    QVERIFY(estimate("--list-gpus").output.contains("RTX 4090"));
    const json shapes = estimate("--list-shapes --json").json()["shapes"];
    QVERIFY(shapes.size() >= 40);
    QVERIFY(estimate("--list-shapes").output.contains("Llama-3.1-8B\n"));
}

void TestCliEstimate::userCards()
{
    const QString folder = QFileInfo(m_cli.file("home", "")).absolutePath() + "/config";
    QVERIFY(QDir().mkpath(folder + "/tokenloupe"));
    QFile file(folder + "/tokenloupe/gpus.json");
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"([{"name":"My card","memory_gib":5,"bandwidth_gbs":10,"fp16_tflops":1}])");
    file.close();
    const QString script =
        QStringLiteral("XDG_CONFIG_HOME=\"$1\" \"$CLI\" estimate --shape \"$2\" --gpu mycard --json");
    const CliResult known = m_cli.shell(script, {folder, m_shape});
    QCOMPARE(known.status, 0);
    COMPARE_JSON(known.json()["capacity_bytes"], 5368709120);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(R"([{"name":"My card","memory_gib":-5}])");
    file.close();
    const CliResult broken = m_cli.shell(script, {folder, m_shape});
    QCOMPARE(broken.status, 1);
    QVERIFY2(broken.messages.contains("gpus.json") && broken.messages.contains("memory_gib"),
             broken.messages.constData());
    QCOMPARE(broken.messageLines(), 1);
}

void TestCliEstimate::wrongUsage_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QByteArray>("named");
    QTest::newRow("nothing") << "--json" << QByteArray("MODEL");
    QTest::newRow("two shapes") << "MODEL --shape SHAPE" << QByteArray("MODEL");
    QTest::newRow("zero context") << "--shape SHAPE --vram 1GiB --context 0" << QByteArray("--context");
    QTest::newRow("negative context") << "--shape SHAPE --vram 1GiB --context -5" << QByteArray("context");
    QTest::newRow("10^18 tokens") << "--shape SHAPE --vram 1GiB --context 1000000000000000000"
                                  << QByteArray("--context");
    QTest::newRow("10^30 tokens") << "--shape SHAPE --vram 1GiB --context 1000000000000000000000000000000"
                                  << QByteArray("--context");
    QTest::newRow("text") << "--shape SHAPE --context many" << QByteArray("--context");
    QTest::newRow("zero batch") << "--shape SHAPE --vram 1GiB --batch 0" << QByteArray("--batch");
    QTest::newRow("negative batch") << "--shape SHAPE --vram 1GiB --batch -1" << QByteArray("--batch");
    QTest::newRow("zero beams") << "--shape SHAPE --vram 1GiB --beams 0" << QByteArray("--beams");
    QTest::newRow("long prompt") << "--shape SHAPE --vram 1GiB --context 10 --prompt 11"
                                 << QByteArray("--prompt");
    QTest::newRow("bytes") << "--shape SHAPE --vram lots" << QByteArray("--vram");
    QTest::newRow("negative bytes") << "--shape SHAPE --vram -5" << QByteArray("--vram");
    QTest::newRow("zero bytes") << "--shape SHAPE --vram 0" << QByteArray("--vram");
    QTest::newRow("KV type") << "--shape SHAPE --vram 1GiB --kv-type-k q9" << QByteArray("--kv-type-k");
    QTest::newRow("KV type that the heads do not allow")
        << "--shape SHAPE --vram 1GiB --kv-type-v q8_0" << QByteArray("--kv-type-v");
    QTest::newRow("layout") << "--shape SHAPE --vram 1GiB --layout heap" << QByteArray("--layout");
    QTest::newRow("machine and card") << "--shape SHAPE --this-machine --gpu 4090" << QByteArray("--gpu");
    QTest::newRow("measuring a card") << "MODEL --measure --gpu 4090" << QByteArray("--measure");
    QTest::newRow("measuring a shape") << "--shape SHAPE --measure" << QByteArray("--measure");
}

void TestCliEstimate::wrongUsage()
{
    QFETCH(QString, arguments);
    QFETCH(QByteArray, named);
    const CliResult result = estimate(arguments);
    QCOMPARE(result.status, 2);
    QCOMPARE(result.output, QByteArray());
    QVERIFY2(result.messageLines() == 1 && result.messages.contains(named), result.messages.constData());
}

void TestCliEstimate::badInput_data()
{
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QByteArray>("named");
    QTest::newRow("no file") << "nothing.gguf" << QByteArray("nothing.gguf");
    QTest::newRow("unknown shape") << "--shape Llama-9-9B --vram 1GiB" << QByteArray("Llama");
    QTest::newRow("unknown card") << "--shape SHAPE --gpu RTX-4099" << QByteArray("RTX 4090");
    QTest::newRow("several cards") << "--shape SHAPE --gpu A100" << QByteArray("A100 80 GB");
    QTest::newRow("weights") << "--shape SHAPE --vram 1GiB --weights Q9_X" << QByteArray("Q9_X");
    QTest::newRow("broken shape") << "--shape " + m_cli.file("broken.json", R"({"layers":0,"hidden":64})") +
                                         " --vram 1GiB"
                                  << QByteArray("layers");
    QTest::newRow("no JSON") << "--shape " + m_cli.file("text.json", "hello") + " --vram 1GiB"
                             << QByteArray("text.json");
}

void TestCliEstimate::badInput()
{
    QFETCH(QString, arguments);
    QFETCH(QByteArray, named);
    const CliResult result = estimate(arguments);
    QVERIFY2(result.status == 1 || (result.status == 2 && arguments.contains("--weights")),
             result.messages.constData());
    QCOMPARE(result.output, QByteArray());
    QVERIFY2(result.messageLines() == 1 && result.messages.contains(named), result.messages.constData());
}

void TestCliEstimate::compareMeasured(const json &result, double ofParts, double ofTotal) const
{
    const auto planned = bytesByName(result["parts"]);
    const auto measured = bytesByName(result["measured"]);
    for (const char *name : {"weights", "kv_cache"}) {
        const double ratio =
            static_cast<double>(measured.at(name)) / static_cast<double>(planned.at(name)) - 1.0;
        QVERIFY2(std::abs(ratio) <= ofParts, (std::string(name) + " " + std::to_string(ratio)).c_str());
    }
    const auto total = measured.at("total");
    const double ratio = static_cast<double>(total) / result["total_bytes"].get<double>() - 1.0;
    QVERIFY2(std::abs(ratio) <= ofTotal, ("total " + std::to_string(ratio)).c_str());
    // The parts add up to it, and the difference to the plan is said part by part.
    QCOMPARE(sumOf(measured) - total, total);
    std::int64_t unexplained = 0;
    for (const auto &[name, bytes] : result["unexplained"].items()) {
        if (name != "total")
            unexplained += bytes.get<std::int64_t>();
    }
    QCOMPARE(unexplained, result["unexplained"]["total"].get<std::int64_t>());
}

void TestCliEstimate::measuresItself()
{
    // A context whose cache outweighs the program: the tiny model is a few MiB.
    const CliResult result = estimate("MODEL --context 40000 --measure --json");
    if (result.status == 1 && result.messages.contains("this system does not tell"))
        QSKIP("this system does not tell which pages are resident");
    QVERIFY2(result.status == 0, result.messages.constData());
    compareMeasured(result.json(), 0.02, 1.0);
}

void TestCliEstimate::measuresTheRealModel()
{
    TOKENLOUPE_NEED_SMOL(path);
    const CliResult result = m_cli.run({"estimate", QString::fromStdString(path.string()), "--context",
                                        "4096", "--this-machine", "--measure", "--json"});
    if (result.status == 1 && result.messages.contains("this system does not tell"))
        QSKIP("this system does not tell which pages are resident");
    QVERIFY2(result.status == 0, result.messages.constData());
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    compareMeasured(result.json(), 0.02, 10.0); // the sanitizer's own memory is no part of the plan
#else
    compareMeasured(result.json(), 0.02, 0.10);
#endif
}

TOKENLOUPE_TEST_MAIN(TestCliEstimate)
#include "tst_cliestimate.moc"
