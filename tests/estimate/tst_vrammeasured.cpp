// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvplan.h"
#include "engine/estimate/estimate.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <cmath>
#include <numeric>
#include <set>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

Q_DECLARE_METATYPE(json)
Q_DECLARE_METATYPE(KvLayerShape)

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

std::uint64_t numberOf(const json &row, const char *key, std::uint64_t otherwise = 0)
{
    return row.contains(key) && row[key].is_number() ? row[key].get<std::uint64_t>() : otherwise;
}

/// KV heads of each layer: one number for all, or a list (written as text).
std::vector<std::uint32_t> kvHeadsOf(const json &row)
{
    if (row.contains("n_head_kv") && row["n_head_kv"].is_string())
        return json::parse(row["n_head_kv"].get<std::string>()).get<std::vector<std::uint32_t>>();
    return std::vector<std::uint32_t>(numberOf(row, "n_layer"),
                                      static_cast<std::uint32_t>(numberOf(row, "n_head_kv")));
}

KvType typeOf(const json &row, const char *part)
{
    const auto type = row.contains("kv_parts") && row["kv_parts"].contains(part)
                          ? kvTypeOf(row["kv_parts"][part]["type"].get<std::string>())
                          : kvTypeOf(row.value("kv_type", "f16"));
    return type.value_or(KvType::F16);
}

/// What an engine stored: keys and values of every layer at full length (these engines knew no windows).
KvShape shapeOfRow(const json &row)
{
    KvShape shape;
    const auto heads = static_cast<std::uint32_t>(numberOf(row, "n_head"));
    const auto width = static_cast<std::uint32_t>(numberOf(row, "n_embd"));
    auto keySize = static_cast<std::uint32_t>(numberOf(row, "n_embd_head_k", heads > 0 ? width / heads : 0));
    auto valueSize = static_cast<std::uint32_t>(numberOf(row, "n_embd_head_v", keySize));
    shape.keyType = typeOf(row, "K");
    shape.valueType = typeOf(row, "V");
    for (const std::uint32_t count : kvHeadsOf(row))
        shape.layers.push_back({count, keySize, valueSize, 0});
    if (!row.contains("kv_parts") || !row["kv_parts"].contains("c^KV"))
        return shape;
    // Latent: one vector of the rank and the rotary part; "kv^T" is a second copy of the rank for values.
    const auto rank = static_cast<std::uint32_t>(numberOf(row, "n_lora_kv"));
    const bool hasCopy = row["kv_parts"].contains("kv^T");
    shape.keyType = typeOf(row, "c^KV");
    shape.valueType = hasCopy ? typeOf(row, "kv^T") : shape.keyType;
    shape.layers.assign(numberOf(row, "n_layer"), {1, rank + 64, hasCopy ? rank : 0, 0});
    return shape;
}

/// Rows that lack the head count or size of a layer cannot be computed from.
bool isComputable(const json &row)
{
    if (!row.contains("kv_total_MiB") || numberOf(row, "n_layer") == 0 || numberOf(row, "n_ctx") == 0)
        return false;
    for (const KvLayerShape &layer : shapeOfRow(row).layers) {
        if (layer.heads > 0 && layer.keySize == 0)
            return false;
    }
    return row.contains("n_head_kv");
}

double kvMebibytes(const json &row, const KvShape &shape)
{
    KvPlanSettings room;
    room.contextTokens = numberOf(row, "n_ctx");
    room.batchTokens = numberOf(row, "n_ubatch", 512);
    room.layout = KvLayout::Contiguous;
    const auto plan = planKv(shape, room);
    return plan ? static_cast<double>(plan->bytes) / mebibyte : -1.0;
}

/// The shape as the estimator would have read it, for the buffers.
ModelShape modelOfRow(const json &row)
{
    ModelShape shape;
    shape.name = row.value("model", "row");
    shape.layers = static_cast<std::uint32_t>(numberOf(row, "n_layer"));
    shape.embedding = static_cast<std::uint32_t>(numberOf(row, "n_embd"));
    shape.heads = static_cast<std::uint32_t>(numberOf(row, "n_head"));
    shape.headSize = static_cast<std::uint32_t>(
        numberOf(row, "n_embd_head_k", shape.heads > 0 ? shape.embedding / shape.heads : 0));
    shape.feedForward = static_cast<std::uint32_t>(numberOf(row, "n_ff"));
    shape.vocabulary = static_cast<std::uint32_t>(numberOf(row, "n_vocab"));
    shape.experts = static_cast<std::uint32_t>(numberOf(row, "n_expert"));
    shape.expertsUsed = static_cast<std::uint32_t>(numberOf(row, "n_expert_used"));
    shape.kvLayers = shapeOfRow(row).layers;
    const bool isLatent = row.contains("kv_parts") && row["kv_parts"].contains("c^KV");
    if (isLatent) {
        shape.latentRank = static_cast<std::uint32_t>(numberOf(row, "n_lora_kv"));
        shape.latentRopeSize = 64;
        shape.headSize = 192; // logs of latent models that count one KV head give the latent width
    }
    const auto add = [&](TensorClass tensorClass, const char *role, std::uint64_t rows,
                         std::uint64_t columns) {
        ShapeTensor tensor;
        tensor.tensorClass = tensorClass;
        tensor.role = role;
        tensor.rows = rows;
        tensor.columns = columns;
        tensor.count = shape.layers;
        shape.tensors.push_back(tensor);
    };
    const std::uint64_t valueSize = isLatent ? 128 : numberOf(row, "n_embd_head_v", shape.headSize);
    add(TensorClass::Attention, "attn_output", shape.embedding, shape.heads * valueSize);
    if (shape.experts > 0)
        add(TensorClass::Experts, "ffn_down_exps", shape.embedding, numberOf(row, "n_ff_exp"));
    else
        add(TensorClass::FeedForward, "ffn_down", shape.embedding, shape.feedForward);
    return shape;
}

/// Where the whole model runs on one device: there is one compute buffer that holds all of a pass (small
/// ones of a few MiB beside it are inputs). 0: not such a row.
double singleBuffer(const json &row)
{
    if (!row.contains("compute_buffers_MiB"))
        return 0.0;
    double buffer = 0.0;
    int devices = 0;
    for (const auto &[device, bytes] : row["compute_buffers_MiB"].items()) {
        if (device == "CUDA_Host" || bytes.get<double>() == 0.0)
            continue;
        ++devices;
        buffer = bytes.get<double>();
    }
    return devices == 1 ? buffer : 0.0;
}

} // namespace

/// Against what engines printed when they loaded a model.
class TestVramMeasured : public QObject
{
    Q_OBJECT

private slots:
    void slidingWindows_data();
    void slidingWindows();
    void keysAndValues_data();
    void keysAndValues();
    void manyRowsAreComputable();
    void computeBuffers_data();
    void computeBuffers();
    void buffersFollowTheSettings();
};

void TestVramMeasured::slidingWindows_data()
{
    QTest::addColumn<int>("layers");
    QTest::addColumn<int>("every"); // n-th layer sees all
    QTest::addColumn<KvLayerShape>("layer");
    QTest::addColumn<int>("type");
    QTest::addColumn<quint64>("context");
    QTest::addColumn<quint64>("microBatch");
    QTest::addColumn<double>("mebibytes");
    // Gemma 3 270M, 8192 tokens: 3 layers of 8192 cells, 15 of 1024.
    QTest::newRow("one KV head of 256") << 18 << 6 << KvLayerShape{1, 256, 256, 512} << int(KvType::F16)
                                        << quint64(8192) << quint64(512) << 39.0;
    QTest::newRow("inside of the window") << 18 << 6 << KvLayerShape{1, 256, 256, 512} << int(KvType::F16)
                                          << quint64(1024) << quint64(512) << 18.0;
    // gpt-oss 20B, 8192 tokens in q8_0: 12 layers of 8192 cells (102 MiB), 12 of 256 (3.19 MiB).
    QTest::newRow("window of 128") << 24 << 2 << KvLayerShape{8, 64, 64, 128} << int(KvType::Q8_0)
                                   << quint64(8192) << quint64(128) << 105.19;
}

void TestVramMeasured::slidingWindows()
{
    QFETCH(int, layers);
    QFETCH(int, every);
    QFETCH(KvLayerShape, layer);
    QFETCH(int, type);
    QFETCH(quint64, context);
    QFETCH(quint64, microBatch);
    QFETCH(double, mebibytes);
    auto shape = std::make_shared<ModelShape>(modelOfRow(json{
        {"n_layer", layers}, {"n_embd", 640}, {"n_head", 8}, {"n_head_kv", layer.heads}, {"n_vocab", 1000}}));
    for (int i = 0; i < layers; ++i) {
        shape->kvLayers[std::size_t(i)] = layer;
        if (i % every == every - 1)
            shape->kvLayers[std::size_t(i)].window = 0;
    }
    EstimateRequest request;
    request.shape = shape;
    request.weightType = "F16";
    request.contextTokens = context;
    request.microBatch = microBatch;
    request.keyType = request.valueType = static_cast<KvType>(type);
    request.capacityBytes = std::uint64_t(1) << 50;
    const auto result = estimate(request);
    QVERIFY2(result, result ? "" : result.error().text().c_str());
    QCOMPARE(result->parts[1].name, std::string("kv_cache"));
    QVERIFY2(std::abs(static_cast<double>(result->parts[1].bytes) / mebibyte - mebibytes) < 0.01,
             std::to_string(static_cast<double>(result->parts[1].bytes) / mebibyte).c_str());
    QCOMPARE(result->parts[1].bytes,
             std::accumulate(result->kvByLayer.begin(), result->kvByLayer.end(), std::uint64_t(0)));
}

void TestVramMeasured::keysAndValues_data()
{
    TOKENLOUPE_NEED_SHARED(path, "vram/facts.json");
    QTest::addColumn<json>("row");
    const json facts = readJson(path);
    for (const json &row : facts["measured"]) {
        if (isComputable(row))
            QTest::addRow("%s", row["id"].get<std::string>().c_str()) << row;
    }
}

void TestVramMeasured::keysAndValues()
{
    QFETCH(json, row);
    KvShape shape = shapeOfRow(row);
    const double measured = row["kv_total_MiB"].get<double>();
    if (row["id"] == "m138") { // llama.cpp with windows: every sixth layer sees all
        for (std::size_t i = 0; i < shape.layers.size(); ++i)
            shape.layers[i].window = i % 6 == 5 ? 0 : 512;
    }
    const double computed = kvMebibytes(row, shape);
    QVERIFY2(std::abs(computed - measured) < 1.0,
             (std::to_string(computed) + " computed, " + std::to_string(measured) + " measured").c_str());
}

void TestVramMeasured::manyRowsAreComputable()
{
    TOKENLOUPE_NEED_SHARED(path, "vram/facts.json");
    const json facts = readJson(path);
    int computable = 0;
    std::set<std::string> lacking;
    for (const json &row : facts["measured"]) {
        if (isComputable(row))
            ++computable;
        else
            lacking.insert(row["id"].get<std::string>());
    }
    // What is left out states no layer count, no heads or no total: m133 (no heads), m135 and m159 (no
    // cache), m137 (two caches, no total), m142 and m157 (no layers).
    const std::set<std::string> expected{"m133", "m135", "m137", "m142", "m157", "m159"};
    std::string list;
    for (const std::string &id : lacking)
        list += id + " ";
    QVERIFY2(std::includes(expected.begin(), expected.end(), lacking.begin(), lacking.end()), list.c_str());
    QVERIFY(computable >= 80);
}

void TestVramMeasured::computeBuffers_data()
{
    TOKENLOUPE_NEED_SHARED(path, "vram/facts.json");
    QTest::addColumn<json>("row");
    const json facts = readJson(path);
    for (const json &row : facts["measured"]) {
        const bool isKnown = row.contains("n_embd") && row.contains("n_vocab") && row.contains("n_ubatch") &&
                             row.contains("flash_attn") && row.contains("n_head") &&
                             row["n_head"].is_number() && isComputable(row);
        if (isKnown && singleBuffer(row) > 0.0)
            QTest::addRow("%s", row["id"].get<std::string>().c_str()) << row;
    }
}

void TestVramMeasured::computeBuffers()
{
    QFETCH(json, row);
    const double measured = singleBuffer(row);
    // Weights that lie on the host were copied into the card's buffer when they were needed: experts (m025,
    // m109), the output head in 16 bits (m097). That is no activation.
    static const std::set<std::string> copiesWeights{"m025", "m109", "m097"};
    const bool isCopy = copiesWeights.contains(row["id"].get<std::string>());
    EstimateRequest request;
    request.shape = std::make_shared<ModelShape>(modelOfRow(row));
    request.weightType = "F16";
    request.contextTokens = numberOf(row, "n_ctx");
    request.microBatch = numberOf(row, "n_ubatch");
    request.attention = numberOf(row, "flash_attn") == 1 ? AttentionKind::Flash : AttentionKind::ScoreMatrix;
    request.capacityBytes = std::uint64_t(1) << 50;
    request.keyType = request.valueType = KvType::F16;
    const auto result = estimate(request);
    QVERIFY2(result, result ? "" : result.error().text().c_str());
    double computed = 0.0;
    for (const EstimatePart &part : result->parts) {
        if (part.name == "activations" || part.name == "logits")
            computed += static_cast<double>(part.bytes) / mebibyte;
    }
    const double ratio = computed / measured;
    const std::string text =
        std::to_string(computed) + " computed, " + std::to_string(measured) + " measured";
    if (isCopy)
        QVERIFY2(ratio < 0.5, text.c_str());
    else
        QVERIFY2(ratio > 0.5 && ratio < 2.0, text.c_str());
}

void TestVramMeasured::buffersFollowTheSettings()
{
    EstimateRequest request;
    request.shape = std::make_shared<ModelShape>(modelOfRow(json{{"n_layer", 32},
                                                                 {"n_embd", 4096},
                                                                 {"n_head", 32},
                                                                 {"n_head_kv", 8},
                                                                 {"n_ff", 14336},
                                                                 {"n_vocab", 32000}}));
    request.weightType = "F16";
    request.capacityBytes = std::uint64_t(1) << 50;
    request.contextTokens = 32768;
    const auto buffers = [&] {
        const auto result = estimate(request);
        std::uint64_t sum = 0;
        for (const EstimatePart &part : result->parts) {
            if (part.name == "activations")
                sum += part.bytes;
        }
        return sum;
    };
    const std::uint64_t flash = buffers();
    request.attention = AttentionKind::ScoreMatrix;
    const std::uint64_t scores = buffers();
    // An engine's log for these sizes: 2144 MiB without flash attention.
    QCOMPARE(scores, std::uint64_t(2144) << 20);
    QVERIFY(flash < scores / 8);
    request.contextTokens = 65536;
    QVERIFY(buffers() > scores * 19 / 10);
    request.microBatch = 1024;
    QVERIFY(buffers() > scores * 38 / 10);
    request.attention = AttentionKind::Flash;
    request.contextTokens = 32768;
    request.microBatch = 2048;
    QVERIFY(buffers() > 3 * flash && buffers() < 5 * flash);
}

TOKENLOUPE_TEST_MAIN(TestVramMeasured)
#include "tst_vrammeasured.moc"
