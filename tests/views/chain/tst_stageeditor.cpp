// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chain/stageeditor.h"

#include <QApplication>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>
#include <cmath>

using namespace tokenloupe;

class TestStageEditor : public QObject
{
    Q_OBJECT

    static StageSettings editedBy(const QSignalSpy &spy) { return spy.last().at(0).value<StageSettings>(); }

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void biasesAreRead_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("written"); // empty: refused
        QTest::newRow("one") << "198 +2.5"
                             << "198 +2.5";
        QTest::newRow("no sign") << "198 2.5"
                                 << "198 +2.5";
        QTest::newRow("colon") << "198:2.5"
                               << "198 +2.5";
        QTest::newRow("colon and spaces") << " 198 : -2.5 "
                                          << "198 -2.5";
        QTest::newRow("sign alone between") << "198-2.5"
                                            << "198 -2.5";
        QTest::newRow("several") << "198 +2.5, 504 -inf; 3 -1"
                                 << "198 +2.5, 504 -inf, 3 -1";
        QTest::newRow("banned, upper case") << "504 -INF"
                                            << "504 -inf";
        QTest::newRow("empty part") << "198 +2.5, ,"
                                    << "198 +2.5";
        QTest::newRow("exponent") << "7 1e-2"
                                  << "7 +0.01";
        QTest::newRow("an id alone") << "198"
                                     << "";
        QTest::newRow("words") << "the +2"
                               << "";
        QTest::newRow("no number") << "198 much"
                                   << "";
        QTest::newRow("two numbers") << "198 2 3"
                                     << "";
        QTest::newRow("negative id") << "-198 2"
                                     << "";
        QTest::newRow("id too large") << "99999999999 2"
                                      << "";
    }

    void biasesAreRead()
    {
        QFETCH(QString, text);
        QFETCH(QString, written);
        const auto biases = StageEditor::readBiases(text);
        QCOMPARE(biases.has_value(), !written.isEmpty());
        if (biases) {
            QCOMPARE(StageEditor::writeBiases(*biases), written);
            QVERIFY(StageEditor::readBiases(written).value() == *biases);
        } else {
            QVERIFY(biases.error().text().find(text.trimmed().toStdString()) != std::string::npos);
        }
    }

    void nothingIsNoBias()
    {
        const auto biases = StageEditor::readBiases(QStringLiteral("  "));
        QVERIFY(biases);
        QVERIFY(biases->biases.empty());
    }

    void everyFieldWritesItsParameter_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("field");
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QString>("summary");
        QTest::newRow("repeat") << int(StageKind::Penalties) << "Repeat"
                                << "1.25"
                                << "1.25";
        QTest::newRow("presence") << int(StageKind::Penalties) << "Presence"
                                  << "0.5"
                                  << "presence 0.50";
        QTest::newRow("frequency") << int(StageKind::Penalties) << "Frequency"
                                   << "0.25"
                                   << "frequency 0.25";
        QTest::newRow("window") << int(StageKind::Penalties) << "Window"
                                << "17"
                                << "17";
        QTest::newRow("k") << int(StageKind::TopK) << "k"
                           << "7"
                           << "k = 7";
        QTest::newRow("top-p") << int(StageKind::TopP) << "p"
                               << "0.5"
                               << "0.5";
        QTest::newRow("min-p") << int(StageKind::MinP) << "p"
                               << "0.125"
                               << "0.125";
        QTest::newRow("temperature") << int(StageKind::Temperature) << "T"
                                     << "0.3"
                                     << "0.3";
    }

    void everyFieldWritesItsParameter()
    {
        QFETCH(int, kind);
        QFETCH(QString, field);
        QFETCH(QString, typed);
        QFETCH(QString, summary);
        StageEditor editor;
        StageSettings stage = *SamplerSettings::defaults().find(static_cast<StageKind>(kind));
        // Penalties that do something, so that their summary tells all of them.
        if (auto *penalties = std::get_if<PenaltiesParams>(&stage.params))
            *penalties = {64, 1.1F, 0.1F, 0.1F};
        editor.setStage(stage);
        editor.show();
        QVERIFY(QTest::qWaitForWindowActive(&editor));
        QAbstractSpinBox *box = nullptr;
        for (auto *candidate : editor.findChildren<QAbstractSpinBox *>()) {
            if (candidate->accessibleName().startsWith(field))
                box = candidate;
        }
        QVERIFY(box);
        QSignalSpy edited(&editor, &StageEditor::edited);
        box->setFocus();
        box->selectAll();
        QTest::keyClicks(box, typed);
        QCOMPARE(edited.count(), 0); // half a number is no setting
        QTest::keyClick(box, Qt::Key_Return);
        QCOMPARE(edited.count(), 1);
        const StageSettings after = editedBy(edited);
        QCOMPARE(int(after.kind()), kind);
        QVERIFY2(stageSummary(after).find(summary.toStdString()) != std::string::npos,
                 stageSummary(after).c_str());
        QVERIFY(after != stage);
    }

    void anotherValueOfTheSameKindIsShownWithoutAnEdit()
    {
        StageEditor editor;
        editor.setStage({TopKParams{40}});
        auto *box = editor.findChild<QSpinBox *>();
        QSignalSpy edited(&editor, &StageEditor::edited);
        editor.setStage({TopKParams{3}});
        QCOMPARE(editor.findChild<QSpinBox *>(), box); // the field that has the keyboard stays
        QCOMPARE(box->value(), 3);
        QCOMPARE(edited.count(), 0);
        editor.setStage({TemperatureParams{0.5F}});
        QVERIFY(!editor.findChild<QSpinBox *>());
        QCOMPARE(editor.findChild<QDoubleSpinBox *>()->value(), 0.5);
        editor.clear();
        QVERIFY(!editor.findChild<QDoubleSpinBox *>());
    }

    void biasesThatCannotBeReadAreRefused()
    {
        StageEditor editor;
        editor.setStage({LogitBiasParams{{{TokenId(3), 1.0F}}}});
        editor.show();
        QVERIFY(QTest::qWaitForWindowActive(&editor));
        auto *field = editor.findChild<QLineEdit *>();
        QCOMPARE(field->text(), QStringLiteral("3 +1"));
        QSignalSpy edited(&editor, &StageEditor::edited);
        QSignalSpy rejected(&editor, &StageEditor::rejected);
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, QStringLiteral("a lot"));
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(rejected.count(), 1);
        QVERIFY(rejected.at(0).at(0).toString().contains(QStringLiteral("a lot")));
        QCOMPARE(edited.count(), 0);
        field->selectAll();
        QTest::keyClicks(field, QStringLiteral("504 -inf"));
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(edited.count(), 1);
        const auto biases = std::get<LogitBiasParams>(editedBy(edited).params).biases;
        QCOMPARE(biases.size(), std::size_t(1));
        QCOMPARE(biases[0].first, TokenId(504));
        QVERIFY(std::isinf(biases[0].second) && biases[0].second < 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestStageEditor)
#include "tst_stageeditor.moc"
