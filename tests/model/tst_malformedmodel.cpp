// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/allocationcounter.h"
#include "tests/model/malformedinput.h"
#include "tests/model/modelcheck.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>
#include <functional>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Bytes = std::vector<std::byte>;
using Change = std::function<void(GgufWriter &)>;
Q_DECLARE_METATYPE(Change)

/// Valid containers whose content contradicts itself or lacks something: one change of a whole model each.
class TestMalformedModel : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void faultsOfAModel_data();
    void faultsOfAModel();
};

void TestMalformedModel::faultsOfAModel_data()
{
    QTest::addColumn<Change>("change");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("says");
    const auto row = [](const char *name, ErrorCode code, const char *says, Change change) {
        QTest::newRow(name) << std::move(change) << int(code) << QString::fromUtf8(says);
    };
    const auto number = [](const char *key, std::uint32_t value) {
        return [key, value](GgufWriter &w) { w.without(key).u32(key, value); };
    };
    const auto missing = [](const char *key) { return [key](GgufWriter &w) { w.without(key); }; };
    const auto lost = [](const char *name) { return [name](GgufWriter &w) { w.withoutTensor(name); }; };
    const auto shape = [](const char *name, std::vector<std::uint64_t> extents) {
        return [name, extents](GgufWriter &w) { w.claimShape(name, extents); };
    };
    constexpr auto bad = ErrorCode::BadFile;
    constexpr auto unsupported = ErrorCode::Unsupported;

    row("no architecture", bad, "key \"general.architecture\" is missing", missing("general.architecture"));
    row("other architecture", unsupported,
        "\"gemma9\\x00\" is not one that this program runs (llama, qwen2, ", [](GgufWriter &w) {
            w.without("general.architecture").string("general.architecture", std::string_view("gemma9\0", 7));
        });
    row("architecture is a number", bad, "expected a string",
        [](GgufWriter &w) { w.without("general.architecture").u32("general.architecture", 7); });
    for (const char *key : {"block_count", "embedding_length", "context_length", "feed_forward_length",
                            "attention.head_count"}) {
        const std::string full = std::string("llama.") + key;
        const std::string none = "key \"" + full + "\" is missing";
        const std::string zero = "key \"" + full + "\": expected 1 to";
        row(("missing " + full).c_str(), bad, none.c_str(), [full](GgufWriter &w) { w.without(full); });
        row(("zero " + full).c_str(), bad, zero.c_str(),
            [full](GgufWriter &w) { w.without(full).u32(full, 0); });
        row(("huge " + full).c_str(), bad, "expected 1 to",
            [full](GgufWriter &w) { w.without(full).u64(full, ~0ULL); });
        row(("negative " + full).c_str(), bad, "expected a number from 0, found -1",
            [full](GgufWriter &w) { w.without(full).i32(full, -1); });
        row(("text " + full).c_str(), bad, "expected an integer, found a value of type string",
            [full](GgufWriter &w) { w.without(full).string(full, "8"); });
    }
    row("no epsilon", bad, "layer_norm_rms_epsilon\" is missing",
        missing("llama.attention.layer_norm_rms_epsilon"));
    row("epsilon is not a number", bad, "expected a finite number", [](GgufWriter &w) {
        w.without("llama.attention.layer_norm_rms_epsilon")
            .f32("llama.attention.layer_norm_rms_epsilon", NAN);
    });
    row("4e9 layers", bad, "found 4000000000 layers", number("llama.block_count", 4000000000U));
    row("513 layers", bad, "found 513 layers", number("llama.block_count", 513));
    row("a layer more", bad, "tensor \"blk.1.attn_norm.weight\" is missing", number("llama.block_count", 2));
    row("3 heads of width 8", bad, "expected a divisor of the width 8, found 3",
        number("llama.attention.head_count", 3));
    row("KV heads do not divide", bad, "expected a divisor of the 2 heads, found 3",
        number("llama.attention.head_count_kv", 3));
    row("KV heads 0", bad, "head_count_kv\": expected 1 to", number("llama.attention.head_count_kv", 0));
    row("KV heads for 3 layers", bad, "expected one number for each layer (1), found 3", [](GgufWriter &w) {
        w.without("llama.attention.head_count_kv")
            .integers("llama.attention.head_count_kv", std::vector<std::int32_t>{1, 1, 1});
    });
    row("negative KV heads of a layer", bad, "head_count_kv\": expected 1 to", [](GgufWriter &w) {
        w.without("llama.attention.head_count_kv")
            .integers("llama.attention.head_count_kv", std::vector<std::int32_t>{-1});
    });
    row("odd rotation", bad, "expected an even number", number("llama.rope.dimension_count", 3));
    row("rotation beyond the head", bad, "up to the head size 4, found 6",
        number("llama.rope.dimension_count", 6));
    row("rotation base 0", bad, "rope.freq_base\": expected a number above 0",
        [](GgufWriter &w) { w.without("llama.rope.freq_base").f32("llama.rope.freq_base", 0.0F); });
    row("scaling factor below the smallest float", bad, "rope.scaling.factor\": expected a number above 0",
        [](GgufWriter &w) { w.f64("llama.rope.scaling.factor", 1e-300); });
    row("a scaling that nobody knows", unsupported,
        "expected one of none, linear, ntk, dynamic, yarn, longrope, llama3, found \"spiral\"",
        [](GgufWriter &w) { w.string("llama.rope.scaling.type", "spiral"); });
    row("longrope without factors", bad, "tensor \"rope_factors_short.weight\" is missing",
        [](GgufWriter &w) { w.string("llama.rope.scaling.type", "longrope"); });
    row("attention factor 0", bad, "rope.scaling.attn_factor\": expected a number above 0",
        [](GgufWriter &w) { w.f32("llama.rope.scaling.attn_factor", 0.0F); });
    row("experts, nobody says how many are used", bad, "key \"llama.expert_used_count\" is missing",
        [](GgufWriter &w) { w.u32("llama.expert_count", 8); });
    row("experts, none used", bad, "expert_used_count\": expected 1 to",
        [](GgufWriter &w) { w.u32("llama.expert_count", 8).u32("llama.expert_used_count", 0); });
    row("more experts used than there are", bad, "expected at most the 8 experts, found 9",
        [](GgufWriter &w) { w.u32("llama.expert_count", 8).u32("llama.expert_used_count", 9); });
    row("65537 experts", bad, "expert_count\": expected 0 to 65536, found 65537",
        [](GgufWriter &w) { w.u32("llama.expert_count", 65537); });
    row("experts without a router", bad, "tensor \"blk.0.ffn_gate_inp.weight\" is missing",
        [](GgufWriter &w) { w.u32("llama.expert_count", 8).u32("llama.expert_used_count", 2); });
    row("a router for other experts", bad, "expected 8 × 8 (rows × columns), found 4 × 8", [](GgufWriter &w) {
        w.u32("llama.expert_count", 8).u32("llama.expert_used_count", 2);
        w.tensor("blk.0.ffn_gate_inp.weight", {8, 4}, 0, Bytes(128));
    });
    row("experts that are no matrices", bad, "tensor \"blk.0.ffn_gate_exps.weight\" is missing",
        [](GgufWriter &w) {
            w.u32("llama.expert_count", 2).u32("llama.expert_used_count", 2);
            w.tensor("blk.0.ffn_gate_inp.weight", {8, 2}, 0, Bytes(64));
        });
    row("too few experts in the tensor", bad,
        "expected 12 × 8 × 3 (rows × columns × experts), found 12 × 8 × 2 × 1", [](GgufWriter &w) {
            w.u32("llama.expert_count", 3).u32("llama.expert_used_count", 2);
            w.tensor("blk.0.ffn_gate_inp.weight", {8, 3}, 0, Bytes(96));
            w.tensor("blk.0.ffn_gate_exps.weight", {8, 12, 2}, 0, Bytes(768));
        });
    row("one expert's matrix is missing", bad, "tensor \"blk.0.ffn_gate.1.weight\" is missing",
        [](GgufWriter &w) {
            w.u32("llama.expert_count", 2).u32("llama.expert_used_count", 1);
            w.tensor("blk.0.ffn_gate_inp.weight", {8, 2}, 0, Bytes(64));
            w.tensor("blk.0.ffn_gate.0.weight", {8, 12}, 0, Bytes(384));
        });
    row("window of text", bad, "expected an integer, found a value of type string",
        [](GgufWriter &w) { w.string("llama.attention.sliding_window", "wide"); });
    row("window pattern of floats", bad, "expected a number, or true or false for each of 1 layers",
        [](GgufWriter &w) {
            w.u32("llama.attention.sliding_window", 4);
            w.floats("llama.attention.sliding_window_pattern", std::vector<float>{1.0F});
        });
    row("soft cap below 0", bad, "attn_logit_softcapping\": expected a finite number from 0",
        [](GgufWriter &w) { w.f32("llama.attn_logit_softcapping", -1.0F); });
    row("split", unsupported, "split into 3 files, and this is only one",
        [](GgufWriter &w) { w.u16("split.count", 3); });

    row("no tokens", bad, "key \"tokenizer.ggml.tokens\" is missing", missing("tokenizer.ggml.tokens"));
    row("tokens are numbers", bad, "expected an array of strings", [](GgufWriter &w) {
        w.without("tokenizer.ggml.tokens").integers("tokenizer.ggml.tokens", std::vector<std::int32_t>{1, 2});
    });
    row("an empty list of tokens", bad, "expected at least one token", [](GgufWriter &w) {
        w.without("tokenizer.ggml.tokens").strings("tokenizer.ggml.tokens", std::vector<std::string>());
    });
    row("no kind of tokenizer", bad, "key \"tokenizer.ggml.model\" is missing",
        missing("tokenizer.ggml.model"));
    row("fewer rows than tokens", bad,
        "tensor \"token_embd.weight\": expected 384 × 8 (rows × columns), found 300 × 8",
        shape("token_embd.weight", {8, 300}));

    row("no embedding", bad, "tensor \"token_embd.weight\" is missing", lost("token_embd.weight"));
    row("no last norm", bad, "tensor \"output_norm.weight\" is missing", lost("output_norm.weight"));
    row("no down projection", bad, "tensor \"blk.0.ffn_down.weight\" is missing",
        lost("blk.0.ffn_down.weight"));
    row("transposed", bad, "expected 8 × 12 (rows × columns), found 12 × 8",
        shape("blk.0.ffn_down.weight", {8, 12}));
    row("short norm", bad, "tensor \"blk.0.attn_norm.weight\": expected 1 × 8",
        shape("blk.0.attn_norm.weight", {4}));
    row("short bias", bad, "tensor \"blk.0.attn_q.bias\": expected 1 × 8", shape("blk.0.attn_q.bias", {4}));
    row("third dimension", bad, "found 2 × 4 × 2 × 1", shape("blk.0.attn_k.weight", {4, 2, 2}));
    row("norm of halves", unsupported, "expected the type F32, found F16",
        [](GgufWriter &w) { w.claimType("blk.0.attn_norm.weight", 1); });
    row("matrix of integers", unsupported, "has the type I8; supported are F32, F16, Q4_0",
        [](GgufWriter &w) { w.claimType("blk.0.ffn_up.weight", 24); });
    row("frequency factor 0", bad, "tensor \"rope_freqs.weight\": expected numbers above 0, found 0",
        [](GgufWriter &w) {
            w.withoutTensor("rope_freqs.weight");
            w.tensor("rope_freqs.weight", {2}, 0, Bytes(8));
        });
    row("a short bias of the feed-forward", bad, "tensor \"blk.0.ffn_up.bias\": expected 1 × 12",
        [](GgufWriter &w) { w.tensor("blk.0.ffn_up.bias", {11}, 0, Bytes(44)); });
    row("a scale that nobody applies", unsupported,
        "tensor \"blk.0.ffn_up.scale\" is no part of a llama block",
        [](GgufWriter &w) { w.tensor("blk.0.ffn_up.scale", {12}, 0, Bytes(48)); });
}

void TestMalformedModel::faultsOfAModel()
{
    QFETCH(Change, change);
    QFETCH(int, code);
    QFETCH(QString, says);
    QVERIFY(checkModelBytes(tinyModelBytes(smallModel())).loaded);
    GgufWriter writer = tinyModel(smallModel());
    change(writer);
    const Bytes bytes = writer.bytes();
    ModelCheck check;
    std::size_t allocated = 0;
    {
        const AllocationCounter counter;
        check = checkModelBytes(bytes);
        allocated = counter.total();
    }
    QVERIFY(!check.loaded);
    const QString text = QString::fromStdString(check.error->text());
    QVERIFY2(check.parsed, qPrintable(text));
    QVERIFY2(text.contains(says), qPrintable(text));
    QVERIFY2(text.contains(QStringLiteral("test.gguf")), qPrintable(text));
    QCOMPARE(int(check.error->code), code);
    QVERIFY2(isOneCleanLine(check.error->text()), qPrintable(text));
    QVERIFY2(allocated <= allowedBytes(bytes.size()), qPrintable(QString::number(allocated)));
}

TOKENLOUPE_TEST_MAIN(TestMalformedModel)
#include "tst_malformedmodel.moc"
