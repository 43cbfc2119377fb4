// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "widgets/models/attentionmodel.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;

class TestAttentionModel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void theModelsOwnKindIsMarked()
    {
        AttentionModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const EstimatorResultPtr result = computeEstimate(test::eightBillionRequest());
        model.setVariants(result->attention);
        QVERIFY(model.rowCount() >= 3);
        int own = 0;
        for (int row = 0; row < model.rowCount(); ++row) {
            if (!model.index(row, 0).data(AttentionModel::OwnRole).toBool())
                continue;
            ++own;
            // 2 · 32 layers · 8 heads · 128 numbers · 2 bytes = 128 KiB, a quarter of what 32 heads take
            QCOMPARE(model.index(row, AttentionModel::BytesColumn).data().toString(),
                     QStringLiteral("128\u00A0KiB"));
            QVERIFY(model.index(row, AttentionModel::RatioColumn)
                        .data()
                        .toString()
                        .contains(QStringLiteral("0.25")));
            QVERIFY(model.index(row, 0).data().toString().contains(QStringLiteral("this model")));
        }
        QCOMPARE(own, 1);
        model.setVariants({});
        QCOMPARE(model.rowCount(), 0);
    }
};

TOKENLOUPE_TEST_MAIN(TestAttentionModel)
#include "tst_attentionmodel.moc"
