// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/stackedbar.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/memory/memorypanel.h"

#include <QApplication>
#include <QTest>
#include <map>

using namespace tokenloupe;

class TestMemoryPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAModelItSaysWhatToDo()
    {
        test::ViewFixture fixture;
        MemoryPanel panel(fixture.context);
        panel.resize(390, 160);
        panel.show();
        QVERIFY(panel.isEmptyState());
        QCOMPARE(panel.summary(), QString());
    }

    void planAndMeasurementOfARealModel()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        MemoryPanel panel(fixture.context);
        panel.resize(390, 160);
        panel.show();
        QVERIFY(!panel.isEmptyState());
        const MemoryPlan &plan = fixture.host.status().plan;
        std::map<QString, const StackedBar *> bars;
        for (const StackedBar *bar : panel.findChildren<StackedBar *>()) {
            if (bar->isVisible())
                bars[bar->accessibleName()] = bar;
        }
        QCOMPARE(bars.size(), std::size_t(2)); // that of a device is not seen
        const StackedBar *planned = bars[QStringLiteral("Planned memory in use")];
        const StackedBar *measured = bars[QStringLiteral("Measured memory")];
        QVERIFY(planned && measured);
        // Every part of the plan, and the program itself; before the first token no block is in use.
        QCOMPARE(planned->segments().size(), plan.items.size() + 1);
        for (std::size_t i = 0; i < plan.items.size(); ++i) {
            const bool isFilledLater =
                plan.items[i].part == MemoryPart::KvCache || plan.items[i].part == MemoryPart::Trace;
            QCOMPARE(planned->segments()[i].value,
                     isFilledLater ? 0.0 : static_cast<double>(plan.items[i].bytes));
            QCOMPARE(planned->segments()[i].tooltip, QString::fromStdString(plan.items[i].how));
        }
        QCOMPARE(planned->segments().back().value, static_cast<double>(fixture.host.status().programBytes));
        QVERIFY(planned->segments().back().value > 1e6);
        QCOMPARE(measured->segments().size(), std::size_t(1));
        QVERIFY(measured->segments()[0].value > 1e6); // this very process
        QVERIFY2(panel.summary().contains(QStringLiteral(" %)")), qPrintable(panel.summary()));
    }

    void aSelectedStepShowsWhatWasMeasuredThen()
    {
        test::ViewFixture fixture;
        QVERIFY(fixture.openTinyModel());
        MemoryPanel panel(fixture.context);
        panel.resize(390, 160);
        panel.show();
        StepRecord first = test::stepRecord(7, 0, 1);
        first.residentBytes = 123 * 1024 * 1024;
        StepRecord second = test::stepRecord(7, 1, 1);
        fixture.runs.apply({test::runRecord(7), first, second});
        fixture.selection.select({RunId(7), StepIndex(0)});
        QTRY_VERIFY2(
            panel.summary().contains(QStringLiteral("measured ") + formatMebibytes(first.residentBytes)),
            qPrintable(panel.summary()));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestMemoryPanel)
#include "tst_memorypanel.moc"
