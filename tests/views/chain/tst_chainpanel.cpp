// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/stagecard.h"
#include "widgets/theme/numbers.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chain/chainpanel.h"
#include "widgets/views/chain/drawcard.h"
#include "widgets/views/chain/stagedelegate.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QSpinBox>
#include <QTest>

using namespace tokenloupe;

namespace {

struct ChainFixture : test::ViewFixture
{
    ChainPanel panel{context};
    QListView *list = panel.findChild<QListView *>();

    ChainFixture()
    {
        panel.resize(320, 700);
        panel.show();
    }
    bool active() { return QTest::qWaitForWindowActive(&panel); }
    int rowOf(StageKind kind) const
    {
        for (int row = 0; row < sampler.rowCount(); ++row) {
            if (sampler.stage(row).kind() == kind)
                return row;
        }
        return -1;
    }
    std::vector<StageKind> order() const
    {
        std::vector<StageKind> kinds;
        for (const StageSettings &stage : sampler.settings()->stages)
            kinds.push_back(stage.kind());
        return kinds;
    }
    QRect cardRect(int row) const { return list->visualRect(sampler.index(row)); }
    StageCard card(StageKind kind) const
    {
        return qobject_cast<StageDelegate *>(list->itemDelegate())->card(sampler.index(rowOf(kind)));
    }
    QLineEdit *seed() const
    {
        for (auto *field : panel.findChildren<QLineEdit *>()) {
            if (field->accessibleName() == QLatin1String("Seed"))
                return field;
        }
        return nullptr;
    }
    bool preset(const QString &name)
    {
        for (QAction *action : panel.findChild<QMenu *>()->actions()) {
            if (action->text().startsWith(name)) {
                action->trigger();
                return true;
            }
        }
        return false;
    }
};

} // namespace

class TestChainPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void theSwitchAnswersToTheMouse()
    {
        ChainFixture fixture;
        QVERIFY(fixture.active());
        const int row = fixture.rowOf(StageKind::TopK);
        QSignalSpy changed(&fixture.sampler, &SamplerModel::settingsChanged);
        const QPoint toggle = StageCard::toggleRect(fixture.cardRect(row)).center();
        QTest::mouseClick(fixture.list->viewport(), Qt::LeftButton, {}, toggle);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(fixture.sampler.stage(row).state, StageSwitch::Off);
        QCOMPARE(fixture.card(StageKind::TopK).toggle, StageCard::Switch::Off);
        QTest::mouseClick(fixture.list->viewport(), Qt::LeftButton, {}, toggle);
        QCOMPARE(fixture.sampler.stage(row).state, StageSwitch::On);
        // Elsewhere on the card: chosen, not switched.
        QTest::mouseClick(fixture.list->viewport(), Qt::LeftButton, {}, fixture.cardRect(row).center());
        QCOMPARE(changed.count(), 2);
        QCOMPARE(fixture.list->currentIndex().row(), row);
    }

    void spaceSwitchesTheCurrentStage()
    {
        ChainFixture fixture;
        QVERIFY(fixture.active());
        const int row = fixture.rowOf(StageKind::MinP);
        fixture.list->setFocus();
        fixture.list->setCurrentIndex(fixture.sampler.index(row));
        QTest::keyClick(fixture.list, Qt::Key_Space);
        QCOMPARE(fixture.sampler.stage(row).state, StageSwitch::Off);
        QTest::keyClick(fixture.list, Qt::Key_Space);
        QCOMPARE(fixture.sampler.stage(row).state, StageSwitch::On);
    }

    void altArrowsMoveTheCurrentStage()
    {
        ChainFixture fixture;
        QVERIFY(fixture.active());
        fixture.list->setFocus();
        const auto before = fixture.order();
        const StageKind kind = before[2];
        fixture.list->setCurrentIndex(fixture.sampler.index(2));
        QTest::keyClick(fixture.list, Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(fixture.order()[1], kind);
        QCOMPARE(fixture.list->currentIndex().row(), 1); // it stays the current one
        QTest::keyClick(fixture.list, Qt::Key_Down, Qt::AltModifier);
        QTest::keyClick(fixture.list, Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(fixture.order()[3], kind);
        QTest::keyClick(fixture.list, Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(fixture.order(), before);
        // Nothing above the first, nothing below the last.
        fixture.list->setCurrentIndex(fixture.sampler.index(0));
        QTest::keyClick(fixture.list, Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(fixture.order(), before);
        fixture.list->setCurrentIndex(fixture.sampler.index(fixture.sampler.rowCount() - 1));
        QTest::keyClick(fixture.list, Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(fixture.order(), before);
    }

    void aFieldChangesTheSettingsOnce()
    {
        ChainFixture fixture;
        QVERIFY(fixture.active());
        const int row = fixture.rowOf(StageKind::TopK);
        fixture.list->setCurrentIndex(fixture.sampler.index(row));
        auto *box = fixture.panel.findChild<QSpinBox *>();
        QVERIFY(box);
        QCOMPARE(box->value(), 40);
        QSignalSpy changed(&fixture.sampler, &SamplerModel::settingsChanged);
        box->setFocus();
        box->selectAll();
        QTest::keyClicks(box, QStringLiteral("12"));
        QTest::keyClick(box, Qt::Key_Return);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(std::get<TopKParams>(fixture.sampler.stage(row).params).k, 12);
        QCOMPARE(fixture.card(StageKind::TopK).subtitle, QStringLiteral("k = 12"));
        QCOMPARE(fixture.panel.findChild<QSpinBox *>(), box);
        // And the other way: a value set elsewhere appears in the field.
        StageSettings stage = fixture.sampler.stage(row);
        stage.params = TopKParams{3};
        fixture.sampler.setStage(row, stage);
        QCOMPARE(box->value(), 3);
    }

    void biasesThatCannotBeReadAreTold()
    {
        ChainFixture fixture;
        QVERIFY(fixture.active());
        fixture.list->setCurrentIndex(fixture.sampler.index(fixture.rowOf(StageKind::LogitBias)));
        QLineEdit *biases = nullptr;
        for (auto *field : fixture.panel.findChildren<QLineEdit *>()) {
            if (field->accessibleName() == QLatin1String("Biases"))
                biases = field;
        }
        QVERIFY(biases);
        QSignalSpy rejected(&fixture.sampler, &SamplerModel::stageRejected);
        QSignalSpy changed(&fixture.sampler, &SamplerModel::settingsChanged);
        biases->setFocus();
        QTest::keyClicks(biases, QStringLiteral("never"));
        QTest::keyClick(biases, Qt::Key_Return);
        QCOMPARE(rejected.count(), 1);
        QVERIFY(rejected.at(0).at(1).toString().contains(QStringLiteral("never")));
        QCOMPARE(changed.count(), 0);
    }

    void presets()
    {
        ChainFixture fixture;
        QVERIFY(fixture.preset(QStringLiteral("Greedy")));
        QCOMPARE(std::get<TemperatureParams>(fixture.sampler.settings()->find(StageKind::Temperature)->params)
                     .temperature,
                 0.0F);
        QVERIFY(fixture.sampler.settings()->find(StageKind::Temperature)->isActive());
        QVERIFY(fixture.preset(QStringLiteral("All stages off")));
        for (const StageSettings &stage : fixture.sampler.settings()->stages)
            QVERIFY(!stage.isActive());
        QVERIFY(fixture.preset(QStringLiteral("llama.cpp")));
        QVERIFY(*fixture.sampler.settings() == SamplerSettings::defaults());
        QVERIFY(fixture.preset(QStringLiteral("Temperature first")));
        const auto order = fixture.order();
        const auto place = [&](StageKind kind) {
            return std::find(order.begin(), order.end(), kind) - order.begin();
        };
        for (const StageKind cut : {StageKind::TopK, StageKind::TopP, StageKind::MinP})
            QVERIFY(place(StageKind::Temperature) < place(cut));
        QVERIFY(place(StageKind::Penalties) < place(StageKind::Temperature));
        QCOMPARE(order.size(), SamplerSettings::defaults().stages.size());
    }

    void theSeedIsFixedAndTyped()
    {
        ChainFixture fixture;
        QVERIFY(fixture.active());
        QLineEdit *seed = fixture.seed();
        QVERIFY(seed && !seed->isEnabled());
        QCOMPARE(fixture.sampler.seedMode(), SeedMode::Random);
        auto *fixed = fixture.panel.findChild<QCheckBox *>();
        fixed->setFocus();
        QTest::keyClick(fixed, Qt::Key_Space);
        QCOMPARE(fixture.sampler.seedMode(), SeedMode::Fixed);
        QVERIFY(seed->isEnabled());
        seed->setFocus();
        seed->selectAll();
        QTest::keyClicks(seed, QStringLiteral("12ab34")); // digits only
        QTest::keyClick(seed, Qt::Key_Return);
        QCOMPARE(fixture.sampler.settings()->seed, std::uint64_t(1234));
        QTest::keyClick(fixed, Qt::Key_Space);
        QCOMPARE(fixture.sampler.seedMode(), SeedMode::Random);
        QVERIFY(!seed->isEnabled());
    }

    void cardsShowWhatTheExplainedStepLeft()
    {
        ChainFixture fixture;
        SamplerSettings settings = SamplerSettings::defaults();
        settings.find(StageKind::TopK)->params = TopKParams{20};
        settings.find(StageKind::TopP)->params = TopPParams{0.5F};
        fixture.sampler.setSettings(settings);
        QVERIFY(fixture.openTinyModel());
        QCOMPARE(fixture.card(StageKind::TopK).survivors, QString());
        QVERIFY(fixture.reply(4));
        const StepRef last{fixture.runs.newestRun(), StepIndex(3)};
        QTRY_VERIFY(fixture.explanations.current() && fixture.explanations.current()->ref == last);
        QTRY_COMPARE(fixture.card(StageKind::TopK).survivors, QStringLiteral("20"));
        const StepExplanation &explanation = *fixture.explanations.current();
        // The penalties are off: all the vocabulary passes.
        QCOMPARE(fixture.card(StageKind::Penalties).survivors, formatCount(explanation.rawByRank.size()));
        QVERIFY(!fixture.card(StageKind::Penalties).active);
        for (const ExplainedStage &stage : explanation.stages) {
            const StageCard card = fixture.card(stage.settings.kind());
            QCOMPARE(card.survivors, formatCount(stage.candidates));
            QCOMPARE(card.mass,
                     stage.mass < 0.99995 ? formatPercent(stage.mass) + QStringLiteral(" %") : QString());
        }
        const StepRecord &record = *fixture.runs.record(last);
        const StageCard draw = fixture.panel.findChild<DrawCard *>()->card();
        QVERIFY(draw.subtitle.contains(QString::number(record.u, 'f', 4)));
        QVERIFY(draw.subtitle.contains(QString::number(record.settings->seed)));
        QCOMPARE(draw.mass, QString(formatPercent(record.p) + QStringLiteral(" %")));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestChainPanel)
#include "tst_chainpanel.moc"
