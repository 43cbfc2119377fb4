// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplerchain.h"
#include "engine/sampling/stagemeter.h"
#include "tests/sampling/samplingreference.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

} // namespace

class TestLogitStatistics : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void workedNumbers()
    {
        const std::vector<float> logits = {3, 2, 1, 0, -1};
        const Result<LogitStatistics> statistics = logitStatistics(logits);
        QVERIFY(statistics.has_value());
        const double expected[] = {0.636409, 0.234122, 0.086129, 0.031685, 0.011656};
        for (std::size_t i = 0; i < logits.size(); ++i)
            QVERIFY(qAbs(statistics->probabilityOf(logits[i]) - expected[i]) < 5e-7);
        QVERIFY(qAbs(statistics->entropyBits - 1.442656) < 1e-6);
        QCOMPARE(statistics->maximum, 3.0F);
        QCOMPARE(statistics->argmax.value(), 0U);
        QVERIFY(qAbs(statistics->logSumExp - (3.0 - std::log(0.636409))) < 1e-5);
    }

    void againstAPlainLoop_data()
    {
        QTest::addColumn<std::size_t>("n");
        QTest::addColumn<int>("shape");
        for (const std::size_t n : {1, 2, 100, 4096, 4097, 49152}) {
            for (const LogitShape shape : allShapes)
                QTest::addRow("%zu %s", n, shapeName(shape).c_str()) << n << static_cast<int>(shape);
        }
    }
    void againstAPlainLoop()
    {
        QFETCH(std::size_t, n);
        QFETCH(int, shape);
        const std::vector<float> logits = randomLogits(n, n, static_cast<LogitShape>(shape));
        long double maximum = -infinity;
        for (const float logit : logits)
            maximum = std::isnan(logit) ? maximum : std::max<long double>(maximum, logit);
        long double sum = 0, weighted = 0;
        std::size_t argmax = n;
        for (std::size_t i = 0; i < n; ++i) {
            if (std::isnan(logits[i]) || std::isinf(logits[i]))
                continue;
            const long double x = logits[i] - maximum;
            sum += std::exp(x);
            weighted += x * std::exp(x);
            if (argmax == n && logits[i] == maximum)
                argmax = i;
        }
        const long double entropy = (std::log(sum) - weighted / sum) / std::log(2.0L);

        const Result<LogitStatistics> statistics = logitStatistics(logits);
        QVERIFY(statistics.has_value());
        QCOMPARE(statistics->argmax.value(), std::uint32_t(argmax));
        QVERIFY(statistics->maximum == static_cast<float>(maximum));
        const double scale = std::max(1.0, std::abs(static_cast<double>(maximum)));
        QVERIFY(std::abs(statistics->logSumExp - static_cast<double>(maximum + std::log(sum))) <
                1e-7 * scale);
        QVERIFY(std::abs(statistics->entropyBits - static_cast<double>(entropy)) < 2e-6);
        QVERIFY(statistics->entropyBits >= 0.0);
    }

    void rankIsThePlaceInTheSortedOrder()
    {
        for (const LogitShape shape : allShapes) {
            const std::vector<float> logits = randomLogits(77, 700, shape);
            const std::vector<TokenId> history;
            const ReferenceList sorted = referenceFilter(logits, history, SamplerSettings()).list;
            for (std::size_t i = 0; i < sorted.size(); ++i)
                QCOMPARE(rankOf(logits, TokenId(sorted[i].id)), std::uint32_t(i));
        }
        const std::vector<float> logits = {1.0F, 2.0F};
        QCOMPARE(rankOf(logits, TokenId(2)), 2U);
        QCOMPARE(rankOf(logits, TokenId()), 2U);
    }

    void refusesWhatHasNoDistribution()
    {
        const std::vector<std::vector<float>> bad = {
            {}, {notANumber}, {-infinity, -infinity}, {notANumber, -infinity}, {0.0F, infinity}};
        for (const auto &logits : bad) {
            const Result<LogitStatistics> statistics = logitStatistics(logits);
            QVERIFY(!statistics);
            QVERIFY(statistics.error().code == ErrorCode::InvalidLogits);
        }
        const std::vector<float> one = {notANumber, -infinity, -1e30F};
        const Result<LogitStatistics> statistics = logitStatistics(one);
        QVERIFY(statistics.has_value());
        QCOMPARE(statistics->argmax.value(), 2U);
        QCOMPARE(statistics->entropyBits, 0.0);
        QCOMPARE(statistics->probabilityOf(-1e30F), 1.0);
    }

    void meterMeasuresWhatAStageDid()
    {
        const std::vector<float> logits = {3, 2, 1, 0, -1};
        StageMeter meter(logits);
        QVERIFY(qAbs(meter.probability(TokenId(1)) - 0.234122) < 1e-6);

        CandidateSet set = *CandidateSet::of(logits);
        set.keep(set.top(2));
        StageMeasure measure = meter.measure(set);
        QCOMPARE(measure.candidates, 2U);
        QVERIFY(qAbs(measure.mass - 0.870530) < 1e-6);
        QVERIFY(qAbs(measure.entropyBits - 0.839942) < 1e-5); // of 0.731059, 0.268941
        QVERIFY(qAbs(meter.probability(TokenId(0)) - 0.731059) < 1e-6);
        QCOMPARE(meter.probability(TokenId(4)), 0.0);
        QVERIFY(meter.logit(TokenId(4)) == -infinity);

        set.divideBy(0.5F);
        measure = meter.measure(set);
        QCOMPARE(measure.mass, 1.0);
        QVERIFY(qAbs(meter.probability(TokenId(0)) - 0.880797) < 1e-6);

        const TokenId first[] = {TokenId(0)};
        set.edit(first, [](TokenId, float) { return -infinity; });
        measure = meter.measure(set);
        QVERIFY(qAbs(measure.mass - 0.119203) < 1e-6);
        QCOMPARE(measure.entropyBits, 0.0);
    }
};

TOKENLOUPE_TEST_MAIN(TestLogitStatistics)
#include "tst_logitstatistics.moc"
