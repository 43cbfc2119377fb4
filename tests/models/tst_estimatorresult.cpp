// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "widgets/models/estimatorresult.h"

#include <QRegularExpression>
#include <QTest>
#include <algorithm>

using namespace tokenloupe;

class TestEstimatorResult : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void curvesGoThroughTheTotalAndMeetTheCapacityWhereItStopsFitting()
    {
        EstimateRequest request = test::eightBillionRequest();
        const EstimatorResultPtr result = computeEstimate(request);
        QVERIFY2(result->estimate, qPrintable(result->error));
        const Estimate &estimate = *result->estimate;
        for (const EstimateCurve *curve : {&result->byContext, &result->byBatch}) {
            QVERIFY(curve->points.size() > 20);
            QVERIFY(std::is_sorted(curve->points.begin(), curve->points.end(),
                                   [](QPointF a, QPointF b) { return a.x() < b.x(); }));
            QVERIFY(std::is_sorted(curve->points.begin(), curve->points.end(),
                                   [](QPointF a, QPointF b) { return a.y() < b.y(); }));
            const auto now = std::find_if(curve->points.begin(), curve->points.end(),
                                          [curve](QPointF p) { return p.x() == curve->current; });
            QVERIFY(now != curve->points.end());
            QCOMPARE(now->y(), static_cast<double>(estimate.totalBytes));
        }
        // what is said to be the largest fits, and one more does not
        QCOMPARE(result->byContext.crossing, static_cast<double>(estimate.maxContext));
        request.contextTokens = estimate.maxContext;
        QVERIFY(*estimateTotal(request) <= estimate.capacityBytes);
        request.contextTokens = estimate.maxContext + 1;
        QVERIFY(*estimateTotal(request) > estimate.capacityBytes);
    }

    void theTableHoldsThePresentInputsAndAgreesWithThem()
    {
        EstimateRequest request = test::eightBillionRequest();
        request.contextTokens = 10000; // no power of two
        const EstimatorResultPtr result = computeEstimate(request);
        const FitTable &table = result->fits;
        const auto type = std::find(table.weightTypes.begin(), table.weightTypes.end(), "Q4_K_M");
        const auto context = std::find(table.contexts.begin(), table.contexts.end(), 10000U);
        QVERIFY(type != table.weightTypes.end());
        QVERIFY(context != table.contexts.end());
        QVERIFY(std::is_sorted(table.contexts.begin(), table.contexts.end()));
        const FitCell &cell = table.cells[std::size_t(type - table.weightTypes.begin())]
                                         [std::size_t(context - table.contexts.begin())];
        QCOMPARE(cell.bytes, result->estimate->totalBytes);
        QCOMPARE(cell.fits, result->estimate->fits);
        // nothing is stored: there is no such row
        QVERIFY(std::find(table.weightTypes.begin(), table.weightTypes.end(), "stored") ==
                table.weightTypes.end());
    }

    void whatNothingIsStoredOfIsCountedAsF16()
    {
        EstimateRequest request = test::eightBillionRequest();
        request.weightType = "F16";
        const EstimatorResultPtr plain = computeEstimate(request);
        request.weightType = "stored";
        const EstimatorResultPtr stored = computeEstimate(request);
        QVERIFY2(stored->estimate, qPrintable(stored->error));
        QCOMPARE(stored->estimate->totalBytes, plain->estimate->totalBytes);
        QCOMPARE(stored->request.weightType, std::string("F16"));
    }

    void withoutAShapeThereIsNeitherAnswerNorError()
    {
        EstimateRequest request = test::eightBillionRequest();
        request.shape = nullptr;
        const EstimatorResultPtr result = computeEstimate(request);
        QVERIFY(!result->estimate);
        QVERIFY(result->error.isEmpty());
    }

    void whatCannotBeCountedIsSaid()
    {
        EstimateRequest request = test::eightBillionRequest();
        request.contextTokens = 0;
        const EstimatorResultPtr result = computeEstimate(request);
        QVERIFY(!result->estimate);
        QVERIFY(!result->error.isEmpty());
    }

    void thisMachineIsMeasured()
    {
        EstimateRequest request = test::eightBillionRequest();
        request.target = EstimateTarget::ThisProgram;
        request.devices.clear();
        request.keyType = KvType::F32;
        request.valueType = KvType::F32;
        const EstimatorResultPtr result = computeEstimate(request);
        QVERIFY2(result->estimate, qPrintable(result->error));
        QCOMPARE(result->request.devices.size(), std::size_t(1));
        QVERIFY(result->request.devices[0].memoryBytes > (std::uint64_t(1) << 28));
        QVERIFY(result->estimate->decode.tokensPerSecond > 0.0);
    }
};

TOKENLOUPE_TEST_MAIN(TestEstimatorResult)
#include "tst_estimatorresult.moc"
