// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"
#include "tests/model/modelcheck.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/quantize.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <cstring>
#include <functional>

using namespace tokenloupe;
using namespace tokenloupe::test;

Q_DECLARE_METATYPE(TinyModelOptions)

namespace {

QByteArray reason(const Result<std::shared_ptr<const Model>> &model)
{
    return model ? QByteArray() : QByteArray(model.error().text().c_str());
}

} // namespace

class TestModel : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void loadsEveryType_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<QString>("name");
        for (const std::uint32_t type :
             {0U, 1U, 2U, 3U, 6U, 7U, 8U, 10U, 11U, 12U, 13U, 14U, 15U, 20U, 23U, 30U, 35U, 39U}) {
            const char *name = tensorTypeTraits(type)->name;
            QTest::newRow(name) << int(type) << QString::fromLatin1(name);
        }
    }

    void loadsEveryType()
    {
        QFETCH(int, type);
        QFETCH(QString, name);
        TinyModelOptions options;
        options.type = TinyType(type);
        options.embedding = 256;
        options.feedForward = 256;
        options.chatTemplate = tinyChatTemplate;
        const auto path = writeTinyModel(folder(), options);
        const auto model = Model::load(path);
        QVERIFY2(model, reason(model));
        const Model &m = **model;
        QCOMPARE(m.path(), path);
        QCOMPARE(m.mainType(), name.toStdString());
        QCOMPARE(m.chatTemplate(), std::string(tinyChatTemplate));
        QVERIFY(m.warnings().empty());
        QCOMPARE(m.architecture().rotary, RotaryStyle::Interleaved);
        QCOMPARE(m.weights().outputKind, OutputHead::Tied);
        QCOMPARE(m.weights().outputHead.data.data(), m.weights().tokenEmbedding.data.data());
        QCOMPARE(m.weights().layers.size(), std::size_t(2));
        QVERIFY(!m.weights().layers[0].queryBias.isPresent());
        QVERIFY(!m.weights().ropeFrequencyFactors.isPresent());
        std::uint64_t bytes = 0;
        for (const ContainerTensor &tensor : m.container().tensors())
            bytes += tensor.bytes;
        QCOMPARE(m.weightsBytes(), bytes);
        const ModelCheck check = checkModelBytes(tinyModelBytes(options));
        QVERIFY2(check.loaded && check.broken.empty(), check.broken.c_str());
    }

    void findsEveryWeight()
    {
        TinyModelOptions options;
        options.kvHeads = 1;
        options.headSize = 24;
        options.output = TinyOutput::Separate;
        options.bias = TinyBias::Attention;
        options.ropeFrequencyFactors = std::vector<float>(12, 1.5F);
        const auto model = Model::load(writeTinyModel(folder(), options));
        QVERIFY2(model, reason(model));
        const ModelWeights &weights = (*model)->weights();
        QCOMPARE(weights.outputKind, OutputHead::Separate);
        QVERIFY(weights.outputHead.data.data() != weights.tokenEmbedding.data.data());
        QCOMPARE(weights.ropeFrequencyFactors.columns, 12);
        QCOMPARE((*model)->config().ropeScaling, std::string("llama3"));
        const auto shape = [](const Weight &weight, std::int64_t rows, std::int64_t columns) {
            QVERIFY(weight.isPresent());
            QCOMPARE(weight.rows, rows);
            QCOMPARE(weight.columns, columns);
        };
        for (const LayerWeights &layer : weights.layers) {
            shape(layer.attentionNorm, 1, 64);
            shape(layer.query, 96, 64);
            shape(layer.key, 24, 64);
            shape(layer.value, 24, 64);
            shape(layer.output, 64, 96);
            shape(layer.queryBias, 1, 96);
            shape(layer.keyBias, 1, 24);
            shape(layer.valueBias, 1, 24);
            shape(layer.outputBias, 1, 64);
            shape(layer.feedForwardNorm, 1, 64);
            shape(layer.gate, 96, 64);
            shape(layer.up, 96, 64);
            shape(layer.down, 64, 96);
        }
        // Each weight has the data of its own name.
        const ModelContainer &file = (*model)->container();
        QCOMPARE(weights.layers[1].up.data.data(), file.tensor("blk.1.ffn_up.weight")->data.data());
        QCOMPARE(weights.layers[0].keyBias.data.data(), file.tensor("blk.0.attn_k.bias")->data.data());
    }

    void differentKvHeadsByLayer()
    {
        TinyModelOptions options;
        GgufWriter writer = tinyModel(options);
        writer.without("llama.attention.head_count_kv");
        writer.integers("llama.attention.head_count_kv", std::vector<std::int32_t>{2, 1});
        for (const char *name : {"blk.1.attn_k.weight", "blk.1.attn_v.weight"}) {
            writer.withoutTensor(name);
            writer.tensor(name, {64, 16}, 0, std::vector<std::byte>(64 * 16 * 4));
        }
        const ModelCheck check = checkModelBytes(writer.bytes());
        QVERIFY2(check.loaded, check.error ? check.error->text().c_str() : "");
        QVERIFY2(check.broken.empty(), check.broken.c_str());
    }

    void namesWhatIsNotUsed()
    {
        GgufWriter writer = tinyModel();
        writer.tensor("spare.weight", {8}, 0, std::vector<std::byte>(32));
        writer.tensor("blk.7.attn_q.weight", {8}, 0, std::vector<std::byte>(32));
        writer.tensor("blk.0.attn_rot_embd", {8}, 0, std::vector<std::byte>(32));
        const auto bytes = writer.bytes();
        const auto model = Model::fromFile(*GgufFile::parse(bytes, "test"));
        QVERIFY2(model, reason(model));
        QCOMPARE((*model)->warnings().size(), std::size_t(1));
        QCOMPARE((*model)->warnings()[0],
                 std::string("2 tensors are not used, the first is \"spare.weight\""));
    }

    void aTemplateOfAnotherType()
    {
        const auto bytes = tinyModel().u32("tokenizer.chat_template", 5).bytes();
        const auto model = Model::fromFile(*GgufFile::parse(bytes, "test"));
        QVERIFY2(model, reason(model));
        QVERIFY((*model)->chatTemplate().empty());
        QCOMPARE((*model)->warnings().size(), std::size_t(1));
    }

    void reportsProgressAndStops()
    {
        TinyModelOptions options;
        options.embedding = 256;
        options.feedForward = 512;
        options.vocabulary = 2000;
        const auto path = writeTinyModel(folder(), options);
        Progress progress;
        const auto model = Model::load(path, &progress);
        QVERIFY2(model, reason(model));
        QCOMPARE(progress.total.load(), (*model)->weightsBytes());
        QCOMPARE(progress.done.load(), progress.total.load());

        std::stop_source stop;
        stop.request_stop();
        const auto stopped = Model::load(path, &progress, stop.get_token());
        QVERIFY(!stopped);
        QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
        QVERIFY(progress.done.load() < progress.total.load());
    }

    void namesTheFile_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("code");
        QTest::newRow("missing") << QStringLiteral("absent.gguf") << int(ErrorCode::NotFound);
        QTest::newRow("folder") << QStringLiteral(".") << int(ErrorCode::InvalidArgument);
        QTest::newRow("empty") << QStringLiteral("empty.gguf") << int(ErrorCode::BadFile);
        QTest::newRow("text") << QStringLiteral("text.gguf") << int(ErrorCode::BadFile);
    }

    void namesTheFile()
    {
        QFETCH(QString, name);
        QFETCH(int, code);
        writeBytes(folder() / "empty.gguf", {});
        writeBytes(folder() / "text.gguf", ByteWriter().text("once upon a time").bytes());
        const auto model = Model::load(folder() / name.toStdString());
        QVERIFY(!model);
        QCOMPARE(int(model.error().code), code);
        QVERIFY2(QString::fromStdString(model.error().text()).contains(name), model.error().text().c_str());
    }

    void weightsOutliveTheFileName()
    {
        const auto path = writeTinyModel(folder());
        const auto model = Model::load(path);
        QVERIFY2(model, reason(model));
        std::filesystem::remove(path);
        const Weight &norm = (*model)->weights().outputNorm;
        float first = 0.0F;
        std::memcpy(&first, norm.data.data(), sizeof(first));
        QVERIFY(first > 0.5F && first < 1.5F);
    }

    void loadsARealModel()
    {
        TOKENLOUPE_NEED_SMOL(path);
        const auto model = Model::load(path);
        QVERIFY2(model, reason(model));
        const Model &m = **model;
        QCOMPARE(m.config().layers, 30U);
        QCOMPARE(m.config().heads, 9U);
        QCOMPARE(m.config().kvHeadsOf(29), 3U);
        QCOMPARE(m.config().headSize, 64U);
        QCOMPARE(m.config().ropeBase, 100000.0F);
        QCOMPARE(m.config().parameters, std::uint64_t(134515008));
        QCOMPARE(m.mainType(), std::string("Q4_1"));
        QCOMPARE(m.weights().tokenEmbedding.type, TensorType::Q8_0);
        QVERIFY(m.warnings().empty());
        QVERIFY(m.chatTemplate().starts_with("{% for message in messages %}"));
    }

    void loadsReferenceModels_data()
    {
        QTest::addColumn<QString>("file");
        const auto row = [](const char *file) { QTest::newRow(file) << QString::fromLatin1(file); };
        for (const char *type : {"f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"})
            row(qPrintable(QStringLiteral("stories260K/stories260K-%1.gguf").arg(QLatin1String(type))));
        for (const char *name : {"bloom-alibi",
                                 "falcon-mqa",
                                 "gemma",
                                 "gemma2",
                                 "gemma3",
                                 "gpt2",
                                 "llama",
                                 "llama-mha-bias",
                                 "llama-rope-linear",
                                 "llama-rope-llama3",
                                 "llama-rope-yarn",
                                 "llama-tied-headdim",
                                 "mixtral",
                                 "olmo2",
                                 "phi3",
                                 "phi3-longrope",
                                 "qwen2",
                                 "qwen3",
                                 "qwen3-moe",
                                 "smollm3",
                                 "starcoder2"})
            row(qPrintable(QStringLiteral("tiny_gguf/%1.gguf").arg(QLatin1String(name))));
    }

    void loadsReferenceModels()
    {
        TOKENLOUPE_NEED_SHARED(models, "models");
        QFETCH(QString, file);
        const auto model = Model::load(models / file.toStdString());
        QVERIFY2(model, reason(model));
        QVERIFY2((*model)->warnings().empty(),
                 (*model)->warnings().empty() ? "" : (*model)->warnings()[0].c_str());
    }

private:
    std::filesystem::path folder() const { return m_directory.path().toStdString(); }

    QTemporaryDir m_directory;
};

TOKENLOUPE_TEST_MAIN(TestModel)
#include "tst_model.moc"
