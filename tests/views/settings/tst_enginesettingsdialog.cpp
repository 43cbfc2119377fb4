// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "engine/model/quantizationplan.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/settings/enginesettingsdialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

struct DialogFixture : test::ViewFixture
{
    EngineSettingsDialog dialog{context};

    template <class Widget>
    Widget *field(const QString &name)
    {
        for (Widget *widget : dialog.findChildren<Widget *>()) {
            if (widget->accessibleName() == name)
                return widget;
        }
        return nullptr;
    }
    void type(const QString &name, const QString &number)
    {
        auto *box = field<QSpinBox>(name);
        box->setFocus();
        box->selectAll();
        QTest::keyClicks(box, number);
    }
    QPushButton *apply() { return dialog.findChild<QDialogButtonBox *>()->button(QDialogButtonBox::Apply); }
    QString text(const QString &name) { return field<QLabel>(name)->text(); }
};

} // namespace

class TestEngineSettingsDialog : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAModelThereIsNothingToApply()
    {
        DialogFixture fixture;
        fixture.dialog.show();
        QVERIFY(!fixture.apply()->isEnabled());
        QCOMPARE(fixture.text(QStringLiteral("What these settings take")),
                 QStringLiteral("Open a model first."));
    }

    void showsWhatItTakesAndApplies()
    {
        DialogFixture fixture;
        QVERIFY(fixture.openTinyModel());
        fixture.dialog.show();
        QCOMPARE(fixture.field<QSpinBox>(QStringLiteral("Context in tokens"))->value(), 128);
        QVERIFY(!fixture.apply()->isEnabled()); // in force already
        const QString before = fixture.text(QStringLiteral("What these settings take"));
        fixture.type(QStringLiteral("Context in tokens"), QStringLiteral("4096"));
        QTest::keyClick(fixture.field<QSpinBox>(QStringLiteral("Context in tokens")), Qt::Key_Tab);
        QVERIFY(fixture.text(QStringLiteral("What these settings take")) != before);
        QVERIFY(fixture.text(QStringLiteral("Remark")).contains(QStringLiteral("256"))); // trained for fewer
        auto *types = fixture.field<QComboBox>(QStringLiteral("Type of cached keys"));
        types->setFocus();
        QTest::keyClicks(types, QStringLiteral("f16"));
        QCOMPARE(fixture.dialog.chosen().keyType, KvType::F16);

        QSignalSpy applied(&fixture.dialog, &EngineSettingsDialog::applied);
        QTest::mouseClick(fixture.apply(), Qt::LeftButton);
        QVERIFY(applied.wait(patience));
        QCOMPARE(fixture.host.status().session.contextTokens, 4096U);
        QCOMPARE(fixture.host.status().session.keyType, KvType::F16);
        QVERIFY(!fixture.apply()->isEnabled());
    }

    void saysWhatCannotBe()
    {
        DialogFixture fixture;
        QVERIFY(fixture.openTinyModel());
        fixture.dialog.show();
        auto *types = fixture.field<QComboBox>(QStringLiteral("Type of cached values"));
        types->setFocus();
        QTest::keyClicks(types, QStringLiteral("q8_0")); // heads of 16
        QVERIFY(fixture.text(QStringLiteral("What these settings take")).contains(QStringLiteral("q8_0")));
        QVERIFY(!fixture.apply()->isEnabled());
    }

    void sinksBelongToStreaming()
    {
        DialogFixture fixture;
        QVERIFY(fixture.openTinyModel());
        fixture.dialog.show();
        auto *sinks = fixture.field<QSpinBox>(QStringLiteral("First tokens that stay"));
        QVERIFY(!sinks->isEnabled());
        auto *policy = fixture.field<QComboBox>(QStringLiteral("When the context is full"));
        policy->setFocus();
        QTest::keyClick(policy, Qt::Key_End);
        QCOMPARE(fixture.dialog.chosen().overflow, OverflowPolicy::Streaming);
        QVERIFY(sinks->isEnabled());
        // Nothing kept and streaming do not go together.
        auto *keep = fixture.field<QCheckBox>(QString());
        QVERIFY(keep);
        QTest::mouseClick(keep, Qt::LeftButton, {}, {8, keep->height() / 2});
        QVERIFY(!keep->isChecked());
        QVERIFY(!fixture.apply()->isEnabled());
        QVERIFY(
            fixture.text(QStringLiteral("What these settings take")).contains(QStringLiteral("streaming")));
    }

    void precisionIsChosenAndTheTraceStays()
    {
        DialogFixture fixture;
        QVERIFY(fixture.openTinyModel()); // exact, float32
        QVERIFY(fixture.reply(3));
        fixture.dialog.show();
        auto *precision = fixture.field<QComboBox>(QStringLiteral("Precision"));
        QCOMPARE(Precision(precision->currentData().toInt()), Precision::Exact);
        QVERIFY(fixture.text(QStringLiteral("Kernels of the weights"))
                    .startsWith(QStringLiteral("exact kernels: F32 ")));
        precision->setFocus();
        QTest::keyClicks(precision, QStringLiteral("fast"));
        QCOMPARE(fixture.dialog.chosen().precision, Precision::Fast);
        QVERIFY(fixture.text(QStringLiteral("Remark")).contains(QStringLiteral("computes the whole")));
        QSignalSpy applied(&fixture.dialog, &EngineSettingsDialog::applied);
        QTest::mouseClick(fixture.apply(), Qt::LeftButton);
        QVERIFY(applied.wait(patience));
        QCOMPARE(fixture.host.status().session.precision, Precision::Fast);
        QCOMPARE(fixture.runs.run(fixture.runs.newestRun())->steps.size(), std::size_t(3));
        QVERIFY(fixture.host.logits()->get({fixture.runs.newestRun(), StepIndex(2)}));
        QVERIFY(fixture.reply(2));
        QCOMPARE(fixture.runs.run(fixture.runs.newestRun())->start.arithmetic.precision, Precision::Fast);
    }

    void weightsAreQuantisedByLoadingAgain()
    {
        DialogFixture fixture;
        QVERIFY(fixture.openTinyModel());
        fixture.dialog.show();
        const std::uint64_t before = fixture.host.status().model->model->weightsBytes();
        auto *weights = fixture.field<QComboBox>(QStringLiteral("Quantise at load"));
        QCOMPARE(fixture.dialog.chosenQuantization(), LoadQuantization::AsStored);
        weights->setFocus();
        QTest::keyClicks(weights, QStringLiteral("Q8_0"));
        QCOMPARE(fixture.dialog.chosenQuantization(), LoadQuantization::Q8_0);
        QVERIFY(fixture.text(QStringLiteral("Remark")).contains(QStringLiteral("loads the model again")));
        const std::uint64_t expected =
            weightsBytesAs(*fixture.host.status().model->model, LoadQuantization::Q8_0);
        QVERIFY(expected < before);
        QVERIFY(fixture.text(QStringLiteral("What these settings take")).contains(formatBytes(expected)));
        QVERIFY(fixture.apply()->isEnabled());

        QSignalSpy applied(&fixture.dialog, &EngineSettingsDialog::applied);
        QTest::mouseClick(fixture.apply(), Qt::LeftButton);
        QVERIFY(applied.wait(patience));
        const EngineStatus &status = fixture.host.status();
        QCOMPARE(status.model->options.quantization, LoadQuantization::Q8_0);
        QCOMPARE(status.model->model->weightsBytes(), expected);
        QCOMPARE(status.model->model->mainType(), std::string("Q8_0"));
        QCOMPARE(status.session.contextTokens, 128U); // the other settings stay
        QVERIFY(!fixture.apply()->isEnabled());

        // And back.
        weights->setFocus();
        QTest::keyClick(weights, Qt::Key_Home);
        QTest::mouseClick(fixture.apply(), Qt::LeftButton);
        QVERIFY(applied.wait(patience));
        QCOMPARE(fixture.host.status().model->model->weightsBytes(), before);
    }

    void theCacheCanBeLeftOutWithoutEndingTheReply()
    {
        DialogFixture fixture;
        QVERIFY(fixture.openTinyModel());
        fixture.conversation.send(QStringLiteral("hello"), true);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().state, EngineState::Paused, patience);
        fixture.dialog.show();
        auto *keep = fixture.field<QCheckBox>(QString());
        QTest::mouseClick(keep, Qt::LeftButton, {}, {8, keep->height() / 2});
        QCOMPARE(fixture.text(QStringLiteral("Remark")), QStringLiteral("Takes effect with the next token."));
        QSignalSpy applied(&fixture.dialog, &EngineSettingsDialog::applied);
        QTest::mouseClick(fixture.apply(), Qt::LeftButton);
        QVERIFY(applied.wait(patience));
        QCOMPARE(fixture.host.status().session.cacheUse, CacheUse::Recompute);
        QVERIFY(fixture.host.status().canContinue);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestEngineSettingsDialog)
#include "tst_enginesettingsdialog.moc"
