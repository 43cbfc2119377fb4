// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinyarchitecture.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <cmath>
#include <functional>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Change = std::function<void(GgufWriter &)>;
using Expect = std::function<void(const ModelConfig &)>;
Q_DECLARE_METATYPE(Change)
Q_DECLARE_METATYPE(Expect)

namespace {

Result<ModelConfig> configOf(const GgufWriter &writer)
{
    const auto bytes = writer.bytes();
    const auto file = GgufFile::parse(bytes, "config.gguf");
    if (!file)
        return tl::unexpected(file.error());
    return readModelConfig(**file);
}

} // namespace

class TestModelConfig : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void readsAModel()
    {
        TinyModelOptions options;
        options.layers = 3;
        options.embedding = 96;
        options.heads = 6;
        options.kvHeads = 2;
        options.headSize = 24;
        options.feedForward = 100;
        options.vocabulary = 400;
        options.context = 77;
        options.ropeBase = 5000.0F;
        options.name = "t\xC3\xAAte";
        const auto config = configOf(tinyModel(options));
        QVERIFY2(config, config ? "" : config.error().text().c_str());
        QCOMPARE(config->name, options.name);
        QCOMPARE(config->architecture, std::string("llama"));
        QCOMPARE(config->layers, 3U);
        QCOMPARE(config->embedding, 96U);
        QCOMPARE(config->heads, 6U);
        QCOMPARE(config->kvHeads, (std::vector<std::uint32_t>{2, 2, 2}));
        QCOMPARE(config->headSize, 24U);
        QCOMPARE(config->valueHeadSize, 24U);
        QCOMPARE(config->feedForward, 100U);
        QCOMPARE(config->vocabulary, 400U);
        QCOMPARE(config->contextTrain, 77U);
        QCOMPARE(config->normEpsilon, 1e-5F);
        QCOMPARE(config->ropeBase, 5000.0F);
        QCOMPARE(config->ropeDimensions, 24U);
        QCOMPARE(config->ropeScaling, std::string("none"));
        QCOMPARE(config->ropeScaleFactor, 1.0F);
        QVERIFY(!config->slidingWindow);
        const std::uint64_t attention = 2 * 96 * 6 * 24 + 2 * 96 * 2 * 24;
        QCOMPARE(config->parameters, 400 * 96 + 96 + 3 * (2 * 96 + attention + 3 * 96 * 100));
    }

    void variants_data();
    void variants();

    /// What older files do not say and everybody knows.
    void gemma2DefaultsAreKnown()
    {
        TinyArchitecture model = tinyArchitectureNamed("gemma2");
        model.window = 0;
        model.scoreCap = model.logitCap = 0.0;
        const auto config = configOf(tinyArchitecture(model, tinyTensors(model)));
        QVERIFY2(config, config ? "" : config.error().text().c_str());
        QCOMPARE(config->windows, (std::vector<std::uint32_t>{4096, 0, 4096, 0}));
        QCOMPARE(config->attentionSoftCap, 50.0F);
        QCOMPARE(config->logitSoftCap, 30.0F);
        QCOMPARE(config->attentionScale(), 1.0F / std::sqrt(10.0F));
        model.layers = 46; // the one size whose scores go by the width
        const auto large = configOf(tinyArchitecture(model, tinyTensors(model)));
        QVERIFY(large);
        QCOMPARE(large->attentionScale(), float(1.0 / std::sqrt(45.0 / 6.0)));
    }

    void otherArchitecturesMayLackKeys()
    {
        GgufWriter writer;
        writer.string("general.architecture", "mamba")
            .u32("mamba.block_count", 24)
            .u32("mamba.embedding_length", 768);
        const auto config = configOf(writer);
        QVERIFY2(config, config ? "" : config.error().text().c_str());
        QCOMPARE(config->layers, 24U);
        QCOMPARE(config->embedding, 768U);
        QCOMPARE(config->heads, 0U);
        QCOMPARE(config->name, std::string("config.gguf"));
    }

    void layersWithoutTensorsAreBounded()
    {
        GgufWriter writer;
        writer.string("general.architecture", "llama").u32("llama.block_count", 100000);
        const auto config = configOf(writer);
        QVERIFY(!config);
        QVERIFY(QString::fromStdString(config.error().text()).contains(QStringLiteral("block_count")));
    }

    void readsReferenceModels_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("scaling");
        QTest::addColumn<double>("factor");
        QTest::newRow("plain") << QStringLiteral("llama.gguf") << QStringLiteral("none") << 1.0;
        QTest::newRow("linear") << QStringLiteral("llama-rope-linear.gguf") << QStringLiteral("linear")
                                << 4.0;
        QTest::newRow("llama 3") << QStringLiteral("llama-rope-llama3.gguf") << QStringLiteral("llama3")
                                 << 1.0;
        QTest::newRow("longrope") << QStringLiteral("phi3-longrope.gguf") << QStringLiteral("longrope")
                                  << 1.0;
        QTest::newRow("gpt2") << QStringLiteral("gpt2.gguf") << QStringLiteral("none") << 1.0;
        QTest::newRow("yarn") << QStringLiteral("llama-rope-yarn.gguf") << QStringLiteral("yarn") << 4.0;
    }

    void readsReferenceModels()
    {
        TOKENLOUPE_NEED_SHARED(folder, "models/tiny_gguf");
        QFETCH(QString, file);
        QFETCH(QString, scaling);
        QFETCH(double, factor);
        const auto gguf = GgufFile::open(folder / file.toStdString());
        QVERIFY2(gguf, gguf ? "" : gguf.error().text().c_str());
        const auto config = readModelConfig(**gguf);
        QVERIFY2(config, config ? "" : config.error().text().c_str());
        QVERIFY(config->layers > 0 && config->embedding > 0 && config->heads > 0);
        QCOMPARE(config->vocabulary, std::uint32_t((*gguf)->tensor("token_embd.weight")->shape[1]));
        QCOMPARE(config->ropeScaling, scaling.toStdString());
        QCOMPARE(double(config->ropeScaleFactor), factor);
    }
};

void TestModelConfig::variants_data()
{
    QTest::addColumn<Change>("change");
    QTest::addColumn<Expect>("expect");
    const auto row = [](const char *name, Change change, Expect expect) {
        QTest::newRow(name) << std::move(change) << std::move(expect);
    };
    row(
        "KV heads as many as heads by default",
        [](GgufWriter &w) { w.without("llama.attention.head_count_kv"); },
        [](const ModelConfig &c) {
            QCOMPARE(c.kvHeads, (std::vector<std::uint32_t>{4, 4}));
        });
    row(
        "KV heads by layer",
        [](GgufWriter &w) {
            w.without("llama.attention.head_count_kv")
                .integers("llama.attention.head_count_kv", std::vector<std::int32_t>{4, 1});
        },
        [](const ModelConfig &c) {
            QCOMPARE(c.kvHeads, (std::vector<std::uint32_t>{4, 1}));
            QCOMPARE(c.kvHeadsOf(1), 1U);
        });
    row(
        "equal numbers by layer",
        [](GgufWriter &w) {
            w.without("llama.feed_forward_length")
                .integers("llama.feed_forward_length", std::vector<std::int32_t>{96, 96});
        },
        [](const ModelConfig &c) { QCOMPARE(c.feedForward, 96U); });
    row(
        "head sizes of their own",
        [](GgufWriter &w) {
            w.u32("llama.attention.key_length", 24).u32("llama.attention.value_length", 20);
        },
        [](const ModelConfig &c) {
            QCOMPARE(c.headSize, 24U);
            QCOMPARE(c.valueHeadSize, 20U);
            QCOMPARE(c.ropeDimensions, 16U);
        });
    row(
        "width that heads do not divide, sizes stated",
        [](GgufWriter &w) {
            w.without("llama.attention.head_count").u32("llama.attention.head_count", 6);
            w.u32("llama.attention.key_length", 16).u32("llama.attention.value_length", 16);
        },
        [](const ModelConfig &c) { QCOMPARE(c.headSize, 16U); });
    row(
        "rotation of part of a head",
        [](GgufWriter &w) { w.without("llama.rope.dimension_count").u32("llama.rope.dimension_count", 8); },
        [](const ModelConfig &c) { QCOMPARE(c.ropeDimensions, 8U); });
    row(
        "rotation of the whole head by default",
        [](GgufWriter &w) { w.without("llama.rope.dimension_count").without("llama.rope.freq_base"); },
        [](const ModelConfig &c) {
            QCOMPARE(c.ropeDimensions, 16U);
            QCOMPARE(c.ropeBase, 10000.0F);
        });
    row(
        "linear scaling",
        [](GgufWriter &w) {
            w.string("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 2.5F);
        },
        [](const ModelConfig &c) {
            QCOMPARE(c.ropeScaling, std::string("linear"));
            QCOMPARE(c.ropeScaleFactor, 2.5F);
        });
    row(
        "a factor without a type", [](GgufWriter &w) { w.f32("llama.rope.scaling.factor", 2.0F); },
        [](const ModelConfig &c) {
            QCOMPARE(c.ropeScaling, std::string("linear"));
            QCOMPARE(c.ropeScaleFactor, 2.0F);
        });
    row(
        "the factor's older name", [](GgufWriter &w) { w.f32("llama.rope.scale_linear", 3.0F); },
        [](const ModelConfig &c) { QCOMPARE(c.ropeScaleFactor, 3.0F); });
    row(
        "a factor that is switched off",
        [](GgufWriter &w) {
            w.string("llama.rope.scaling.type", "none").f32("llama.rope.scaling.factor", 4.0F);
        },
        [](const ModelConfig &c) {
            QCOMPARE(c.ropeScaling, std::string("none"));
            QCOMPARE(c.ropeScaleFactor, 1.0F);
        });
    row(
        "a factor of 0 means none", [](GgufWriter &w) { w.f32("llama.rope.scaling.factor", 0.0F); },
        [](const ModelConfig &c) { QCOMPARE(c.ropeScaleFactor, 1.0F); });
    row(
        "frequency factors",
        [](GgufWriter &w) { w.tensor("rope_freqs.weight", {8}, 0, std::vector<std::byte>(32)); },
        [](const ModelConfig &c) { QCOMPARE(c.ropeScaling, std::string("llama3")); });
    row(
        "a sliding window", [](GgufWriter &w) { w.u32("llama.attention.sliding_window", 99); },
        [](const ModelConfig &c) { QCOMPARE(c.slidingWindow, std::optional<std::uint32_t>(99)); });
    row(
        "a window of 0 is none", [](GgufWriter &w) { w.u32("llama.attention.sliding_window", 0); },
        [](const ModelConfig &c) {
            QVERIFY(!c.slidingWindow);
            QCOMPARE(c.windowOf(1), 0U);
        });
    row(
        "a window for each second layer",
        [](GgufWriter &w) {
            w.u32("llama.attention.sliding_window", 7).u32("llama.attention.sliding_window_pattern", 2);
        },
        [](const ModelConfig &c) {
            QCOMPARE(c.windows, (std::vector<std::uint32_t>{7, 0}));
        });
    row(
        "a window for layers by name",
        [](GgufWriter &w) {
            ByteWriter flags;
            flags.number(std::uint32_t(7))
                .number(std::uint64_t(2))
                .raw(std::vector<std::byte>{std::byte{0}, std::byte{1}});
            w.u32("llama.attention.sliding_window", 7)
                .rawValue("llama.attention.sliding_window_pattern", 9, flags.bytes());
        },
        [](const ModelConfig &c) {
            QCOMPARE(c.windows, (std::vector<std::uint32_t>{0, 7}));
        });
    row(
        "experts", [](GgufWriter &w) { w.u32("llama.expert_count", 5).u32("llama.expert_used_count", 2); },
        [](const ModelConfig &c) {
            QCOMPARE(c.experts, 5U);
            QCOMPARE(c.expertsUsed, 2U);
            QCOMPARE(c.expertFeedForward, 96U);
        });
    row(
        "a query scale of its own", [](GgufWriter &w) { w.f32("llama.attention.scale", 0.5F); },
        [](const ModelConfig &c) { QCOMPARE(c.attentionScale(), 0.5F); });
    row(
        "the longest context",
        [](GgufWriter &w) { w.without("llama.context_length").u32("llama.context_length", 4294967295U); },
        [](const ModelConfig &c) { QCOMPARE(c.contextTrain, 4294967295U); });
    row(
        "64-bit counts",
        [](GgufWriter &w) { w.without("llama.context_length").u64("llama.context_length", 512); },
        [](const ModelConfig &c) { QCOMPARE(c.contextTrain, 512U); });
    row(
        "the name repaired", [](GgufWriter &w) { w.without("general.name").string("general.name", "a\xFF"); },
        [](const ModelConfig &c) { QCOMPARE(c.name, std::string("a\xEF\xBF\xBD")); });
}

void TestModelConfig::variants()
{
    QFETCH(Change, change);
    QFETCH(Expect, expect);
    GgufWriter writer = tinyModel();
    change(writer);
    const auto config = configOf(writer);
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    expect(*config);
}

TOKENLOUPE_TEST_MAIN(TestModelConfig)
#include "tst_modelconfig.moc"
