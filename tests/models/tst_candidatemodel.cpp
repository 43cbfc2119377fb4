// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/explained.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"
#include "widgets/models/candidatemodel.h"

#include <QAbstractItemModelTester>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace tokenloupe;
using test::explained;
using test::plainSoftmax;

class TestCandidateModel : public QObject
{
    Q_OBJECT

    /// Eight tokens one logit apart. Top-k 4 removes the ids from 4 on; min-p 0.3 those below e^-1.2 of the
    /// largest, which are 2 and 3; then two are left at half the temperature.
    static test::SmallStep cuts()
    {
        test::SmallStep step;
        step.logits = {5, 4, 3, 2, 1, 0, -1, -2};
        step.stages = {{TopKParams{4}}, {MinPParams{0.3F}}, {TemperatureParams{0.5F}}};
        step.chosen = TokenId(1);
        return step;
    }
    static constexpr int topK = CandidateModel::FirstStageColumn;
    static constexpr int minP = topK + 1;
    static constexpr int temperature = topK + 2;

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void isEmptyWithoutAnExplanation()
    {
        CandidateModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        model.setExplanation(explained(cuts()), nullptr);
        QCOMPARE(model.rowCount(), 8);
        model.setExplanation(nullptr, nullptr);
        QCOMPARE(model.rowCount(), 0);
        QCOMPARE(model.largestProbability(), 0.0);
    }

    void hasAColumnForEachActiveStage()
    {
        CandidateModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        test::SmallStep step = cuts();
        step.stages.push_back({TopPParams{0.5F}, StageSwitch::Off});
        step.stages.push_back({TopPParams{1.0F}}); // its off value
        model.setExplanation(explained(step), nullptr);
        QCOMPARE(model.columnCount(), int(CandidateModel::FirstStageColumn) + 3);
        const auto title = [&](int column) {
            return model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        };
        QCOMPARE(title(CandidateModel::RawColumn), QStringLiteral("raw"));
        QCOMPARE(title(topK), QStringLiteral("top-k 4"));
        QCOMPARE(title(minP), QStringLiteral("min-p 0.30"));
        QCOMPARE(title(temperature), QStringLiteral("temp 0.50"));
        const auto family = [&](int column) {
            return static_cast<StageFamily>(
                model.headerData(column, Qt::Horizontal, CandidateModel::FamilyRole).toInt());
        };
        QCOMPARE(family(CandidateModel::RawColumn), StageFamily::Raw);
        QCOMPARE(family(topK), StageFamily::CountCut);
        QCOMPARE(family(minP), StageFamily::MassCut);
        QCOMPARE(family(temperature), StageFamily::Temperature);
    }

    void namesTheRemoverWhereACandidateLeft()
    {
        CandidateModel model;
        model.setExplanation(explained(cuts()), nullptr);
        for (int row = 0; row < 8; ++row) {
            const int leaves = row >= 4 ? topK : row >= 2 ? minP : -1;
            for (int column = CandidateModel::RawColumn; column < model.columnCount(); ++column) {
                const QModelIndex cell = model.index(row, column);
                QCOMPARE(cell.data(CandidateModel::ProbabilityRole).isValid(), leaves < 0 || column < leaves);
                const QString remover = column == topK ? QStringLiteral("top-k") : QStringLiteral("min-p");
                QCOMPARE(cell.data(CandidateModel::RemoverRole).toString(),
                         column == leaves ? remover : QString());
                if (column == leaves)
                    QCOMPARE(cell.data().toString(), remover);
                QCOMPARE(cell.data(CandidateModel::RemovedRole).toBool(), leaves >= 0);
            }
        }
    }

    void probabilitiesAreThoseOfAPlainSoftmax()
    {
        CandidateModel model;
        model.setExplanation(explained(cuts()), nullptr);
        const auto p = [&](int row, int column) {
            return model.index(row, column).data(CandidateModel::ProbabilityRole).toDouble();
        };
        const std::vector<double> all{5, 4, 3, 2, 1, 0, -1, -2};
        for (int row = 0; row < 8; ++row)
            QVERIFY(std::abs(p(row, CandidateModel::RawColumn) - plainSoftmax(all, std::size_t(row))) <
                    1e-12);
        for (int row = 0; row < 4; ++row)
            QVERIFY(std::abs(p(row, topK) - plainSoftmax({5, 4, 3, 2}, std::size_t(row))) < 1e-12);
        for (int row = 0; row < 2; ++row) {
            QVERIFY(std::abs(p(row, minP) - plainSoftmax({5, 4}, std::size_t(row))) < 1e-12);
            QVERIFY(std::abs(p(row, temperature) - plainSoftmax({10, 8}, std::size_t(row))) < 1e-12);
        }
        QVERIFY(std::abs(model.largestProbability() - plainSoftmax({10, 8}, 0)) < 1e-12);
        QCOMPARE(model.index(0, CandidateModel::RawColumn).data().toString(),
                 QString::number(100.0 * plainSoftmax(all, 0), 'f', 1));
        QCOMPARE(model.index(3, CandidateModel::LogitColumn).data().toString(), QStringLiteral("2.00"));
    }

    void marksWhatTheRunTookAndWhatTheChainDraws()
    {
        test::SmallStep step = cuts();
        step.stages.back() = {TemperatureParams{0.0F}}; // draws the first
        step.chosen = TokenId(6);                       // taken by hand, though it was removed
        CandidateModel model;
        model.setExplanation(explained(step), nullptr);
        for (int row = 0; row < 8; ++row) {
            QCOMPARE(model.index(row, 0).data(CandidateModel::ChosenRole).toBool(), row == 6);
            QCOMPARE(model.index(row, 0).data(CandidateModel::DrawnRole).toBool(), row == 0);
            QCOMPARE(model.index(row, 0).data(CandidateModel::TokenIdRole).toUInt(), unsigned(row));
        }
    }

    void theChosenTokenIsThereHoweverFarDown()
    {
        test::SmallStep step = cuts();
        step.chosen = TokenId(7);
        step.top = 3;
        CandidateModel model;
        model.setExplanation(explained(step), nullptr);
        QCOMPARE(model.rowCount(), 4);
        QCOMPARE(model.index(3, CandidateModel::RankColumn).data().toInt(), 8);
        QVERIFY(model.index(3, 0).data(CandidateModel::ChosenRole).toBool());
        QCOMPARE(model.index(2, CandidateModel::RankColumn).data().toInt(), 3);
    }

    void theSameShapeIsAChangeAndAnotherShapeAReset()
    {
        CandidateModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setExplanation(explained(cuts()), nullptr);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset);
        QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
        QSignalSpy header(&model, &QAbstractItemModel::headerDataChanged);
        test::SmallStep other = cuts();
        other.logits = {1, 2, 3, 4, 5, 6, 7, 8};
        model.setExplanation(explained(other), nullptr);
        QCOMPARE(reset.count(), 0);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(header.count(), 1);
        QCOMPARE(changed.at(0).at(0).toModelIndex(), model.index(0, 0));
        QCOMPARE(changed.at(0).at(1).toModelIndex(), model.index(7, model.columnCount() - 1));
        QCOMPARE(model.index(0, 0).data(CandidateModel::TokenIdRole).toUInt(), 7U);

        other.stages.pop_back();
        model.setExplanation(explained(other), nullptr);
        QCOMPARE(reset.count(), 1);
        QCOMPARE(changed.count(), 1);
        other.top = 2;
        model.setExplanation(explained(other), nullptr);
        QCOMPARE(reset.count(), 2);
    }

    void cellsSayWhatTheyAreToAScreenReader()
    {
        CandidateModel model;
        model.setExplanation(explained(cuts()), nullptr);
        QCOMPARE(model.index(0, CandidateModel::LogitColumn).data(Qt::AccessibleTextRole).toString(),
                 QStringLiteral("logit: 5.00"));
        QCOMPARE(model.index(5, topK).data(Qt::AccessibleTextRole).toString(),
                 QStringLiteral("top-k 4: top-k"));
    }

    void tokensAreWrittenAsTheModelsTextSays()
    {
        QTemporaryDir folder;
        const auto loaded = loadModel(test::writeTinyModel(folder.path().toStdString()));
        QVERIFY(loaded);
        test::SmallStep step;
        step.logits.assign((*loaded)->tokenizer->size(), 0.0F);
        const std::uint32_t letter = test::tinyFirstByte + 'Q';
        step.logits[letter] = 9.0F;
        CandidateModel model;
        model.setExplanation(explained(step), *loaded);
        QCOMPARE(model.index(0, CandidateModel::TokenColumn).data().toString(), QStringLiteral("Q"));
        QCOMPARE(model.tokenizer(), (*loaded)->tokenizer.get());
    }
};

TOKENLOUPE_TEST_MAIN(TestCandidateModel)
#include "tst_candidatemodel.moc"
