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
};

TOKENLOUPE_TEST_MAIN(TestVramFacts)
#include "tst_vramfacts.moc"
