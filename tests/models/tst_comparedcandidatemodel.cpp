// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"
#include "widgets/models/comparedcandidatemodel.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <limits>

using namespace tokenloupe;

class TestComparedCandidateModel : public QObject
{
    Q_OBJECT

    using Model = ComparedCandidateModel;

    static ComparisonStore::Position position(const std::vector<float> &exact, const std::vector<float> &fast)
    {
        auto compared = comparePosition(exact, fast);
        return compared ? std::make_shared<const PositionComparison>(std::move(*compared)) : nullptr;
    }
    static QString text(const Model &model, int row, int column)
    {
        return model.index(row, column).data().toString();
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void showsBothPrecisions()
    {
        Model model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        // Softmax: 1/2, 1/4, 1/4 and 1/4, 1/2, 1/4.
        const float two = std::log(2.0F);
        model.setPosition(position({two, 0.0F, 0.0F}, {0.0F, two, 0.0F}), TokenId(1), nullptr);
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(text(model, 0, Model::TokenColumn), QStringLiteral("0"));
        QCOMPARE(text(model, 0, Model::ExactLogitColumn), QStringLiteral("0.69"));
        QCOMPARE(text(model, 0, Model::FastLogitColumn), QStringLiteral("0.00"));
        QCOMPARE(text(model, 0, Model::DifferenceColumn), QStringLiteral("−0.69"));
        QCOMPARE(text(model, 1, Model::DifferenceColumn), QStringLiteral("+0.69"));
        QCOMPARE(text(model, 2, Model::DifferenceColumn), QStringLiteral("0"));
        QCOMPARE(text(model, 0, Model::ExactPColumn), QStringLiteral("50.00"));
        QCOMPARE(text(model, 0, Model::FastPColumn), QStringLiteral("25.00"));
        QCOMPARE(text(model, 1, Model::ExactRankColumn), QStringLiteral("2"));
        QCOMPARE(text(model, 1, Model::FastRankColumn), QStringLiteral("1"));
        QVERIFY(!model.index(0, 0).data(Model::ChosenRole).toBool());
        QVERIFY(model.index(1, 0).data(Model::ChosenRole).toBool());
        QCOMPARE(model.index(2, 0).data(Model::TokenIdRole).toUInt(), 2U);
        for (int column = 0; column < model.columnCount(); ++column)
            QVERIFY(!model.headerData(column, Qt::Horizontal).toString().isEmpty());
        QVERIFY(model.headerData(Model::DifferenceColumn, Qt::Horizontal, Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("fast − exact")));
        model.setPosition(nullptr, std::nullopt, nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void numbersAtTheEdges()
    {
        Model model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        constexpr float banned = -std::numeric_limits<float>::infinity();
        model.setPosition(position({20.0F, -3.5F, banned}, {20.0F, -3.25F, 1.0F}), std::nullopt, nullptr);
        QCOMPARE(text(model, 1, Model::ExactLogitColumn), QStringLiteral("−3.50"));
        QCOMPARE(text(model, 1, Model::ExactPColumn), QStringLiteral("<0.01"));
        QCOMPARE(text(model, 2, Model::ExactLogitColumn), QStringLiteral("−∞"));
        QCOMPARE(text(model, 2, Model::ExactPColumn), QStringLiteral("0.00"));
        QCOMPARE(text(model, 2, Model::DifferenceColumn), QStringLiteral("+∞"));
        QVERIFY(!model.index(0, 0).data(Model::ChosenRole).toBool());
    }

    void tokensByTheirText()
    {
        QTemporaryDir folder;
        const auto loaded = loadModel(test::writeTinyModel(folder.path().toStdString()));
        QVERIFY(loaded);
        Model model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        std::vector<float> row((*loaded)->config().vocabulary, 0.0F);
        row[test::tinyFirstByte + 'x'] = 5.0F;
        model.setPosition(position(row, row), std::nullopt, (*loaded)->tokenizer);
        QCOMPARE(text(model, 0, Model::TokenColumn), QStringLiteral("x"));
    }
};

TOKENLOUPE_TEST_MAIN(TestComparedCandidateModel)
#include "tst_comparedcandidatemodel.moc"
