// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "widgets/models/textbookmodel.h"
#include "widgets/theme/numbers.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;

class TestTextbookModel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void everyFormulaSaysWhatIsRightAndWhy()
    {
        TextbookModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const EstimatorResultPtr result = computeEstimate(test::eightBillionRequest());
        model.setResult(result);
        const auto &formulas = result->estimate->textbook;
        QVERIFY(!formulas.empty());
        QCOMPARE(model.rowCount(), int(formulas.size()));
        bool someIsOff = false;
        for (int row = 0; row < model.rowCount(); ++row) {
            const TextbookFormula &formula = formulas[std::size_t(row)];
            QCOMPARE(model.index(row, TextbookModel::SaysColumn).data().toString(),
                     formatBytes(formula.says));
            QCOMPARE(model.index(row, TextbookModel::RightColumn).data().toString(),
                     formatBytes(formula.right));
            const QString how = model.index(row, 0).data(TextbookModel::HowRole).toString();
            QVERIFY(how.contains(QString::fromStdString(formula.formula)));
            QVERIFY(how.contains(QString::fromStdString(formula.reason)));
            const bool isOff = formula.says > formula.right + formula.right / 100 ||
                               formula.says < formula.right - formula.right / 100;
            QCOMPARE(model.index(row, TextbookModel::RatioColumn).data(TextbookModel::OffRole).toBool(),
                     isOff);
            someIsOff |= isOff;
        }
        QVERIFY(someIsOff); // 32 heads counted where 8 keep keys and values
        model.setResult(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }
};

TOKENLOUPE_TEST_MAIN(TestTextbookModel)
#include "tst_textbookmodel.moc"
