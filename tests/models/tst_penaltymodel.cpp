// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/explained.h"
#include "tests/support/testmain.h"
#include "widgets/models/penaltymodel.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;
using test::explained;
using test::plainSoftmax;

class TestPenaltyModel : public QObject
{
    Q_OBJECT

    static test::SmallStep repeated(std::int32_t lastN = -1)
    {
        test::SmallStep step;
        step.logits = {2.0F, -1.0F, 0.5F, 0.25F};
        step.stages = {{PenaltiesParams{lastN, 2.0F, 0.5F, 0.25F}}};
        step.history = {TokenId(0), TokenId(0), TokenId(1)};
        step.chosen = TokenId(1);
        return step;
    }
    static QStringList row(const PenaltyModel &model, int index)
    {
        QStringList cells;
        for (int column = 0; column < model.columnCount(); ++column)
            cells << model.index(index, column).data().toString();
        return cells;
    }
    static QString points(double change)
    {
        const QString number = QString::number(std::abs(change) * 100.0, 'f', 2);
        return (change < 0 ? QStringLiteral("−") : QStringLiteral("+")) + number;
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void countsAndLogitsAreThoseOfTheFormula()
    {
        PenaltyModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setExplanation(explained(repeated()), nullptr);
        QCOMPARE(model.rowCount(), 2);
        // Token 0: 2 / 2 - 2 · 0.25 - 0.5 = 0. Token 1: -1 · 2 - 0.25 - 0.5 = -2.75.
        const std::vector<double> before{2.0, -1.0, 0.5, 0.25};
        const std::vector<double> after{0.0, -2.75, 0.5, 0.25};
        const auto change = [&](std::size_t id) {
            return plainSoftmax(after, id) - plainSoftmax(before, id);
        };
        QCOMPARE(row(model, 0), (QStringList{QStringLiteral("0"), QStringLiteral("2"), QStringLiteral("2.00"),
                                             QStringLiteral("0.00"), points(change(0))}));
        QCOMPARE(row(model, 1),
                 (QStringList{QStringLiteral("1"), QStringLiteral("1"), QStringLiteral("-1.00"),
                              QStringLiteral("-2.75"), points(change(1))}));
        QVERIFY(model.index(0, PenaltyModel::ChangeColumn).data().toString().startsWith(QStringLiteral("−")));
        QVERIFY(!model.index(0, 0).data(PenaltyModel::ChosenRole).toBool());
        QVERIFY(model.index(1, 0).data(PenaltyModel::ChosenRole).toBool());
        QCOMPARE(model.index(1, 0).data(PenaltyModel::TokenIdRole).toUInt(), 1U);
    }

    void onlyTheWindowCounts()
    {
        PenaltyModel model;
        model.setExplanation(explained(repeated(2)), nullptr);
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.index(0, PenaltyModel::CountColumn).data().toInt(), 1);
        model.setExplanation(explained(repeated(1)), nullptr);
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.index(0, 0).data(PenaltyModel::TokenIdRole).toUInt(), 1U);
    }

    void aChangeTooSmallToShowHasNoSign()
    {
        test::SmallStep step;
        step.logits = {30.0F, -30.0F};
        step.stages = {{PenaltiesParams{-1, 1.0F, 0.5F, 0.0F}}};
        step.history = {TokenId(1)};
        step.chosen = TokenId(0);
        PenaltyModel model;
        model.setExplanation(explained(step), nullptr);
        QCOMPARE(model.index(0, PenaltyModel::ChangeColumn).data().toString(), QStringLiteral("0.00"));
    }

    void followsExplanations()
    {
        PenaltyModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        QCOMPARE(model.columnCount(), int(PenaltyModel::ColumnCount));
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        model.setExplanation(explained(repeated()), nullptr);
        QCOMPARE(reset.count(), 1);
        test::SmallStep without = repeated();
        without.stages.front().state = StageSwitch::Off;
        model.setExplanation(explained(without), nullptr);
        QCOMPARE(model.rowCount(), 0);
        model.setExplanation(nullptr, nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void columnsHaveTitles()
    {
        PenaltyModel model;
        QStringList titles;
        for (int column = 0; column < model.columnCount(); ++column)
            titles << model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        titles.removeDuplicates();
        QCOMPARE(titles.size(), int(PenaltyModel::ColumnCount));
        QVERIFY(!titles.contains(QString()));
    }
};

TOKENLOUPE_TEST_MAIN(TestPenaltyModel)
#include "tst_penaltymodel.moc"
