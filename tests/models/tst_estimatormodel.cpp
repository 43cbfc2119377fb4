// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"
#include "widgets/models/enginehost.h"
#include "widgets/models/estimatormodel.h"

#include <QFile>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace tokenloupe;

class TestEstimatorModel : public QObject
{
    Q_OBJECT

    static constexpr int patience = 30'000;

    static bool settle(const EstimatorModel &model)
    {
        return QTest::qWaitFor([&model] { return !model.isBusy(); }, patience);
    }
    static QString writeFile(const QTemporaryDir &folder, const QString &name, const QByteArray &content)
    {
        QFile file(folder.filePath(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            qFatal("cannot write a test file");
        return file.fileName();
    }
    static std::filesystem::path cards(const QTemporaryDir &folder)
    {
        return (folder.path() + QStringLiteral("/own/cards.json")).toStdString();
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void aHeaderIsReadAndEstimated()
    {
        QTemporaryDir folder;
        EngineHost host;
        EstimatorModel model(host, cards(folder));
        model.addDevice(QStringLiteral("RTX 4090"));
        QCOMPARE(model.inputs().request.devices.size(), std::size_t(1));
        model.chooseModel(
            {ShapeOrigin::File, writeFile(folder, QStringLiteral("config.json"), test::eightBillionConfig)});
        QVERIFY(settle(model));
        QVERIFY2(model.result()->estimate, qPrintable(model.result()->error));
        QCOMPARE(model.inputs().model.origin, ShapeOrigin::File);
        QCOMPARE(model.shape()->layers, 32U);
        QCOMPARE(model.result()->request.devices[0].name, std::string("RTX 4090"));
    }

    void nothingIsComputedWhileNobodyLooks()
    {
        QTemporaryDir folder;
        EngineHost host;
        EstimatorModel model(host, cards(folder));
        QSignalSpy results(&model, &EstimatorModel::resultChanged);
        QSignalSpy inputs(&model, &EstimatorModel::inputsChanged);
        model.hold();
        model.addDevice(QStringLiteral("RTX 4090"));
        model.chooseModel(
            {ShapeOrigin::File, writeFile(folder, QStringLiteral("config.json"), test::eightBillionConfig)});
        QTRY_COMPARE_WITH_TIMEOUT(inputs.count(), 2, patience); // the card, then the shape that was read
        QCoreApplication::processEvents();
        QCOMPARE(results.count(), 0);
        QVERIFY(!model.result()->estimate);
        model.release();
        QVERIFY(settle(model));
        QVERIFY(model.result()->estimate);
        QCOMPARE(results.count(), 1); // of the newest alone
        model.release();
        QVERIFY(settle(model));
        QCOMPARE(results.count(), 1);
    }

    void aBrokenFileLeavesAllAsItWas()
    {
        QTemporaryDir folder;
        EngineHost host;
        EstimatorModel model(host, cards(folder));
        model.chooseModel(
            {ShapeOrigin::File, writeFile(folder, QStringLiteral("config.json"), test::eightBillionConfig)});
        QVERIFY(settle(model));
        const ShapeChoice before = model.inputs().model;
        QSignalSpy failed(&model, &EstimatorModel::failed);
        model.chooseModel(
            {ShapeOrigin::File, writeFile(folder, QStringLiteral("broken.gguf"), "GGUFgarbage")});
        QVERIFY(settle(model));
        QCOMPARE(failed.count(), 1);
        QVERIFY(failed[0][0].toString().contains(QStringLiteral("broken.gguf")));
        QVERIFY(!failed[0][1].toString().isEmpty());
        QVERIFY(model.inputs().model == before);
        QCOMPARE(model.shape()->layers, 32U);
        QVERIFY(model.result()->estimate);
    }

    void theNewestOfManyRequestsIsTheOneThatStays()
    {
        QTemporaryDir folder;
        EngineHost host;
        EstimatorModel model(host, cards(folder));
        model.addDevice(QStringLiteral("RTX 4090"));
        model.chooseModel(
            {ShapeOrigin::File, writeFile(folder, QStringLiteral("config.json"), test::eightBillionConfig)});
        QVERIFY(settle(model));
        QSignalSpy results(&model, &EstimatorModel::resultChanged);
        constexpr int requests = 400;
        EstimateRequest request = model.inputs().request;
        for (int i = 1; i <= requests; ++i) {
            request.contextTokens = std::uint64_t(i);
            model.setRequest(request);
        }
        QVERIFY(model.isBusy());
        QVERIFY(settle(model));
        QCOMPARE(model.result()->request.contextTokens, std::uint64_t(requests));
        QVERIFY2(results.count() < requests, "waiting requests were not replaced");
    }

    void theOpenModelIsFollowedUnlessAnotherWasChosen()
    {
        QTemporaryDir folder;
        EngineHost host;
        EstimatorModel model(host, cards(folder));
        model.setInputs({});
        QVERIFY(settle(model));
        QVERIFY(!model.shape());
        QVERIFY(!model.result()->estimate);
        QSignalSpy opened(&host, &EngineHost::modelOpened);
        SessionSettings settings;
        settings.contextTokens = 64;
        settings.threads = 1;
        const auto path = test::writeTinyModel(folder.path().toStdString());
        host.openModel(QString::fromStdString(path.string()), settings);
        QVERIFY(opened.wait(patience));
        QVERIFY(settle(model));
        QVERIFY(model.shape());
        QCOMPARE(model.shape()->layers, 2U);
        QVERIFY2(model.result()->estimate, qPrintable(model.result()->error));
        QCOMPARE(model.loadedTitle(), QStringLiteral("tiny"));
        model.chooseModel(
            {ShapeOrigin::File, writeFile(folder, QStringLiteral("config.json"), test::eightBillionConfig)});
        QVERIFY(settle(model));
        host.closeModel();
        QTRY_VERIFY(!host.status().model);
        QVERIFY(settle(model));
        QCOMPARE(model.shape()->layers, 32U);
    }

    void anUnknownCardIsNamed()
    {
        QTemporaryDir folder;
        EngineHost host;
        EstimatorModel model(host, cards(folder));
        QSignalSpy failed(&model, &EstimatorModel::failed);
        model.addDevice(QStringLiteral("RTX 9999 Imaginary"));
        QCOMPARE(failed.count(), 1);
        QVERIFY(failed[0][0].toString().contains(QStringLiteral("RTX 9999 Imaginary")));
        QVERIFY(model.inputs().request.devices.empty());
    }

    void aCardOfOnesOwnIsKeptForTheNextStart()
    {
        QTemporaryDir folder;
        EngineHost host;
        {
            EstimatorModel model(host, cards(folder));
            model.addDevice(QStringLiteral("RTX 4090"));
            QVERIFY(model.saveDevice(test::card("Modded", 48), 0));
            QCOMPARE(model.inputs().request.devices.size(), std::size_t(1));
            QCOMPARE(model.inputs().request.devices[0].name, std::string("Modded"));
            Gpu absurd = test::card("Absurd", 1);
            absurd.memoryBytes = 0;
            QVERIFY(!model.saveDevice(absurd, 0));
            QCOMPARE(model.inputs().request.devices[0].name, std::string("Modded"));
        }
        EstimatorModel model(host, cards(folder));
        QVERIFY(!model.catalogue().find("Modded"));
        model.loadOwnCards();
        const auto found = model.catalogue().find("Modded");
        QVERIFY(found);
        QCOMPARE(found->memoryBytes, std::uint64_t(48) << 30);
        model.addDevice(QStringLiteral("Modded"));
        model.removeDevice(0);
        QCOMPARE(model.inputs().request.target, EstimateTarget::ThisProgram);
    }

    void aBrokenFileOfOwnCardsIsSaid()
    {
        QTemporaryDir folder;
        EngineHost host;
        EstimatorModel model(host, writeFile(folder, QStringLiteral("cards.json"), "{").toStdString());
        QSignalSpy failed(&model, &EstimatorModel::failed);
        model.loadOwnCards();
        QCOMPARE(failed.count(), 1);
        QVERIFY(model.catalogue().gpus().size() > 20);
    }
};

TOKENLOUPE_TEST_MAIN(TestEstimatorModel)
#include "tst_estimatormodel.moc"
