// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/memoryplan.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"
#include "tests/transformer/referencemodel.h"
#include "tests/transformer/runmodel.h"

#include <QTemporaryDir>
#include <cmath>
#include <cstring>
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

struct ReferenceCase
{
    TinyModelOptions options;
    std::optional<std::uint32_t> window;
};

/// Wants one point of one layer and requests a stop when it sees it.
class StoppingTap final : public ForwardTap
{
public:
    StoppingTap(TapPoint point, std::uint32_t layer)
        : m_point(point)
        , m_layer(layer)
    {}
    bool wants(TapPoint point, LayerIndex layer) override { return point == m_point && layer == m_layer; }
    void take(TapPoint, LayerIndex, std::uint32_t, std::span<const float>) override { stop.request_stop(); }

    std::stop_source stop;

private:
    TapPoint m_point;
    LayerIndex m_layer;
};

class RefusingTap final : public ForwardTap
{
public:
    bool wants(TapPoint, LayerIndex) override
    {
        ++asked;
        return false;
    }
    void take(TapPoint, LayerIndex, std::uint32_t, std::span<const float>) override { ++taken; }

    int asked = 0;
    int taken = 0;
};

} // namespace

Q_DECLARE_METATYPE(ReferenceCase)

class TestTransformer : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void agreesWithPlainLoops_data();
    void agreesWithPlainLoops();
    void batchesDoNotMatter();
    void threadsDoNotMatter();
    void blocksDoNotMatter();
    void lastRowIsTheLastOfAll();
    void logitsComeWhereTheyAreWanted();
    void tapsChangeNothing();
    void tapIsAskedFirst();
    void truncatedCacheGoesOn();
    void cancelLeavesTheCacheAsItWas();
    void refusesWrongRequests();
    void allocatesWhatThePlanSays();

private:
    std::shared_ptr<const Model> load(const TinyModelOptions &options,
                                      std::optional<std::uint32_t> window = {}) const;

    QTemporaryDir m_folder;
    std::shared_ptr<const Model> m_model; // for the tests that need just some model
};

std::shared_ptr<const Model> TestTransformer::load(const TinyModelOptions &options,
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

void TestTransformer::initTestCase()
{
    QVERIFY(m_folder.isValid());
    TinyModelOptions options;
    options.type = TinyType::Q4_1;
    options.bias = TinyBias::Attention;
    m_model = load(options);
    QVERIFY(m_model);
}

void TestTransformer::agreesWithPlainLoops_data()
{
    QTest::addColumn<ReferenceCase>("test");
    const std::vector<std::pair<const char *, TinyType>> types = {
        {"F32", TinyType::F32},   {"F16", TinyType::F16},   {"BF16", TinyType::BF16},
        {"Q8_0", TinyType::Q8_0}, {"Q5_1", TinyType::Q5_1}, {"Q5_0", TinyType::Q5_0},
        {"Q4_1", TinyType::Q4_1}, {"Q4_0", TinyType::Q4_0}};
    for (const auto &[name, type] : types) {
        ReferenceCase test;
        test.options.type = type;
        QTest::addRow("%s", name) << test;
    }
    const std::vector<std::pair<const char *, TinyType>> wideTypes = {
        {"Q2_K", TinyType::Q2_K},   {"Q3_K", TinyType::Q3_K},     {"Q4_K", TinyType::Q4_K},
        {"Q5_K", TinyType::Q5_K},   {"Q6_K", TinyType::Q6_K},     {"Q8_K", TinyType::Q8_K},
        {"MXFP4", TinyType::MXFP4}, {"IQ4_NL", TinyType::IQ4_NL}, {"IQ4_XS", TinyType::IQ4_XS},
        {"TQ2_0", TinyType::TQ2_0}};
    for (const auto &[name, type] : wideTypes) {
        ReferenceCase test;
        test.options.type = type;
        test.options.embedding = 256; // one block
        test.options.feedForward = 512;
        QTest::addRow("%s", name) << test;
    }
    ReferenceCase separate;
    separate.options.output = TinyOutput::Separate;
    separate.options.type = TinyType::Q5_0;
    QTest::newRow("separate head") << separate;
    ReferenceCase biases;
    biases.options.bias = TinyBias::Attention;
    biases.options.type = TinyType::Q8_0;
    QTest::newRow("biases") << biases;
    ReferenceCase plainHeads;
    plainHeads.options.kvHeads = plainHeads.options.heads;
    QTest::newRow("a KV head for each head") << plainHeads;
    ReferenceCase oneKvHead;
    oneKvHead.options.heads = 8;
    oneKvHead.options.kvHeads = 1;
    QTest::newRow("one KV head for all") << oneKvHead;
    ReferenceCase manyHeads;
    manyHeads.options.heads = 20;
    manyHeads.options.kvHeads = 1;
    manyHeads.options.headSize = 4;
    QTest::newRow("more heads in a group than lanes") << manyHeads;
    ReferenceCase ownHeadSize;
    ownHeadSize.options.headSize = 24;
    QTest::newRow("a head size of its own") << ownHeadSize;
    ReferenceCase odd;
    odd.options.embedding = 45;
    odd.options.heads = 3;
    odd.options.kvHeads = 1;
    odd.options.headSize = 6;
    odd.options.feedForward = 77;
    odd.options.vocabulary = 391;
    QTest::newRow("sizes that are no round numbers") << odd;
    ReferenceCase stretched;
    stretched.options.ropeScaleFactor = 4.0F;
    stretched.options.ropeBase = 500.0F;
    QTest::newRow("linear scaling") << stretched;
    ReferenceCase factors;
    factors.options.ropeFrequencyFactors = {1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 8.0F, 8.0F, 8.0F};
    QTest::newRow("frequency factors") << factors;
    ReferenceCase window;
    window.window = 5;
    QTest::newRow("window") << window;
}

void TestTransformer::agreesWithPlainLoops()
{
    QFETCH(ReferenceCase, test);
    const std::shared_ptr<const Model> model = load(test.options, test.window);
    QVERIFY(model);
    const Ids ids = randomIds(40, test.options.vocabulary, 3);
    const ReferenceModel reference(*model, {static_cast<double>(test.options.ropeBase),
                                            static_cast<double>(test.options.ropeScaleFactor),
                                            test.options.ropeFrequencyFactors});
    const std::vector<double> expected = reference.logits(ids, test.window);
    RunModel run(model, {});
    const double worst = worstDifference(run.feedAll(ids, 17), expected);
    QVERIFY2(worst < 2e-5, qPrintable(QStringLiteral("off by %1").arg(worst)));

    // The option must matter here, or this would check nothing.
    if (test.options.ropeScaleFactor != 1.0F || !test.options.ropeFrequencyFactors.empty()) {
        const ReferenceModel without(*model, {static_cast<double>(test.options.ropeBase), 1.0, {}});
        RunModel again(model, {});
        QVERIFY(worstDifference(again.feedAll(ids), without.logits(ids)) > 1e-2);
    }
    if (test.window) {
        RunModel again(model, {});
        QVERIFY(worstDifference(again.feedAll(ids), reference.logits(ids)) > 1e-2);
    }
}

void TestTransformer::batchesDoNotMatter()
{
    const Ids ids = randomIds(40, m_model->config().vocabulary, 5);
    RunModel whole(m_model, {});
    const std::vector<float> expected = whole.feedAll(ids);
    for (const std::uint32_t batch : {1U, 3U, 7U, 16U}) {
        RunModel run(m_model, {});
        QVERIFY2(run.feedAll(ids, batch) == expected, qPrintable(QString::number(batch)));
    }
}

void TestTransformer::threadsDoNotMatter()
{
    // Wide enough that the work is really shared out.
    TinyModelOptions options;
    options.embedding = 256;
    options.heads = 8;
    options.kvHeads = 2;
    options.feedForward = 512;
    options.type = TinyType::Q5_1;
    const std::shared_ptr<const Model> model = load(options);
    QVERIFY(model);
    const Ids ids = randomIds(50, options.vocabulary, 6);
    std::vector<float> expected;
    for (const int threads : {1, 2, 3, 5}) {
        RunOptions run;
        run.threads = threads;
        RunModel other(model, run);
        std::vector<float> got = other.feedAll(ids);
        for (int step = 0; step < 10; ++step) {
            const std::vector<float> next = other.feed({static_cast<std::uint32_t>(step) + 20});
            got.insert(got.end(), next.begin(), next.end());
        }
        if (threads == 1)
            expected = got;
        QVERIFY2(got == expected, qPrintable(QString::number(threads)));
    }
}

void TestTransformer::blocksDoNotMatter()
{
    const Ids ids = randomIds(45, m_model->config().vocabulary, 7);
    RunModel run(m_model, {});
    const std::vector<float> expected = run.feedAll(ids);
    for (const std::uint32_t blockTokens : {1U, 5U, 64U}) {
        RunOptions options;
        options.blockTokens = blockTokens;
        RunModel other(m_model, options);
        QVERIFY(other.feedAll(ids) == expected);
    }
    // Blocks out of order, filled with what must not be read: others used them before.
    RunOptions options;
    options.blockTokens = 4;
    options.context = 64;
    RunModel scattered(m_model, options);
    KvCache &cache = scattered.cache();
    std::vector<SequenceId> others;
    for (std::uint32_t block = 0; block < 16; ++block) {
        others.push_back(cache.open());
        const std::vector<TokenId> tokens(4, TokenId(block));
        QVERIFY(cache.append(others.back(), tokens));
        for (std::uint32_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
            const KvLayerShape &shape = cache.shape().layers[layer];
            const KvView view = cache.view(others.back());
            std::memset(view.keys(LayerIndex(layer), 0, 0).data, 0xff,
                        shape.heads * kvRowBytes(KvType::F32, shape.keySize) * 4);
            std::memset(view.values(LayerIndex(layer), 0, 0).data, 0xff,
                        shape.heads * kvRowBytes(KvType::F32, shape.valueSize) * 4);
        }
    }
    std::shuffle(others.begin(), others.end(), std::mt19937(8));
    std::vector<float> got;
    for (std::size_t begin = 0; begin < ids.size(); begin += 3) {
        cache.close(others.back());
        others.pop_back();
        const Ids part(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                       ids.begin() + static_cast<std::ptrdiff_t>(begin + 3));
        const std::vector<float> rows = scattered.feedAll(part);
        got.insert(got.end(), rows.begin(), rows.end());
    }
    const std::vector<BlockId> &blocks = cache.sequence(scattered.sequence()).tables.front();
    QVERIFY(!std::is_sorted(blocks.begin(), blocks.end()));
    QVERIFY(got == expected);
}

void TestTransformer::lastRowIsTheLastOfAll()
{
    const Ids ids = randomIds(30, m_model->config().vocabulary, 9);
    RunModel all(m_model, {});
    const std::vector<float> rows = all.feedAll(ids);
    RunModel last(m_model, {});
    const std::vector<float> got = last.feed(ids);
    QCOMPARE(got.size(), std::size_t(last.vocabulary()));
    QVERIFY(std::equal(got.begin(), got.end(), rows.end() - last.vocabulary()));
    // What it left in the cache is the same too.
    QVERIFY(last.feed({17}) == all.feed({17}));
}

void TestTransformer::logitsComeWhereTheyAreWanted()
{
    const Ids ids = randomIds(9, m_model->config().vocabulary, 21);
    RunModel own(m_model, {});
    RunModel given(m_model, {});
    // Read by a tap as well, where all rows are computed.
    StoppingTap logitsTap(TapPoint::Logits, LayerIndex::invalidValue);
    for (ForwardTap *tap : {static_cast<ForwardTap *>(nullptr), static_cast<ForwardTap *>(&logitsTap)}) {
        const std::vector<float> expected = own.feed(ids);
        const std::vector<TokenId> tokens = tokenIds(ids);
        std::vector<float> target(given.vocabulary());
        ForwardRequest request;
        request.tokens = tokens;
        request.target = target;
        request.tap = tap;
        const auto logits = given.transformer().forward(request, given.cache(), given.sequence());
        QVERIFY(logits);
        QCOMPARE(logits->data(), static_cast<const float *>(target.data()));
        QVERIFY(target == expected);
    }
    QVERIFY(logitsTap.stop.stop_requested());
}

void TestTransformer::tapsChangeNothing()
{
    const ModelConfig &config = m_model->config();
    const Ids ids = randomIds(21, config.vocabulary, 10);
    RunModel plain(m_model, {});
    RunModel tapped(m_model, {});
    CollectingTap tap;
    QVERIFY(plain.feed(ids, 0) == tapped.feed(ids, 0, &tap));
    QVERIFY(plain.feed({9}) == tapped.feed({9}, 0, &tap));
    QCOMPARE(tap.lastPosition, 21U);

    constexpr int pointsInLayers = 14;
    QCOMPARE(tap.taken.size(), std::size_t(3 + config.layers * pointsInLayers));
    const auto sizeOf = [&](TapPoint point, LayerIndex layer) { return tap.taken[{point, layer}].size(); };
    const std::size_t rows = 22;
    QCOMPARE(sizeOf(TapPoint::Logits, {}), rows * config.vocabulary);
    QCOMPARE(sizeOf(TapPoint::Gate, LayerIndex(1)), rows * config.feedForward);
    QCOMPARE(sizeOf(TapPoint::Key, LayerIndex(0)), rows * config.kvHeads[0] * config.headSize);
    // Rows of attention weights are as long as the batch reaches, and each head's sum is 1 up to its own
    // token.
    const std::vector<float> &weights = tap.taken[{TapPoint::AttentionWeights, LayerIndex(0)}];
    QCOMPARE(weights.size(), config.heads * (std::size_t(21) * 21 + 22));
    for (std::size_t row = 0; row < 21; ++row) {
        for (std::size_t head = 0; head < config.heads; ++head) {
            const float *first = weights.data() + (row * config.heads + head) * 21;
            double sum = 0;
            for (std::size_t position = 0; position <= row; ++position) {
                QVERIFY(first[position] >= 0.0F);
                sum += static_cast<double>(first[position]);
            }
            QVERIFY(std::abs(sum - 1.0) < 1e-6);
            QVERIFY(std::all_of(first + row + 1, first + 21, [](float w) { return w == 0.0F; }));
        }
    }
}

void TestTransformer::tapIsAskedFirst()
{
    RunModel run(m_model, {});
    RefusingTap tap;
    run.feed({1, 2, 3}, 0, &tap);
    QVERIFY(tap.asked >= 3 + 14 * 2);
    QCOMPARE(tap.taken, 0);
}

void TestTransformer::truncatedCacheGoesOn()
{
    const Ids ids = randomIds(40, m_model->config().vocabulary, 12);
    RunModel straight(m_model, {});
    const std::vector<float> expected = straight.feed(ids);
    RunModel detour(m_model, {});
    detour.feed(Ids(ids.begin(), ids.begin() + 25));
    detour.feed({300, 301, 302, 303, 304, 305, 306, 307, 308});
    detour.cache().truncate(detour.sequence(), 25);
    QVERIFY(detour.feed(Ids(ids.begin() + 25, ids.end())) == expected);
    detour.cache().truncate(detour.sequence(), 0);
    QVERIFY(detour.feed(ids) == expected);
}

void TestTransformer::cancelLeavesTheCacheAsItWas()
{
    RunModel run(m_model, {});
    run.feed({1, 2, 3, 4, 5});
    const std::vector<TokenId> more = tokenIds(randomIds(30, run.vocabulary(), 14));
    const std::uint32_t freeBefore = run.cache().pools().front().freeBlocks();
    StoppingTap tap(TapPoint::LayerOutput, 0);
    ForwardRequest request;
    request.tokens = more;
    request.tap = &tap;
    request.stop = tap.stop.get_token();
    const Result<std::span<const float>> stopped =
        run.transformer().forward(request, run.cache(), run.sequence());
    QVERIFY(!stopped);
    QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
    QCOMPARE(run.cache().tokens(run.sequence()), 5U);
    QCOMPARE(run.cache().pools().front().freeBlocks(), freeBefore);

    RunModel undisturbed(m_model, {});
    undisturbed.feed({1, 2, 3, 4, 5});
    QVERIFY(run.feed({6, 7}) == undisturbed.feed({6, 7}));
}

void TestTransformer::refusesWrongRequests()
{
    RunOptions options;
    options.batch = 4;
    options.context = 6;
    RunModel run(m_model, options);
    const auto codeOf = [&](const Ids &ids) {
        const std::vector<TokenId> tokens = tokenIds(ids);
        ForwardRequest request;
        request.tokens = tokens;
        const auto result = run.transformer().forward(request, run.cache(), run.sequence());
        return result ? std::optional<ErrorCode>() : result.error().code;
    };
    QCOMPARE(codeOf({}), std::optional(ErrorCode::InvalidArgument));
    QCOMPARE(codeOf({1, run.vocabulary()}), std::optional(ErrorCode::InvalidArgument));
    QCOMPARE(codeOf({1, TokenId::invalidValue}), std::optional(ErrorCode::InvalidArgument));
    QCOMPARE(codeOf({1, 2, 3, 4, 5}), std::optional(ErrorCode::InvalidArgument));
    QCOMPARE(run.cache().tokens(run.sequence()), 0U);
    QCOMPARE(codeOf({1, 2, run.vocabulary() - 1, 4}), std::optional<ErrorCode>());
    QCOMPARE(codeOf({1, 2, 3}), std::optional(ErrorCode::ContextFull));
    QCOMPARE(run.cache().tokens(run.sequence()), 4U);
    QCOMPARE(codeOf({1, 2}), std::optional<ErrorCode>());

    // Memory for logits is for one row of them.
    std::vector<float> target(run.vocabulary() - 1);
    const std::vector<TokenId> one = tokenIds({1});
    for (const LogitRows rows : {LogitRows::Last, LogitRows::All}) {
        ForwardRequest request;
        request.tokens = one;
        request.rows = rows;
        request.target = target;
        const auto result = run.transformer().forward(request, run.cache(), run.sequence());
        QVERIFY(!result);
        QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
        target.resize(run.vocabulary());
    }

    KvCacheSettings other;
    other.shape = run.transformer().kvShape(KvType::F32, KvType::F32);
    other.shape.layers.push_back(other.shape.layers.front());
    other.contextTokens = 16;
    Result<KvCache> wrong = KvCache::create(other);
    QVERIFY(wrong);
    const SequenceId sequence = wrong->open();
    const std::vector<TokenId> tokens = tokenIds({1});
    ForwardRequest request;
    request.tokens = tokens;
    const auto result = run.transformer().forward(request, *wrong, sequence);
    QVERIFY(!result);
    QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
    QCOMPARE(wrong->tokens(sequence), 0U);
}

void TestTransformer::allocatesWhatThePlanSays()
{
    Result<std::shared_ptr<Backend>> backend = makeCpuBackend(1);
    QVERIFY(backend);
    for (const std::uint32_t batch : {1U, 5U, 256U}) {
        RunMemorySettings settings;
        settings.contextTokens = 300;
        settings.batchTokens = batch;
        const Result<MemoryPlan> plan = planMemory(m_model->config(), m_model->weightsBytes(), settings);
        const auto transformer = Transformer::create(m_model, *backend, batch);
        QVERIFY(plan && transformer);
        QCOMPARE((*transformer)->scratchBytes(), plan->bytesOf(MemoryPart::Activations));
        QCOMPARE((*transformer)->maxBatch(), batch);
    }
    QVERIFY(!Transformer::create(m_model, *backend, 0));
    const auto absurd = Transformer::create(m_model, *backend, 0xffffffffU);
    QVERIFY(!absurd);
    QCOMPARE(absurd.error().code, ErrorCode::OutOfMemory);
}

TOKENLOUPE_TEST_MAIN(TestTransformer)
#include "tst_transformer.moc"
