// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "widgets/models/estimatepartsmodel.h"
#include "widgets/theme/numbers.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestEstimatePartsModel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void rowsAreThePartsAndTheirSharesAddUp()
    {
        EstimatePartsModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        const EstimatorResultPtr result = computeEstimate(test::eightBillionRequest());
        model.setResult(result);
        const Estimate &estimate = *result->estimate;
        QCOMPARE(model.rowCount(), int(estimate.parts.size()));
        QVERIFY(model.rowCount() >= 3);
        quint64 sum = 0;
        for (int row = 0; row < model.rowCount(); ++row) {
            const EstimatePart &part = estimate.parts[std::size_t(row)];
            const QModelIndex bytes = model.index(row, EstimatePartsModel::BytesColumn);
            QCOMPARE(model.index(row, 0).data().toString(), QString::fromStdString(part.title));
            QCOMPARE(bytes.data().toString(), formatBytes(part.bytes));
            QVERIFY(bytes.data(EstimatePartsModel::HowRole)
                        .toString()
                        .startsWith(QString::fromStdString(part.how)));
            QCOMPARE(model.index(row, 0).data(EstimatePartsModel::ColorRole).toInt(), row);
            QVERIFY(!bytes.data(EstimatePartsModel::ColorRole).isValid());
            sum += bytes.data(EstimatePartsModel::ValueRole).toULongLong();
        }
        QCOMPARE(sum, quint64(estimate.totalBytes));
    }

    void otherNumbersKeepTheRowsSelected()
    {
        EstimatePartsModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        EstimateRequest request = test::eightBillionRequest();
        model.setResult(computeEstimate(request));
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
        request.contextTokens = 16384;
        model.setResult(computeEstimate(request));
        QCOMPARE(reset.count(), 0);
        QCOMPARE(changed.count(), 1);
        model.setResult(nullptr);
        QCOMPARE(reset.count(), 1);
        QCOMPARE(model.rowCount(), 0);
    }
};

TOKENLOUPE_TEST_MAIN(TestEstimatePartsModel)
#include "tst_estimatepartsmodel.moc"
