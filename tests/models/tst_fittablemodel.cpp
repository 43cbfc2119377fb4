// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "widgets/models/fittablemodel.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestFitTableModel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void cellsAreThoseOfTheEngineAndOneIsCurrent()
    {
        FitTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(!model.currentCell().isValid());
        const EstimatorResultPtr result = computeEstimate(test::eightBillionRequest());
        model.setResult(result);
        QCOMPARE(model.rowCount(), int(result->fits.weightTypes.size()));
        QCOMPARE(model.columnCount(), int(result->fits.contexts.size()));
        QCOMPARE(model.unit(), QStringLiteral("GiB"));
        int fitting = 0;
        for (int row = 0; row < model.rowCount(); ++row) {
            for (int column = 0; column < model.columnCount(); ++column) {
                const FitCell &cell = result->fits.cells[std::size_t(row)][std::size_t(column)];
                const QModelIndex index = model.index(row, column);
                QCOMPARE(index.data(FitTableModel::FitsRole).toBool(), cell.fits);
                // a reader of screens hears the verdict, not a colour
                QCOMPARE(index.data(Qt::AccessibleTextRole).toString().contains(QStringLiteral("not")),
                         !cell.fits);
                fitting += cell.fits ? 1 : 0;
            }
        }
        QVERIFY(fitting > 0 && fitting < model.rowCount() * model.columnCount());
        const QModelIndex current = model.currentCell();
        QVERIFY(current.isValid());
        QCOMPARE(current.data(FitTableModel::WeightTypeRole).toString(), QStringLiteral("Q4_K_M"));
        QCOMPARE(current.data(FitTableModel::ContextRole).toULongLong(), 8192ULL);
        QCOMPARE(model.headerData(current.row(), Qt::Vertical).toString(), QStringLiteral("Q4_K_M"));
        QCOMPARE(model.headerData(current.column(), Qt::Horizontal).toString(), QStringLiteral("8192"));
    }

    void anotherCardKeepsThePlaceAnotherContextMayNot()
    {
        FitTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        EstimateRequest request = test::eightBillionRequest();
        model.setResult(computeEstimate(request));
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        request.devices = {test::card("Card 8", 8)};
        model.setResult(computeEstimate(request));
        QCOMPARE(reset.count(), 0);
        request.contextTokens = 10000;
        model.setResult(computeEstimate(request));
        QCOMPARE(reset.count(), 1);
        QCOMPARE(model.currentCell().data(FitTableModel::ContextRole).toULongLong(), 10000ULL);
    }
};

TOKENLOUPE_TEST_MAIN(TestFitTableModel)
#include "tst_fittablemodel.moc"
