// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/configtext.h"
#include "engine/model/hf/hfconfig.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>

using namespace tokenloupe;
using nlohmann::json;

namespace {

Result<HfConfig> read(const json &config, std::uint64_t tensors = 0)
{
    // As it comes from a file: numbers from 0 are unsigned there.
    return readHfConfig(withTextPart(json::parse(config.dump())),
                        {"test", "read config.json of test", ErrorCode::BadFile}, tensors);
}

/// A config of a type with nothing but these fields.
HfConfig defaults(const char *type, const json &fields = json::object())
{
    json config{{"model_type", type}};
    config.update(fields);
    const auto result = read(config);
    return result ? *result : HfConfig();
}

} // namespace

Q_DECLARE_METATYPE(nlohmann::json)

class TestHfConfig : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void absentFields_data();
    void absentFields();
    void windows();
    void headsAndSizes();
    void rotation();
    void nestedRotation();
    void softCaps();
    void tiedHeads();
    void falcons();
    void textPart();
    void refuses_data();
    void refuses();
};

void TestHfConfig::absentFields_data()
{
    QTest::addColumn<QString>("type");
    QTest::addColumn<json>(
        "expected"); // width, layers, heads, kvHeads, head size, inner, vocabulary, context
    QTest::addColumn<double>("epsilon");
    QTest::addColumn<double>("base");
    const auto row = [](const char *type, const json &sizes, double epsilon, double base) {
        QTest::newRow(type) << QString::fromLatin1(type) << sizes << epsilon << base;
    };
    row("llama", {4096, 32, 32, 32, 128, 11008, 32000, 2048}, 1e-6, 1e4);
    row("mistral", {4096, 32, 32, 8, 128, 14336, 32000, 131072}, 1e-6, 1e4);
    row("mixtral", {4096, 32, 32, 8, 128, 14336, 32000, 131072}, 1e-5, 1e6);
    row("qwen2", {4096, 32, 32, 32, 128, 22016, 151936, 32768}, 1e-6, 1e4);
    row("qwen3", {4096, 32, 32, 32, 128, 22016, 151936, 32768}, 1e-6, 1e4);
    row("qwen3_moe", {2048, 24, 32, 4, 64, 6144, 151936, 32768}, 1e-6, 1e4);
    row("gemma", {3072, 28, 16, 16, 256, 24576, 256000, 8192}, 1e-6, 1e4);
    row("gemma2", {2304, 26, 8, 4, 256, 9216, 256000, 8192}, 1e-6, 1e4);
    row("gemma3_text", {2304, 26, 8, 4, 256, 9216, 262208, 131072}, 1e-6, 1e6);
    row("phi3", {3072, 32, 32, 32, 96, 8192, 32064, 4096}, 1e-5, 1e4);
    row("gpt2", {768, 12, 12, 12, 64, 3072, 50257, 1024}, 1e-5, 1e4);
    row("starcoder2", {3072, 30, 24, 2, 128, 12288, 49152, 4096}, 1e-5, 1e4);
    row("smollm3", {2048, 36, 16, 4, 128, 11008, 128256, 32768}, 1e-6, 2e6);
    row("olmo2", {4096, 32, 32, 32, 128, 11008, 50304, 2048}, 1e-5, 1e4);
    row("falcon", {4544, 32, 71, 1, 64, 18176, 65024, 2048}, 1e-5, 1e4);
    row("bloom", {64, 2, 8, 8, 8, 256, 250880, 2048}, 1e-5, 1e4);
    row("mpt", {2048, 24, 16, 16, 128, 8192, 50368, 2048}, 1e-5, 1e4);
}

void TestHfConfig::absentFields()
{
    QFETCH(QString, type);
    QFETCH(json, expected);
    QFETCH(double, epsilon);
    QFETCH(double, base);
    const HfConfig config = defaults(qPrintable(type));
    QVERIFY(config.family);
    const ModelConfig &m = config.model;
    const json found = {m.embedding, m.layers,      m.heads,      m.kvHeads.at(0),
                        m.headSize,  m.feedForward, m.vocabulary, m.contextTrain};
    QCOMPARE(found.dump(), expected.dump());
    QCOMPARE(m.architecture, type.toStdString());
    QCOMPARE(m.normEpsilon, float(epsilon));
    QCOMPARE(m.ropeScaling, std::string("none"));
    const bool turns = m.spec.positions == PositionKind::Rotary;
    QCOMPARE(m.ropeDimensions, turns ? m.headSize : 0U);
    if (turns) {
        QCOMPARE(m.spec.rotary, RotaryStyle::HalfSplit);
        QCOMPARE(m.ropeBase, float(base));
    }
    QCOMPARE(m.spec.normGainOffset, type.startsWith(QLatin1String("gemma")) ? 1.0F : 0.0F);
}

void TestHfConfig::windows()
{
    const auto windows = [](const char *type, const json &fields) {
        const ModelConfig model = defaults(type, fields).model;
        std::vector<std::uint32_t> all;
        for (std::uint32_t layer = 0; layer < model.layers; ++layer)
            all.push_back(model.windowOf(layer));
        return all;
    };
    using Windows = std::vector<std::uint32_t>;
    const auto with = [](json fields, int layers) {
        fields["num_hidden_layers"] = layers;
        return fields;
    };
    QCOMPARE(windows("mistral", with({}, 2)), (Windows{4096, 4096}));
    QCOMPARE(windows("mistral", with({{"sliding_window", nullptr}}, 2)), (Windows{0, 0}));
    QCOMPARE(windows("mistral", with({{"sliding_window", 8}}, 2)), (Windows{8, 8}));
    QCOMPARE(windows("mixtral", with({}, 2)), (Windows{0, 0}));
    QCOMPARE(windows("llama", with({{"sliding_window", 8}}, 2)), (Windows{0, 0}));
    QCOMPARE(windows("qwen2", with({{"sliding_window", 8}}, 2)), (Windows{0, 0}));
    QCOMPARE(windows("qwen2", with({{"sliding_window", 8}, {"use_sliding_window", true}}, 2)),
             (Windows{0, 0}));
    QCOMPARE(windows("qwen3", with({{"use_sliding_window", true}, {"max_window_layers", 1}}, 3)),
             (Windows{0, 4096, 4096}));
    QCOMPARE(windows("qwen3_moe", with({{"use_sliding_window", true}, {"sliding_window", 5}}, 2)),
             (Windows{5, 5}));
    QCOMPARE(windows("gemma2", with({}, 4)), (Windows{4096, 0, 4096, 0}));
    QCOMPARE(windows("gemma3", with({{"sliding_window", 512}}, 7)),
             (Windows{512, 512, 512, 512, 512, 0, 512}));
    QCOMPARE(windows("gemma3_text", with({{"sliding_window_pattern", 2}}, 3)), (Windows{4096, 0, 4096}));
    QCOMPARE(
        windows("gemma3_text",
                with({{"layer_types", {"full_attention", "sliding_attention"}}, {"sliding_window", 9}}, 2)),
        (Windows{0, 9}));
    QCOMPARE(windows("smollm3", with({{"use_sliding_window", true}, {"sliding_window", 4}}, 5)),
             (Windows{0, 0, 0, 4, 0}));
    QCOMPARE(defaults("smollm3", with({}, 5)).model.unrotated, (std::vector<std::uint8_t>{0, 0, 0, 1, 0}));
    QCOMPARE(defaults("smollm3", with({{"no_rope_layers", {1, 0}}}, 2)).model.unrotated,
             (std::vector<std::uint8_t>{0, 1}));
}

void TestHfConfig::headsAndSizes()
{
    const auto kvHeads = [](const char *type, const json &fields) {
        return defaults(type, fields).model.kvHeads.at(0);
    };
    QCOMPARE(kvHeads("llama", {{"num_attention_heads", 8}}), 8U);
    QCOMPARE(kvHeads("mistral", {{"num_key_value_heads", nullptr}}), 32U);
    QCOMPARE(kvHeads("llama", {{"num_key_value_heads", 4}}), 4U);
    QCOMPARE(defaults("qwen3", {{"head_dim", nullptr}, {"hidden_size", 2048}}).model.headSize, 64U);
    QCOMPARE(defaults("mixtral", {{"head_dim", nullptr}}).model.headSize, 128U);
    QCOMPARE(defaults("gpt2", {{"n_embd", 96}, {"n_inner", nullptr}}).model.feedForward, 384U);
    QCOMPARE(defaults("gpt2", {{"n_embd", 96}, {"n_inner", 100}}).model.feedForward, 100U);
    // The library multiplies by 4 whatever the config says.
    QCOMPARE(defaults("mpt", {{"d_model", 64}, {"expansion_ratio", 2}}).model.feedForward, 256U);
    QCOMPARE(defaults("gpt2", {{"scale_attn_weights", false}}).model.queryScale, 1.0F);
    const ModelConfig experts = defaults("qwen3_moe").model;
    QCOMPARE(experts.experts, 128U);
    QCOMPARE(experts.expertsUsed, 8U);
    QCOMPARE(experts.expertFeedForward, 768U);
    QCOMPARE(experts.spec.expertWeighting, ExpertWeighting::OfAll);
    QCOMPARE(defaults("qwen3_moe", {{"norm_topk_prob", true}}).model.spec.expertWeighting,
             ExpertWeighting::OfChosen);
    QCOMPARE(defaults("mixtral").model.experts, 8U);
    QCOMPARE(defaults("mixtral").model.expertFeedForward, 14336U);
    QCOMPARE(defaults("starcoder2").model.spec.biases, RequiredBiases::All);
    QCOMPARE(defaults("starcoder2", {{"use_bias", false}}).model.spec.biases, RequiredBiases::None);
    QCOMPARE(defaults("llama", {{"attention_bias", true}}).model.spec.biases, RequiredBiases::QueryKeyValue);
    QCOMPARE(defaults("gpt2", {{"activation_function", "gelu"}}).model.spec.activation, Activation::Gelu);
    QCOMPARE(defaults("gpt2").model.spec.activation, Activation::GeluTanh);
    // What its first configs called "gelu" was the other one.
    QCOMPARE(defaults("gemma", {{"hidden_act", "gelu"}}).model.spec.activation, Activation::GeluTanhGated);
    QCOMPARE(defaults("gemma", {{"hidden_size", 64}}).model.embeddingScale, 8.0F);
}

void TestHfConfig::rotation()
{
    const auto model = [](const json &fields) { return defaults("llama", fields).model; };
    QCOMPARE(model({{"rope_theta", 5e5}}).ropeBase, 5e5F);
    QCOMPARE(model({{"rope_parameters", {{"rope_theta", 5e5}, {"rope_type", "default"}}}}).ropeBase, 5e5F);
    QCOMPARE(model({{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}).ropeScaling,
             std::string("linear"));
    QCOMPARE(model({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 4}}}}).ropeScaleFactor, 4.0F);
    QCOMPARE(model({{"partial_rotary_factor", 0.25}}).ropeDimensions, 32U);
    QCOMPARE(model({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}).ropeDimensions, 64U);
    const ModelConfig llama3 = model({{"rope_scaling",
                                       {{"rope_type", "llama3"},
                                        {"factor", 8},
                                        {"low_freq_factor", 1},
                                        {"high_freq_factor", 4},
                                        {"original_max_position_embeddings", 8192}}}});
    QCOMPARE(llama3.ropeScaling, std::string("llama3"));
    QCOMPARE(llama3.ropeDetails.originalContext, 8192U);
    const json yarn{{"type", "yarn"}, {"factor", 4}, {"mscale", 1.0}, {"mscale_all_dim", 0.5}};
    const ModelConfig scaled = model({{"rope_scaling", yarn}});
    QVERIFY(std::abs(scaled.ropeDetails.attentionFactor.value() -
                     float((0.1 * std::log(4.0) + 1.0) / (0.05 * std::log(4.0) + 1.0))) < 1e-6F);
    QVERIFY(!model({{"rope_scaling", {{"type", "yarn"}, {"factor", 4}}}}).ropeDetails.attentionFactor);
    // Without a factor, as far as the context was stretched.
    QCOMPARE(model({{"rope_scaling", {{"type", "yarn"}, {"original_max_position_embeddings", 512}}}})
                 .ropeScaleFactor,
             4.0F);

    const json factors(48, 1.5);
    const json longRope{{"short_factor", factors}, {"long_factor", factors}};
    for (const char *type : {"longrope", "su", "yarn"}) {
        json scaling = longRope;
        scaling["type"] = type;
        const HfConfig phi =
            defaults("phi3", {{"rope_scaling", scaling}, {"max_position_embeddings", 131072}});
        QVERIFY(phi.family);
        QCOMPARE(phi.model.ropeScaling, std::string("longrope"));
        QCOMPARE(phi.longFactors.size(), std::size_t(48));
        QCOMPARE(phi.model.ropeDetails.originalContext, 4096U);
    }
}

void TestHfConfig::nestedRotation()
{
    const json nested{{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
                      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 20000.0}}}};
    const ModelConfig version5 = defaults("gemma3_text", {{"rope_parameters", nested}}).model;
    QCOMPARE(version5.ropeBase, 1e6F);
    QCOMPARE(version5.localRopeBase, 20000.0F);
    QCOMPARE(version5.ropeScaling, std::string("linear"));
    const ModelConfig version4 = defaults("gemma3_text", {{"rope_local_base_freq", 30000.0}}).model;
    QCOMPARE(version4.localRopeBase, 30000.0F);
    QCOMPARE(version4.ropeBase, 1e6F);
    QCOMPARE(defaults("gemma3_text").model.localRopeBase, 10000.0F);
}

void TestHfConfig::softCaps()
{
    QCOMPARE(defaults("gemma2").model.attentionSoftCap, 50.0F);
    QCOMPARE(defaults("gemma2").model.logitSoftCap, 30.0F);
    QCOMPARE(defaults("gemma2", {{"attn_logit_softcapping", nullptr}}).model.attentionSoftCap, 0.0F);
    QCOMPARE(defaults("gemma3_text").model.attentionSoftCap, 0.0F);
    QCOMPARE(defaults("gemma3_text", {{"final_logit_softcapping", 20}}).model.logitSoftCap, 20.0F);
    QCOMPARE(defaults("gemma2").model.queryScale, 1.0F / 16.0F);
    QCOMPARE(defaults("gemma2", {{"query_pre_attn_scalar", 144}}).model.queryScale, 1.0F / 12.0F);
}

void TestHfConfig::tiedHeads()
{
    for (const char *type :
         {"gemma", "gemma2", "gemma3", "gpt2", "starcoder2", "smollm3", "falcon", "bloom", "mpt"})
        QCOMPARE(defaults(type).head, HfHead::Tied);
    for (const char *type : {"llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "phi3", "olmo2"})
        QCOMPARE(defaults(type).head, HfHead::AsStored);
    QCOMPARE(defaults("llama", {{"tie_word_embeddings", true}}).head, HfHead::Tied);
    QCOMPARE(defaults("gpt2", {{"tie_word_embeddings", false}}).head, HfHead::Separate);
}

void TestHfConfig::falcons()
{
    QCOMPARE(defaults("falcon", {{"multi_query", false}}).model.kvHeads.at(0), 71U);
    const json large{{"new_decoder_architecture", true},
                     {"hidden_size", 8192},
                     {"num_attention_heads", 128},
                     {"num_kv_heads", 8}};
    QCOMPARE(defaults("falcon", large).model.kvHeads.at(0), 8U);
    QCOMPARE(defaults("falcon", large).model.spec.residual, ResidualKind::Parallel);
    QCOMPARE(defaults("falcon", {{"parallel_attn", false}}).model.spec.residual, ResidualKind::Sequential);
    QCOMPARE(defaults("falcon", {{"bias", true}}).model.spec.biases, RequiredBiases::All);
}

/// Of a model of text and pictures the text part counts; what it leaves out has its own defaults.
void TestHfConfig::textPart()
{
    const auto config =
        read({{"model_type", "gemma3"},
              {"vision_config", {{"hidden_size", 1152}, {"model_type", "siglip_vision_model"}}},
              {"text_config", {{"model_type", "gemma3_text"}, {"hidden_size", 2560}}}});
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->model.embedding, 2560U);
    QCOMPARE(config->model.heads, 8U);
    QCOMPARE(config->model.architecture, std::string("gemma3_text"));
}

void TestHfConfig::refuses_data()
{
    QTest::addColumn<json>("config");
    QTest::addColumn<bool>("isUnsupported");
    QTest::addColumn<QString>("says");
    const auto row = [](const char *type, const json &fields, bool isUnsupported, const char *says) {
        json config{{"model_type", type}};
        if (!fields.is_null())
            config.update(fields);
        QTest::addRow("%s %s", type, fields.dump().substr(0, 60).c_str())
            << config << isUnsupported << QString::fromUtf8(says);
    };
    row("rwkv", {}, true,
        "field \"model_type\": the type \"rwkv\" is not one that this program runs (llama,");
    row("", {}, false, "field \"model_type\"");
    row("llama", {{"model_type", 3}}, false, "field \"model_type\": expected a text, found 3");
    row("llama", {{"hidden_size", 0}}, false, "field \"hidden_size\"");
    row("llama", {{"hidden_size", "64"}}, false, "found \"64\"");
    row("llama", {{"hidden_size", -64}}, false, "found -64");
    row("llama", {{"hidden_size", 100}, {"num_attention_heads", 7}}, false,
        "expected a divisor of the width 100");
    row("llama", {{"num_hidden_layers", 4000000000U}}, false,
        "\"num_hidden_layers\": found 4000000000 layers");
    row("llama", {{"num_key_value_heads", 5}}, false, "expected a divisor of the 32 heads, found 5");
    row("llama", {{"vocab_size", 0}}, false, "\"vocab_size\"");
    row("llama", {{"rms_norm_eps", "small"}}, false, "\"rms_norm_eps\": expected a finite number");
    row("llama", {{"rms_norm_eps", -1.0}}, false, "\"rms_norm_eps\"");
    row("llama", {{"hidden_act", "relu"}}, true, "the activation \"relu\"");
    row("llama", {{"hidden_act", "gelu"}}, true, "in a gated feed-forward");
    row("gpt2", {{"activation_function", "silu"}}, true, "the activation \"silu\"");
    row("llama", {{"rope_theta", 0}}, false, "\"rope_theta\": expected a number above 0");
    row("llama", {{"rope_scaling", {{"type", "other"}}}}, true, "\"rope_scaling.rope_type\"");
    row("llama", {{"rope_scaling", {{"type", "linear"}}}}, false, "\"rope_scaling.factor\"");
    row("llama", {{"rope_scaling", 4}}, false, "\"rope_scaling\": expected an object, found 4");
    row("llama", {{"partial_rotary_factor", 0.51}}, false, "an even number of rotated values");
    row("llama", {{"partial_rotary_factor", 1.5}}, false, "found 192");
    row("llama",
        {{"rope_scaling",
          {{"type", "llama3"}, {"factor", 2}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}}},
        false, "\"rope_scaling.high_freq_factor\"");
    row("llama", {{"rope_parameters", {{"rope_type", "yarn"}, {"factor", 2}, {"truncate", false}}}}, true,
        "\"rope_parameters.truncate\"");
    row("phi3", {{"rope_scaling", {{"type", "longrope"}}}}, false, "\"rope_scaling.short_factor\"");
    row("phi3", {{"rope_scaling", {{"type", "longrope"}, {"short_factor", {1, 2}}, {"long_factor", {1, 2}}}}},
        false, "expected a list of 48 numbers, found a list of 2");
    row("gemma3_text",
        {{"rope_parameters",
          {{"full_attention", {{"rope_theta", 1e6}}}, {"sliding_attention", {{"rope_type", "linear"}}}}}},
        true, "for layers with a window");
    row("gemma3_text", {{"use_bidirectional_attention", true}}, true, "\"use_bidirectional_attention\"");
    row("gemma2", {{"layer_types", {"full_attention"}}}, false,
        "expected one for each of the 26 layers, found 1");
    row("gemma2", {{"num_hidden_layers", 1}, {"layer_types", {"linear_attention"}}}, true,
        "\"linear_attention\"");
    row("smollm3", {{"no_rope_layers", {1, 2}}, {"num_hidden_layers", 2}}, false, "\"no_rope_layers\"");
    row("qwen3_moe", {{"mlp_only_layers", {0}}}, true, "\"mlp_only_layers\"");
    row("qwen3_moe", {{"decoder_sparse_step", 2}}, true, "\"decoder_sparse_step\"");
    row("mixtral", {{"num_experts_per_tok", 9}}, false, "expected at most the 8 experts, found 9");
    row("falcon", {{"alibi", true}}, true, "\"alibi\"");
    row("bloom", {{"apply_residual_connection_post_layernorm", true}}, true, "before the norm");
    row("mpt", {{"attn_config", {{"attn_type", "multiquery_attention"}}}}, true, "\"attn_config.attn_type\"");
    row("mpt", {{"attn_config", {{"prefix_lm", true}}}}, true, "\"attn_config.prefix_lm\"");
    row("gpt2", {{"scale_attn_by_inverse_layer_idx", true}}, true, "\"scale_attn_by_inverse_layer_idx\"");
    row("llama", {{"is_encoder_decoder", true}}, true, "\"is_encoder_decoder\"");
    row("llama", {{"quantization_config", {{"quant_method", "gptq"}}}}, true, "\"quantization_config\"");
    row("llama", {{"tie_word_embeddings", 1}}, false, "\"tie_word_embeddings\": expected true or false");
}

void TestHfConfig::refuses()
{
    QFETCH(json, config);
    QFETCH(bool, isUnsupported);
    QFETCH(QString, says);
    const auto result = read(config);
    QVERIFY(!result);
    const std::string text = result.error().text();
    QVERIFY2(QString::fromStdString(text).contains(says), text.c_str());
    QVERIFY2(text.starts_with("read config.json of test"), text.c_str());
    QCOMPARE(result.error().code, isUnsupported ? ErrorCode::Unsupported : ErrorCode::BadFile);
}

TOKENLOUPE_TEST_MAIN(TestHfConfig)
#include "tst_hfconfig.moc"
