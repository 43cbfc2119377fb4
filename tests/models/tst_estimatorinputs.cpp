// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/estimates.h"
#include "tests/support/testmain.h"
#include "widgets/models/estimatorinputs.h"

#include <QRegularExpression>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

using namespace tokenloupe;

class TestEstimatorInputs : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void whatWasSavedComesBack()
    {
        QTemporaryDir folder;
        QSettings settings(folder.filePath(QStringLiteral("a.ini")), QSettings::IniFormat);
        auto catalogue = GpuCatalogue::builtIn();
        QVERIFY(catalogue);
        QVERIFY(catalogue->add(test::card("Mine", 20)));
        EstimatorInputs inputs;
        inputs.model = {ShapeOrigin::File, QStringLiteral("/somewhere/model.gguf")};
        inputs.draft = {ShapeOrigin::BuiltIn, QStringLiteral("A")};
        EstimateRequest &request = inputs.request;
        request.target = EstimateTarget::Gpu;
        request.devices = {test::card("Mine", 20), test::card("Mine", 20), test::card("Sold", 4)};
        request.weightType = "Q4_K_M";
        request.contextTokens = 12345;
        request.batch = 7;
        request.microBatch = 64;
        request.keyType = KvType::Q8_0;
        request.valueType = KvType::BF16;
        request.layout = KvLayout::Contiguous;
        request.attention = AttentionKind::ScoreMatrix;
        request.blockTokens = 32;
        request.beams = 3;
        request.promptTokens = 99;
        request.split = SplitKind::Tensors;
        saveInputs(settings, inputs);
        QStringList missing;
        const EstimatorInputs back = restoreInputs(settings, *catalogue, missing);
        QCOMPARE(missing, QStringList{QStringLiteral("Sold")});
        QVERIFY(back.model == inputs.model);
        QVERIFY(back.draft == inputs.draft);
        QCOMPARE(back.request.devices.size(), std::size_t(2));
        QCOMPARE(back.request.devices[1].memoryBytes, std::uint64_t(20) << 30);
        QCOMPARE(back.request.target, EstimateTarget::Gpu);
        QCOMPARE(back.request.weightType, std::string("Q4_K_M"));
        QCOMPARE(back.request.contextTokens, 12345U);
        QCOMPARE(back.request.batch, 7U);
        QCOMPARE(back.request.microBatch, 64U);
        QCOMPARE(back.request.keyType, KvType::Q8_0);
        QCOMPARE(back.request.valueType, KvType::BF16);
        QCOMPARE(back.request.layout, KvLayout::Contiguous);
        QCOMPARE(back.request.attention, AttentionKind::ScoreMatrix);
        QCOMPARE(back.request.blockTokens, 32U);
        QCOMPARE(back.request.beams, 3U);
        QCOMPARE(back.request.promptTokens, 99U);
        QCOMPARE(back.request.split, SplitKind::Tensors);
    }

    void nonsenseBecomesWhatIsUsual()
    {
        QTemporaryDir folder;
        QSettings settings(folder.filePath(QStringLiteral("a.ini")), QSettings::IniFormat);
        settings.setValue(QStringLiteral("estimator/context"), QStringLiteral("many"));
        settings.setValue(QStringLiteral("estimator/batch"), 0);
        settings.setValue(QStringLiteral("estimator/model"), QStringList{QStringLiteral("77"), QString()});
        settings.setValue(QStringLiteral("estimator/weights"), QStringLiteral("Q17"));
        settings.setValue(QStringLiteral("estimator/keyType"), QStringLiteral("f7"));
        QStringList missing;
        const EstimatorInputs back = restoreInputs(settings, GpuCatalogue(), missing);
        QVERIFY(missing.isEmpty());
        QCOMPARE(back.request.contextTokens, EstimateRequest().contextTokens);
        QCOMPARE(back.request.batch, 1U);
        QVERIFY(back.model.origin == ShapeOrigin::Loaded);
        QCOMPARE(back.request.weightType, std::string("stored"));
        QCOMPARE(back.request.keyType, KvType::F16);
        QCOMPARE(back.request.target, EstimateTarget::ThisProgram);
    }
};

TOKENLOUPE_TEST_MAIN(TestEstimatorInputs)
#include "tst_estimatorinputs.moc"
