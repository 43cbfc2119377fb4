// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/celltable.h"
#include "widgets/models/penaltymodel.h"
#include "widgets/theme/theme.h"
#include "widgets/views/penalties/penaltiespanel.h"

#include <QApplication>
#include <QTest>
#include <cmath>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

struct PenaltiesFixture : test::ViewFixture
{
    PenaltiesPanel panel{context};
    CellTable *table = panel.findChild<CellTable *>();

    PenaltiesFixture()
    {
        panel.resize(320, 300);
        panel.show();
    }
    void setPenalties(std::int32_t lastN, float repeat)
    {
        SamplerSettings settings = *sampler.settings();
        settings.find(StageKind::Penalties)->params = PenaltiesParams{lastN, repeat, 0.0F, 0.0F};
        sampler.setSettings(settings);
    }
};

} // namespace

class TestPenaltiesPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void offIsSaid()
    {
        PenaltiesFixture fixture;
        QVERIFY(fixture.panel.isEmptyState());
        QCOMPARE(fixture.panel.summary(), QStringLiteral("off"));
        fixture.setPenalties(64, 1.3F);
        QTRY_COMPARE(fixture.panel.summary(),
                     QString(QStringLiteral("last 64") + QChar(QChar::Nbsp) + QStringLiteral("tokens")));
        fixture.setPenalties(-1, 1.3F);
        QTRY_COMPARE(fixture.panel.summary(), QStringLiteral("whole context"));
        QVERIFY(fixture.panel.isEmptyState()); // no step yet
    }

    void showsThePenalisedTokensOfTheStep()
    {
        PenaltiesFixture fixture;
        fixture.setPenalties(8, 1.5F);
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(6));
        const StepRef last{fixture.runs.newestRun(), StepIndex(5)};
        QTRY_VERIFY_WITH_TIMEOUT(
            fixture.explanations.current() && fixture.explanations.current()->ref == last, patience);
        QTRY_VERIFY(!fixture.panel.isEmptyState());
        const auto &penalties = fixture.explanations.current()->penalties;
        const QAbstractItemModel *model = fixture.table->model();
        QTRY_COMPARE(model->rowCount(), int(penalties.size()));
        QVERIFY(!penalties.empty() && penalties.size() <= 8);
        // The window is the eight tokens before the step: prompt and reply.
        const auto history = fixture.runs.run(last.run)->historyBefore(last.step);
        const std::vector<TokenId> window(history.end() - 8, history.end());
        for (int row = 0; row < model->rowCount(); ++row) {
            const TokenId id(model->index(row, 0).data(PenaltyModel::TokenIdRole).toUInt());
            QCOMPARE(model->index(row, PenaltyModel::CountColumn).data().toInt(),
                     int(std::count(window.begin(), window.end(), id)));
            const auto number = [&](int column) {
                return model->index(row, column).data().toString().toDouble();
            };
            const double before = number(PenaltyModel::BeforeColumn);
            const double after = before > 0 ? before / 1.5 : before * 1.5;
            QVERIFY(std::abs(number(PenaltyModel::AfterColumn) - after) <
                    0.02); // both are rounded to two places
        }
        int width = 0;
        for (int column = 0; column < model->columnCount(); ++column)
            width += fixture.table->columnWidth(column);
        QVERIFY(width <= fixture.table->viewport()->width());
    }

    void aStepWithoutPenaltiesSaysSoThoughTheyAreOnNow()
    {
        PenaltiesFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(2));
        QTRY_VERIFY_WITH_TIMEOUT(fixture.explanations.current(), patience);
        fixture.setPenalties(64, 1.3F);
        QTRY_COMPARE(fixture.panel.summary(), QStringLiteral("off"));
        QVERIFY(fixture.panel.isEmptyState());
        // Asked what they would have done, it tells.
        fixture.explanations.setWhatIf(fixture.sampler.settings());
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.panel.isEmptyState(), patience);
        QVERIFY(fixture.table->model()->rowCount() > 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestPenaltiesPanel)
#include "tst_penaltiespanel.moc"
