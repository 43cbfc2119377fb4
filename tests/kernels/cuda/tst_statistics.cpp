// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/statistics.h"
#include "kernels/cuda/statisticsgeometry.h"
#include "tests/cudahost/cudahost.h"
#include "tests/kernels/cuda/devicerows.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tokenloupe;
using namespace tokenloupe::cuda;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float notANumber = std::numeric_limits<float>::quiet_NaN();

struct Reference
{
    double logSumExp = 0.0;
    double entropyBits = 0.0;
    std::vector<int> order; ///< ids, the largest logit first
};

float cleaned(float logit)
{
    return std::isnan(logit) ? -infinity : logit;
}

Reference referenceOf(const std::vector<float> &logits)
{
    Reference reference;
    reference.order.resize(logits.size());
    std::iota(reference.order.begin(), reference.order.end(), 0);
    std::stable_sort(reference.order.begin(), reference.order.end(), [&](int a, int b) {
        return cleaned(logits[std::size_t(a)]) > cleaned(logits[std::size_t(b)]);
    });
    const double top = double(cleaned(logits[std::size_t(reference.order[0])]));
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(double(cleaned(logit)) - top);
    reference.logSumExp = top + std::log(sum);
    for (const float logit : logits) {
        const double p = std::exp(double(cleaned(logit)) - reference.logSumExp);
        if (p > 0)
            reference.entropyBits -= p * std::log2(p);
    }
    return reference;
}

/// Summaries of rows of `columns` logits; `tokens` may be empty.
std::vector<LogitSummary> summarize(const std::vector<float> &logits, int columns, int top,
                                    const std::vector<std::int32_t> &tokens, int padding = 0)
{
    const PaddedRows rows(logits, columns, padding, padding);
    const int count = int(logits.size()) / columns;
    const DeviceValues<std::int32_t> deviceTokens(tokens.empty() ? std::vector<std::int32_t>{0} : tokens);
    const DeviceValues<std::byte> scratch(logitSummaryBytes(count, columns, top));
    const DeviceValues<LogitSummary> summaries{std::size_t(count)};
    demand(summarizeLogits(rows.view(), tokens.empty() ? nullptr : deviceTokens.data(), top, scratch.data(),
                           summaries.data(), nullptr));
    return summaries.read();
}

/// What is wrong with a summary; empty: nothing.
QString differences(const LogitSummary &summary, const std::vector<float> &logits, int top, int token)
{
    const Reference reference = referenceOf(logits);
    const auto isNear = [](double a, double b, double bound) { return std::abs(a - b) <= bound; };
    // Float32 exponentials of float32 differences, then sums without further error.
    if (!isNear(summary.logSumExp, reference.logSumExp, 1e-6 * (1 + std::abs(reference.logSumExp) * 1e-6)))
        return QStringLiteral("log-sum-exp %1 instead of %2")
            .arg(summary.logSumExp, 0, 'g', 12)
            .arg(reference.logSumExp, 0, 'g', 12);
    if (!isNear(summary.entropyBits, reference.entropyBits, 2e-6 * (1 + reference.entropyBits)))
        return QStringLiteral("entropy %1 instead of %2")
            .arg(summary.entropyBits, 0, 'g', 12)
            .arg(reference.entropyBits, 0, 'g', 12);
    const int first = reference.order[0];
    if (summary.argmax != first || summary.maximum != cleaned(logits[std::size_t(first)]))
        return QStringLiteral("largest %1 instead of %2").arg(summary.argmax).arg(first);
    if (summary.topCount != std::min(top, int(logits.size())))
        return QStringLiteral("%1 largest").arg(summary.topCount);
    for (int i = 0; i < summary.topCount; ++i) {
        const int id = reference.order[std::size_t(i)];
        if (summary.top[i].id != id || summary.top[i].logit != cleaned(logits[std::size_t(id)]))
            return QStringLiteral("place %1: %2 instead of %3").arg(i).arg(summary.top[i].id).arg(id);
    }
    if (token < 0 || token >= int(logits.size())) {
        if (summary.tokenRank != int(logits.size()) || !std::isnan(summary.tokenLogit) ||
            !std::isnan(summary.tokenLogProbability))
            return QStringLiteral("values of no token");
        return {};
    }
    const auto place = std::find(reference.order.begin(), reference.order.end(), token);
    if (summary.tokenRank != int(place - reference.order.begin()))
        return QStringLiteral("rank %1 of token %2").arg(summary.tokenRank).arg(token);
    const float logit = logits[std::size_t(token)];
    if (!(summary.tokenLogit == logit || (std::isnan(summary.tokenLogit) && std::isnan(logit))))
        return QStringLiteral("logit of token %1").arg(token);
    const double expected = double(cleaned(logit)) - reference.logSumExp;
    if (summary.tokenLogProbability != expected &&
        !isNear(summary.tokenLogProbability, expected, 1e-6 * (1 + std::abs(reference.logSumExp) * 1e-6)))
        return QStringLiteral("log-probability %1 instead of %2")
            .arg(summary.tokenLogProbability)
            .arg(expected);
    return {};
}

#define COMPARE_SUMMARY(summary, logits, top, token)                                                         \
    do {                                                                                                     \
        const QString wrong = differences(summary, logits, top, token);                                      \
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));                                                        \
    } while (false)

} // namespace

class TestStatistics : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup()
    {
        cudahost::checkMemory();
        QCOMPARE(cudahost::takeFaults(), std::vector<std::string>());
    }
    void matchesReference_data();
    void matchesReference();
    void wholeVocabulary();
    void ties_data();
    void ties();
    void rowsOfTheirOwn();
    void bannedTokens();
    void flaws();
    void farApart();
    void refusesWrongShapes();
    void plans();
};

void TestStatistics::matchesReference_data()
{
    QTest::addColumn<int>("columns");
    QTest::addColumn<int>("top");
    for (const int columns : {1, 2, 31, 32, 33, 1000, 2047, 2048, 2049, 4099, 9000})
        for (const int top : {0, 1, 2, 5, 40, 64, 256})
            QTest::addRow("%d, %d", columns, top) << columns << top;
}

void TestStatistics::matchesReference()
{
    QFETCH(const int, columns);
    QFETCH(const int, top);
    const std::vector<float> logits = randomFloats(std::size_t(columns), 12.0F, unsigned(columns + top));
    for (const std::uint64_t seed : {1, 2}) {
        cudahost::setSeed(seed);
        for (const int token : {0, columns / 2, columns - 1}) {
            const std::vector<LogitSummary> summaries = summarize(logits, columns, top, {token}, int(seed));
            COMPARE_SUMMARY(summaries[0], logits, top, token);
            QCOMPARE(int(summaries[0].flaw), int(LogitRowFlaw::None));
        }
    }
    COMPARE_SUMMARY(summarize(logits, columns, top, {})[0], logits, top, -1);
}

void TestStatistics::wholeVocabulary()
{
    const int columns = 262145;
    const std::vector<float> logits = randomFloats(std::size_t(columns), 12.0F, 9);
    COMPARE_SUMMARY(summarize(logits, columns, 256, {77777})[0], logits, 256, 77777);
    std::vector<float> sorted = logits;
    std::sort(sorted.begin(), sorted.end()); // all of the largest are in one slice
    COMPARE_SUMMARY(summarize(sorted, columns, 20, {262144})[0], sorted, 20, 262144);
}

void TestStatistics::ties_data()
{
    QTest::addColumn<int>("values");
    QTest::newRow("all the same") << 1;
    QTest::newRow("two values") << 2;
    QTest::newRow("nine values") << 9;
}

void TestStatistics::ties()
{
    QFETCH(const int, values);
    std::vector<float> logits(5000);
    for (std::size_t i = 0; i < logits.size(); ++i) {
        logits[i] = float(i * 7919 % std::size_t(values));
        if (logits[i] == 0.0F && i % 3 == 0)
            logits[i] = -0.0F; // the same as 0
    }
    for (const int token : {0, 2, 3, 2500, 4999})
        COMPARE_SUMMARY(summarize(logits, 5000, 256, {token})[0], logits, 256, token);
}

void TestStatistics::rowsOfTheirOwn()
{
    const int columns = 2500;
    const std::vector<float> logits = randomFloats(3 * 2500, 8.0F, 10);
    const std::vector<std::int32_t> tokens = {17, columns, 2499}; // the second asks for none
    const std::vector<LogitSummary> summaries = summarize(logits, columns, 10, tokens, 2);
    for (std::size_t row = 0; row < 3; ++row) {
        const auto begin = logits.begin() + std::ptrdiff_t(row) * columns;
        COMPARE_SUMMARY(summaries[row], std::vector<float>(begin, begin + columns), 10, tokens[row]);
    }
    COMPARE_SUMMARY(summarize(logits, 7500, 10, {-1})[0], logits, 10, -1);
}

void TestStatistics::bannedTokens()
{
    std::vector<float> logits(4100, -infinity);
    logits[3000] = 1.0F;
    logits[5] = 2.0F;
    for (const int token : {0, 5, 6, 3000, 4099})
        COMPARE_SUMMARY(summarize(logits, 4100, 6, {token})[0], logits, 6, token);
    QCOMPARE(int(summarize(logits, 4100, 6, {0})[0].flaw), int(LogitRowFlaw::None));
    logits[7] = notANumber;
    for (const int token : {4, 7, 8})
        COMPARE_SUMMARY(summarize(logits, 4100, 12, {token})[0], logits, 12, token);
    QCOMPARE(int(summarize(logits, 4100, 6, {0})[0].flaw), int(LogitRowFlaw::NotANumber));
}

void TestStatistics::flaws()
{
    std::vector<float> logits(3000, -infinity);
    logits[2] = notANumber;
    LogitSummary summary = summarize(logits, 3000, 2, {1})[0];
    QCOMPARE(int(summary.flaw), int(LogitRowFlaw::NothingFinite));
    QVERIFY(std::isnan(summary.logSumExp) && std::isnan(summary.entropyBits));
    QVERIFY(std::isnan(summary.tokenLogProbability));
    QCOMPARE(summary.argmax, 0);
    QCOMPARE(summary.tokenRank, 1);

    logits[2500] = infinity;
    logits[1] = 3.0F;
    summary = summarize(logits, 3000, 2, {1})[0];
    QCOMPARE(int(summary.flaw), int(LogitRowFlaw::PositiveInfinity));
    QVERIFY(std::isnan(summary.logSumExp) && std::isnan(summary.entropyBits));
    QCOMPARE(summary.argmax, 2500);
    QCOMPARE(summary.tokenRank, 1);
}

void TestStatistics::farApart()
{
    std::vector<float> logits(3000, -3e38F);
    logits[10] = 3e38F;
    COMPARE_SUMMARY(summarize(logits, 3000, 3, {10})[0], logits, 3, 10);
    logits.assign(3000, 1e6F);
    for (std::size_t i = 0; i < logits.size(); ++i)
        logits[i] += float(i % 5);
    COMPARE_SUMMARY(summarize(logits, 3000, 3, {10})[0], logits, 3, 10);
}

void TestStatistics::refusesWrongShapes()
{
    const PaddedRows rows(1, 100);
    const DeviceValues<std::byte> scratch(1 << 16);
    const DeviceValues<LogitSummary> summary(1);
    const auto call = [&](DeviceRows logits, int top, void *memory, LogitSummary *out) {
        return summarizeLogits(logits, nullptr, top, memory, out, nullptr);
    };
    QCOMPARE(call({}, 1, scratch.data(), summary.data()), cudaErrorInvalidValue);
    QCOMPARE(call(rows.view(), -1, scratch.data(), summary.data()), cudaErrorInvalidValue);
    QCOMPARE(call(rows.view(), largestTop + 1, scratch.data(), summary.data()), cudaErrorInvalidValue);
    QCOMPARE(call(rows.view(), 1, nullptr, summary.data()), cudaErrorInvalidValue);
    QCOMPARE(call(rows.view(), 1, scratch.data(), nullptr), cudaErrorInvalidValue);
    QCOMPARE(cudahost::launchCount(), 0);
}

void TestStatistics::plans()
{
    for (const int columns : {1, 32, 2048, 2049, 262144, 1 << 30}) {
        for (const int top : {0, 1, 3, 32, 33, 255, 256}) {
            const StatisticsPlan plan = statisticsPlan(2, columns, top, 60);
            QVERIFY(std::int64_t(plan.slices) * sliceColumns >= columns);
            QVERIFY(std::int64_t(plan.slices - 1) * sliceColumns < columns);
            QVERIFY(1 << plan.listBits >= top && 1 << plan.sliceBits <= sliceColumns);
            QVERIFY(1 << plan.sliceBits >= std::min(columns, sliceColumns));
            QVERIFY(plan.sliceBits >= plan.listBits);
            QCOMPARE(plan.mergedLists << plan.listBits, mergeKeys);
            std::int32_t lists = plan.slices;
            int merges = 0;
            for (; merges == 0 || lists > 1; ++merges)
                lists = listsAfterMerge(plan, lists);
            QCOMPARE(lists, 1);
            QVERIFY(merges <= 5);
            const std::uint64_t listBytes = std::uint64_t(8) << plan.listBits;
            QVERIFY(plan.listsAt[0] >= std::uint64_t(2 * plan.slices) * 60);
            QVERIFY(plan.listsAt[1] >= plan.listsAt[0] + std::uint64_t(2 * plan.slices) * listBytes);
            QVERIFY(plan.bytes >=
                    plan.listsAt[1] + std::uint64_t(2 * listsAfterMerge(plan, plan.slices)) * listBytes);
        }
    }
    QCOMPARE(statisticsPlan(0, 10, 1, 60).slices, 0);
    QCOMPARE(statisticsPlan(1, 0, 1, 60).slices, 0);
    QCOMPARE(statisticsPlan(1, (1 << 30) + 1, 1, 60).slices, 0);
    QCOMPARE(statisticsPlan(1 << 20, 1 << 30, 1, 60).slices, 0);
    QCOMPARE(logitSummaryBytes(1, 10, 257), std::uint64_t(0));
}

TOKENLOUPE_TEST_MAIN(TestStatistics)
#include "tst_statistics.moc"
