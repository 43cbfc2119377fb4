// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinyfolder.h"
#include "tests/transformer/runmodel.h"

#include <QTemporaryDir>
#include <cmath>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

using Ids = std::vector<std::uint32_t>;

Ids randomIds(std::uint32_t vocabulary)
{
    std::mt19937 random(5);
    Ids ids(37);
    for (std::uint32_t &id : ids)
        id = static_cast<std::uint32_t>(random() % vocabulary);
    return ids;
}

RunOptions options()
{
    RunOptions run;
    run.context = 64;
    return run;
}

/// Largest difference as a share of the expected values' root mean square.
double worstDifference(const std::vector<float> &got, const std::vector<float> &expected)
{
    if (got.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    double squares = 0;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto value = static_cast<double>(expected[i]);
        const double difference = std::abs(static_cast<double>(got[i]) - value);
        squares += value * value;
        worst = std::isnan(difference) ? difference : std::max(worst, difference);
    }
    return worst / std::sqrt(squares / static_cast<double>(expected.size()));
}

} // namespace

/// Hugging Face folders, run.
class TestFolders : public QObject
{
    Q_OBJECT

private slots:
    void sameAsGguf_data();
    void sameAsGguf();
    void halves_data();
    void halves();
    void agreesWithGoldens_data();
    void agreesWithGoldens();
    void storiesContinuations();
};

void TestFolders::sameAsGguf_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<bool>("isVersion5");
    for (const TinyArchitecture &model : tinyArchitectures()) {
        if (!hasFolderForm(model))
            continue;
        for (const bool isVersion5 : {false, true})
            QTest::addRow("%s, version %d", model.name.c_str(), isVersion5 ? 5 : 4)
                << QString::fromStdString(model.name) << isVersion5;
    }
}

/// The same weights in both containers: names, orders and settings of a folder are another language for one
/// model.
void TestFolders::sameAsGguf()
{
    QFETCH(QString, name);
    QFETCH(bool, isVersion5);
    QTemporaryDir directory;
    const std::filesystem::path at = directory.path().toStdString();
    const TinyArchitecture model = asFolderHasIt(tinyArchitectureNamed(name.toStdString()));
    const TinyTensors tensors = tinyTensors(model);
    tinyArchitecture(model, tensors).write(at / "model.gguf");
    TinyFolderOptions form;
    form.spelling = isVersion5 ? Spelling::Version5 : Spelling::Version4;
    form.shards = isVersion5 ? 3 : 1;
    writeTinyFolder(at / "folder", model, tensors, form);

    const Ids ids = randomIds(model.vocabulary);
    RunModel fromFile(at / "model.gguf", options());
    RunModel fromFolder(at / "folder", options());
    QVERIFY2(fromFolder.model().warnings().empty(),
             fromFolder.model().warnings().empty() ? "" : fromFolder.model().warnings()[0].c_str());
    QCOMPARE(fromFolder.model().config().parameters, fromFile.model().config().parameters -
                                                         fromFile.model().weights().ropeShortFactors.columns -
                                                         fromFile.model().weights().ropeLongFactors.columns);
    const double worst = worstDifference(fromFolder.feedAll(ids, 10), fromFile.feedAll(ids, 10));
    QVERIFY2(worst < 1e-4, std::to_string(worst).c_str());
}

void TestFolders::halves_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("type");
    // Each of these has something that is copied: transposed, grouped, or with a gain that is one too small.
    for (const char *name : {"llama biases", "gemma3", "gpt2", "bloom", "falcon with two norms", "mixtral"}) {
        QTest::addRow("%s, F16", name) << QString::fromLatin1(name) << int(StoreAs::F16);
        QTest::addRow("%s, BF16", name) << QString::fromLatin1(name) << int(StoreAs::Bf16);
    }
}

/// Weights that are stored as halves are those halves, in matrices, norms and biases.
void TestFolders::halves()
{
    QFETCH(QString, name);
    QFETCH(int, type);
    QTemporaryDir directory;
    const std::filesystem::path at = directory.path().toStdString();
    const TinyArchitecture model = asFolderHasIt(tinyArchitectureNamed(name.toStdString()));
    TinyTensors tensors = tinyTensors(model);
    TinyFolderOptions form;
    form.type = StoreAs(type);
    writeTinyFolder(at / "halves", model, tensors, form);
    const bool isOffset = model.architecture.starts_with("gemma");
    for (auto &[tensor, content] : tensors) {
        const float offset = isOffset && tensor.find("norm") != std::string::npos ? 1.0F : 0.0F;
        for (float &value : content.values)
            value = rounded(value - offset, form.type) + offset;
    }
    writeTinyFolder(at / "singles", model, tensors, {});

    const Ids ids = randomIds(model.vocabulary);
    const std::vector<float> expected = RunModel(at / "singles", options()).feedAll(ids, 10);
    RunModel halves(at / "halves", options());
    QCOMPARE(halves.model().mainType(), std::string(form.type == StoreAs::F16 ? "F16" : "BF16"));
    const double worst = worstDifference(halves.feedAll(ids, 10), expected);
    QVERIFY2(worst < 1e-4, std::to_string(worst).c_str());

    // What runs fast by default takes such weights as they are.
    RunOptions fast = options();
    fast.precision = Precision::Fast;
    const double worstFast = worstDifference(RunModel(at / "halves", fast).feedAll(ids, 10), expected);
    QVERIFY2(worstFast < 1e-4, std::to_string(worstFast).c_str());
}

void TestFolders::agreesWithGoldens_data()
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
                             "llama-rope-dynamic",
                             "llama-rope-linear",
                             "llama-rope-llama3",
                             "llama-rope-yarn",
                             "llama-tied-headdim",
                             "mistral-window",
                             "mixtral",
                             "mpt-alibi",
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

/// Random models of every architecture against another implementation's float32 results for the same folder.
void TestFolders::agreesWithGoldens()
{
    QFETCH(QString, name);
    TOKENLOUPE_NEED_SHARED(folders, "models/tiny_hf");
    const std::filesystem::path folder = folders / name.toStdString();
    const json golden = readJson(folder / "golden.json");
    QVERIFY(!golden["runs"].empty());
    for (const json &expected : golden["runs"]) {
        const Ids ids = expected["ids"];
        RunOptions run;
        run.context = static_cast<std::uint32_t>(ids.size()); // what scalings that depend on it are for
        RunModel model(folder, run);
        const std::vector<float> logits = model.feedAll(ids, 10);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto row = std::span(logits).subspan(i * model.vocabulary(), model.vocabulary());
            QVERIFY(std::abs(logSumExp(row) - expected["logsumexp"][i].get<double>()) < 1e-4);
            for (const json &entry : expected["top"][i]) {
                const auto got = static_cast<double>(row[entry[0].get<std::size_t>()]);
                QVERIFY(std::abs(got - entry[1].get<double>()) < 1e-4);
            }
        }
    }
}

/// A real, trained model gives the same text from its folder as from its GGUF file.
void TestFolders::storiesContinuations()
{
    TOKENLOUPE_NEED_SHARED(stories, "models/stories260K");
    RunOptions run;
    run.context = 512;
    const json golden = readJson(stories / "golden_greedy_f32.json");
    for (const json &expected : golden["runs"]) {
        RunModel model(stories / "hf", run);
        Ids ids = expected["prompt_ids"];
        const Ids wanted = expected["generated_ids"];
        Ids got;
        std::vector<float> logits = model.feed(ids);
        while (got.size() < wanted.size()) {
            got.push_back(argmax(logits));
            logits = model.feed({got.back()});
        }
        QCOMPARE(got, wanted);
    }
}

TOKENLOUPE_TEST_MAIN(TestFolders)
#include "tst_folders.moc"
