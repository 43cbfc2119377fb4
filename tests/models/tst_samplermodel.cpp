// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "widgets/models/samplermodel.h"

#include <QAbstractItemModelTester>
#include <QMimeData>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestSamplerModel : public QObject
{
    Q_OBJECT

    static std::vector<StageKind> order(const SamplerModel &model)
    {
        std::vector<StageKind> kinds;
        for (const StageSettings &stage : model.settings()->stages)
            kinds.push_back(stage.kind());
        return kinds;
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void everyChangeIsANewValue()
    {
        SamplerModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSignalSpy changed(&model, &SamplerModel::settingsChanged);
        const auto before = model.settings();
        StageSettings stage = model.stage(2);
        stage.params = TopKParams{7};
        model.setStage(2, stage);
        QCOMPARE(changed.count(), 1);
        QVERIFY(before != model.settings());
        QCOMPARE(std::get<TopKParams>(before->stages[2].params).k, 40);
        QCOMPARE(std::get<TopKParams>(model.settings()->stages[2].params).k, 7);
        model.setStage(2, stage); // the same again
        QCOMPARE(changed.count(), 1);
    }

    void badParametersAreRefused()
    {
        SamplerModel model;
        QSignalSpy rejected(&model, &SamplerModel::stageRejected);
        QSignalSpy changed(&model, &SamplerModel::settingsChanged);
        StageSettings stage = model.stage(3);
        stage.params = TopPParams{std::numeric_limits<float>::quiet_NaN()};
        model.setStage(3, stage);
        QCOMPARE(rejected.count(), 1);
        QVERIFY(!rejected.at(0).at(1).toString().isEmpty());
        QCOMPARE(changed.count(), 0);
    }

    void switchesByTheEnabledRole()
    {
        SamplerModel model;
        const QModelIndex index = model.index(4);
        QVERIFY(index.data(SamplerModel::EnabledRole).toBool());
        QVERIFY(model.setData(index, false, SamplerModel::EnabledRole));
        QVERIFY(!index.data(SamplerModel::EnabledRole).toBool());
        QVERIFY(!index.data(SamplerModel::ActiveRole).toBool());
        QVERIFY(!model.setData(index, 3, Qt::EditRole));
    }

    void movesRows_data()
    {
        QTest::addColumn<int>("from");
        QTest::addColumn<int>("to");
        QTest::addColumn<bool>("moves");
        QTest::newRow("down") << 2 << 5 << true;
        QTest::newRow("up") << 5 << 1 << true;
        QTest::newRow("to the end") << 0 << 6 << true;
        QTest::newRow("onto itself") << 2 << 2 << false;
        QTest::newRow("right behind itself") << 2 << 3 << false;
        QTest::newRow("out of range") << 2 << 7 << false;
    }

    void movesRows()
    {
        QFETCH(int, from);
        QFETCH(int, to);
        QFETCH(bool, moves);
        SamplerModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        std::vector<StageKind> expected = order(model);
        if (moves) {
            const StageKind kind = expected[static_cast<std::size_t>(from)];
            expected.erase(expected.begin() + from);
            expected.insert(expected.begin() + (to > from ? to - 1 : to), kind);
        }
        QSignalSpy changed(&model, &SamplerModel::settingsChanged);
        QCOMPARE(model.moveRow({}, from, {}, to), moves);
        QCOMPARE(order(model), expected);
        QCOMPARE(changed.count(), moves ? 1 : 0);
    }

    void dropsWhatWasDragged()
    {
        SamplerModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const std::unique_ptr<QMimeData> dragged(model.mimeData({model.index(5)}));
        model.dropMimeData(dragged.get(), Qt::MoveAction, 2, 0, {});
        QCOMPARE(order(model)[2], StageKind::Temperature);
        QCOMPARE(model.rowCount(), 6);
        QMimeData other;
        QVERIFY(!model.dropMimeData(&other, Qt::MoveAction, 0, 0, {}));
    }
};

TOKENLOUPE_TEST_MAIN(TestSamplerModel)
#include "tst_samplermodel.moc"
