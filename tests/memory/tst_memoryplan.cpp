// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"
#include "engine/memory/activationlayout.h"
#include "engine/memory/memoryplan.h"
#include "tests/support/testmain.h"

#include <map>
#include <set>

using namespace tokenloupe;

namespace {

ModelConfig smallConfig()
{
    ModelConfig config;
    config.layers = 3;
    config.embedding = 48;
    config.heads = 6;
    config.kvHeads = {2, 3, 1};
    config.headSize = 8;
    config.valueHeadSize = 4;
    config.feedForward = 100;
    config.vocabulary = 1000;
    config.ropeDimensions = 8;
    return config;
}

RunMemorySettings smallSettings()
{
    RunMemorySettings settings;
    settings.contextTokens = 100;
    settings.batchTokens = 7;
    settings.traceBudgetBytes = 4096;
    settings.threads = 3;
    return settings;
}

} // namespace

/// One thread's floats for attention over heads of 8 and 4 values: queries, scores, two sums of values behind
/// a line each, keys side by side, and rows.
constexpr std::uint64_t smallScratch = 64 * 16 + 64 * 128 + 2 * 64 * (16 + 16) + 32 * 16 + 32 * 8;

class TestMemoryPlan : public QObject
{
    Q_OBJECT

private slots:
    void countsEveryPart();
    void planIsWhatTheCacheTakes();
    void unrotatedKeysTakeScratch();
    void vocabularyAndProgram();
    void aDeviceHoldsWhatItWorksOn();
    void aDeviceHoldsSomeLayers();
    void namesAreDistinct();
    void activationPlacesDoNotCollide();
    void otherArchitecturesTakeWhatTheyNeed();
    void refusesAbsurdSizes_data();
    void refusesAbsurdSizes();
    void processMemoryGrows();
};

void TestMemoryPlan::countsEveryPart()
{
    const Result<MemoryPlan> plan = planMemory(smallConfig(), 123456, smallSettings());
    QVERIFY(plan);
    QCOMPARE(plan->bytesOf(MemoryPart::Weights), std::uint64_t(123456));
    // 6 KV heads × (8 + 4) × 4 bytes × 7 blocks of 16 tokens.
    QCOMPARE(plan->bytesOf(MemoryPart::KvCache), std::uint64_t(6 * 12 * 4 * 7 * 16));
    // 7 rows each: residual and work of 48 (336 floats); then queries 48 (336), keys 24 (168 -> 176),
    // values 12 (84 -> 96), output 24 (168 -> 176), which is less than gate and up of 100 (700 -> 704).
    QCOMPARE(plan->bytesOf(MemoryPart::Activations), std::uint64_t((2 * 336 + 2 * 704) * 4));
    QCOMPARE(plan->bytesOf(MemoryPart::Logits), std::uint64_t(4000));
    QCOMPARE(plan->bytesOf(MemoryPart::Trace), std::uint64_t(4096));
    QCOMPARE(plan->bytesOf(MemoryPart::Runtime), (3 * smallScratch + attentionSharedFloats + 7 * 8) * 4);
    std::uint64_t sum = 0;
    for (const MemoryItem &item : plan->items)
        sum += item.bytes;
    QCOMPARE(plan->total(), sum);

    // Half the element size, half the bytes; the words follow.
    RunMemorySettings halves = smallSettings();
    halves.keyType = KvType::F16;
    const Result<MemoryPlan> smaller = planMemory(smallConfig(), 123456, halves);
    QVERIFY(smaller);
    QCOMPARE(smaller->bytesOf(MemoryPart::KvCache), std::uint64_t(6 * (8 * 2 + 4 * 4) * 7 * 16));
    QVERIFY(smaller->items[1].how.find("8 key numbers as f16") != std::string::npos);
    QVERIFY(plan->items[1].how.find("8 key numbers as f32") != std::string::npos);
}

/// Windows, several sequences, block types: the mapped bytes are the planned ones.
void TestMemoryPlan::planIsWhatTheCacheTakes()
{
    ModelConfig config = smallConfig();
    config.headSize = config.valueHeadSize = 32;
    for (const std::uint32_t window : {0U, 20U}) {
        config.windows.assign(window > 0 ? 3 : 0, 0);
        if (window > 0)
            config.windows[1] = window;
        for (const std::uint32_t context : {1U, 15U, 16U, 17U, 100U, 900U}) {
            for (const std::uint32_t block : {5U, 16U}) {
                RunMemorySettings settings = smallSettings();
                settings.contextTokens = context;
                settings.blockTokens = block;
                settings.sequences = 3;
                settings.keyType = KvType::Q5_0;
                settings.valueType = KvType::F32;
                const Result<MemoryPlan> plan = planMemory(config, 0, settings);
                KvCacheSettings room;
                room.shape = kvShape(config, settings);
                room.contextTokens = context;
                room.sequences = settings.sequences;
                room.batchTokens = settings.batchTokens;
                const Result<KvCache> cache = KvCache::create(room);
                QVERIFY(plan && cache);
                std::uint64_t mapped = 0;
                for (const BlockPool &pool : cache->pools())
                    mapped += pool.bytes();
                QCOMPARE(mapped, plan->bytesOf(MemoryPart::KvCache));
                QCOMPARE(cache->snapshot({}).poolBytes(), mapped);
            }
        }
    }
}

void TestMemoryPlan::unrotatedKeysTakeScratch()
{
    RunMemorySettings settings = smallSettings();
    settings.keyPhase = KeyPhase::Unrotated;
    const Result<MemoryPlan> plan = planMemory(smallConfig(), 0, settings);
    QVERIFY(plan);
    // And the sines and cosines of all positions.
    QCOMPARE(plan->bytesOf(MemoryPart::Runtime),
             (3 * smallScratch + attentionSharedFloats + (7 + 100) * 8) * 4);
}

void TestMemoryPlan::vocabularyAndProgram()
{
    RunMemorySettings settings = smallSettings();
    const Result<MemoryPlan> without = planMemory(smallConfig(), 1, settings);
    VocabularyData data;
    data.model = "gpt2";
    data.texts = {"a", "b", "a text that a string object cannot hold"}; // 39 characters
    data.kinds.resize(3);
    data.merges.push_back("a b");
    settings.vocabulary = vocabularyFacts(data, 1000, 10);
    settings.programBytes = 5000;
    const Result<MemoryPlan> with = planMemory(smallConfig(), 1, settings);
    QVERIFY(without && with);
    QCOMPARE(with->items.size(), without->items.size() + 2);
    // 3 × 32 and a block of 48, one merge of 8 + 3, 3 kinds, token bytes (3 × 8 + 39 + 2), 16 slots of 16 for
    // merges and of 8 for texts, header, template × 40.
    QCOMPARE(with->bytesOf(MemoryPart::Vocabulary),
             std::uint64_t(96 + 48 + 11 + 3 + 24 + 41 + 256 + 128 + 1000 + 400));
    QCOMPARE(with->bytesOf(MemoryPart::Program), std::uint64_t(5000));
    QCOMPARE(with->total(), without->total() + with->bytesOf(MemoryPart::Vocabulary) + std::uint64_t(5000));
    for (const MemoryPart part : {MemoryPart::Vocabulary, MemoryPart::Program}) {
        QVERIFY(memoryPartName(part) != memoryPartName(MemoryPart::Runtime));
        QVERIFY(memoryPartTitle(part) != memoryPartTitle(MemoryPart::Runtime));
    }
    // A vocabulary without merges has pieces with scores.
    data.model = "llama";
    data.merges.clear();
    data.scores = {0.0F, 1.0F, 2.0F};
    QCOMPARE(vocabularyBytes(vocabularyFacts(data, 0, 0)),
             std::uint64_t(96 + 48 + 3 * (1 + 4) + 24 + 41 + 128));
    QCOMPARE(vocabularyBytes({}), std::uint64_t(0));
    QVERIFY(vocabularyBytes(typicalVocabulary(100000)) > 2 * vocabularyBytes(typicalVocabulary(40000)));
}

void TestMemoryPlan::aDeviceHoldsWhatItWorksOn()
{
    RunMemorySettings settings = smallSettings();
    const auto host = planMemory(smallConfig(), 5000, settings);
    QVERIFY(host);
    QVERIFY(!host->hasDevice());
    QCOMPARE(host->bytesIn(MemoryPlace::Host), host->total());
    settings.device = DeviceNeeds{6000, 700, 4096, 300, 0, "a card"};
    const auto plan = planMemory(smallConfig(), 5000, settings);
    QVERIFY(plan);
    std::map<MemoryPart, std::uint64_t> onDevice;
    for (const MemoryItem &item : plan->items) {
        QVERIFY(!item.how.empty());
        if (item.place == MemoryPlace::Device)
            onDevice[item.part] += item.bytes;
    }
    const std::uint64_t logits = smallConfig().vocabulary * sizeof(float);
    const std::map<MemoryPart, std::uint64_t> expected{
        {MemoryPart::Weights, 6000}, // as they lie there, not as they are stored
        {MemoryPart::KvCache, host->bytesOf(MemoryPart::KvCache)},
        {MemoryPart::Activations, host->bytesOf(MemoryPart::Activations)},
        {MemoryPart::Logits, logits},
        {MemoryPart::Workspace, 700},
        {MemoryPart::Library, 4096},
        {MemoryPart::Context, 300}};
    QVERIFY(onDevice == expected);
    QCOMPARE(plan->bytesOf(MemoryPart::Runtime), std::uint64_t(0)); // no threads of the CPU
    QCOMPARE(plan->bytesIn(MemoryPlace::Host), logits + settings.traceBudgetBytes);
    QCOMPARE(plan->bytesIn(MemoryPlace::Host) + plan->bytesIn(MemoryPlace::Device), plan->total());
    // What is not known or not there is no part.
    settings.device = DeviceNeeds{6000, 700, 0, 0, 0, "a card"};
    const auto less = planMemory(smallConfig(), 5000, settings);
    QVERIFY(less);
    QCOMPARE(less->items.size() + 2, plan->items.size());
}

void TestMemoryPlan::aDeviceHoldsSomeLayers()
{
    RunMemorySettings settings = smallSettings();
    ModelConfig config = smallConfig();
    const auto host = planMemory(config, 5000, settings);
    settings.device = DeviceNeeds{6000, 700, 4096, 300, 0, "a card"};
    for (const std::uint32_t layers : {1U, 2U}) {
        settings.deviceLayers = layers;
        const auto plan = planMemory(config, 5000, settings);
        QVERIFY(host && plan);
        const auto onDevice = [&](MemoryPart part) { return plan->bytesOf(part, MemoryPlace::Device); };
        const auto onHost = [&](MemoryPart part) { return plan->bytesOf(part, MemoryPlace::Host); };
        QCOMPARE(onDevice(MemoryPart::Weights), std::uint64_t(6000));
        QCOMPARE(onHost(MemoryPart::Weights), std::uint64_t(5000));
        // 2, 3 and 1 KV heads; the device has those of the first layers.
        const std::uint64_t perHead = 12 * 4 * 7 * 16;
        QCOMPARE(onDevice(MemoryPart::KvCache), (layers == 1 ? 2 : 5) * perHead);
        QCOMPARE(onHost(MemoryPart::KvCache), (layers == 1 ? 4 : 1) * perHead);
        QCOMPARE(onDevice(MemoryPart::Activations), host->bytesOf(MemoryPart::Activations));
        QCOMPARE(onHost(MemoryPart::Activations), host->bytesOf(MemoryPart::Activations));
        QCOMPARE(onDevice(MemoryPart::Logits), std::uint64_t(0)); // the head is the CPU's
        QCOMPARE(onHost(MemoryPart::Logits), host->bytesOf(MemoryPart::Logits));
        QCOMPARE(onHost(MemoryPart::Runtime), host->bytesOf(MemoryPart::Runtime));
        QCOMPARE(onDevice(MemoryPart::Workspace), std::uint64_t(700));
        QCOMPARE(onHost(MemoryPart::Workspace), std::uint64_t(2 * 7 * 48 * 4)); // there and back
        QCOMPARE(onDevice(MemoryPart::Library), std::uint64_t(4096));
        QCOMPARE(onDevice(MemoryPart::Context), std::uint64_t(300));
        QCOMPARE(plan->bytesIn(MemoryPlace::Host) + plan->bytesIn(MemoryPlace::Device), plan->total());
        QCOMPARE(kvShape(config, settings).splitLayer, layers);
    }
    // Sines and cosines are those of the CPU's layers.
    config.localRopeBase = 500.0F;
    config.windows = {5, 0, 0};
    settings.deviceLayers = 1;
    const auto turning = planMemory(config, 5000, settings);
    QVERIFY(turning);
    QCOMPARE(turning->bytesOf(MemoryPart::Runtime), host->bytesOf(MemoryPart::Runtime));
    // A part is neither nothing nor everything.
    for (const std::uint32_t layers : {0U, 3U, 4U}) {
        settings.deviceLayers = layers;
        const auto none = planMemory(config, 5000, settings);
        QVERIFY(!none);
        QCOMPARE(none.error().code, ErrorCode::InvalidArgument);
    }
}

void TestMemoryPlan::namesAreDistinct()
{
    const Result<MemoryPlan> plan = planMemory(smallConfig(), 1, smallSettings());
    QVERIFY(plan);
    std::set<std::string_view> names;
    std::set<std::string_view> titles;
    for (const MemoryItem &item : plan->items) {
        names.insert(memoryPartName(item.part));
        titles.insert(memoryPartTitle(item.part));
        QVERIFY(item.how.find_first_of("0123456789") != std::string::npos);
    }
    QCOMPARE(names.size(), plan->items.size());
    QCOMPARE(titles.size(), plan->items.size());
    QVERIFY(names.contains("kv_cache"));
    QVERIFY(titles.contains("KV pool"));
}

void TestMemoryPlan::activationPlacesDoNotCollide()
{
    const ModelConfig config = smallConfig();
    const std::uint64_t batch = 7;
    const Result<ActivationLayout> layout = activationLayout(config, batch);
    QVERIFY(layout);
    struct Place
    {
        std::uint64_t begin;
        std::uint64_t floats;
    };
    const auto separate = [&](std::vector<Place> places) {
        for (std::size_t i = 0; i < places.size(); ++i) {
            QCOMPARE(places[i].begin % 16, std::uint64_t(0));
            QVERIFY(places[i].begin + places[i].floats <= layout->total);
            for (std::size_t k = 0; k < i; ++k)
                QVERIFY(places[k].begin + places[k].floats <= places[i].begin ||
                        places[i].begin + places[i].floats <= places[k].begin);
        }
    };
    const Place residual{layout->residual, batch * 48};
    const Place work{layout->work, batch * 48};
    separate({residual,
              work,
              {layout->query, batch * 48},
              {layout->key, batch * 24},
              {layout->value, batch * 12},
              {layout->attention, batch * 24}});
    separate({residual, work, {layout->gate, batch * 100}, {layout->up, batch * 100}});
}

void TestMemoryPlan::otherArchitecturesTakeWhatTheyNeed()
{
    const auto plan = [](const ModelConfig &config) {
        const Result<MemoryPlan> made = planMemory(config, 0, smallSettings());
        return made ? *made : MemoryPlan();
    };
    const auto activations = [&](const ModelConfig &config) {
        return plan(config).bytesOf(MemoryPart::Activations);
    };
    // Seven tokens, each matrix rounded up to 16 floats: 2 · 48 of the residual stream, then the larger of
    // attention's 48 + 24 + 12 + 24 and the feed-forward.
    ModelConfig plain = smallConfig();
    plain.spec.activation = Activation::Gelu;
    QCOMPARE(activations(plain), std::uint64_t((2 * 336 + 336 + 176 + 96 + 176) * 4));
    plain.feedForward = 300;
    QCOMPARE(activations(plain), std::uint64_t((2 * 336 + 2112) * 4));

    ModelConfig parallel = smallConfig();
    parallel.spec.residual = ResidualKind::Parallel;
    QCOMPARE(activations(parallel), std::uint64_t((3 * 336 + 2 * 704) * 4));

    ModelConfig experts = smallConfig();
    experts.experts = 10;
    experts.expertsUsed = 3;
    experts.expertFeedForward = 20;
    QCOMPARE(activations(experts), std::uint64_t((2 * 336 + 80 + 7 * 3 * 48 + 2 * 432) * 4));
    const Result<ActivationLayout> layout = activationLayout(experts, 7);
    QVERIFY(layout);
    QVERIFY(layout->router >= layout->work + 7 * 48);
    QVERIFY(layout->expertRows >= layout->router + 7 * 10);
    QVERIFY(layout->gate >= layout->expertRows + 7 * 3 * 48);
    QVERIFY(layout->up >= layout->gate + 7 * 3 * 20);
    QVERIFY(layout->total >= layout->up + 7 * 3 * 20);

    // Layers with a window that turn by a base of their own have sines and cosines of their own.
    ModelConfig local = smallConfig();
    local.localRopeBase = 500.0F;
    const std::uint64_t before = plan(local).bytesOf(MemoryPart::Runtime);
    local.windows.assign(local.layers, 0);
    local.windows[0] = 5;
    QCOMPARE(plan(local).bytesOf(MemoryPart::Runtime), before + 7 * 8 * 4);
    local.windows.assign(local.layers, 5);
    QCOMPARE(plan(local).bytesOf(MemoryPart::Runtime), before);
    local.ropeDimensions = 0;
    QCOMPARE(plan(local).bytesOf(MemoryPart::Runtime), before - 7 * 8 * 4);
}

void TestMemoryPlan::refusesAbsurdSizes_data()
{
    QTest::addColumn<QString>("field");
    QTest::addColumn<quint32>("value");
    for (const char *field :
         {"context", "sequences", "batch", "block", "threads", "layers", "embedding", "vocabulary"})
        QTest::addRow("%s of 0", field) << QString::fromLatin1(field) << 0U;
    QTest::newRow("head size") << QStringLiteral("headSize") << 0xffffffffU;
    QTest::newRow("feed-forward") << QStringLiteral("feedForward") << 0xffffffffU;
}

void TestMemoryPlan::refusesAbsurdSizes()
{
    QFETCH(QString, field);
    QFETCH(quint32, value);
    ModelConfig config = smallConfig();
    RunMemorySettings settings = smallSettings();
    if (value != 0) {
        settings.contextTokens = 0xffffffffU;
        settings.batchTokens = 0xffffffffU;
    }
    if (field == QLatin1String("context"))
        settings.contextTokens = 0;
    if (field == QLatin1String("sequences"))
        settings.sequences = 0;
    const std::map<QString, std::uint32_t *> fields = {
        {"batch", &settings.batchTokens}, {"block", &settings.blockTokens},
        {"threads", &settings.threads},   {"layers", &config.layers},
        {"embedding", &config.embedding}, {"vocabulary", &config.vocabulary},
        {"headSize", &config.headSize},   {"feedForward", &config.feedForward}};
    if (fields.count(field) > 0)
        *fields.at(field) = value;
    const Result<MemoryPlan> plan = planMemory(config, 0, settings);
    QVERIFY(!plan);
    QCOMPARE(plan.error().code, ErrorCode::InvalidArgument);
    QVERIFY(!plan.error().message.empty());
}

void TestMemoryPlan::processMemoryGrows()
{
    const ProcessMemory before = processMemory();
    QVERIFY(before.residentBytes > 0);
    QVERIFY(before.peakResidentBytes >= before.residentBytes);
    std::vector<char> touched(64 << 20, 1);
    const ProcessMemory after = processMemory();
    QVERIFY(after.residentBytes >= before.residentBytes + (48 << 20));
    QVERIFY(after.peakResidentBytes >= after.residentBytes);
    QCOMPARE(static_cast<int>(touched[touched.size() / 2]), 1);
}

TOKENLOUPE_TEST_MAIN(TestMemoryPlan)
#include "tst_memoryplan.moc"
