// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/memoryplan.h"
#include "tests/support/testmain.h"
#include "tests/support/tinyarchitecture.h"
#include "tests/transformer/plainforward.h"
#include "tests/transformer/runmodel.h"

#include <QTemporaryDir>
#include <cmath>
#include <functional>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Ids = std::vector<std::uint32_t>;

constexpr std::size_t length = 37;
constexpr std::uint32_t cacheContext = 64;

Ids randomIds(std::uint32_t vocabulary, unsigned seed)
{
    std::mt19937 random(seed);
    Ids ids(length);
    for (std::uint32_t &id : ids)
        id = static_cast<std::uint32_t>(random() % vocabulary);
    return ids;
}

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

RunOptions options()
{
    RunOptions run;
    run.context = cacheContext;
    return run;
}

/// One thing that a model may have, done wrong in the description only: the results must then differ.
struct Slip
{
    const char *what;
    std::function<bool(TinyArchitecture &)> apply; ///< false: this model does not have it
};

/// Sets a member to a wrong value where it has another.
template <class T>
std::function<bool(TinyArchitecture &)> instead(T TinyArchitecture::*member, T wrong)
{
    return [member, wrong](TinyArchitecture &model) {
        const bool isOther = model.*member != wrong;
        model.*member = wrong;
        return isOther;
    };
}

std::vector<Slip> slips()
{
    using M = TinyArchitecture;
    return {
        {"no window", instead(&M::window, 0U)},
        {"a window one smaller", [](M &m) { return m.window > 0 && --m.window > 0; }},
        {"the window in all layers", instead(&M::windowPeriod, 0U)},
        {"no cap of scores", instead(&M::scoreCap, 0.0)},
        {"no cap of logits", instead(&M::logitCap, 0.0)},
        {"no clamp", instead(&M::clamp, 0.0)},
        {"no embedding scale", instead(&M::embeddingFactor, 1.0)},
        {"all layers turn", instead(&M::unrotatedPeriod, 0U)},
        {"one base for all layers", instead(&M::localBase, 0.0)},
        {"no scaling", instead(&M::scaling, M::Scaling::None)},
        {"other slopes", [](M &m) { return m.places == M::Places::Slopes && (m.slopeBias = 9.0) > 0; }},
        {"heads not normed", instead(&M::headNorm, M::HeadNorm::None)},
        {"feed-forward behind attention", instead(&M::parallel, false)},
        {"the other gelu",
         [](M &m) {
             if (m.curve == M::Curve::Silu)
                 return false;
             m.curve = m.curve == M::Curve::GeluErf ? M::Curve::GeluTanh : M::Curve::GeluErf;
             return true;
         }},
        {"the other pairs",
         [](M &m) {
             if (m.places != M::Places::Halves && m.places != M::Places::Neighbours)
                 return false;
             m.places = m.places == M::Places::Halves ? M::Places::Neighbours : M::Places::Halves;
             return true;
         }},
        {"an expert less", [](M &m) { return m.experts > 0 && --m.expertsUsed > 0; }},
    };
}

} // namespace

Q_DECLARE_METATYPE(tokenloupe::test::TinyArchitecture)

/// Every architecture, as small random models, against plain loops in double precision.
class TestArchitectures : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

    void agreesWithPlainLoops_data() { addModels(); }
    void agreesWithPlainLoops();
    void splitsDoNotMatter_data() { addModels(); }
    void splitsDoNotMatter();
    void unrotatedKeysGiveTheSameBits_data() { addModels(); }
    void unrotatedKeysGiveTheSameBits();
    void tapsChangeNothing_data() { addModels(); }
    void tapsChangeNothing();
    void allocatesWhatThePlanSays_data() { addModels(); }
    void allocatesWhatThePlanSays();
    void routerCanBeSeen();
    void learnedPositionsEnd();

private:
    static void addModels();
    std::shared_ptr<const Model> load(const TinyArchitecture &model);

    QTemporaryDir m_folder;
    int m_files = 0;
};

void TestArchitectures::addModels()
{
    QTest::addColumn<TinyArchitecture>("model");
    for (const TinyArchitecture &model : tinyArchitectures())
        QTest::newRow(model.name.c_str()) << model;
}

std::shared_ptr<const Model> TestArchitectures::load(const TinyArchitecture &model)
{
    const QString file = QStringLiteral("%1.gguf").arg(++m_files);
    const std::filesystem::path path = m_folder.filePath(file).toStdString();
    tinyArchitecture(model, tinyTensors(model)).write(path);
    Result<std::shared_ptr<const Model>> loaded = Model::load(path);
    if (!loaded)
        qCritical("%s", loaded.error().text().c_str());
    return loaded ? *loaded : nullptr;
}

void TestArchitectures::agreesWithPlainLoops()
{
    QFETCH(TinyArchitecture, model);
    const std::shared_ptr<const Model> loaded = load(model);
    QVERIFY(loaded);
    const Ids ids = randomIds(model.vocabulary, 3);
    const TinyTensors tensors = tinyTensors(model);
    RunModel run(loaded, options());
    const std::vector<float> got = run.feedAll(ids, 10);
    const double worst = worstDifference(got, PlainForward(model, tensors, cacheContext).logits(ids));
    QVERIFY2(worst < 2e-5, qPrintable(QStringLiteral("off by %1").arg(worst)));

    for (const Slip &slip : slips()) {
        TinyArchitecture wrong = model;
        if (!slip.apply(wrong))
            continue;
        const double difference =
            worstDifference(got, PlainForward(wrong, tensors, cacheContext).logits(ids));
        QVERIFY2(difference > 2e-4,
                 qPrintable(QStringLiteral("%1: only %2").arg(QLatin1String(slip.what)).arg(difference)));
    }
}

void TestArchitectures::splitsDoNotMatter()
{
    QFETCH(TinyArchitecture, model);
    const std::shared_ptr<const Model> loaded = load(model);
    QVERIFY(loaded);
    const Ids ids = randomIds(model.vocabulary, 4);
    RunModel whole(loaded, options());
    const std::vector<float> expected = whole.feedAll(ids);
    for (const int threads : {1, 3}) {
        RunOptions other = options();
        other.threads = threads;
        for (const std::uint32_t batch : {1U, 5U, 64U}) {
            RunModel run(loaded, other);
            QVERIFY2(run.feedAll(ids, batch) == expected,
                     qPrintable(QStringLiteral("%1 threads, batches of %2").arg(threads).arg(batch)));
        }
    }
    RunModel last(loaded, options());
    const std::vector<float> row = last.feed(ids);
    QVERIFY(std::equal(row.begin(), row.end(), expected.end() - last.vocabulary()));
}

void TestArchitectures::unrotatedKeysGiveTheSameBits()
{
    QFETCH(TinyArchitecture, model);
    const std::shared_ptr<const Model> loaded = load(model);
    QVERIFY(loaded);
    const Ids ids = randomIds(model.vocabulary, 5);
    RunModel rotated(loaded, options());
    RunOptions other = options();
    other.keyPhase = KeyPhase::Unrotated;
    RunModel unrotated(loaded, other);
    QVERIFY(unrotated.feedAll(ids, 8) == rotated.feedAll(ids, 8));
}

void TestArchitectures::tapsChangeNothing()
{
    QFETCH(TinyArchitecture, model);
    const std::shared_ptr<const Model> loaded = load(model);
    QVERIFY(loaded);
    const Ids ids = randomIds(model.vocabulary, 6);
    RunModel plain(loaded, options());
    RunModel tapped(loaded, options());
    CollectingTap tap;
    QVERIFY(plain.feed(ids) == tapped.feed(ids, 0, &tap));
    const auto sizeOf = [&](TapPoint point, std::uint32_t layer) {
        return tap.taken[{point, LayerIndex(layer)}].size();
    };
    const bool isDense = model.experts == 0;
    const bool hasNorms = model.where != TinyArchitecture::Where::After;
    for (std::uint32_t layer = 0; layer < model.layers; ++layer) {
        QCOMPARE(sizeOf(TapPoint::LayerOutput, layer), length * model.width);
        QCOMPARE(sizeOf(TapPoint::AttentionNorm, layer), hasNorms ? length * model.width : 0);
        QCOMPARE(sizeOf(TapPoint::FeedForwardNorm, layer), hasNorms ? length * model.width : 0);
        QCOMPARE(sizeOf(TapPoint::Key, layer), length * model.kvHeads * model.headSize);
        QCOMPARE(sizeOf(TapPoint::KeyRotated, layer), length * model.kvHeads * model.headSize);
        QCOMPARE(sizeOf(TapPoint::AttentionWeights, layer), length * length * model.heads);
        QCOMPARE(sizeOf(TapPoint::Gate, layer), isDense && model.gated ? length * model.inner : 0);
        QCOMPARE(sizeOf(TapPoint::Up, layer), isDense ? length * model.inner : 0);
        QCOMPARE(sizeOf(TapPoint::Router, layer), length * model.experts);
        QCOMPARE(sizeOf(TapPoint::FeedForwardOutput, layer), length * model.width);
    }
    // What a token's heads see sums to 1, caps, slopes and windows or not.
    const std::vector<float> &weights = tap.taken[{TapPoint::AttentionWeights, LayerIndex(0)}];
    for (std::size_t row = 0; row < length * model.heads; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < length; ++i)
            sum += static_cast<double>(weights[row * length + i]);
        QVERIFY(std::abs(sum - 1.0) < 1e-5);
    }
}

void TestArchitectures::allocatesWhatThePlanSays()
{
    QFETCH(TinyArchitecture, model);
    const std::shared_ptr<const Model> loaded = load(model);
    QVERIFY(loaded);
    Result<std::shared_ptr<Backend>> backend = makeCpuBackend(1);
    QVERIFY(backend);
    for (const std::uint32_t batch : {1U, 7U, 64U}) {
        RunMemorySettings settings;
        settings.contextTokens = cacheContext;
        settings.batchTokens = batch;
        const Result<MemoryPlan> plan = planMemory(loaded->config(), loaded->weightsBytes(), settings);
        QVERIFY(plan);
        const auto transformer = Transformer::create(loaded, *backend, batch);
        QVERIFY(transformer);
        QCOMPARE((*transformer)->scratchBytes(), plan->bytesOf(MemoryPart::Activations));
        const KvShape shape = (*transformer)->kvShape(KvType::F32, KvType::F32);
        for (std::uint32_t layer = 0; layer < model.layers; ++layer)
            QCOMPARE(shape.layers[layer].window, model.windowOf(layer));
    }
}

void TestArchitectures::routerCanBeSeen()
{
    const TinyArchitecture model = tinyArchitectureNamed("qwen3moe");
    const std::shared_ptr<const Model> loaded = load(model);
    QVERIFY(loaded);
    RunModel run(loaded, options());
    CollectingTap tap;
    run.feed(randomIds(model.vocabulary, 7), 0, &tap);
    const std::vector<float> &router = tap.taken[{TapPoint::Router, LayerIndex(1)}];
    for (std::size_t row = 0; row < length; ++row) {
        double sum = 0;
        for (std::size_t expert = 0; expert < model.experts; ++expert)
            sum += static_cast<double>(router[row * model.experts + expert]);
        QVERIFY(std::abs(sum - 1.0) < 1e-6);
    }
}

void TestArchitectures::learnedPositionsEnd()
{
    TinyArchitecture model = tinyArchitectureNamed("gpt2");
    model.context = 20;
    const std::shared_ptr<const Model> loaded = load(model);
    QVERIFY(loaded);
    RunModel run(loaded, options());
    const Ids ids = randomIds(model.vocabulary, 8);
    run.feed(Ids(ids.begin(), ids.begin() + 18));
    const auto outcome = [&](const Ids &more) {
        const std::vector<TokenId> tokens = tokenIds(more);
        ForwardRequest request;
        request.tokens = tokens;
        return run.transformer().forward(request, run.cache(), run.sequence());
    };
    const auto refused = outcome({1, 2, 3});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::ContextFull);
    QVERIFY(QString::fromStdString(refused.error().text()).contains(QStringLiteral("20 positions")));
    QCOMPARE(run.cache().tokens(run.sequence()), 18U);
    QVERIFY(outcome({1, 2}));
}

TOKENLOUPE_TEST_MAIN(TestArchitectures)
#include "tst_architectures.moc"
