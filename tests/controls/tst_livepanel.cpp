// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/livepanel.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QScopeGuard>
#include <QTest>
#include <vector>

using namespace tokenloupe;

namespace {

class Probe : public LivePanel
{
public:
    Probe()
        : LivePanel(QStringLiteral("x"))
    {}
    using LivePanel::scheduleRefresh;

protected:
    void refresh() override {}
};

} // namespace

class TestLivePanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void manyChangesCostOneRefresh()
    {
        Probe panel;
        panel.show();
        const int before = panel.refreshCount();
        for (int i = 0; i < 100; ++i)
            panel.scheduleRefresh();
        QCOMPARE(panel.refreshCount(), before);
        QCoreApplication::processEvents();
        QTRY_COMPARE(panel.refreshCount(), before + 1);
        QCoreApplication::processEvents();
        QCOMPARE(panel.refreshCount(), before + 1);
    }

    void restsBetweenRefreshes()
    {
        RefreshPace::setRest(std::chrono::hours(1));
        const auto noRest = qScopeGuard([] { RefreshPace::setRest({}); });
        Probe panel;
        panel.show(); // refreshed at once
        const int before = panel.refreshCount();
        for (int i = 0; i < 100; ++i) {
            panel.scheduleRefresh();
            QCoreApplication::processEvents();
        }
        QCOMPARE(panel.refreshCount(), before);
        panel.hide();
        panel.show(); // who looks anew sees what is new
        QCOMPARE(panel.refreshCount(), before + 1);
    }

    void showsTheLastAfterARest()
    {
        RefreshPace::setRest(std::chrono::milliseconds(20));
        const auto noRest = qScopeGuard([] { RefreshPace::setRest({}); });
        int value = 0;
        std::vector<int> shown;
        RefreshPace pace([&] { shown.push_back(value); }, nullptr);
        QElapsedTimer clock;
        clock.start();
        while (value < 50 && clock.elapsed() < 5000) {
            ++value;
            pace.schedule();
            QTest::qWait(1);
        }
        const auto most = std::size_t(clock.elapsed() / 20 + 2);
        QTRY_COMPARE(shown.empty() ? 0 : shown.back(), value);
        QVERIFY2(shown.size() <= most, qPrintable(QString::number(shown.size())));
    }

    void nobodyLooksNobodyPays()
    {
        Probe panel;
        panel.scheduleRefresh();
        QCoreApplication::processEvents();
        QCOMPARE(panel.refreshCount(), 0);
        panel.show();
        QCOMPARE(panel.refreshCount(), 1);
        panel.hide();
        panel.scheduleRefresh();
        panel.scheduleRefresh();
        QCoreApplication::processEvents();
        QCOMPARE(panel.refreshCount(), 1);
        panel.show();
        QCOMPARE(panel.refreshCount(), 2);
        panel.hide();
        panel.show(); // nothing changed meanwhile
        QCOMPARE(panel.refreshCount(), 2);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestLivePanel)
#include "tst_livepanel.moc"
