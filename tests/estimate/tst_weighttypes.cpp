// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/modelshape.h"
#include "engine/estimate/weighttypes.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <cstdio>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

/// 16 layers of width 256: q and o 256 × 256, k and v 64 × 256, three feed-forward matrices 512 × 256.
constexpr const char *smallText = R"({"layers": 16, "hidden": 256, "heads": 8, "kv_heads": 2, "ffn": 512,
                                      "vocab": 1000, "context": 128})";

ModelShape shapeOf(const std::string &text)
{
    const auto shape = shapeOfJson(text, "small");
    if (!shape)
        qFatal("%s", shape.error().text().c_str());
    return *shape;
}

std::uint64_t bytesOf(const ModelShape &shape, std::string_view type)
{
    const auto plan = planWeights(shape, type);
    return plan ? plan->bytes : 0;
}

double ratio(std::uint64_t a, std::uint64_t b)
{
    return static_cast<double>(a) / static_cast<double>(b);
}

} // namespace

class TestWeightTypes : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void countsPlainTypes_data();
    void countsPlainTypes();
    void choosesMixtures_data();
    void choosesMixtures();
    void fallsBackForShortRows();
    void plansTiedHeads();
    void countsActiveBytes();
    void plansEverythingByEveryName();
    void readsNames();
    void keepsWhatTheFileIs();
    void agreesWithPublishedSizes_data();
    void agreesWithPublishedSizes();
    void agreesWithMeasuredFiles_data();
    void agreesWithMeasuredFiles();
    void agreesWithStories_data();
    void agreesWithStories();
    void agreesWithSmolLm();
};

void TestWeightTypes::countsPlainTypes_data()
{
    QTest::addColumn<QString>("type");
    QTest::addColumn<double>("layerBits"); // of a layer's matrices
    QTest::addColumn<double>("embeddingBits");
    QTest::addColumn<double>("outputBits");
    QTest::addColumn<double>("vectorBits");
    QTest::addRow("F32") << "F32" << 32.0 << 32.0 << 32.0 << 32.0;
    QTest::addRow("F16") << "F16" << 16.0 << 16.0 << 16.0 << 16.0;
    QTest::addRow("BF16") << "BF16" << 16.0 << 16.0 << 16.0 << 16.0;
    QTest::addRow("Q8_0") << "Q8_0" << 8.5 << 8.5 << 8.5 << 32.0;
    QTest::addRow("Q6_K") << "Q6_K" << 6.5625 << 6.5625 << 6.5625 << 32.0;
    QTest::addRow("Q5_1") << "Q5_1" << 6.0 << 6.0 << 6.5625 << 32.0;
    QTest::addRow("Q5_0") << "Q5_0" << 5.5 << 5.5 << 6.5625 << 32.0;
    QTest::addRow("Q4_1") << "Q4_1" << 5.0 << 5.0 << 6.5625 << 32.0;
    QTest::addRow("Q4_0") << "Q4_0" << 4.5 << 4.5 << 6.5625 << 32.0;
    QTest::addRow("Q5_K_S") << "Q5_K_S" << 5.5 << 5.5 << 6.5625 << 32.0;
    QTest::addRow("Q3_K_S") << "Q3_K_S" << 3.4375 << 3.4375 << 6.5625 << 32.0;
    QTest::addRow("TQ2_0") << "TQ2_0" << 2.0625 << 4.5 << 6.5625 << 32.0;
    QTest::addRow("TQ1_0") << "TQ1_0" << 1.6875 << 4.5 << 6.5625 << 32.0;
    QTest::addRow("FP8") << "FP8" << 8.0 << 16.0 << 16.0 << 16.0;
    QTest::addRow("INT4") << "INT4" << 4.15625 << 16.0 << 16.0 << 16.0;
    QTest::addRow("NF4") << "NF4" << 4.126953125 << 16.0 << 16.0 << 16.0;
    QTest::addRow("MXFP4") << "MXFP4" << 4.25 << 16.0 << 16.0 << 16.0;
}

void TestWeightTypes::countsPlainTypes()
{
    QFETCH(QString, type);
    QFETCH(double, layerBits);
    QFETCH(double, embeddingBits);
    QFETCH(double, outputBits);
    QFETCH(double, vectorBits);
    const auto plan = planWeights(shapeOf(smallText), type.toStdString());
    QVERIFY(plan);
    const double layerValues = 16.0 * (2 * 256 * 256 + 2 * 64 * 256 + 3 * 512 * 256);
    const double bits =
        layerBits * layerValues + (embeddingBits + outputBits) * 1000 * 256 + vectorBits * (16 * 2 + 1) * 256;
    QCOMPARE(plan->bytes, static_cast<std::uint64_t>(bits / 8 + 0.5));
    std::uint64_t sum = 0;
    std::uint64_t values = 0;
    for (const WeightClassBytes &part : plan->classes) {
        sum += part.bytes;
        values += part.values;
    }
    QCOMPARE(sum, plan->bytes);
    QCOMPARE(values, shapeOf(smallText).parameters());
    QVERIFY(std::abs(plan->bitsPerWeight - bits / static_cast<double>(values)) < 1e-3);
    QVERIFY(!plan->how.empty());
}

void TestWeightTypes::choosesMixtures_data()
{
    QTest::addColumn<QString>("type");
    QTest::addColumn<double>("expected"); // bits of all matrices of all layers
    constexpr double q = 256 * 256;
    constexpr double kv = 64 * 256;
    constexpr double ffn = 512 * 256;
    // Of 16 layers 8 get more bits: 0, 1, 4, 7, 10, 13, 14, 15.
    QTest::addRow("Q4_K_M") << "Q4_K_M"
                            << 16 * (2 * q + kv + 2 * ffn) * 4.5 + 8 * (kv + ffn) * 4.5 +
                                   8 * (kv + ffn) * 6.5625;
    QTest::addRow("Q5_K_M") << "Q5_K_M"
                            << 16 * (2 * q + kv + 2 * ffn) * 5.5 + 8 * (kv + ffn) * 5.5 +
                                   8 * (kv + ffn) * 6.5625;
    // The first four value matrices and the first eighth of the "down" ones.
    QTest::addRow("Q4_K_S") << "Q4_K_S"
                            << 16 * (2 * q + kv + 2 * ffn) * 4.5 + 12 * kv * 4.5 + 4 * kv * 5.5 +
                                   14 * ffn * 4.5 + 2 * ffn * 5.5;
    QTest::addRow("Q3_K_M") << "Q3_K_M"
                            << 16 * (q + kv + 2 * ffn) * 3.4375 + 16 * q * 4.5 + 2 * kv * 5.5 +
                                   14 * kv * 4.5 + ffn * 5.5 + 15 * ffn * 4.5;
    QTest::addRow("Q3_K_L") << "Q3_K_L" << 16 * (q + kv + 2 * ffn) * 3.4375 + 16 * (q + kv + ffn) * 5.5;
    QTest::addRow("Q2_K") << "Q2_K"
                          << 16 * (q + kv + 2 * ffn) * 2.625 + 16 * (q + ffn) * 3.4375 + 16 * kv * 4.5;
    QTest::addRow("IQ4_XS") << "IQ4_XS" << 16 * (2 * q + kv + 3 * ffn) * 4.25 + 16 * kv * 5.5;
    QTest::addRow("IQ3_XXS") << "IQ3_XXS"
                             << 16 * (q + kv) * 2.5625 + 16 * 3 * ffn * 3.0625 + 16 * q * 3.4375 +
                                    16 * kv * 4.5;
    QTest::addRow("IQ2_XXS") << "IQ2_XXS"
                             << 16 * (2 * q + kv + 2 * ffn) * 2.0625 + 16 * kv * 4.5 + 2 * ffn * 2.625 +
                                    14 * ffn * 2.0625;
}

void TestWeightTypes::choosesMixtures()
{
    QFETCH(QString, type);
    QFETCH(double, expected);
    const auto plan = planWeights(shapeOf(smallText), type.toStdString());
    QVERIFY(plan);
    double layers = 0;
    for (const WeightClassBytes &part : plan->classes) {
        if (part.tensorClass == TensorClass::Attention || part.tensorClass == TensorClass::FeedForward)
            layers += 8.0 * static_cast<double>(part.bytes);
    }
    QCOMPARE(layers, expected);
}

void TestWeightTypes::fallsBackForShortRows()
{
    // Rows of 96 values fill no block of 256 but three of 32; rows of 40 fill neither.
    const ModelShape shape =
        shapeOf(R"({"layers": 1, "hidden": 96, "heads": 2, "ffn": 40, "vocab": 10, "context": 8})");
    const double wide = 4.0 * 96 * 96 + 2.0 * 40 * 96; // rows of 96
    const double down = 40.0 * 96;
    const double vectors = 3.0 * 96 * 32;
    const double ends = 10.0 * 96;
    const auto expected = [&](double layerBits, double embedding, double output, double valueBits) {
        const double value = 96.0 * 96;
        return static_cast<std::uint64_t>(((wide - value) * layerBits + value * valueBits + down * 16 +
                                           ends * (embedding + output) + vectors) /
                                          8);
    };
    QCOMPARE(bytesOf(shape, "Q4_K_M"), expected(5.5, 5.5, 8.5, 8.5)); // Q4_K → Q5_0, Q6_K → Q8_0
    QCOMPARE(bytesOf(shape, "Q5_K_S"), expected(6.0, 6.0, 8.5, 6.0)); // Q5_K → Q5_1
    QCOMPARE(bytesOf(shape, "Q3_K_S"), expected(4.5, 4.5, 8.5, 4.5)); // Q3_K → IQ4_NL
    QCOMPARE(bytesOf(shape, "Q8_0"), expected(8.5, 8.5, 8.5, 8.5));
}

void TestWeightTypes::plansTiedHeads()
{
    json text = json::parse(smallText);
    text["tied_embeddings"] = true;
    const ModelShape tied = shapeOf(text.dump());
    const ModelShape separate = shapeOf(smallText);
    QCOMPARE(separate.parameters() - tied.parameters(), std::uint64_t(256000));
    // The one matrix is stored as the head is.
    QCOMPARE(bytesOf(separate, "Q4_0") - bytesOf(tied, "Q4_0"), std::uint64_t(256000 * 4.5 / 8));
    // A token reads the head either way, and of the embedding no more than a row.
    const auto tiedPlan = planWeights(tied, "F16");
    const auto separatePlan = planWeights(separate, "F16");
    QCOMPARE(separatePlan->activeBytes - tiedPlan->activeBytes, 512.0);
    QCOMPARE(tiedPlan->activeBytes, static_cast<double>(tiedPlan->bytes));
}

void TestWeightTypes::countsActiveBytes()
{
    json text = json::parse(smallText);
    text["moe"] = {{"experts", 10}, {"experts_per_token", 3}, {"expert_ffn", 128}, {"shared_experts", 2}};
    const ModelShape shape = shapeOf(text.dump());
    QCOMPARE(shape.experts, 10U);
    const auto plan = planWeights(shape, "F16");
    const double experts = 16.0 * 10 * 3 * 128 * 256 * 2;
    const double embedding = 1000.0 * 256 * 2;
    QCOMPARE(plan->activeBytes, static_cast<double>(plan->bytes) - experts * 0.7 - embedding + 512.0);
    const double activeValues = plan->activeBytes / 2 - 256;
    QVERIFY(std::abs(shape.activeParameters() - activeValues) < 0.5);
}

void TestWeightTypes::plansEverythingByEveryName()
{
    for (const std::string &name : builtInShapeNames()) {
        const auto shape = builtInShape(name);
        QVERIFY(shape);
        for (const std::string &type : weightTypeNames()) {
            if (type == "stored")
                continue;
            const auto plan = planWeights(*shape, type);
            QVERIFY2(plan, (name + " " + type).c_str());
            QCOMPARE(plan->type, type);
            QVERIFY2(plan->bitsPerWeight > 1.5 && plan->bitsPerWeight <= 32.0, (name + " " + type).c_str());
            QVERIFY(plan->activeBytes > 0 && plan->activeBytes <= static_cast<double>(plan->bytes) * 1.0001);
        }
        // Fewer bits, fewer bytes.
        std::uint64_t before = ~0ULL;
        for (const char *type :
             {"F32", "F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K", "IQ2_XXS"}) {
            const std::uint64_t bytes = bytesOf(*shape, type);
            QVERIFY2(bytes < before, (name + " " + type).c_str());
            before = bytes;
        }
    }
}

void TestWeightTypes::readsNames()
{
    const ModelShape shape = shapeOf(smallText);
    QCOMPARE(bytesOf(shape, "q4_k_m"), bytesOf(shape, "Q4_K_M"));
    QCOMPARE(bytesOf(shape, "q4-k-m"), bytesOf(shape, "Q4_K_M"));
    QCOMPARE(bytesOf(shape, "bf16"), bytesOf(shape, "F16"));
    QCOMPARE(bytesOf(shape, "awq"), bytesOf(shape, "INT4"));
    QCOMPARE(planWeights(shape, "q8_0")->type, std::string("Q8_0"));

    const auto unknown = planWeights(shape, "Q4_M");
    QVERIFY(!unknown);
    QCOMPARE(unknown.error().code, ErrorCode::InvalidArgument);
    QVERIFY2(unknown.error().message.find("\"Q4_M\"") != std::string::npos &&
                 unknown.error().message.find("Q4_K_M") != std::string::npos,
             unknown.error().text().c_str());
    QVERIFY(!planWeights(shape, ""));
    QVERIFY(!planWeights(shape, std::string(10000, 'Q')));
    const auto stored = planWeights(shape, "stored"); // there is no file
    QVERIFY(stored);
    QCOMPARE(stored->type, std::string("F16"));
    QCOMPARE(stored->bytes, bytesOf(shape, "F16"));
}

void TestWeightTypes::keepsWhatTheFileIs()
{
    TinyModelOptions options;
    options.type = TinyType::Q4_0;
    const auto bytes = tinyModelBytes(options);
    const auto file = GgufFile::parse(bytes, "tiny.gguf");
    QVERIFY(file);
    std::uint64_t stored = 0;
    for (const GgufTensor &tensor : (*file)->tensors())
        stored += tensor.bytes;
    const auto shape = shapeOfGguf(**file);
    QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
    QCOMPARE(shape->storedType, std::string("Q4_0"));
    QCOMPARE(shape->storedBytes(), stored);
    QCOMPARE(bytesOf(*shape, "stored"), stored);
    QCOMPARE(bytesOf(*shape, "Q4_0"), stored);
    QVERIFY(bytesOf(*shape, "Q8_0") > stored);
    QCOMPARE(shape->storedLayerType, std::string("Q4_0"));

    // Where the embedding alone holds most bytes, its type is not the file's.
    GgufWriter mixed = tinyModel(options);
    mixed.withoutTensor("token_embd.weight");
    const std::vector<std::byte> wide(64 * 8000 * 34 / 32);
    mixed.tensor("token_embd.weight", {64, 8000}, 8, wide);
    const auto mixedBytes = mixed.bytes();
    const auto mixedFile = GgufFile::parse(mixedBytes, "mixed.gguf");
    QVERIFY(mixedFile);
    const auto mixedShape = shapeOfGguf(**mixedFile);
    QCOMPARE(mixedShape->storedType, std::string("Q8_0"));
    QVERIFY(mixedShape->storedLayerType.empty());
    QVERIFY(bytesOf(*mixedShape, "Q8_0") > bytesOf(*mixedShape, "stored"));

    // Files keep vectors as float32 beside 16-bit matrices.
    options.type = TinyType::F16;
    const auto half = tinyModelBytes(options);
    const auto halfFile = GgufFile::parse(half, "half.gguf");
    QCOMPARE(bytesOf(*shape, "F16"), shapeOfGguf(**halfFile)->storedBytes());
}

void TestWeightTypes::agreesWithPublishedSizes_data()
{
    QTest::addColumn<QString>("shape");
    QTest::addColumn<QString>("type");
    QTest::addColumn<double>("gigabytes"); // of the files that people download
    QTest::addRow("Llama 3 8B INT4") << "Llama-3-8B"
                                     << "INT4" << 5.73;
    QTest::addRow("Llama 3 8B FP8") << "Llama-3-8B"
                                    << "FP8" << 9.08;
    QTest::addRow("Llama 3 8B NF4") << "Llama-3-8B"
                                    << "NF4" << 5.70;
    QTest::addRow("Llama 3 8B Q4_K_M") << "Llama-3-8B"
                                       << "Q4_K_M" << 4.92;
    QTest::addRow("Llama 3 8B Q3_K_M") << "Llama-3-8B"
                                       << "Q3_K_M" << 4.02;
    QTest::addRow("Llama 3 8B Q6_K") << "Llama-3-8B"
                                     << "Q6_K" << 6.60;
    QTest::addRow("Llama 3 8B Q8_0") << "Llama-3-8B"
                                     << "Q8_0" << 8.54;
    QTest::addRow("Llama 3 8B IQ2_XS") << "Llama-3-8B"
                                       << "IQ2_XS" << 2.61;
    QTest::addRow("Llama 3 8B IQ3_M") << "Llama-3-8B"
                                      << "IQ3_M" << 3.78;
    QTest::addRow("Llama 3 8B IQ1_S") << "Llama-3-8B"
                                      << "IQ1_S" << 2.02;
    QTest::addRow("Mixtral 8x7B Q4_K_M") << "Mixtral-8x7B"
                                         << "Q4_K_M" << 28.45;
    QTest::addRow("gpt-oss 20B MXFP4") << "gpt-oss-20B"
                                       << "MXFP4" << 13.76;
    QTest::addRow("gpt-oss 20B MXFP4_MOE") << "gpt-oss-20B"
                                           << "MXFP4_MOE" << 12.1;
}

void TestWeightTypes::agreesWithPublishedSizes()
{
    QFETCH(QString, shape);
    QFETCH(QString, type);
    QFETCH(double, gigabytes);
    const auto known = builtInShape(shape.toStdString());
    QVERIFY(known);
    const double planned = static_cast<double>(bytesOf(*known, type.toStdString())) / 1e9;
    QVERIFY2(std::abs(planned / gigabytes - 1.0) < 0.01, std::to_string(planned).c_str());
}

void TestWeightTypes::agreesWithMeasuredFiles_data()
{
    // Files made by the plain quantiser; others under the same type names hold mixtures made by hand.
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("size");
    QTest::addRow("R1 F16") << "DeepSeek-V3 / R1 (671B)"
                            << "F16"
                            << "1251.990 GiB";
    QTest::addRow("R1 Q8_0") << "DeepSeek-V3 / R1 (671B)"
                             << "Q8_0"
                             << "664.295 GiB";
    QTest::addRow("R1 Q4_K_M") << "DeepSeek-V3 / R1 (671B)"
                               << "Q4_K_M"
                               << "376.650 GiB";
    QTest::addRow("R1 Q2_K") << "DeepSeek-V3 / R1 (671B)"
                             << "Q2_K"
                             << "227.689 GiB";
    QTest::addRow("V3 Q8_0") << "DeepSeek-V3 / R1 (671B)"
                             << "Q8_0"
                             << "665.308 GiB";
    QTest::addRow("V3 Q4_K_M") << "DeepSeek-V3 / R1 (671B)"
                               << "Q4_K_M"
                               << "379.030 GiB";
    QTest::addRow("Gemma 27B Q4_K_M") << "Gemma-3-27b-it"
                                      << "Q4_K_M"
                                      << "15.404 GiB";
    QTest::addRow("Gemma 27B Q4_0") << "Gemma-3-27b-it"
                                    << "Q4_0"
                                    << "14.539 GiB";
    QTest::addRow("Gemma 27B IQ4_XS") << "Gemma-3-27b-it"
                                      << "IQ4_XS"
                                      << "13.747 GiB";
    QTest::addRow("Qwen3 235B Q8_0") << "Qwen3-235B-A22B"
                                     << "Q8_0"
                                     << "232.769 GiB";
    QTest::addRow("Qwen3 235B Q6_K") << "Qwen3-235B-A22B"
                                     << "Q6_K"
                                     << "179.754 GiB";
    QTest::addRow("Qwen3 30B Q5_K_M") << "Qwen3-30B-A3B"
                                      << "Q5_K_M"
                                      << "20.228 GiB";
    QTest::addRow("Qwen3 32B Q4_0") << "Qwen3-32B"
                                    << "Q4_0"
                                    << "17.413 GiB";
    QTest::addRow("Llama 2 7B Q4_K_M") << "Llama-2-7b-hf"
                                       << "Q4_K_M"
                                       << "3.80 GiB";
    QTest::addRow("Pythia 2.8B Q4_0") << "pythia-2.8b"
                                      << "Q4_0"
                                      << "1.49 GiB";
    QTest::addRow("Pythia 2.8B Q4_1") << "pythia-2.8b"
                                      << "Q4_1"
                                      << "1.64 GiB";
    QTest::addRow("Pythia 2.8B Q3_K_M") << "pythia-2.8b"
                                        << "Q3_K_M"
                                        << "1.37 GiB";
}

void TestWeightTypes::agreesWithMeasuredFiles()
{
    TOKENLOUPE_NEED_SHARED(path, "vram/facts.json");
    QFETCH(QString, model);
    QFETCH(QString, type);
    QFETCH(QString, size);
    const json facts = readJson(path);
    for (const json &row : facts["measured"]) {
        if (!QString::fromStdString(row.value("file_size", std::string())).startsWith(size))
            continue;
        for (json known : facts["models"]) {
            if (known["id"] != model.toStdString())
                continue;
            known["embedding_rows"] = row["n_vocab"];
            const ModelShape shape = shapeOf(known.dump());
            const double planned =
                static_cast<double>(bytesOf(shape, type.toStdString())) / (1024.0 * 1024 * 1024);
            const double measured = size.split(QLatin1Char(' ')).first().toDouble();
            QVERIFY2(std::abs(planned / measured - 1.0) < 0.01, std::to_string(planned).c_str());
            return;
        }
    }
    QFAIL("the reference lacks this row");
}

void TestWeightTypes::agreesWithStories_data()
{
    QTest::addColumn<QString>("type");
    for (const char *type : {"F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0"})
        QTest::addRow("%s", type) << type;
}

void TestWeightTypes::agreesWithStories()
{
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    QFETCH(QString, type);
    const auto stored = readModelShape(folder / ("stories260K-" + type.toLower().toStdString() + ".gguf"));
    const auto other =
        readModelShape(folder / (type == "F32" ? "stories260K-f16.gguf" : "stories260K-f32.gguf"));
    QVERIFY2(stored, stored ? "" : stored.error().text().c_str());
    QVERIFY(other);
    QCOMPARE(stored->storedType, type.toStdString());
    const std::uint64_t inFile = bytesOf(*stored, "stored");
    QCOMPARE(inFile, stored->storedBytes());
    QCOMPARE(bytesOf(*stored, type.toStdString()), inFile);
    // These files hold the tied embedding in the type itself, quantisers would in Q8_0 (64 values fill no
    // block of Q6_K).
    std::uint64_t planned = bytesOf(*other, type.toStdString());
    for (const ShapeTensor &tensor : stored->tensors) {
        if (tensor.role == "token_embd" && type != "F32" && type != "F16" && type != "BF16")
            planned -= 512 * 2 * 34 - tensor.storedBytes;
    }
    QVERIFY2(std::abs(ratio(planned, inFile) - 1.0) < 0.001, std::to_string(planned).c_str());
}

void TestWeightTypes::agreesWithSmolLm()
{
    TOKENLOUPE_NEED_SMOL(path);
    const auto shape = readModelShape(path);
    QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
    const auto file = GgufFile::open(path);
    std::uint64_t stored = 0;
    for (const GgufTensor &tensor : (*file)->tensors())
        stored += tensor.bytes;
    QCOMPARE(bytesOf(*shape, "stored"), stored);
    QCOMPARE(shape->storedType, std::string("Q4_1"));
    const auto known = builtInShape("SmolLM2-135M");
    QCOMPARE(shape->parameters(), known->parameters());
    QCOMPARE(bytesOf(*known, "Q4_1"), stored);
    QCOMPARE(shape->kvLayers.size(), std::size_t(30));
    QCOMPARE(shape->kvLayers.front(), (KvLayerShape{3, 64, 64, 0}));
    QCOMPARE(shape->contextTrain, known->contextTrain);
}

TOKENLOUPE_TEST_MAIN(TestWeightTypes)
#include "tst_weighttypes.moc"
