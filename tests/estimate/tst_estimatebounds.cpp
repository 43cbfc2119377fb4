// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/estimate.h"
#include "tests/estimate/estimaterequests.h"
#include "tests/support/testmain.h"

#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

const TextbookFormula *formula(const Estimate &estimate, const char *name)
{
    for (const TextbookFormula &formula : estimate.textbook) {
        if (formula.name == name)
            return &formula;
    }
    return nullptr;
}

} // namespace

/// What limits speed, what common shortcuts get wrong, attention kinds side by side.
class TestSpeedAndShortcuts : public QObject
{
    Q_OBJECT

private slots:
    void decodeBound();
    void expertsAreReadOnce();
    void prefillBound();
    void textbook();
    void attentionVariantsOfShapes_data();
    void attentionVariantsOfShapes();
};

void TestSpeedAndShortcuts::decodeBound()
{
    EstimateRequest request = builtIn("Llama-3.1-8B");
    QCOMPARE(estimate(request)->decode.tokensPerSecond, 0.0); // no card, no bandwidth
    request.capacityBytes = 0;
    request.devices = {card("card", 24)};
    const double weights = planWeights(*request.shape, "F16")->activeBytes;
    const double kv = 131072.0 * 4096.0;
    const auto close = [](double a, double b) { return std::abs(a / b - 1.0) < 1e-9; };
    QVERIFY(close(estimate(request)->decode.tokensPerSecond, 1000e9 / (weights + kv)));
    request.batch = 8; // weights once for all, keys and values of each
    QVERIFY(close(estimate(request)->decode.tokensPerSecond, 8 * 1000e9 / (weights + 8 * kv)));
    QVERIFY(!estimate(request)->decode.how.empty());
    // Twice the cards, split in tensors: half the time. In layers: no faster for one.
    request.devices.push_back(request.devices.front());
    request.split = SplitKind::Tensors;
    QVERIFY(close(estimate(request)->decode.tokensPerSecond, 2 * 8 * 1000e9 / (weights + 8 * kv)));
    request.split = SplitKind::Layers;
    QVERIFY(close(estimate(request)->decode.tokensPerSecond, 8 * 1000e9 / (weights + 8 * kv)));

    // Windows: only what is in them is read.
    EstimateRequest windows = builtIn("Gemma-3-27B");
    windows.devices = {card("card", 80)};
    windows.capacityBytes = 0;
    windows.contextTokens = 65536;
    const double active = planWeights(*windows.shape, "F16")->activeBytes;
    double read = 0.0;
    for (const KvLayerShape &layer : windows.shape->kvLayers)
        read +=
            layer.heads * (layer.keySize + layer.valueSize) * 2.0 * (layer.window > 0 ? layer.window : 65536);
    QVERIFY(close(estimate(windows)->decode.tokensPerSecond, 1000e9 / (active + read)));
}

void TestSpeedAndShortcuts::expertsAreReadOnce()
{
    EstimateRequest request = builtIn("Mixtral-8x7B");
    request.capacityBytes = 0;
    request.devices = {card("card", 141)};
    const auto step = [&](std::uint64_t batch) {
        request.batch = batch;
        return static_cast<double>(batch) / estimate(request)->decode.tokensPerSecond;
    };
    const double one = step(1);
    const double many = step(64);
    const double kv = 131072.0 * 4096.0 / 1000e9;
    // All weights are read by 64 tokens (2 of 8 experts each), but not more than once.
    const double all = static_cast<double>(planWeights(*request.shape, "F16")->bytes) / 1000e9;
    QVERIFY(one < 0.4 * all);
    QVERIFY(many > 0.95 * all + 64 * kv && many < all + 64 * kv);
    QVERIFY(step(4) > one && step(4) < many);
}

void TestSpeedAndShortcuts::prefillBound()
{
    EstimateRequest request = builtIn("Llama-3.1-8B");
    request.capacityBytes = 0;
    request.devices = {card("card", 24)};
    const double attention =
        32 * 4096 / 2.0 * 32 * 256 * 2.0; // layers · mean length · heads · (128 + 128) · 2
    const double operations = 2.0 * request.shape->activeParameters() + attention;
    const double bound = estimate(request)->prefill.tokensPerSecond;
    QVERIFY2(std::abs(bound / (100e12 / operations) - 1.0) < 1e-9, std::to_string(bound).c_str());
    request.contextTokens = 32768;
    QVERIFY(estimate(request)->prefill.tokensPerSecond < bound);
}

void TestSpeedAndShortcuts::textbook()
{
    const auto llama = estimate(builtIn("Llama-3.1-8B"));
    const TextbookFormula *heads = formula(*llama, "all heads counted");
    QVERIFY(heads);
    QCOMPARE(heads->says, std::uint64_t(4096) * 524288);
    QCOMPARE(heads->right, std::uint64_t(4096) * 131072);
    const TextbookFormula *forgotten = formula(*llama, "one layer forgotten");
    QCOMPARE(forgotten->says, forgotten->right * 31 / 32);
    QVERIFY(!formula(*llama, "windows ignored"));
    QVERIFY(!formula(*llama, "only active experts counted"));
    QCOMPARE(formula(*llama, "weights × 1.2")->right, llama->totalBytes);

    const auto own = estimate(builtIn("Llama-2-7B")); // a head for every query head: the formula is right
    QCOMPARE(formula(*own, "all heads counted")->says, formula(*own, "all heads counted")->right);

    EstimateRequest gemma = builtIn("Gemma-3-27B");
    gemma.contextTokens = 131072;
    const auto windows = estimate(gemma);
    QVERIFY(formula(*windows, "windows ignored")->says > 4 * formula(*windows, "windows ignored")->right);

    const auto latent = estimate(builtIn("DeepSeek-V3"));
    const TextbookFormula *expanded = formula(*latent, "latent vector expanded into heads");
    QCOMPARE(expanded->says, std::uint64_t(4096) * 4997120);
    QCOMPARE(expanded->right, std::uint64_t(4096) * 70272);
    QVERIFY(formula(*latent, "only active experts counted")->says <
            formula(*latent, "only active experts counted")->right / 10);
    for (const auto *result : {&*llama, &*windows, &*latent}) {
        QVERIFY(result->textbook.size() >= 4);
        for (const TextbookFormula &known : result->textbook)
            QVERIFY2(!known.formula.empty() && !known.reason.empty() && known.right > 0, known.name.c_str());
    }
}

void TestSpeedAndShortcuts::attentionVariantsOfShapes_data()
{
    QTest::addColumn<QString>("shape");
    QTest::addColumn<QString>("own");
    QTest::addColumn<quint64>("bytes");
    QTest::newRow("multi-head") << "Llama-2-7B"
                                << "multi-head" << quint64(524288);
    QTest::newRow("grouped") << "Llama-3.1-8B"
                             << "grouped-query" << quint64(131072);
    QTest::newRow("multi-query") << "Gemma-2B"
                                 << "multi-query" << quint64(18432);
    QTest::newRow("latent") << "DeepSeek-V3"
                            << "multi-head latent" << quint64(70272);
}

void TestSpeedAndShortcuts::attentionVariantsOfShapes()
{
    QFETCH(QString, shape);
    QFETCH(QString, own);
    QFETCH(quint64, bytes);
    const auto variants = attentionVariants(*builtInShape(shape.toStdString()), KvType::F16, KvType::F16);
    QCOMPARE(variants.size(), std::size_t(4));
    int owned = 0;
    for (const AttentionVariant &variant : variants) {
        QVERIFY(variant.bytesPerToken > 0 && !variant.how.empty());
        QVERIFY(std::abs(variant.ratio * static_cast<double>(variants[0].bytesPerToken) /
                             static_cast<double>(variant.bytesPerToken) -
                         1.0) < 1e-9);
        if (!variant.isOwn)
            continue;
        ++owned;
        QCOMPARE(QString::fromStdString(variant.name), own);
        QCOMPARE(variant.bytesPerToken, std::uint64_t(bytes));
    }
    QCOMPARE(owned, 1);
    QVERIFY(variants[0].bytesPerToken > variants[2].bytesPerToken);
}

TOKENLOUPE_TEST_MAIN(TestSpeedAndShortcuts)
#include "tst_estimatebounds.moc"
