// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/modelshape.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <functional>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Change = std::function<void(GgufWriter &)>;
Q_DECLARE_METATYPE(Change)

namespace {

Result<ModelShape> shapeOf(const GgufWriter &writer)
{
    const auto bytes = writer.bytes();
    const auto file = GgufFile::parse(bytes, "shape.gguf");
    if (!file)
        return tl::unexpected(file.error());
    return shapeOfGguf(**file);
}

std::string textOf(const Result<ModelShape> &shape)
{
    return shape ? std::string() : shape.error().text();
}

/// Half-precision zeros of that shape, columns first.
void addTensor(GgufWriter &writer, const std::string &name, const std::vector<std::uint64_t> &shape)
{
    std::uint64_t values = 1;
    for (const std::uint64_t size : shape)
        values *= size;
    const std::vector<std::byte> zeros(values * 2);
    writer.tensor(name, shape, 1, zeros);
}

/// A header of any architecture with `layers` layers of the tensors that are named, 16 columns each.
GgufWriter model(const std::string &architecture, std::uint32_t layers, const std::vector<std::string> &roles)
{
    GgufWriter writer;
    writer.string("general.architecture", architecture);
    writer.u32(architecture + ".block_count", layers);
    writer.u32(architecture + ".embedding_length", 16);
    writer.u32(architecture + ".feed_forward_length", 32);
    writer.u32(architecture + ".context_length", 64);
    writer.u32(architecture + ".attention.head_count", 4);
    writer.u32(architecture + ".attention.head_count_kv", 2);
    addTensor(writer, "token_embd.weight", {16, 10});
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
        for (const std::string &role : roles)
            addTensor(writer, "blk." + std::to_string(layer) + "." + role, {16, 8});
    }
    return writer;
}

const std::vector<std::string> plainRoles = {"attn_q.weight", "attn_k.weight", "attn_v.weight",
                                             "attn_output.weight", "ffn_down.weight"};

std::string windowsText(const ModelShape &shape)
{
    std::string text;
    for (const KvLayerShape &layer : shape.kvLayers)
        text += (text.empty() ? "" : " ") + (layer.heads == 0 ? "-" : std::to_string(layer.window));
    return text;
}

} // namespace

class TestGgufShape : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void readsAModel();
    void readsLayersThatDiffer();
    void placesWindows_data();
    void placesWindows();
    void readsLatentAttention();
    void readsExperts();
    void readsRecurrentLayers();
    void readsOddLayers();
    void sumsSplitFiles();
    void readsPaths();
    void refusesWrongHeaders_data();
    void refusesWrongHeaders();
    void survivesChangedBytes();
};

void TestGgufShape::readsAModel()
{
    TinyModelOptions options;
    options.layers = 12; // more than nine: files list them in any order
    options.headSize = 24;
    options.output = TinyOutput::Separate;
    options.bias = TinyBias::Attention;
    const auto bytes = tinyModelBytes(options);
    const auto file = GgufFile::parse(bytes, "tiny.gguf");
    const auto shape = shapeOfGguf(**file);
    QVERIFY2(shape, textOf(shape).c_str());
    QCOMPARE(shape->name, std::string("tiny"));
    QCOMPARE(shape->architecture, std::string("llama"));
    QCOMPARE(shape->source, std::string("GGUF header"));
    QCOMPARE(shape->layers, 12U);
    QCOMPARE(shape->embedding, options.embedding);
    QCOMPARE(shape->heads, options.heads);
    QCOMPARE(shape->headSize, 24U);
    QCOMPARE(shape->feedForward, options.feedForward);
    QCOMPARE(shape->vocabulary, options.vocabulary);
    QCOMPARE(shape->contextTrain, options.context);
    QCOMPARE(shape->kvLayers, (std::vector<KvLayerShape>(12, {2, 24, 24, 0})));
    QCOMPARE(shape->storedType, std::string("F32"));
    std::uint64_t values = 0;
    for (const GgufTensor &tensor : (*file)->tensors())
        values += tensor.elements();
    QCOMPARE(shape->parameters(), values);
    QCOMPARE(shape->storedBytes(), 4 * values);
    for (const ShapeTensor &tensor : shape->tensors) {
        QVERIFY2(std::is_sorted(tensor.layers.begin(), tensor.layers.end()), tensor.role.c_str());
        if (tensor.role == "attn_q.bias")
            QCOMPARE(tensor.layers.size(), std::size_t(12));
        if (tensor.role == "token_embd")
            QCOMPARE(tensor.activeShare, 1.0 / options.vocabulary);
    }
}

void TestGgufShape::readsLayersThatDiffer()
{
    GgufWriter writer = model("deci", 3, plainRoles);
    writer.without("deci.attention.head_count_kv");
    const std::vector<std::int32_t> heads = {2, 0, 1};
    writer.integers("deci.attention.head_count_kv", heads);
    writer.without("deci.feed_forward_length");
    const std::vector<std::int32_t> widths = {32, 0, 48};
    writer.integers("deci.feed_forward_length", widths);
    writer.u32("deci.attention.value_length", 6);
    const auto shape = shapeOf(writer);
    QVERIFY2(shape, textOf(shape).c_str());
    QCOMPARE(shape->kvLayers, (std::vector<KvLayerShape>{{2, 4, 6, 0}, {}, {1, 4, 6, 0}}));
    QCOMPARE(shape->feedForward, 48U);
}

void TestGgufShape::placesWindows_data()
{
    QTest::addColumn<QString>("architecture");
    QTest::addColumn<QString>("windows");
    QTest::addRow("gemma2") << "gemma2"
                            << "8 0 8 0 8 0 8";
    QTest::addRow("gpt-oss") << "gpt-oss"
                             << "8 0 8 0 8 0 8";
    QTest::addRow("gemma3") << "gemma3"
                            << "8 8 8 8 8 0 8";
    QTest::addRow("cohere2") << "cohere2"
                             << "8 8 8 0 8 8 8";
    QTest::addRow("others") << "phi3"
                            << "8 8 8 8 8 8 8";
}

void TestGgufShape::placesWindows()
{
    QFETCH(QString, architecture);
    QFETCH(QString, windows);
    const std::string name = architecture.toStdString();
    GgufWriter writer = model(name, 7, plainRoles);
    writer.u32(name + ".attention.sliding_window", 8);
    QCOMPARE(QString::fromStdString(windowsText(*shapeOf(writer))), windows);
    // What a file states itself comes first.
    writer.u32(name + ".attention.sliding_window_pattern", 3);
    QCOMPARE(windowsText(*shapeOf(writer)), std::string("8 8 0 8 8 0 8"));
    writer.without(name + ".attention.sliding_window_pattern");
    const std::vector<std::int32_t> pattern = {0, 1, 1, 0, 0, 0, 1};
    writer.integers(name + ".attention.sliding_window_pattern", pattern);
    QCOMPARE(windowsText(*shapeOf(writer)), std::string("0 8 8 0 0 0 8"));
    writer.without(name + ".attention.sliding_window");
    QCOMPARE(windowsText(*shapeOf(writer)), std::string("0 0 0 0 0 0 0"));
}

void TestGgufShape::readsLatentAttention()
{
    GgufWriter writer = model("deepseek2", 2,
                              {"attn_q.weight", "attn_kv_a_mqa.weight", "attn_k_b.weight", "attn_v_b.weight",
                               "attn_kv_a_norm.weight"});
    writer.u32("deepseek2.attention.kv_lora_rank", 12);
    writer.u32("deepseek2.rope.dimension_count", 4);
    writer.u32("deepseek2.attention.key_length", 16);
    writer.u32("deepseek2.attention.value_length", 12);
    writer.u32("deepseek2.attention.key_length_mla", 10);
    const auto shape = shapeOf(writer);
    QVERIFY2(shape, textOf(shape).c_str());
    QCOMPARE(shape->kvLayers, (std::vector<KvLayerShape>(2, {1, 16, 0, 0})));
    QCOMPARE(shape->latentRank, 12U);
    QCOMPARE(shape->latentRopeSize, 4U);
    QCOMPARE(shape->headSize, 10U);
}

void TestGgufShape::readsExperts()
{
    GgufWriter writer = model("qwen3moe", 1, {"attn_k.weight", "ffn_gate_inp.weight"});
    writer.u32("qwen3moe.expert_count", 8);
    writer.u32("qwen3moe.expert_used_count", 2);
    addTensor(writer, "blk.0.ffn_up_exps.weight", {16, 32, 8});
    addTensor(writer, "blk.0.ffn_up_exps.bias", {32, 8});
    for (int expert = 0; expert < 8; ++expert) // as older files hold them
        addTensor(writer, "blk.0.ffn_down." + std::to_string(expert) + ".weight", {32, 16});
    const auto shape = shapeOf(writer);
    QVERIFY2(shape, textOf(shape).c_str());
    QCOMPARE(shape->experts, 8U);
    int found = 0;
    for (const ShapeTensor &tensor : shape->tensors) {
        if (tensor.role.find("_exps") == std::string::npos)
            continue;
        ++found;
        QVERIFY(tensor.tensorClass == TensorClass::Experts);
        QCOMPARE(tensor.count, std::uint64_t(8));
        QCOMPARE(tensor.activeShare, 0.25);
        QCOMPARE(tensor.layers, std::vector<std::uint32_t>{0});
    }
    QCOMPARE(found, 3);
}

void TestGgufShape::readsRecurrentLayers()
{
    GgufWriter writer = model("jamba", 3, {"attn_norm.weight"});
    writer.u32("jamba.ssm.inner_size", 32);
    writer.u32("jamba.ssm.state_size", 4);
    writer.u32("jamba.ssm.conv_kernel", 4);
    addTensor(writer, "blk.0.ssm_in.weight", {16, 64});
    addTensor(writer, "blk.2.ssm_in.weight", {16, 64});
    addTensor(writer, "blk.2.attn_qkv.weight", {16, 64}); // linear attention, not one that keeps tokens
    addTensor(writer, "blk.1.attn_k.weight", {16, 8});
    const auto shape = shapeOf(writer);
    QVERIFY2(shape, textOf(shape).c_str());
    QCOMPARE(windowsText(*shape), std::string("- 0 -"));
    QCOMPARE(shape->stateBytesPerSequence, std::uint64_t(2 * 4 * (3 * 32 + 32 * 4)));

    // No attention at all: heads may be missing.
    GgufWriter mamba = model("mamba", 2, {"attn_norm.weight", "ssm_in.weight"});
    mamba.without("mamba.attention.head_count").without("mamba.attention.head_count_kv");
    mamba.u32("mamba.ssm.inner_size", 32).u32("mamba.ssm.state_size", 4).u32("mamba.ssm.conv_kernel", 4);
    const auto pure = shapeOf(mamba);
    QVERIFY2(pure, textOf(pure).c_str());
    QCOMPARE(windowsText(*pure), std::string("- -"));
    QCOMPARE(pure->stateBytesPerSequence, std::uint64_t(2 * 4 * (3 * 32 + 32 * 4)));
}

void TestGgufShape::readsOddLayers()
{
    GgufWriter shared = model("gemma3n", 4, plainRoles);
    shared.u32("gemma3n.attention.shared_kv_layers", 2);
    QCOMPARE(windowsText(*shapeOf(shared)), std::string("0 0 - -"));
    GgufWriter ahead = model("glm4moe", 3, plainRoles);
    ahead.u32("glm4moe.nextn_predict_layers", 1);
    const auto shape = shapeOf(ahead);
    QCOMPARE(windowsText(*shape), std::string("0 0 -"));
    QCOMPARE(shape->notes.size(), std::size_t(1));
}

void TestGgufShape::sumsSplitFiles()
{
    QTemporaryDir folder;
    const std::filesystem::path at = folder.path().toStdString();
    const auto part = [](std::uint16_t number, const std::vector<std::string> &tensors) {
        GgufWriter writer;
        if (number == 0) {
            writer = model("llama", 2, {});
            writer.withoutTensor("token_embd.weight");
        }
        writer.u16("split.no", number).u16("split.count", 3);
        for (const std::string &name : tensors)
            addTensor(writer, name, {16, 8});
        return writer;
    };
    const std::filesystem::path first = at / "big-00001-of-00003.gguf";
    part(0, {}).write(first);
    part(1, {"token_embd.weight", "blk.0.attn_k.weight"}).write(at / "big-00002-of-00003.gguf");
    const std::filesystem::path last = at / "big-00003-of-00003.gguf";
    part(2, {"blk.1.attn_k.weight"}).write(last);
    const auto shape = readModelShape(first);
    QVERIFY2(shape, textOf(shape).c_str());
    QCOMPARE(shape->parameters(), std::uint64_t(3 * 16 * 8));
    QCOMPARE(shape->storedBytes(), std::uint64_t(3 * 16 * 8 * 2));
    QCOMPARE(shape->kvLayers, (std::vector<KvLayerShape>(2, {2, 4, 4, 0})));

    const auto fails = [&](const std::filesystem::path &path, const char *message) {
        const auto failed = readModelShape(path);
        return !failed && failed.error().text().find(message) != std::string::npos;
    };
    QCOMPARE(readModelShape(last)->parameters(), shape->parameters()); // any part will do
    part(1, {"blk.1.attn_k.weight"}).write(last);
    QVERIFY(fails(first, "\"split.no\": expected 2"));
    part(2, {"blk.0.attn_k.weight"}).write(last);
    QVERIFY(fails(first, "in another part too"));
    std::filesystem::remove(last);
    QVERIFY(fails(first, "big-00003-of-00003.gguf"));
    std::filesystem::rename(first, at / "other.gguf");
    QVERIFY(fails(at / "other.gguf", "a file name is expected that ends in -00001-of-00003.gguf"));
    QVERIFY(!shapeOfGguf(**GgufFile::open(at / "other.gguf")));
}

void TestGgufShape::readsPaths()
{
    QTemporaryDir folder;
    const std::filesystem::path at = folder.path().toStdString();
    const auto fails = [&](const std::filesystem::path &path, ErrorCode code, const char *message) {
        const auto failed = readModelShape(path);
        return !failed && failed.error().code == code &&
               failed.error().text().find(message) != std::string::npos;
    };
    QVERIFY(fails(at / "nothing", ErrorCode::NotFound, "no such file or folder"));
    QVERIFY(fails(at, ErrorCode::NotFound, "no config.json"));
    QVERIFY(fails("", ErrorCode::NotFound, ""));
    const auto write = [&](const char *name, const std::string &text) {
        return writeBytes(at / name, std::as_bytes(std::span(text)));
    };
    QVERIFY(fails(write("empty.json", ""), ErrorCode::InvalidArgument, "expected JSON"));
    QVERIFY(fails(write("short.gguf", "GG"), ErrorCode::BadFile, "short.gguf"));
    QVERIFY(fails(write("large.bin", std::string((16U << 20) + 1, ' ')), ErrorCode::InvalidArgument,
                  "at most 16 MiB"));
    const std::string shape = R"({"layers": 2, "hidden": 64, "heads": 4, "ffn": 96, "vocab": 10})";
    QCOMPARE(readModelShape(write("mine.json", shape))->name, std::string("mine.json"));
    std::filesystem::create_directory(at / "my-model");
    write("my-model/config.json", R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64,
        "vocab_size": 320, "num_attention_heads": 4, "intermediate_size": 96})");
    QCOMPARE(readModelShape(at / "my-model")->name, std::string("my-model"));
    QCOMPARE(readModelShape(at / "my-model/config.json")->name, std::string("my-model"));
    QCOMPARE(readModelShape(writeTinyModel(at))->name, std::string("tiny"));
}

void TestGgufShape::refusesWrongHeaders_data()
{
    QTest::addColumn<Change>("change");
    QTest::addColumn<QString>("message");
    const auto replace = [](const char *key, std::uint64_t value) {
        return Change([=](GgufWriter &writer) { writer.without(key).u64(key, value); });
    };
    const auto add = [](const char *key, std::uint64_t value) {
        return Change([=](GgufWriter &writer) { writer.u64(key, value); });
    };
    const auto without = [](const char *key) {
        return Change([=](GgufWriter &writer) { writer.without(key); });
    };
    QTest::addRow("no architecture") << without("general.architecture") << "general.architecture";
    QTest::addRow("no layers")
        << without("llama.block_count")
        << "\"llama.block_count\": expected a whole number from 1 to 16384, found nothing";
    QTest::addRow("zero layers") << replace("llama.block_count", 0) << "found 0";
    QTest::addRow("four billion layers") << replace("llama.block_count", 4294967295ULL) << "found 4294967295";
    QTest::addRow("more layers than tensors")
        << replace("llama.block_count", 1000) << "found 1000 layers, but the file has only 11 tensors";
    QTest::addRow("fewer layers") << replace("llama.block_count", 1)
                                  << "found 1 layers, but a tensor \"blk.1.";
    QTest::addRow("no width") << without("llama.embedding_length") << "\"llama.embedding_length\"";
    QTest::addRow("huge width") << replace("llama.embedding_length", 1ULL << 60)
                                << "\"llama.embedding_length\"";
    QTest::addRow("no heads") << without("llama.attention.head_count") << "\"llama.attention.head_count\"";
    QTest::addRow("huge heads") << replace("llama.attention.head_count", ~0ULL)
                                << "\"llama.attention.head_count\"";
    QTest::addRow("huge kv heads") << replace("llama.attention.head_count_kv", 1ULL << 40)
                                   << "\"llama.attention.head_count_kv\"";
    QTest::addRow("huge head") << add("llama.attention.key_length", 1ULL << 40)
                               << "\"llama.attention.key_length\"";
    QTest::addRow("zero head") << add("llama.attention.key_length", 0) << "\"llama.attention.key_length\"";
    QTest::addRow("more experts used")
        << add("llama.expert_used_count", 3) << "expected at most the 0 experts, found 3";
    QTest::addRow("huge state") << add("llama.ssm.inner_size", 1ULL << 50) << "\"llama.ssm.inner_size\"";
    QTest::addRow("text for a number") << Change([](GgufWriter &writer) {
        writer.without("llama.embedding_length").string("llama.embedding_length", "16");
    }) << "llama.embedding_length";
    QTest::addRow("list too short") << Change([](GgufWriter &writer) {
        const std::vector<std::int32_t> heads = {1};
        writer.without("llama.attention.head_count_kv").integers("llama.attention.head_count_kv", heads);
    }) << "expected one number for each of the 2 layers, found 1";
    QTest::addRow("negative in a list") << Change([](GgufWriter &writer) {
        const std::vector<std::int32_t> heads = {1, -1};
        writer.without("llama.attention.head_count_kv").integers("llama.attention.head_count_kv", heads);
    }) << "from 0 to 65536, found -1";
    QTest::addRow("huge layer") << Change([](GgufWriter &writer) {
        addTensor(writer, "blk.99999999999999999999999.attn_q.weight", {16, 8});
        addTensor(writer, "blk.4294967296.attn_q.weight", {16, 8});
    }) << "blk.4294967296";
    QTest::addRow("decoder") << Change([](GgufWriter &writer) {
        addTensor(writer, "dec.blk.0.attn_q.weight", {16, 8});
    }) << "an encoder and a decoder";
}

void TestGgufShape::refusesWrongHeaders()
{
    QFETCH(Change, change);
    QFETCH(QString, message);
    GgufWriter writer = model("llama", 2, plainRoles);
    QVERIFY(shapeOf(writer));
    change(writer);
    const auto shape = shapeOf(writer);
    QVERIFY(!shape);
    const QString found = QString::fromStdString(shape.error().text());
    QVERIFY2(found.contains(message), qPrintable(found));
    QVERIFY2(found.contains("shape.gguf") && !found.contains(QLatin1Char('\n')), qPrintable(found));

    GgufWriter vocabulary;
    vocabulary.string("general.architecture", "llama").u32("llama.block_count", 2);
    const auto empty = shapeOf(vocabulary);
    QVERIFY(!empty);
    QCOMPARE(empty.error().code, ErrorCode::InvalidArgument);
}

void TestGgufShape::survivesChangedBytes()
{
    GgufWriter writer = model("jamba", 2, plainRoles);
    writer.u32("jamba.attention.sliding_window", 8).u32("jamba.expert_count", 4);
    writer.u32("jamba.ssm.inner_size", 32).u32("jamba.ssm.state_size", 4).u32("jamba.ssm.conv_kernel", 4);
    const std::vector<std::int32_t> pattern = {0, 1};
    writer.integers("jamba.attention.sliding_window_pattern", pattern);
    const auto whole = writer.bytes();
    const auto intact = GgufFile::parse(whole, "whole.gguf");
    QVERIFY(intact && shapeOfGguf(**intact));
    int read = 0;
    for (std::size_t place = 0; place < (*intact)->dataOffset(); ++place) {
        for (const unsigned change : {0x01U, 0x10U, 0x80U, 0xFFU}) {
            auto bytes = whole;
            bytes[place] ^= static_cast<std::byte>(change);
            const auto file = GgufFile::parse(bytes, "changed.gguf");
            if (!file)
                continue;
            const auto shape = shapeOfGguf(**file);
            if (!shape) {
                QVERIFY(!shape.error().text().empty());
                continue;
            }
            ++read;
            QVERIFY(shape->layers >= 1 && shape->kvLayers.size() == shape->layers);
            QVERIFY(shape->activeParameters() <= static_cast<double>(shape->parameters()) + 0.5);
            QVERIFY(shape->storedBytes() <= bytes.size());
        }
    }
    QVERIFY(read > 100);
}

TOKENLOUPE_TEST_MAIN(TestGgufShape)
#include "tst_ggufshape.moc"
