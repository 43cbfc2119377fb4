// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/cardsplit.h"
#include "engine/estimate/costmodel.h"
#include "engine/estimate/estimate.h"
#include "tests/estimate/estimaterequests.h"
#include "tests/estimate/randomshape.h"
#include "tests/support/testmain.h"

#include <cmath>
#include <numeric>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

std::uint64_t partOf(const Estimate &estimate, const char *name)
{
    for (const EstimatePart &part : estimate.parts) {
        if (part.name == name)
            return part.bytes;
    }
    return 0;
}

std::uint64_t sumOfParts(const Estimate &estimate)
{
    return std::accumulate(estimate.parts.begin(), estimate.parts.end(), std::uint64_t(0),
                           [](std::uint64_t sum, const EstimatePart &part) { return sum + part.bytes; });
}

} // namespace

class TestEstimate : public QObject
{
    Q_OBJECT

private slots:
    void partsAddUp_data();
    void partsAddUp();
    void largestIsExact_data();
    void largestIsExact();
    void splitsAddUp_data();
    void splitsAddUp();
    void smallestMemoryThatFits();
    void beamsShareBlocks();
    void draftComesOnTop();
    void offloadKeepsWholeLayers();
    void programIsTheMemoryPlan();
    void withoutAttention();
    void fitTableIsTheEstimate();
    void refuses_data();
    void refuses();
    void warnsAndComputes();
};

void TestEstimate::partsAddUp_data()
{
    QTest::addColumn<int>("seed");
    for (int seed = 0; seed < 60; ++seed)
        QTest::addRow("shape %d", seed) << seed;
}

void TestEstimate::partsAddUp()
{
    QFETCH(int, seed);
    RandomShapes random(static_cast<std::uint64_t>(seed));
    const EstimateRequest request = random.request();
    const auto result = estimate(request);
    QVERIFY2(result, result ? "" : result.error().text().c_str());
    QCOMPARE(sumOfParts(*result), result->totalBytes);
    QCOMPARE(*estimateTotal(request), result->totalBytes);
    QCOMPARE(std::accumulate(result->kvByLayer.begin(), result->kvByLayer.end(), std::uint64_t(0)),
             partOf(*result, "kv_cache"));
    QCOMPARE(result->kvByLayer.size(), std::size_t(request.shape->layers));
    QCOMPARE(partOf(*result, "weights"), planWeights(*request.shape, request.weightType)->bytes);
    for (const EstimatePart &part : result->parts) {
        QVERIFY2(!part.how.empty() || part.bytes == 0, part.name.c_str());
        QVERIFY(!part.title.empty());
        // Bytes by class, by kind of layer: they are the part; buffers that share memory are said one by one.
        if (part.name == "weights" || part.name == "kv_cache") {
            const std::uint64_t sum =
                std::accumulate(part.detail.begin(), part.detail.end(), std::uint64_t(0),
                                [](std::uint64_t all, const auto &item) { return all + item.second; });
            QCOMPARE(sum, part.bytes);
        }
    }
    QVERIFY(!result->verdict.empty());
}

void TestEstimate::largestIsExact_data()
{
    partsAddUp_data();
}

void TestEstimate::largestIsExact()
{
    QFETCH(int, seed);
    RandomShapes random(static_cast<std::uint64_t>(seed) + 1000);
    EstimateRequest request = random.request();
    const auto result = estimate(request);
    QVERIFY2(result, result ? "" : result.error().text().c_str());
    const auto fits = [&](std::uint64_t context, std::uint64_t batch) {
        EstimateRequest changed = request;
        changed.contextTokens = context;
        changed.batch = batch;
        changed.promptTokens = std::min(changed.promptTokens, context);
        const auto other = estimate(changed);
        return other && other->fits;
    };
    const std::uint64_t context = result->maxContext;
    const std::uint64_t batch = result->maxBatch;
    QCOMPARE(result->fits, context >= request.contextTokens);
    QCOMPARE(result->fits, batch >= request.batch);
    // A prompt that beams share is part of the context: searching below it would ask for another thing.
    if (context > 0 && context >= request.promptTokens)
        QVERIFY(fits(context, request.batch));
    if (context < searchLimit && context + 1 >= request.promptTokens)
        QVERIFY(!fits(context + 1, request.batch));
    if (batch > 0)
        QVERIFY(fits(request.contextTokens, batch));
    if (batch < searchLimit)
        QVERIFY(!fits(request.contextTokens, batch + 1));
}

void TestEstimate::splitsAddUp_data()
{
    QTest::addColumn<QString>("shape");
    QTest::addColumn<int>("cards");
    QTest::addColumn<bool>("isTensors");
    for (const char *shape :
         {"Llama-3.1-8B", "Gemma-3-4B", "Mixtral-8x7B", "DeepSeek-V2-Lite", "SmolLM2-135M"}) {
        for (const int cards : {1, 2, 3, 5}) {
            QTest::addRow("%s, %d cards, layers", shape, cards)
                << QString::fromLatin1(shape) << cards << false;
            QTest::addRow("%s, %d cards, tensors", shape, cards)
                << QString::fromLatin1(shape) << cards << true;
        }
    }
}

void TestEstimate::splitsAddUp()
{
    QFETCH(QString, shape);
    QFETCH(int, cards);
    QFETCH(bool, isTensors);
    EstimateRequest request = builtIn(shape.toLatin1().constData());
    const auto alone = estimate(request);
    request.capacityBytes = 0;
    request.split = isTensors ? SplitKind::Tensors : SplitKind::Layers;
    for (int i = 0; i < cards; ++i)
        request.devices.push_back(card("card", 12.0 + 4.0 * i));
    const auto result = estimate(request);
    QVERIFY(alone && result);
    QCOMPARE(sumOfParts(*result), result->totalBytes);
    QCOMPARE(result->devices.size(), std::size_t(cards));
    std::uint64_t bytes = 0;
    std::uint32_t layers = 0;
    bool allFit = true;
    for (const DeviceShare &share : result->devices) {
        bytes += share.bytes;
        layers += share.layers;
        allFit = allFit && share.fits;
    }
    QCOMPARE(bytes, result->totalBytes);
    QCOMPARE(layers, request.shape->layers * std::uint32_t(isTensors ? cards : 1));
    QCOMPARE(result->fits, allFit);
    QVERIFY(result->totalBytes >= alone->totalBytes);
    if (cards == 1) {
        QCOMPARE(result->totalBytes, alone->totalBytes);
        QCOMPARE(partOf(*result, "replicated"), std::uint64_t(0));
    }
    QCOMPARE(partOf(*result, "weights"), partOf(*alone, "weights"));
    QCOMPARE(partOf(*result, "kv_cache"), partOf(*alone, "kv_cache"));
}

/// One byte less than the total does not fit; split in layers, filling card after card decides.
void TestEstimate::smallestMemoryThatFits()
{
    EstimateRequest request = builtIn("Llama-3.2-3B");
    const std::uint64_t total = *estimateTotal(request);
    request.capacityBytes = total;
    QVERIFY(estimate(request)->fits);
    request.capacityBytes = total - 1;
    const auto result = estimate(request);
    QVERIFY(!result->fits);
    QVERIFY(result->verdict.find("does not fit") != std::string::npos);

    // Two cards of 10, layers of 4, 3, 3: only 1 + 2 fits; proportional halves would be 2 + 1.
    const auto placed = placeLayers({0, 0}, {8, 5, 5}, {10, 10});
    QVERIFY(placed);
    QCOMPARE(*placed, (std::vector<std::uint32_t>{1, 2}));
    QVERIFY(!placeLayers({0, 0}, {8, 5, 6}, {10, 10}));
    QVERIFY(!placeLayers({11, 0}, {}, {10, 10}));
    QCOMPARE(*placeLayers({1, 1}, {1, 1, 1, 1, 1, 1}, {100, 50}), (std::vector<std::uint32_t>{4, 2}));
}

void TestEstimate::beamsShareBlocks()
{
    EstimateRequest request = builtIn("Llama-3.1-8B");
    request.contextTokens = 1000; // 63 blocks of 16
    const std::uint64_t perToken = 131072;
    QCOMPARE(partOf(*estimate(request), "kv_cache"), 63 * 16 * perToken);
    request.beams = 4;
    request.promptTokens = 800; // 50 whole blocks are shared: 13 own ones for each of 3 more
    QCOMPARE(partOf(*estimate(request), "kv_cache"), (63 + 3 * 13) * 16 * perToken);
    request.promptTokens = 1000; // the last block is not full, so each needs a copy
    QCOMPARE(partOf(*estimate(request), "kv_cache"), (63 + 3 * 1) * 16 * perToken);
    request.promptTokens = 0; // half of it: 31 of 63
    QCOMPARE(partOf(*estimate(request), "kv_cache"), (63 + 3 * 32) * 16 * perToken);
    request.batch = 2;
    QCOMPARE(partOf(*estimate(request), "kv_cache"), 2 * (63 + 3 * 32) * 16 * perToken);
    request.layout = KvLayout::Contiguous;
    const auto contiguous = estimate(request);
    QCOMPARE(partOf(*contiguous, "kv_cache"), 8 * 1000 * perToken);
    QVERIFY(!contiguous->warnings.empty());
}

void TestEstimate::draftComesOnTop()
{
    EstimateRequest request = builtIn("Llama-3.1-8B");
    const std::uint64_t alone = *estimateTotal(request);
    request.draft = std::make_shared<ModelShape>(*builtInShape("Llama-3.2-1B"));
    request.draftWeightType = "Q8_0";
    const auto result = estimate(request);
    QVERIFY(result);
    QCOMPARE(partOf(*result, "draft_weights"), planWeights(*request.draft, "Q8_0")->bytes);
    QCOMPARE(partOf(*result, "draft_kv"), std::uint64_t(4096) * 32768);
    QVERIFY(partOf(*result, "draft_buffers") > 0);
    QCOMPARE(result->totalBytes, alone + partOf(*result, "draft_weights") + partOf(*result, "draft_kv") +
                                     partOf(*result, "draft_buffers"));
    QVERIFY(result->warnings.empty());
    request.draft = std::make_shared<ModelShape>(*builtInShape("SmolLM2-135M"));
    QCOMPARE(estimate(request)->warnings.size(), std::size_t(1)); // another vocabulary
}

void TestEstimate::offloadKeepsWholeLayers()
{
    EstimateRequest request = builtIn("Llama-3.1-8B");
    request.capacityBytes = 0;
    request.devices = {card("small", 8)};
    request.hostBytes = 64 * gibibyte;
    const auto result = estimate(request);
    QVERIFY(!result->fits);
    QVERIFY(result->offloadLayers > 5 && result->offloadLayers < 32);
    QVERIFY(result->offloadFits);
    // One layer more would not fit: what the card then holds, without embedding, head and logits.
    const auto model = CostModel::create(request);
    const auto costs = model->at(4096, 1);
    std::uint64_t held = costs->buffers.activations() + costs->buffers.workspace.value() + cardRuntimeBytes;
    for (std::uint32_t i = 0; i < result->offloadLayers; ++i)
        held += costs->layers[31 - i];
    QVERIFY(held <= 8 * gibibyte);
    QVERIFY(held + costs->layers[31 - result->offloadLayers] > 8 * gibibyte);
    request.hostBytes = gibibyte; // the rest does not fit there
    QVERIFY(!estimate(request)->offloadFits);
    request.devices = {card("large", 80)};
    QCOMPARE(estimate(request)->offloadLayers, 32U);
    QVERIFY(estimate(request)->offloadFits);
    request.devices = {card("tiny", 0.25)};
    QCOMPARE(estimate(request)->offloadLayers, 0U);
    QVERIFY(!estimate(request)->offloadFits);
}

void TestEstimate::programIsTheMemoryPlan()
{
    EstimateRequest request = builtIn("SmolLM2-135M");
    request.target = EstimateTarget::ThisProgram;
    request.threads = 2;
    request.traceBytes = 1 << 20;
    request.programBytes = 7000000;
    const auto result = estimate(request);
    QVERIFY(result);
    RunMemorySettings settings;
    settings.contextTokens = 4096;
    settings.batchTokens = 256;
    settings.keyType = settings.valueType = KvType::F16;
    settings.threads = 2;
    settings.traceBudgetBytes = 1 << 20;
    settings.vocabulary = typicalVocabulary(request.shape->vocabulary);
    settings.programBytes = 7000000;
    const auto plan = planMemory(configOf(*request.shape), partOf(*result, "weights"), settings);
    QVERIFY(plan);
    QCOMPARE(result->totalBytes, plan->total());
    QCOMPARE(result->parts.size(), plan->items.size());
    for (std::size_t i = 0; i < plan->items.size(); ++i) {
        QCOMPARE(result->parts[i].name, std::string(memoryPartName(plan->items[i].part)));
        QCOMPARE(result->parts[i].bytes, plan->items[i].bytes);
    }
    QCOMPARE(partOf(*result, "kv_cache"), std::uint64_t(4096) * 23040);
    request.batch = 3;
    QCOMPARE(partOf(*estimate(request), "kv_cache"), std::uint64_t(3 * 4096) * 23040);
    // The model's own configuration decides where there is one.
    request.batch = 1;
    request.config = configOf(*request.shape);
    request.config->experts = 8;
    request.config->expertsUsed = 2;
    request.config->expertFeedForward = 4096;
    const auto experts = planMemory(*request.config, partOf(*result, "weights"), settings);
    QVERIFY(experts);
    QVERIFY(experts->total() > plan->total());
    QCOMPARE(*estimateTotal(request), experts->total());
    const ModelConfig mixture = configOf(*builtInShape("Mixtral-8x7B"));
    QCOMPARE(mixture.experts, 8U);
    QCOMPARE(mixture.expertsUsed, 2U);
    QCOMPARE(mixture.expertFeedForward, 14336U);
    // Latent attention, which the program does not run, is still counted as it is stored.
    EstimateRequest latent = builtIn("DeepSeek-V2-Lite");
    latent.target = EstimateTarget::ThisProgram;
    QCOMPARE(partOf(*estimate(latent), "kv_cache"), std::uint64_t(4096) * 31104);
}

void TestEstimate::withoutAttention()
{
    EstimateRequest request = builtIn("Mamba-2.8B");
    const auto result = estimate(request);
    QVERIFY2(result, result ? "" : result.error().text().c_str());
    QCOMPARE(result->kvBytesPerToken, std::uint64_t(0));
    QCOMPARE(partOf(*result, "kv_cache"), std::uint64_t(0));
    QCOMPARE(partOf(*result, "recurrent_state"), request.shape->stateBytesPerSequence);
    QVERIFY(request.shape->stateBytesPerSequence > 0);
    request.batch = 5;
    QCOMPARE(partOf(*estimate(request), "recurrent_state"), 5 * request.shape->stateBytesPerSequence);
    request.contextTokens = 1 << 20; // no growth
    QCOMPARE(partOf(*estimate(request), "recurrent_state"), 5 * request.shape->stateBytesPerSequence);
    request.target = EstimateTarget::ThisProgram;
    QVERIFY(estimate(request));
}

void TestEstimate::fitTableIsTheEstimate()
{
    EstimateRequest request = builtIn("Qwen3-14B");
    const std::vector<std::string> types{"F16", "Q8_0", "Q4_K_M"};
    const std::vector<std::uint64_t> contexts{1024, 32768, 131072};
    const auto table = fitTable(request, types, contexts);
    QVERIFY(table);
    int fitting = 0;
    for (std::size_t t = 0; t < types.size(); ++t) {
        for (std::size_t c = 0; c < contexts.size(); ++c) {
            request.weightType = types[t];
            request.contextTokens = contexts[c];
            const auto single = estimate(request);
            QCOMPARE(table->cells[t][c].bytes, single->totalBytes);
            QCOMPARE(table->cells[t][c].fits, single->fits);
            fitting += single->fits ? 1 : 0;
        }
    }
    QVERIFY(fitting > 0 && fitting < 9);
    QVERIFY(!fitTable(request, {"Q9"}, contexts));
    QVERIFY(!fitTable(request, types, {0}));
}

void TestEstimate::refuses_data()
{
    QTest::addColumn<QString>("setting");
    QTest::addColumn<quint64>("value");
    QTest::newRow("context of 0") << "context" << quint64(0);
    QTest::newRow("context of 10^18") << "context" << quint64(1000000000000000000ULL);
    QTest::newRow("batch of 0") << "batch" << quint64(0);
    QTest::newRow("batch of 10^18") << "batch" << quint64(1000000000000000000ULL);
    QTest::newRow("micro-batch") << "micro-batch" << (quint64(1) << 60);
    QTest::newRow("block of 0") << "block tokens" << quint64(0);
    QTest::newRow("0 beams") << "beams" << quint64(0);
    QTest::newRow("a prompt longer than the context") << "prompt" << quint64(4097);
    QTest::newRow("0 threads") << "threads" << quint64(0);
    QTest::newRow("no capacity") << "capacity" << quint64(0);
    QTest::newRow("KV type") << "key type" << quint64(0);
    QTest::newRow("no shape") << "shape" << quint64(0);
    QTest::newRow("empty shape") << "shape" << quint64(1);
    QTest::newRow("card without memory") << "cards" << quint64(0);
}

void TestEstimate::refuses()
{
    QFETCH(QString, setting);
    QFETCH(quint64, value);
    EstimateRequest request = builtIn("Llama-3.1-8B");
    if (setting == QLatin1String("context"))
        request.contextTokens = value;
    else if (setting == QLatin1String("batch"))
        request.batch = value;
    else if (setting == QLatin1String("micro-batch"))
        request.microBatch = value;
    else if (setting == QLatin1String("block tokens"))
        request.blockTokens = 0;
    else if (setting == QLatin1String("beams"))
        request.beams = 0;
    else if (setting == QLatin1String("prompt"))
        request.promptTokens = value;
    else if (setting == QLatin1String("threads"))
        request.threads = 0;
    else if (setting == QLatin1String("capacity"))
        request.capacityBytes = 0;
    else if (setting == QLatin1String("cards"))
        request.devices = {Gpu{}};
    else if (setting == QLatin1String("shape"))
        request.shape = value == 0 ? nullptr : std::make_shared<ModelShape>();
    else {
        ModelShape shape = *request.shape;
        for (KvLayerShape &layer : shape.kvLayers)
            layer.keySize = 80;
        request.shape = std::make_shared<ModelShape>(shape);
        request.keyType = KvType::Q8_0;
    }
    const auto result = estimate(request);
    QVERIFY(!result);
    QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
    QCOMPARE(QString::fromStdString(result.error().operation), setting);
    QVERIFY(!result.error().message.empty());
    QVERIFY(!estimateTotal(request));
    QVERIFY(!fitTable(request, {"F16"}, {value == 0 ? 1024 : value}) || setting == QLatin1String("context"));
}

void TestEstimate::warnsAndComputes()
{
    EstimateRequest request = builtIn("Llama-2-7B");
    QVERIFY(estimate(request)->warnings.empty());
    request.contextTokens = 1000000000; // far beyond what it was trained for, and of what there is
    const auto result = estimate(request);
    QVERIFY2(result, result ? "" : result.error().text().c_str());
    QCOMPARE(partOf(*result, "kv_cache"), std::uint64_t(524288) * 1000000000);
    QVERIFY(!result->fits);
    QCOMPARE(result->warnings.size(), std::size_t(1));
    QVERIFY(result->maxContext > 0 && result->maxContext < 1000000000);
    // Unknown trained length: nothing to warn of.
    ModelShape shape = *request.shape;
    shape.contextTrain = 0;
    request.shape = std::make_shared<ModelShape>(shape);
    QVERIFY(estimate(request)->warnings.empty());
    // Too small for even one token.
    request.capacityBytes = 1000;
    QCOMPARE(estimate(request)->maxContext, std::uint64_t(0));
    QCOMPARE(estimate(request)->maxBatch, std::uint64_t(0));
}

TOKENLOUPE_TEST_MAIN(TestEstimate)
#include "tst_estimate.moc"
