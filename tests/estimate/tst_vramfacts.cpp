// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvshape.h"
#include "engine/estimate/modelshape.h"
#include "engine/estimate/weighttypes.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <set>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

Q_DECLARE_METATYPE(json)

namespace {

std::uint64_t halfBytesPerToken(const ModelShape &shape)
{
    return KvShape{shape.kvLayers, KvType::F16, KvType::F16, 16}.bytesPerToken();
}

} // namespace

/// Published shapes: parameters counted from a few numbers, and what a token costs in the cache.
class TestVramFacts : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void countsPublishedModels_data()
    {
        TOKENLOUPE_NEED_SHARED(path, "vram/facts.json");
        QTest::addColumn<json>("model");
        const json facts = readJson(path);
        for (const json &model : facts["models"])
            QTest::addRow("%s", model["id"].get<std::string>().c_str()) << model;
    }
    void countsPublishedModels()
    {
        QFETCH(json, model);
        const auto shape = shapeOfJson(model.dump(), "facts");
        QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
        QCOMPARE(shape->parameters(), model["params_computed"].get<std::uint64_t>());
        const auto plan = planWeights(*shape, "F16");
        QVERIFY(plan);
        QCOMPARE(plan->bytes, 2 * shape->parameters());

        const json &kv = model["kv_bytes_per_token_f16"];
        std::set<std::uint64_t> answers;
        if (kv.is_object())
            answers.insert(kv["latent_cache"].get<std::uint64_t>());
        else
            answers.insert(kv.get<std::uint64_t>());
        QVERIFY2(answers.count(halfBytesPerToken(*shape)) == 1,
                 std::to_string(halfBytesPerToken(*shape)).c_str());
        QCOMPARE(shape->kvLayers.size(), std::size_t(shape->layers));
    }

    void agreesWithMeasuredCaches_data()
    {
        TOKENLOUPE_NEED_SHARED(path, "vram/facts.json");
        QTest::addColumn<json>("row");
        const json facts = readJson(path);
        for (const json &row : facts["measured"]) {
            const bool isPlain = row.value("kv_formula_agrees", false) && row.value("n_swa", 0) == 0 &&
                                 row.contains("kv_parts") && row["n_head_kv"].is_number() &&
                                 row.contains("n_embd_k_gqa") && row["n_embd_k_gqa"].is_number();
            if (isPlain && (row["kv_parts"].contains("c^KV") ? row["kv_parts"].size() == 1
                                                             : row["n_embd_k_gqa"] == row["n_embd_v_gqa"]))
                QTest::addRow("%s", row["id"].get<std::string>().c_str()) << row;
        }
    }
    /// What engines reported of their caches, from the few numbers that they print.
    void agreesWithMeasuredCaches()
    {
        QFETCH(json, row);
        const auto heads = row["n_head_kv"].get<std::uint64_t>();
        json text = {{"layers", row["n_layer"]},
                     {"hidden", row["n_embd"]},
                     {"heads", row.value("n_head", heads)},
                     {"kv_heads", heads},
                     {"head_dim", row["n_embd_k_gqa"].get<std::uint64_t>() / heads},
                     {"ffn", row.value("n_ff", 1)},
                     {"vocab", row.value("n_vocab", 32000)}};
        const json &parts = row["kv_parts"];
        const bool isLatent = parts.contains("c^KV");
        if (isLatent)
            text["mla"] = {{"kv_lora_rank", row["n_lora_kv"]}, {"qk_rope_head_dim", 64}};
        const auto shape = shapeOfJson(text.dump(), "measured");
        QVERIFY2(shape, shape ? "" : shape.error().text().c_str());
        const auto keys = kvTypeOf(parts[isLatent ? "c^KV" : "K"]["type"].get<std::string>());
        const auto values = kvTypeOf(parts[isLatent ? "c^KV" : "V"]["type"].get<std::string>());
        QVERIFY(keys && values);
        const KvShape cache{shape->kvLayers, *keys, *values, 16};
        const double mebibytes =
            static_cast<double>(cache.bytesPerToken() * row["n_ctx"].get<std::uint64_t>()) / 1048576.0;
        QVERIFY2(std::abs(mebibytes - row["kv_total_MiB"].get<double>()) < 1.0,
                 std::to_string(mebibytes).c_str());
    }
};

TOKENLOUPE_TEST_MAIN(TestVramFacts)
#include "tst_vramfacts.moc"
