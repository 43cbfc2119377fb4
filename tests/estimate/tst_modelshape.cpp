// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvshape.h"
#include "engine/estimate/modelshape.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

const json plainShape = {{"layers", 2}, {"hidden", 64},  {"heads", 4},
                         {"ffn", 96},   {"vocab", 1000}, {"context", 256}};
const json plainConfig = {{"model_type", "llama"}, {"num_hidden_layers", 3},   {"hidden_size", 64},
                          {"vocab_size", 320},     {"num_attention_heads", 4}, {"intermediate_size", 96}};

std::string with(json object, const char *changes)
{
    object.merge_patch(json::parse(changes)); // null takes a field away
    return object.dump();
}

std::string windowsText(const ModelShape &shape)
{
    std::string text;
    for (const KvLayerShape &layer : shape.kvLayers)
        text += (text.empty() ? "" : " ") + (layer.heads == 0 ? "-" : std::to_string(layer.window));
    return text;
}

} // namespace

class TestModelShape : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void countsBuiltInShapes_data();
    void countsBuiltInShapes();
    void findsBuiltInShapes();
    void countsConfigs_data();
    void countsConfigs();
    void placesWindows_data();
    void placesWindows();
    void readsLatentAttention();
    void readsRecurrentLayers();
    void readsModelsOfSeveralParts();
    void placesExperts();
    void spellsTensorsOut();
    void refusesWrongShapes_data();
    void refusesWrongShapes();
    void refusesWrongConfigs_data();
    void refusesWrongConfigs();
    void survivesChangedCharacters();
};

void TestModelShape::countsBuiltInShapes_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<quint64>("published");
    const json list = readJson(sourcePath("resources/shapes.json"));
    QVERIFY(list.size() >= 40);
    for (const json &entry : list)
        QTest::addRow("%s", entry["name"].get<std::string>().c_str())
            << QString::fromStdString(entry["name"].get<std::string>())
            << quint64(entry["published"].get<std::uint64_t>());
}

void TestModelShape::countsBuiltInShapes()
{
    QFETCH(QString, name);
    QFETCH(quint64, published);
    const auto shape = builtInShape(name.toStdString());
    QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
    const double ratio = double(shape->parameters()) / double(published);
    QVERIFY2(std::abs(ratio - 1.0) <= 0.01, std::to_string(shape->parameters()).c_str());
    QCOMPARE(shape->source, std::string("built in"));
    QCOMPARE(shape->name, name.toStdString());
    QCOMPARE(shape->kvLayers.size(), std::size_t(shape->layers));
    QVERIFY(shape->activeParameters() > 0);
}

void TestModelShape::findsBuiltInShapes()
{
    QCOMPARE(builtInShape("llama 3.1 8b")->name, std::string("Llama-3.1-8B"));
    QCOMPARE(builtInShape("GPT_OSS_20B")->name, std::string("gpt-oss-20B"));
    const auto missing = builtInShape("Llama-3.1-9B");
    QVERIFY(!missing);
    QCOMPARE(missing.error().code, ErrorCode::NotFound);
    QVERIFY2(missing.error().message.find("Llama-3.1-8B") != std::string::npos,
             missing.error().message.c_str());
    QVERIFY(!builtInShape(""));
    // What one token multiplies by, as publishers name these models.
    QVERIFY(std::abs(builtInShape("Qwen3-30B-A3B")->activeParameters() / 3.0e9 - 1.0) < 0.05);
    QVERIFY(std::abs(builtInShape("DeepSeek-V3")->activeParameters() / 37.0e9 - 1.0) < 0.02);
    QVERIFY(std::abs(builtInShape("gpt-oss-120B")->activeParameters() / 5.1e9 - 1.0) < 0.02);
    QVERIFY(std::abs(builtInShape("Mixtral-8x7B")->activeParameters() / 12.9e9 - 1.0) < 0.02);
}

void TestModelShape::countsConfigs_data()
{
    QTest::addColumn<QString>("config");
    QTest::addColumn<quint64>("parameters");
    QTest::addColumn<QString>("architecture");
    const auto row = [](const char *name, const std::string &text, quint64 parameters, const char *arch) {
        QTest::addRow("%s", name) << QString::fromStdString(text) << parameters << arch;
    };
    // Of each layer: q and o 64 × 64, k and v (heads · 16) × 64, gate, up and down 96 × 64, two norms.
    constexpr quint64 ends = 2 * 320 * 64 + 64;
    constexpr quint64 mlp = 3 * 96 * 64;
    constexpr quint64 full = 4 * 64 * 64;
    constexpr quint64 norms = 2 * 64;
    row("llama", plainConfig.dump(), ends + 3 * (full + mlp + norms), "llama");
    row("grouped", with(plainConfig, R"({"num_key_value_heads": 2})"),
        ends + 3 * (full - 2 * 32 * 64 + mlp + norms), "llama");
    row("tied", with(plainConfig, R"({"tie_word_embeddings": true})"),
        ends - 320 * 64 + 3 * (full + mlp + norms), "llama");
    row("biases", with(plainConfig, R"({"attention_bias": true, "mlp_bias": true})"),
        ends + 3 * (full + 4 * 64 + mlp + 2 * 96 + 64 + norms), "llama");
    row("head size", with(plainConfig, R"({"head_dim": 24})"), ends + 3 * (4 * 96 * 64 + mlp + norms),
        "llama");
    row("whole floats", with(plainConfig, R"({"hidden_size": 64.0})"), ends + 3 * (full + mlp + norms),
        "llama");
    row("qwen2", with(plainConfig, R"({"model_type": "qwen2"})"), ends + 3 * (full + 3 * 64 + mlp + norms),
        "qwen2");
    row("qwen3", with(plainConfig, R"({"model_type": "qwen3", "head_dim": 16})"),
        ends + 3 * (full + 2 * 16 + mlp + norms), "qwen3");
    row("gemma2", with(plainConfig, R"({"model_type": "gemma2", "head_dim": 16})"),
        ends - 320 * 64 + 3 * (full + mlp + 2 * norms), "gemma2");
    row("phi", with(plainConfig, R"({"model_type": "phi"})"),
        ends + 64 + 320 + 3 * (full + 4 * 64 + 2 * 96 * 64 + 96 + 64 + norms), "phi2");
    row("olmo", with(plainConfig, R"({"model_type": "olmo"})"), ends - 64 + 3 * (full + mlp), "olmo");
    row("qwen2_moe",
        with(plainConfig, R"({"model_type": "qwen2_moe", "num_experts": 4, "num_experts_per_tok": 2,
                              "moe_intermediate_size": 32, "shared_expert_intermediate_size": 48})"),
        ends + 3 * (full + 3 * 64 + 4 * 64 + 4 * 3 * 32 * 64 + 3 * 48 * 64 + 64 + norms), "qwen2moe");
    row("gpt_oss", with(plainConfig, R"({"model_type": "gpt_oss", "head_dim": 16, "num_local_experts": 4,
                              "num_experts_per_tok": 2})"),
        ends + 3 * (full + 4 * 64 + 4 + 4 * 64 + 4 + 4 * (mlp + 2 * 96 + 64) + norms), "gpt-oss");
    row("gpt2", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 320,
                    "n_positions": 32})",
        352 * 64 + 128 + 2 * (full + 256 + 2 * 256 * 64 + 256 + 64 + 2 * norms), "gpt2");
    row("falcon", R"({"model_type": "falcon", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 320,
                      "num_attention_heads": 4, "new_decoder_architecture": true, "num_kv_heads": 2})",
        320 * 64 + 128 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 2 * 256 * 64 + 2 * norms), "falcon");
    row("python numbers",
        R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64, "vocab_size": 320,
                    "num_attention_heads": 4, "intermediate_size": 96, "limit": [0.0, Infinity, NaN, -Infinity],
                    "note": "Infinity \" NaN"})",
        ends + 3 * (full + mlp + norms), "llama");
}

void TestModelShape::countsConfigs()
{
    QFETCH(QString, config);
    QFETCH(quint64, parameters);
    QFETCH(QString, architecture);
    const auto shape = shapeOfJson(config.toStdString(), "own");
    QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
    QCOMPARE(quint64(shape->parameters()), parameters);
    QCOMPARE(shape->architecture, architecture.toStdString());
    QCOMPARE(shape->source, std::string("config.json"));
    QCOMPARE(shape->name, std::string("own"));
    QCOMPARE(shape->storedBytes(), std::uint64_t(0));
}

void TestModelShape::placesWindows_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("windows");
    const auto config = [](const char *name, const char *changes, const char *windows) {
        QTest::addRow("%s", name) << QString::fromStdString(with(plainConfig, changes)) << windows;
    };
    config("none", R"({})", "0 0 0");
    config("mistral", R"({"model_type": "mistral", "sliding_window": 8})", "8 8 8");
    config("mistral without", R"({"model_type": "mistral"})", "4096 4096 4096");
    config("gemma2", R"({"model_type": "gemma2", "sliding_window": 8, "num_hidden_layers": 5})", "8 0 8 0 8");
    config("gemma3", R"({"model_type": "gemma3_text", "sliding_window": 8, "num_hidden_layers": 7})",
           "8 8 8 8 8 0 8");
    config("pattern", R"({"model_type": "gemma3_text", "sliding_window": 8, "sliding_window_pattern": 2})",
           "8 0 8");
    config("layer types",
           R"({"model_type": "gemma3_text", "sliding_window": 8,
               "layer_types": ["full_attention", "sliding_attention", "full_attention"]})",
           "0 8 0");
    config("qwen2 off", R"({"model_type": "qwen2", "sliding_window": 8, "max_window_layers": 1})", "0 0 0");
    config(
        "qwen2 on",
        R"({"model_type": "qwen2", "sliding_window": 8, "max_window_layers": 1, "use_sliding_window": true})",
        "0 8 8");
    config("gpt_oss", R"({"model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 1})",
           "128 0 128");
    config("cohere2", R"({"model_type": "cohere2", "num_hidden_layers": 4, "sliding_window": 8})", "8 8 8 0");

    const auto plain = [](const char *name, const char *changes, const char *windows) {
        QTest::addRow("plain %s", name) << QString::fromStdString(with(plainShape, changes)) << windows;
    };
    plain("none", R"({})", "0 0");
    plain("all", R"({"sliding_window": 8})", "8 8");
    plain("listed", R"({"sliding_window": {"size": 8, "layers": [0, 1]}})", "0 8");
    plain("other name", R"({"sliding_window": {"size": 8, "layers_1_is_sliding": [1, 0]}})", "8 0");
    plain("every", R"({"layers": 5, "sliding_window": {"size": 8, "every": 3}})", "8 8 0 8 8");
}

void TestModelShape::placesWindows()
{
    QFETCH(QString, text);
    QFETCH(QString, windows);
    const auto shape = shapeOfJson(text.toStdString(), "own");
    QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
    QCOMPARE(QString::fromStdString(windowsText(*shape)), windows);
}

void TestModelShape::readsLatentAttention()
{
    // From a config, null meaning that queries are not compressed.
    const auto config = shapeOfJson(
        with(plainConfig, R"({"model_type": "deepseek_v2", "kv_lora_rank": 16, "qk_nope_head_dim": 12,
                              "qk_rope_head_dim": 4, "v_head_dim": 10})"),
        "latent");
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->latentRank, 16U);
    QCOMPARE(config->latentRopeSize, 4U);
    QCOMPARE(config->kvLayers.front(), (KvLayerShape{1, 20, 0, 0}));
    json text = json::parse(with(plainConfig, R"({"model_type": "deepseek_v2", "kv_lora_rank": 16,
                              "qk_nope_head_dim": 12, "qk_rope_head_dim": 4, "v_head_dim": 10})"));
    text["q_lora_rank"] = nullptr;
    const auto direct = shapeOfJson(text.dump(), "latent");
    const std::uint64_t layer = 4 * 16 * 64 + 20 * 64 + 16 + 4 * 22 * 16 + 64 * 40 + 3 * 96 * 64 + 2 * 64;
    QCOMPARE(direct->parameters(), 2 * 320 * 64 + 64 + 3 * layer);

    // In the estimator's own spelling with the fewest numbers.
    const auto plain = shapeOfJson(
        with(plainShape,
             R"({"head_dim": 24, "kv_heads": 1, "mla": {"kv_lora_rank": 16, "qk_rope_head_dim": 8}})"),
        "latent");
    QVERIFY2(plain, plain ? "" : plain.error().text().c_str());
    QCOMPARE(plain->kvLayers.front(), (KvLayerShape{1, 24, 0, 0}));
    QCOMPARE(KvShape({plain->kvLayers, KvType::F16, KvType::F16, 16}).bytesPerToken(),
             std::uint64_t(2 * 24 * 2));
}

void TestModelShape::readsRecurrentLayers()
{
    const auto mamba = builtInShape("Mamba-130M");
    QCOMPARE(mamba->stateBytesPerSequence, std::uint64_t(24 * 4 * (1536 * 3 + 1536 * 16)));
    QCOMPARE(mamba->kvLayers, std::vector<KvLayerShape>(24));
    const auto second = shapeOfJson(R"({"model_type": "mamba2", "num_hidden_layers": 2, "hidden_size": 64,
        "vocab_size": 320, "state_size": 8, "n_groups": 2, "num_heads": 4, "expand": 2})",
                                    "mamba2");
    QVERIFY2(second, second ? "" : second.error().text().c_str());
    const std::uint64_t mixed = 128 + 2 * 2 * 8;
    QCOMPARE(second->parameters(),
             2 * 320 * 64 + 64 + 2 * ((128 + mixed + 4) * 64 + mixed * 5 + 3 * 4 + 128 + 64 * 128 + 64));
    QCOMPARE(second->stateBytesPerSequence, 2 * 4 * (mixed * 3 + 128 * 8));

    // One layer in four keeps tokens.
    const auto hybrid = builtInShape("Qwen3-Next-80B-A3B");
    QCOMPARE(hybrid->stateBytesPerSequence, std::uint64_t(36 * 4 * (8192 * 3 + 32 * 128 * 128)));
    QCOMPARE(hybrid->kvLayers[2].heads, 0U);
    QCOMPARE(hybrid->kvLayers[3], (KvLayerShape{2, 256, 256, 0}));
    const auto jamba = builtInShape("Jamba-v0.1");
    QCOMPARE(std::count_if(jamba->kvLayers.begin(), jamba->kvLayers.end(),
                           [](const KvLayerShape &layer) { return layer.heads == 8; }),
             std::ptrdiff_t(4));
    QCOMPARE(jamba->kvLayers[4].heads, 8U);
    QCOMPARE(jamba->stateBytesPerSequence, std::uint64_t(28 * 4 * (8192 * 3 + 8192 * 16)));
}

void TestModelShape::readsModelsOfSeveralParts()
{
    // As published: the text part states little and leaves the rest to the family.
    const auto shape =
        shapeOfJson(R"({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
        "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
        "num_hidden_layers": 34, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152}})",
                    "gemma-3-4b");
    QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
    QCOMPARE(shape->parameters(), builtInShape("Gemma-3-4B")->parameters());
    QCOMPARE(shape->notes.size(), std::size_t(1));
    QVERIFY(shape->notes.front().find("vision") != std::string::npos);
}

void TestModelShape::placesExperts()
{
    const auto expertLayers = [](const Result<ModelShape> &shape) {
        for (const ShapeTensor &tensor : shape->tensors) {
            if (tensor.role == "ffn_up_exps")
                return tensor.layers;
        }
        return std::vector<std::uint32_t>();
    };
    const json config = json::parse(with(plainConfig, R"({"num_hidden_layers": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "num_experts": 8, "model_type": "qwen3_moe"})"));
    const std::vector<std::uint32_t> all = {0, 1, 2, 3};
    QCOMPARE(expertLayers(shapeOfJson(config.dump(), "own")), all);
    QCOMPARE(expertLayers(shapeOfJson(with(config, R"({"decoder_sparse_step": 2})"), "own")),
             (std::vector<std::uint32_t>{1, 3}));
    QCOMPARE(expertLayers(shapeOfJson(with(config, R"({"mlp_only_layers": [1]})"), "own")),
             (std::vector<std::uint32_t>{0, 2, 3}));
    QCOMPARE(expertLayers(shapeOfJson(with(config, R"({"model_type": "deepseek_v3", "num_experts": null,
                 "n_routed_experts": 8, "first_k_dense_replace": 3})"),
                                      "own")),
             (std::vector<std::uint32_t>{3}));
    const auto shape = shapeOfJson(config.dump(), "own");
    QCOMPARE(shape->experts, 8U);
    QCOMPARE(shape->expertsUsed, 2U);
}

void TestModelShape::spellsTensorsOut()
{
    const auto shape = shapeOfJson(with(plainShape, R"({"kv_heads": 2})"), "own");
    QVERIFY(shape);
    std::map<std::string, ShapeTensor> tensors;
    for (const ShapeTensor &tensor : shape->tensors)
        tensors[tensor.role] = tensor;
    QCOMPARE(tensors["attn_k"].rows, std::uint64_t(32));
    QCOMPARE(tensors["attn_k"].columns, std::uint64_t(64));
    QCOMPARE(tensors["attn_k"].count, std::uint64_t(2));
    QCOMPARE(tensors["attn_k"].layers, (std::vector<std::uint32_t>{0, 1}));
    QVERIFY(tensors["attn_k"].tensorClass == TensorClass::Attention);
    QVERIFY(tensors["ffn_down"].tensorClass == TensorClass::FeedForward);
    QCOMPARE(tensors["ffn_down"].columns, std::uint64_t(96));
    QVERIFY(tensors["attn_norm"].tensorClass == TensorClass::Norms);
    QVERIFY(tensors["output"].tensorClass == TensorClass::Output);
    QVERIFY(tensors["output"].layers.empty());
    QVERIFY(tensors["token_embd"].tensorClass == TensorClass::Embedding);
    QCOMPARE(tensors["token_embd"].activeShare, 0.001);
    QCOMPARE(std::string(tensorClassTitle(TensorClass::Embedding)), std::string("token embedding"));
    QCOMPARE(shape->headSize, 16U);
    QCOMPARE(shape->contextTrain, 256U);
}

void TestModelShape::refusesWrongShapes_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("message");
    const auto row = [](const char *name, const char *changes, const char *message) {
        QTest::addRow("%s", name) << QString::fromStdString(with(plainShape, changes)) << message;
    };
    row("zero", R"({"layers": 0})",
        "read shape own: field \"layers\": expected a whole number from 1 to 16384, found 0");
    row("negative", R"({"layers": -2})", "\"layers\": expected a whole number from 1 to 16384, found -2");
    row("fraction", R"({"hidden": 64.5})",
        "\"hidden\": expected a whole number from 1 to 16777216, found 64.5");
    row("string", R"({"heads": "4"})", "\"heads\": expected a whole number from 1 to 65536, found \"4\"");
    row("huge", R"({"vocab": 1000000000000000000})",
        "\"vocab\": expected a whole number from 1 to 2147483647, ");
    row("huger", R"({"ffn": 1e30})", "\"ffn\": expected a whole number from 1 to 16777216, found 1e+30");
    row("four billion layers", R"({"layers": 4294967295})", "\"layers\": expected a whole number");
    row("boolean", R"({"ffn": true})", "\"ffn\": expected a whole number from 1 to 16777216, found true");
    row("list", R"({"heads": [4, 4]})",
        "\"heads\": expected a whole number from 1 to 65536, found a list of 2");
    row("object", R"({"heads": {"a": 1}})", "found an object");
    row("missing layers", R"({"layers": null})",
        "\"layers\": expected a whole number from 1 to 16384, found nothing");
    row("missing vocab", R"({"vocab": null})", "\"vocab\": expected a whole number");
    row("missing ffn", R"({"ffn": null})", "\"ffn\": expected a whole number");
    row("more kv heads", R"({"kv_heads": 5})", "\"kv_heads\": expected a whole number from 1 to 4, found 5");
    row("uneven kv heads", R"({"kv_heads": 3})", "\"kv_heads\": expected a divisor of the 4 heads, found 3");
    row("more heads than width", R"({"heads": 65})",
        "\"heads\": expected a divisor of the width 64, found 65");
    row("uneven heads", R"({"heads": 3})", "\"heads\": expected a divisor of the width 64, found 3");
    row("tied", R"({"tied_embeddings": "yes"})",
        "\"tied_embeddings\": expected true or false, found \"yes\"");
    row("experts used", R"({"moe": {"experts": 4, "experts_per_token": 5}})",
        "\"moe.experts_per_token\": expected a whole number from 1 to 4, found 5");
    row("experts missing", R"({"moe": {"experts_per_token": 5}})",
        "\"moe.experts\": expected a whole number");
    row("moe list", R"({"moe": [1]})", "\"moe\": expected an object, found a list of 1");
    row("latent", R"({"mla": {"kv_lora_rank": 16}})", "\"mla.qk_rope_head_dim\": expected a whole number");
    row("window layers", R"({"sliding_window": {"size": 4, "layers": [1]}})",
        "\"sliding_window.layers\": expected a number for each of the 2 layers, found a list of 1");
    row("window", R"({"sliding_window": -1})", "\"sliding_window\": expected a whole number");
    row("qk norm", R"({"qk_norm": "odd"})", "\"qk_norm\"");
    row("too large together", R"({"layers": 16384, "hidden": 16777216, "ffn": 16777216, "vocab": 2147483647,
        "moe": {"experts": 65536, "experts_per_token": 1}})",
        "the sizes together are too large to be counted");
    const auto raw = [](const char *name, const QString &text, const char *message) {
        QTest::addRow("%s", name) << text << message;
    };
    raw("no json", "layers: 4", "expected JSON, found text that is not");
    raw("empty", "", "expected JSON");
    raw("cut", QString::fromStdString(plainShape.dump()).chopped(2), "expected JSON");
    raw("a list", "[1, 2]", "expected a JSON object, found array");
    raw("a number", "7", "expected a JSON object, found number");
    raw("nothing known", "{}", "\"model_type\": expected a config.json, or a shape");
    raw("deep", QString(100000, QLatin1Char('[')), "nested more than 64 deep");
}

void TestModelShape::refusesWrongShapes()
{
    QFETCH(QString, text);
    QFETCH(QString, message);
    const auto shape = shapeOfJson(text.toStdString(), "own");
    QVERIFY(!shape);
    QCOMPARE(shape.error().code, ErrorCode::InvalidArgument);
    const QString found = QString::fromStdString(shape.error().text());
    QVERIFY2(found.contains(message), qPrintable(found));
    QVERIFY2(!found.contains(QLatin1Char('\n')), qPrintable(found));
}

void TestModelShape::refusesWrongConfigs_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("isUnsupported");
    QTest::addColumn<QString>("message");
    const auto row = [](const char *name, const char *changes, bool isUnsupported, const char *message) {
        QTest::addRow("%s", name) << QString::fromStdString(with(plainConfig, changes)) << isUnsupported
                                  << message;
    };
    row("unknown", R"({"model_type": "rwkv99"})", true, "the family \"rwkv99\" is not known; known: llama, ");
    row("no family", R"({"model_type": null, "architectures": ["X"]})", true, "the family \"\" is not known");
    row("odd family", R"({"model_type": 3})", false, "\"model_type\": expected a text, found 3");
    row("encoder", R"({"is_encoder_decoder": true})", true, "encoder and a decoder");
    row("missing", R"({"num_hidden_layers": null})", false, "\"num_hidden_layers\": expected a whole number");
    row("string", R"({"hidden_size": "64"})", false,
        "\"hidden_size\": expected a whole number from 1 to 16777216, "
        "found \"64\"");
    row("zero heads", R"({"num_attention_heads": 0})", false,
        "\"num_attention_heads\": expected a whole number");
    row("uneven heads", R"({"num_attention_heads": 5})", false,
        "expected a divisor of the width 64, found 5");
    row("uneven kv heads", R"({"num_key_value_heads": 3})", false,
        "expected a divisor of the 4 heads, found 3");
    row("experts", R"({"model_type": "mixtral", "num_experts_per_tok": 9})", false,
        "\"num_experts_per_tok\": expected a whole number from 1 to 8, found 9");
    row("layer types", R"({"model_type": "gemma2", "layer_types": ["full_attention"]})", false,
        "\"layer_types\": expected one for each of the 3 layers, found 1");
    row("layer type", R"({"model_type": "gemma2", "layer_types": [1, 2, 3]})", false,
        "\"layer_types\": expected a list of texts, found 1");
    row("huge", R"({"vocab_size": 1000000000000000000})", false, "found 1000000000000000000");
}

void TestModelShape::refusesWrongConfigs()
{
    QFETCH(QString, text);
    QFETCH(bool, isUnsupported);
    QFETCH(QString, message);
    const auto shape = shapeOfJson(text.toStdString(), "own");
    QVERIFY(!shape);
    QCOMPARE(shape.error().code, isUnsupported ? ErrorCode::Unsupported : ErrorCode::InvalidArgument);
    const QString found = QString::fromStdString(shape.error().text());
    QVERIFY2(found.contains(message), qPrintable(found));
}

void TestModelShape::survivesChangedCharacters()
{
    const std::string texts[] = {
        with(plainShape, R"({"moe": {"experts": 4, "experts_per_token": 2}, "qk_norm": "default",
            "sliding_window": {"size": 4, "layers": [1, 0]}, "mla": {"kv_lora_rank": 8, "qk_rope_head_dim": 4}})"),
        with(plainConfig, R"({"model_type": "qwen3_next", "num_experts": 4, "num_experts_per_tok": 2,
            "layer_types": ["linear_attention", "full_attention", "linear_attention"], "mlp_only_layers": [1]})"),
    };
    for (const std::string &whole : texts) {
        QVERIFY2(shapeOfJson(whole, "whole"), whole.c_str());
        int read = 0;
        for (std::size_t place = 0; place < whole.size(); ++place) {
            for (const char change : {'0', '9', '-', '"', '[', '}', '\0', '\xFF'}) {
                std::string text = whole;
                text[place] = change;
                const auto shape = shapeOfJson(text, "changed");
                if (!shape) {
                    QVERIFY(!shape.error().text().empty() &&
                            shape.error().text().find('\n') == std::string::npos);
                    continue;
                }
                ++read;
                QVERIFY(shape->parameters() > 0 && shape->kvLayers.size() == shape->layers);
            }
            QVERIFY(!shapeOfJson(whole.substr(0, place), "cut"));
        }
        QVERIFY(read > 100);
    }
}

TOKENLOUPE_TEST_MAIN(TestModelShape)
#include "tst_modelshape.moc"
