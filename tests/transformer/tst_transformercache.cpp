// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"
#include "tests/transformer/referencemodel.h"
#include "tests/transformer/runmodel.h"

#include <QTemporaryDir>
#include <cmath>
#include <map>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<std::uint32_t>;

/// Largest difference, as a share of the expected values' root mean square.
double worstDifference(std::span<const float> got, const std::vector<double> &expected)
{
    if (got.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    double squares = 0;
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        squares += expected[i] * expected[i];
        const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
        worst = std::isnan(difference) ? difference : std::max(worst, difference);
    }
    return worst / std::sqrt(squares / static_cast<double>(expected.size()));
}

/// Root mean square of the differences, as a share of that of the expected values.
double meanDifference(std::span<const float> got, const std::vector<double> &expected)
{
    if (got.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    double squares = 0;
    double differences = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double difference = static_cast<double>(got[i]) - expected[i];
        squares += expected[i] * expected[i];
        differences += difference * difference;
    }
    return std::sqrt(differences / squares);
}

} // namespace

/// What the cache's types, key phases and sequences do to the logits.
class TestTransformerCache : public QObject
{
    Q_OBJECT

private slots:
    void everyCacheTypeIsClose_data();
    void everyCacheTypeIsClose();
    void unrotatedKeysGiveTheSameBits();
    void droppedBlocksMoveUp();
    void sequencesDoNotDisturbEachOther();

private:
    std::shared_ptr<const Model> load(const TinyModelOptions &options,
                                      std::optional<std::uint32_t> window = {}) const;

    QTemporaryDir m_folder;
};

std::shared_ptr<const Model> TestTransformerCache::load(const TinyModelOptions &options,
                                                        std::optional<std::uint32_t> window) const
{
    GgufWriter writer = tinyModel(options);
    if (window)
        writer.u32("llama.attention.sliding_window", *window);
    const std::filesystem::path path = m_folder.filePath(QStringLiteral("tiny.gguf")).toStdString();
    std::filesystem::remove(path); // an older model may still be mapped: never write into its file
    writer.write(path);
    Result<std::shared_ptr<const Model>> model = Model::load(path);
    if (!model)
        qCritical("%s", model.error().text().c_str());
    return model ? *model : nullptr;
}

void TestTransformerCache::everyCacheTypeIsClose_data()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<double>("tolerance");
    // Heads of 32 numbers; what a type may cost in the logits is a few times its own step.
    const std::map<KvType, double> tolerances = {
        {KvType::F32, 0.0},   {KvType::F16, 2e-3},  {KvType::BF16, 0.015}, {KvType::Q8_0, 0.02},
        {KvType::Q5_1, 0.12}, {KvType::Q5_0, 0.15}, {KvType::Q4_1, 0.25},  {KvType::Q4_0, 0.3}};
    for (const KvType type : kvTypes())
        QTest::newRow(kvTypeName(type).data()) << static_cast<int>(type) << tolerances.at(type);
}

void TestTransformerCache::everyCacheTypeIsClose()
{
    QFETCH(int, type);
    QFETCH(double, tolerance);
    TinyModelOptions tiny;
    tiny.embedding = 64;
    tiny.headSize = 32;
    const std::shared_ptr<const Model> model = load(tiny);
    QVERIFY(model);
    const Ids ids = randomIds(40, model->config().vocabulary, 13);
    RunModel run(model, {});
    const std::vector<float> full = run.feedAll(ids);
    const std::vector<double> expected(full.begin(), full.end());
    const auto stored = static_cast<KvType>(type);
    for (const auto &[keys, values] :
         {std::pair(stored, stored), std::pair(stored, KvType::F32), std::pair(KvType::F32, stored)}) {
        for (const KeyPhase phase : {KeyPhase::Rotated, KeyPhase::Unrotated}) {
            RunOptions options;
            options.keyType = keys;
            options.valueType = values;
            options.keyPhase = phase;
            RunModel rounded(model, options);
            const std::vector<float> got = rounded.feedAll(ids, 6);
            const double mean = meanDifference(got, expected);
            QVERIFY2(mean <= tolerance, qPrintable(QString::number(mean)));
            QCOMPARE(mean > 0.0, stored != KvType::F32);
            RunModel again(model, options);
            QVERIFY(again.feedAll(ids) == got);
        }
    }
}

/// Rotated when it is read or when it is stored: the same operations on the same numbers.
void TestTransformerCache::unrotatedKeysGiveTheSameBits()
{
    for (const auto &window : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(7)}) {
        TinyModelOptions tiny;
        tiny.type = TinyType::Q4_1;
        const std::shared_ptr<const Model> model = load(tiny, window);
        QVERIFY(model);
        const Ids ids = randomIds(60, model->config().vocabulary, 23);
        RunModel rotated(model, {});
        CollectingTap rotatedTap;
        const std::vector<float> expected = rotated.feed(ids, 9, &rotatedTap);
        for (const std::uint32_t blockTokens : {1U, 4U, 16U}) {
            RunOptions options;
            options.keyPhase = KeyPhase::Unrotated;
            options.blockTokens = blockTokens;
            RunModel other(model, options);
            QVERIFY(other.feed(ids, 9) == expected);
            RunModel tapped(model, options);
            CollectingTap tap;
            QVERIFY(tapped.feed(ids, 9, &tap) == expected);
            QVERIFY(tap.taken == rotatedTap.taken);
        }
    }
}

/// What is left of a sequence whose middle was dropped: its rows' numbers as they were computed, its
/// positions counted anew. Layer 0 is enough to say so: its keys and values depend on nothing but their own
/// token.
void TestTransformerCache::droppedBlocksMoveUp()
{
    TinyModelOptions tiny;
    tiny.layers = 1;
    const std::shared_ptr<const Model> model = load(tiny);
    QVERIFY(model);
    const Ids ids = randomIds(50, model->config().vocabulary, 24);
    RunOptions options;
    options.keyPhase = KeyPhase::Unrotated;
    options.blockTokens = 4;
    RunModel run(model, options);
    run.feed(Ids(ids.begin(), ids.begin() + 41));
    QVERIFY(run.cache().dropBlocks(run.sequence(), 1, 3)); // tokens 4 to 15
    QVERIFY(run.cache().dropBlocks(run.sequence(), 2, 1)); // then 20 to 23
    QCOMPARE(run.cache().tokens(run.sequence()), 25U);
    const std::vector<float> got = run.feedAll(Ids(ids.begin() + 41, ids.end()), 2);

    Ids left(ids.begin(), ids.begin() + 4);
    left.insert(left.end(), ids.begin() + 16, ids.begin() + 20);
    left.insert(left.end(), ids.begin() + 24, ids.end());
    const ReferenceModel reference(*model, {static_cast<double>(tiny.ropeBase), 1.0, {}});
    const std::vector<double> all = reference.logits(left, {});
    const std::vector<double> expected(all.end() - static_cast<std::ptrdiff_t>(got.size()), all.end());
    QVERIFY(worstDifference(got, expected) < 2e-5);
    // Where nothing is dropped the logits are others, or this would show nothing.
    const std::vector<double> whole = reference.logits(ids, {});
    const std::vector<double> others(whole.end() - static_cast<std::ptrdiff_t>(got.size()), whole.end());
    QVERIFY(worstDifference(got, others) > 1e-3);
}

/// Branches of one prompt, grown in turns, each as if it were alone; and prompts found again.
void TestTransformerCache::sequencesDoNotDisturbEachOther()
{
    for (const auto &window : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(9)}) {
        const std::shared_ptr<const Model> model = load({}, window);
        QVERIFY(model);
        const Ids prompt = randomIds(37, model->config().vocabulary, 30);
        RunOptions options;
        options.batch = 16;
        options.blockTokens = 8;
        RunModel run(model, options);
        KvCache &cache = run.cache();
        run.feed(prompt, 10);
        const SequenceId first = run.sequence();
        const SequenceId second = cache.fork(first, 37);
        QCOMPARE(cache.tokens(second), 37U);
        const auto step = [&](SequenceId id, std::uint32_t token) {
            ForwardRequest request;
            const std::vector<TokenId> tokens = tokenIds({token});
            request.tokens = tokens;
            const auto row = run.transformer().forward(request, cache, id);
            return row ? std::vector<float>(row->begin(), row->end()) : std::vector<float>();
        };
        RunModel firstAlone(model, options);
        RunModel secondAlone(model, options);
        firstAlone.feed(prompt);
        secondAlone.feed(prompt);
        for (std::uint32_t i = 0; i < 12; ++i) {
            QVERIFY(step(first, i + 5) == firstAlone.feed({i + 5}));
            QVERIFY(step(second, i + 90) == secondAlone.feed({i + 90}));
        }
        QVERIFY(cache.counters().copiedBlocks > 0);
        cache.close(first);
        const SequenceId third = cache.open();
        std::vector<TokenId> wanted = tokenIds(prompt);
        wanted.push_back(TokenId(5));
        wanted.push_back(TokenId(6));
        QCOMPARE(cache.adopt(third, wanted), 39U);
        RunModel thirdAlone(model, options);
        thirdAlone.feed(prompt);
        thirdAlone.feed({5, 6});
        QVERIFY(step(third, 77) == thirdAlone.feed({77}));
    }
}

TOKENLOUPE_TEST_MAIN(TestTransformerCache)
#include "tst_transformercache.moc"
