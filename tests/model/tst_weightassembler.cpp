// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/weightassembler.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <list>
#include <map>
#include <tuple>

using namespace tokenloupe;

namespace {

using Key = std::tuple<WeightRole, WeightPart, std::uint32_t, std::uint32_t>;
constexpr std::uint32_t none = 0xffffffffU;

Key keyOf(const WeightId &id)
{
    return {id.role, id.part, id.layer.value_or(none), id.expert.value_or(none)};
}

/// Weights that lie in no file: what another container would offer.
class MapSource final : public WeightSource
{
public:
    void add(const WeightId &id, std::vector<std::uint64_t> shape, TensorType type = TensorType::F32)
    {
        StoredWeight stored;
        stored.name = nameOf(id);
        stored.type = type;
        std::copy(shape.begin(), shape.end(), stored.shape.begin());
        std::size_t values = 1;
        for (const std::uint64_t extent : shape)
            values *= extent;
        m_data.emplace_back(values * traitsOf(type).blockBytes / traitsOf(type).blockValues);
        stored.data = m_data.back();
        m_stored[keyOf(id)] = stored;
    }
    void remove(const WeightId &id) { m_stored.erase(keyOf(id)); }
    const StoredWeight &at(const WeightId &id) const { return m_stored.at(keyOf(id)); }

    Result<std::optional<StoredWeight>> find(const WeightId &id) override
    {
        const auto found = m_stored.find(keyOf(id));
        return found == m_stored.end() ? std::optional<StoredWeight>() : std::optional(found->second);
    }
    std::string nameOf(const WeightId &id) const override
    {
        return "weight " + std::to_string(int(id.role)) + (id.part == WeightPart::Bias ? " bias" : "") +
               (id.expert ? " of expert " + std::to_string(*id.expert) : std::string());
    }
    std::string container() const override { return "a map"; }

private:
    std::map<Key, StoredWeight> m_stored;
    std::list<std::vector<std::byte>> m_data;
};

WeightId inLayer(WeightRole role, WeightPart part = WeightPart::Weight)
{
    return {role, part, 0, {}};
}

ModelConfig config()
{
    ModelConfig config;
    config.layers = 1;
    config.embedding = 32;
    config.heads = 4;
    config.kvHeads = {2};
    config.headSize = 10;
    config.valueHeadSize = 6;
    config.feedForward = 64;
    config.vocabulary = 50;
    config.ropeDimensions = 10;
    return config;
}

MapSource fusedSource()
{
    MapSource source;
    source.add({WeightRole::TokenEmbedding}, {32, 50});
    source.add({WeightRole::OutputNorm}, {32});
    source.add(inLayer(WeightRole::AttentionNorm), {32});
    source.add(inLayer(WeightRole::QueryKeyValue), {32, 40 + 20 + 12}, TensorType::Q8_0);
    source.add(inLayer(WeightRole::QueryKeyValue, WeightPart::Bias), {72});
    source.add(inLayer(WeightRole::AttentionOutput), {24, 32});
    source.add(inLayer(WeightRole::FeedForwardNorm), {32});
    source.add(inLayer(WeightRole::GateUp), {32, 128}, TensorType::Q4_0);
    source.add(inLayer(WeightRole::Down), {64, 32}, TensorType::Q4_0);
    return source;
}

} // namespace

/// Assembly from a source that is no GGUF file.
class TestWeightAssembler : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void takesFusedOnesApart();
    void takesSeparateOnes();
    void expertsOfBothForms();
    void saysWhatIsMissing();
};

void TestWeightAssembler::takesFusedOnesApart()
{
    MapSource source = fusedSource();
    const ModelConfig model = config();
    const auto weights = WeightAssembler(model, source).assemble();
    QVERIFY2(weights, weights ? "" : weights.error().text().c_str());
    const LayerWeights &layer = weights->layers.at(0);
    const auto whole = source.at(inLayer(WeightRole::QueryKeyValue)).data;
    constexpr std::ptrdiff_t rowBytes = 34; // 32 values as Q8_0
    QCOMPARE(layer.query.data.data(), whole.data());
    QCOMPARE(layer.query.rows, 40);
    QCOMPARE(layer.key.data.data(), whole.data() + 40 * rowBytes);
    QCOMPARE(layer.key.rows, 20);
    QCOMPARE(layer.value.data.data(), whole.data() + 60 * rowBytes);
    QCOMPARE(layer.value.data.size(), std::size_t(12 * rowBytes));
    QCOMPARE(layer.value.type, TensorType::Q8_0);
    const auto bias = source.at(inLayer(WeightRole::QueryKeyValue, WeightPart::Bias)).data;
    QCOMPARE(layer.keyBias.data.data(), bias.data() + 40 * sizeof(float));
    QCOMPARE(layer.keyBias.columns, 20);
    QCOMPARE(layer.valueBias.data.size(), 12 * sizeof(float));
    const auto pair = source.at(inLayer(WeightRole::GateUp)).data;
    QCOMPARE(layer.gate.data.data(), pair.data());
    QCOMPARE(layer.up.data.data(), pair.data() + 64 * 18); // 32 values as Q4_0
    QCOMPARE(layer.up.rows, 64);
    QVERIFY(!layer.gateBias.isPresent());
    QCOMPARE(weights->outputKind, OutputHead::Tied);
    QCOMPARE(weights->outputHead.data.data(), weights->tokenEmbedding.data.data());
}

void TestWeightAssembler::takesSeparateOnes()
{
    MapSource source = fusedSource();
    source.remove(inLayer(WeightRole::QueryKeyValue));
    source.remove(inLayer(WeightRole::GateUp));
    source.add(inLayer(WeightRole::Query), {32, 40});
    source.add(inLayer(WeightRole::Key), {32, 20});
    source.add(inLayer(WeightRole::Value), {32, 12});
    source.add(inLayer(WeightRole::Gate), {32, 64});
    source.add(inLayer(WeightRole::Up), {32, 64});
    source.add({WeightRole::OutputHead}, {32, 50});
    const ModelConfig model = config();
    const auto weights = WeightAssembler(model, source).assemble();
    QVERIFY2(weights, weights ? "" : weights.error().text().c_str());
    QCOMPARE(weights->layers[0].value.data.data(), source.at(inLayer(WeightRole::Value)).data.data());
    QVERIFY(!weights->layers[0].queryBias.isPresent());
    QCOMPARE(weights->outputKind, OutputHead::Separate);
}

void TestWeightAssembler::expertsOfBothForms()
{
    ModelConfig model = config();
    model.experts = 3;
    model.expertsUsed = 2;
    model.expertFeedForward = 5;
    MapSource source = fusedSource();
    source.add(inLayer(WeightRole::Router), {32, 3});
    source.add(inLayer(WeightRole::ExpertGate), {32, 5, 3});
    source.add(inLayer(WeightRole::ExpertUp), {32, 5, 3});
    for (std::uint32_t expert = 0; expert < 3; ++expert)
        source.add({WeightRole::ExpertDown, WeightPart::Weight, 0, expert}, {5, 32});
    const auto weights = WeightAssembler(model, source).assemble();
    QVERIFY2(weights, weights ? "" : weights.error().text().c_str());
    const std::vector<ExpertWeights> &experts = weights->layers[0].experts;
    QCOMPARE(experts.size(), std::size_t(3));
    QCOMPARE(experts[2].up.data.data(),
             source.at(inLayer(WeightRole::ExpertUp)).data.data() + 2 * 5 * 32 * sizeof(float));
    QCOMPARE(experts[2].up.rows, 5);
    QCOMPARE(experts[1].down.data.data(),
             source.at({WeightRole::ExpertDown, WeightPart::Weight, 0, 1U}).data.data());

    source.remove({WeightRole::ExpertDown, WeightPart::Weight, 0, 1U});
    const auto incomplete = WeightAssembler(model, source).assemble();
    QVERIFY(!incomplete);
    QVERIFY(QString::fromStdString(incomplete.error().text()).contains(QStringLiteral("of expert 1")));
}

void TestWeightAssembler::saysWhatIsMissing()
{
    const ModelConfig model = config();
    MapSource source = fusedSource();
    source.remove(inLayer(WeightRole::Down));
    const auto lost = WeightAssembler(model, source).assemble();
    QVERIFY(!lost);
    QCOMPARE(lost.error().code, ErrorCode::BadFile);
    QCOMPARE(QString::fromStdString(lost.error().operation), QStringLiteral("load a map"));

    source = fusedSource();
    source.add(inLayer(WeightRole::QueryKeyValue), {32, 71});
    const auto shorter = WeightAssembler(model, source).assemble();
    QVERIFY(!shorter);
    QVERIFY2(QString::fromStdString(shorter.error().text())
                 .contains(QStringLiteral("expected 72 × 32 (rows × columns), found 71 × 32")),
             shorter.error().text().c_str());

    ModelConfig strict = config();
    strict.spec.biases = RequiredBiases::All;
    source = fusedSource();
    const auto unbiased = WeightAssembler(strict, source).assemble();
    QVERIFY(!unbiased);
    QVERIFY(QString::fromStdString(unbiased.error().text()).contains(QStringLiteral("bias\" is missing")));
}

TOKENLOUPE_TEST_MAIN(TestWeightAssembler)
#include "tst_weightassembler.moc"
