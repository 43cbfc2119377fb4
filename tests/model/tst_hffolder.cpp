// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfcontainer.h"
#include "engine/model/model.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/testmain.h"
#include "tests/support/tinyfolder.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <cstring>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::ordered_json;

namespace fs = std::filesystem;

namespace {

void writeText(const fs::path &path, const std::string &text)
{
    writeBytes(path, std::as_bytes(std::span(text)));
}

/// The files of a folder as they are written, to be changed.
struct Folder
{
    fs::path at;
    ordered_json config, header;
    std::vector<std::byte> data;

    explicit Folder(const fs::path &path)
        : at(path)
    {
        const std::vector<std::byte> text = readBytes(at / "config.json");
        config = ordered_json::parse(reinterpret_cast<const char *>(text.data()),
                                     reinterpret_cast<const char *>(text.data()) + text.size());
        const std::vector<std::byte> file = readBytes(at / "model.safetensors");
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), 8);
        const auto *begin = reinterpret_cast<const char *>(file.data()) + 8;
        header = ordered_json::parse(begin, begin + length);
        data.assign(file.begin() + 8 + std::ptrdiff_t(length), file.end());
    }
    void add(const std::string &name, const char *type, std::vector<std::uint64_t> shape, std::size_t bytes)
    {
        const std::size_t begin = data.size();
        data.resize(begin + bytes);
        header[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
    }
    void rename(const std::string &from, const std::string &to)
    {
        header[to] = header.at(from);
        header.erase(from);
    }
    void write(const std::string &padding = {}) const
    {
        writeText(at / "config.json", config.dump());
        const std::string text = header.dump() + padding;
        writeBytes(at / "model.safetensors",
                   ByteWriter().number(std::uint64_t{text.size()}).text(text).raw(data).bytes());
    }
};

std::string textOf(const Result<std::shared_ptr<const Model>> &model)
{
    return model ? std::string() : model.error().text();
}

} // namespace

class TestHfFolder : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void describesItself();
    void headsTiedAndApart();
    void anyAlignment();
    void prefixes();
    void whatMayLieUnused();
    void whatMayNot();
    void foreignTypes();
    void ordersAreTurned();
    void shards();
    void missingFiles();
    void withoutTokenizer();

private:
    fs::path make(const char *name = "llama", const TinyFolderOptions &options = {});
    std::string failure() const { return textOf(Model::load(m_at)); }

    std::unique_ptr<QTemporaryDir> m_directory;
    fs::path m_at;
};

void TestHfFolder::init()
{
    QTest::failOnWarning(QRegularExpression(QStringLiteral(".")));
    m_directory = std::make_unique<QTemporaryDir>();
    m_at = fs::path(m_directory->path().toStdString()) / "some-model";
}

fs::path TestHfFolder::make(const char *name, const TinyFolderOptions &options)
{
    fs::remove_all(m_at);
    const TinyArchitecture model = asFolderHasIt(tinyArchitectureNamed(name));
    return writeTinyFolder(m_at, model, tinyTensors(model), options);
}

void TestHfFolder::describesItself()
{
    make("gemma2");
    for (const fs::path &path : {m_at, m_at / "", m_at / ".." / "some-model"}) {
        const auto container = HfContainer::open(path);
        QVERIFY2(container, container ? "" : container.error().text().c_str());
        QCOMPARE((*container)->name(), std::string("some-model"));
    }
    const auto model = Model::load(m_at);
    QVERIFY2(model, textOf(model).c_str());
    const ModelContainer &container = (*model)->container();
    QCOMPARE(container.format(), ContainerFormat::HuggingFace);
    QCOMPARE(container.architecture().value(), std::string("gemma2"));
    QCOMPARE((*model)->config().name, std::string("some-model"));
    QCOMPARE((*model)->mainType(), std::string("F32"));
    QCOMPARE((*model)->weightsBytes(), container.tensorBytes());
    QCOMPARE((*model)->copiedBytes(), std::uint64_t(0));
    const std::vector<std::byte> file = readBytes(m_at / "model.safetensors");
    for (const ContainerTensor &tensor : container.tensors()) {
        QCOMPARE(tensor.file, std::string_view("model.safetensors"));
        QCOMPARE(std::memcmp(file.data() + tensor.offset, tensor.data.data(), tensor.bytes), 0);
    }
    // Each weight has the data of its own name, in place.
    const LayerWeights &layer = (*model)->weights().layers.at(1);
    const auto data = [&](const char *name) { return container.tensor(name)->data.data(); };
    QCOMPARE(layer.up.data.data(), data("model.layers.1.mlp.up_proj.weight"));
    QCOMPARE(layer.key.data.data(), data("model.layers.1.self_attn.k_proj.weight"));
    QCOMPARE(layer.feedForwardNorm.data.data(), data("model.layers.1.pre_feedforward_layernorm.weight"));
    QCOMPARE(layer.attentionPostNorm.data.data(), data("model.layers.1.post_attention_layernorm.weight"));
}

void TestHfFolder::headsTiedAndApart()
{
    Folder files(make("llama"));
    const std::uint32_t tokens = files.config["vocab_size"];
    const std::uint32_t width = files.config["hidden_size"];
    files.add("lm_head.weight", "F32", {tokens, width}, std::size_t{tokens} * width * 4);
    files.write();
    auto model = Model::load(m_at); // says tied: what else is stored does not count
    QVERIFY2(model, textOf(model).c_str());
    QCOMPARE((*model)->weights().outputKind, OutputHead::Tied);
    QVERIFY((*model)->warnings().empty());
    files.config["tie_word_embeddings"] = false;
    files.write();
    QCOMPARE((*Model::load(m_at))->weights().outputKind, OutputHead::Separate);
    files.config.erase("tie_word_embeddings"); // llama's default
    files.write();
    QCOMPARE((*Model::load(m_at))->weights().outputKind, OutputHead::Separate);

    Folder without(make("llama"));
    without.config["tie_word_embeddings"] = false;
    without.write();
    QVERIFY2(failure().find("\"lm_head.weight\" is missing, and config.json says") != std::string::npos,
             failure().c_str());
}

/// A header of any length puts the data at any byte.
void TestHfFolder::anyAlignment()
{
    Folder files(make("llama"));
    const std::size_t length = files.header.dump().size();
    files.write(std::string((8 - length % 8) % 8, ' '));
    const auto aligned = Model::load(m_at);
    QVERIFY2(aligned, textOf(aligned).c_str());
    QCOMPARE((*aligned)->copiedBytes(), std::uint64_t(0));
    const std::vector<std::byte> norm((*aligned)->weights().outputNorm.data.begin(),
                                      (*aligned)->weights().outputNorm.data.end());
    files.write(std::string((8 - length % 8) % 8 + 1, ' '));
    const auto shifted = Model::load(m_at);
    QVERIFY2(shifted, textOf(shifted).c_str());
    QCOMPARE((*shifted)->copiedBytes(), (*shifted)->weightsBytes());
    const std::span<const std::byte> copy = (*shifted)->weights().outputNorm.data;
    QCOMPARE(std::memcmp(copy.data(), norm.data(), norm.size()), 0);
    // Giving back the file's pages leaves copies alone.
    (*shifted)->releasePages(copy);
    QCOMPARE(std::memcmp(copy.data(), norm.data(), norm.size()), 0);
}

void TestHfFolder::prefixes()
{
    for (const auto &[name, from] : {std::pair("llama", "model."), std::pair("gpt2", "transformer."),
                                     std::pair("bloom", "transformer.")}) {
        std::vector<std::string> to = {""};
        if (std::string(name) == "llama")
            to = {"language_model.model.", "model.language_model.", ""};
        for (const std::string &prefix : to) {
            Folder files(make(name));
            ordered_json header;
            for (const auto &[tensor, entry] : files.header.items())
                header[tensor.starts_with(from) ? prefix + tensor.substr(std::strlen(from)) : tensor] = entry;
            files.header = header;
            files.write();
            const auto model = Model::load(m_at);
            QVERIFY2(model, textOf(model).c_str());
            QVERIFY((*model)->warnings().empty());
        }
    }
}

void TestHfFolder::whatMayLieUnused()
{
    Folder files(make("gpt2"));
    files.add("transformer.h.0.attn.bias", "U8", {1, 1, 4, 4}, 16);
    files.add("transformer.h.0.attn.masked_bias", "F32", {}, 4);
    files.add("lm_head.weight", "F32", {1}, 4);
    files.write();
    const auto model = Model::load(m_at);
    QVERIFY2(model, textOf(model).c_str());
    QVERIFY((*model)->warnings().empty());

    Folder pictures(make("gemma"));
    pictures.add("vision_tower.patch.weight", "F8_E4M3", {2, 2}, 4);
    pictures.add("vision_tower.patch.bias", "F64", {2, 2, 2, 2, 2}, 256);
    pictures.write();
    const auto seeing = Model::load(m_at);
    QVERIFY2(seeing, textOf(seeing).c_str());
    QCOMPARE((*seeing)->warnings(),
             std::vector<std::string>{"2 tensors are not used, the first is \"vision_tower.patch.weight\""});
    QCOMPARE((*seeing)->weightsBytes() + 260, (*seeing)->container().tensorBytes());
}

void TestHfFolder::whatMayNot()
{
    Folder files(make("llama"));
    files.add("model.layers.1.self_attn.sinks", "F32", {6}, 24);
    files.write();
    QVERIFY2(failure().find("\"model.layers.1.self_attn.sinks\" is no part") != std::string::npos,
             failure().c_str());
    Folder without(make("qwen2"));
    without.rename("model.layers.1.self_attn.k_proj.bias", "spare");
    without.write();
    QVERIFY2(failure().find("\"model.layers.1.self_attn.k_proj.bias\" is missing") != std::string::npos,
             failure().c_str());
    Folder expert(make("mixtral"));
    expert.rename("model.layers.0.block_sparse_moe.experts.3.w2.weight", "spare");
    expert.write();
    QVERIFY2(failure().find("experts.3.w2.weight\" is missing") != std::string::npos, failure().c_str());
    Folder wrong(make("falcon with two norms"));
    wrong.config["num_kv_heads"] = 3;
    wrong.write();
    QVERIFY2(failure().find("query_key_value.weight\": expected 120 × 45") != std::string::npos,
             failure().c_str());
    Folder deep(make("llama"));
    deep.header["model.norm.weight"]["shape"] = {1, 1, 1, 1, 45};
    deep.write();
    QVERIFY2(failure().find("expected 1 to 4 dimensions, found 5") != std::string::npos, failure().c_str());
    Folder scalar(make("llama"));
    scalar.config["hidden_size"] = 46;
    scalar.write();
    QVERIFY2(failure().find("expected 391 × 46 (rows × columns), found 391 × 45") != std::string::npos,
             failure().c_str());
}

/// Types that are not run are refused by their names, where they are needed.
void TestHfFolder::foreignTypes()
{
    for (const auto &[type, bytes] : {std::pair("F8_E4M3", 45), std::pair("F64", 360), std::pair("I8", 45)}) {
        Folder files(make("llama"));
        files.rename("model.norm.weight", "spare");
        files.add("model.norm.weight", type, {45}, std::size_t(bytes));
        files.write();
        const auto model = Model::load(m_at);
        QVERIFY(!model);
        QCOMPARE(model.error().code, ErrorCode::Unsupported);
        const std::string says = std::string("\"model.norm.weight\": expected the type F32, found ") + type;
        QVERIFY2(model.error().text().find(says) != std::string::npos, model.error().text().c_str());
    }
    Folder files(make("llama"));
    files.rename("model.layers.0.mlp.up_proj.weight", "spare");
    files.add("model.layers.0.mlp.up_proj.weight", "F8_E5M2", {77, 45}, 77 * 45);
    files.write();
    QVERIFY2(failure().find("up_proj.weight\" has the type F8_E5M2; supported are F32, F16") !=
                 std::string::npos,
             failure().c_str());
}

/// Matrices that are stored the other way round are copies, and the file's pages are not counted twice.
void TestHfFolder::ordersAreTurned()
{
    const TinyArchitecture tiny = tinyArchitectureNamed("gpt2");
    const TinyTensors tensors = tinyTensors(tiny);
    make("gpt2");
    const auto model = Model::load(m_at);
    QVERIFY2(model, textOf(model).c_str());
    const LayerWeights &layer = (*model)->weights().layers.at(2);
    const auto same = [&](const Weight &weight, const char *name) {
        const TinyTensor &tensor = tensors.at(name);
        return std::size_t(weight.rows) == tensor.rows && std::size_t(weight.columns) == tensor.columns &&
               std::memcmp(weight.data.data(), tensor.values.data(), weight.data.size()) == 0;
    };
    QVERIFY(same(layer.query, "blk.2.attn_q.weight"));
    QVERIFY(same(layer.value, "blk.2.attn_v.weight"));
    QVERIFY(same(layer.keyBias, "blk.2.attn_k.bias"));
    QVERIFY(same(layer.down, "blk.2.ffn_down.weight"));
    QVERIFY(same((*model)->weights().positionEmbedding, "position_embd.weight"));
    QVERIFY((*model)->copiedBytes() > 0);
    QVERIFY((*model)->copiedBytes() < (*model)->weightsBytes());
}

void TestHfFolder::shards()
{
    TinyFolderOptions several;
    several.shards = 4;
    make("mixtral", several);
    auto model = Model::load(m_at);
    QVERIFY2(model, textOf(model).c_str());
    QCOMPARE((*model)->container().tensors().back().file, std::string_view("model-4.safetensors"));
    const std::vector<std::byte> file = readBytes(m_at / "model.safetensors.index.json");
    const auto *const begin = reinterpret_cast<const char *>(file.data());
    const auto index = ordered_json::parse(begin, begin + file.size());
    const auto with = [&](const std::function<void(ordered_json &)> &change) {
        ordered_json changed = index;
        change(changed);
        writeText(m_at / "model.safetensors.index.json", changed.dump());
        return failure();
    };
    const auto says = [](const std::string &message, const char *part) {
        return message.find(part) != std::string::npos;
    };
    std::string text1 =
        with([](ordered_json &i) { i["weight_map"]["model.norm.weight"] = "../x.safetensors"; });
    QVERIFY2(says(text1, "expected the name of a file in the same folder"), text1.c_str());
    text1 = with([](ordered_json &i) { i["weight_map"]["model.norm.weight"] = 3; });
    QVERIFY2(says(text1, "tensor \"model.norm.weight\": expected the name of a file"), text1.c_str());
    text1 = with([](ordered_json &i) { i["weight_map"]["more"] = "model-2.safetensors"; });
    QVERIFY2(says(text1, "read model-2.safetensors: tensor \"more\" is missing"), text1.c_str());
    text1 = with([](ordered_json &i) { i["weight_map"]["more"] = "model-9.safetensors"; });
    QVERIFY2(says(text1, "model-9.safetensors") && says(text1, "weight_map"), text1.c_str());
    text1 = with([](ordered_json &i) { i.erase("weight_map"); });
    QVERIFY2(says(text1, "field \"weight_map\""), text1.c_str());
    with([](ordered_json &) {});
    fs::copy_file(m_at / "model-1.safetensors", m_at / "model-5.safetensors");
    text1 = with([](ordered_json &i) { i["weight_map"]["more"] = "model-5.safetensors"; });
    QVERIFY2(says(text1, "is in model-1.safetensors too"), text1.c_str());
    writeText(m_at / "model.safetensors.index.json", "[");
    QVERIFY2(says(failure(), "read model.safetensors.index.json: expected JSON"), failure().c_str());
}

void TestHfFolder::missingFiles()
{
    make();
    fs::remove(m_at / "model.safetensors");
    QVERIFY2(failure().find("neither model.safetensors nor model.safetensors.index.json") !=
                 std::string::npos,
             failure().c_str());
    writeText(m_at / "pytorch_model.bin", "x");
    QVERIFY2(failure().find("can run code") != std::string::npos, failure().c_str());
    writeText(m_at / "config.json", "{");
    QVERIFY2(failure().find("read config.json of some-model: expected JSON") != std::string::npos,
             failure().c_str());
    writeText(m_at / "config.json", std::string(100000, '['));
    QVERIFY2(failure().find("nested more than 64 deep") != std::string::npos, failure().c_str());
    fs::remove(m_at / "config.json");
    QVERIFY2(failure().find("a folder without config.json") != std::string::npos, failure().c_str());
}

void TestHfFolder::withoutTokenizer()
{
    Folder files(make());
    files.config["bos_token_id"] = 1;
    files.config["eos_token_id"] = {7, 9};
    files.config["pad_token_id"] = 100000;
    files.write();
    const auto model = Model::load(m_at);
    QVERIFY2(model, textOf(model).c_str());
    const VocabularyData &vocabulary = (*model)->vocabulary();
    QCOMPARE(vocabulary.model, std::string(noTokenizerModel));
    QCOMPARE(vocabulary.texts.size(), std::size_t(391));
    QCOMPARE(vocabulary.bos, std::optional(TokenId(1)));
    QCOMPARE(vocabulary.eos, std::optional(TokenId(7)));
    QCOMPARE(vocabulary.endOfTurn, (std::vector<TokenId>{TokenId(7), TokenId(9)}));
    QVERIFY(!vocabulary.padding);
    QVERIFY(!(*model)->container().hasVocabulary());
}

TOKENLOUPE_TEST_MAIN(TestHfFolder)
#include "tst_hffolder.moc"
