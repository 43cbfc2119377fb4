// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "app/window/workspaces.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/window/windowfixture.h"
#include "widgets/views/chat/chatview.h"

#include <QTest>
#include <cmath>

using namespace tokenloupe;
using test::WindowFixture;

/// Docks, workspaces, theme, and what is remembered.
class TestWindowLayout : public QObject
{
    Q_OBJECT

    QTemporaryDir m_settings;
    static constexpr const char *docks[] = {"chain",        "penalties",  "chat",       "prompt",
                                            "distribution", "vocabulary", "tokens",     "precision",
                                            "kvcache",      "memory",     "cumulative", "timeline"};

    static QString workspaceName(int index)
    {
        const QStringList names{QStringLiteral("Chat"), QStringLiteral("Decode"), QStringLiteral("Memory")};
        return QStringLiteral("Workspace: ") + names[index];
    }
    static void switchTo(WindowFixture &fixture, int index)
    {
        QTest::keyClick(fixture.window.get(), Qt::Key(Qt::Key_1 + index), Qt::ControlModifier);
        QVERIFY(fixture.action(workspaceName(index))->isChecked());
    }
    static bool isShown(WindowFixture &fixture, const char *name) { return !fixture.dock(name)->isHidden(); }

private Q_SLOTS:
    void initTestCase()
    {
        WindowFixture::useOwnSettings(m_settings);
        Theme::instance().install();
    }
    void init()
    {
        QTest::failOnWarning(test::anyWarning());
        WindowFixture::clearSettings();
        Theme::instance().setMode(ThemeMode::Light);
    }

    void everyDockIsClosedAndBroughtBack_data()
    {
        QTest::addColumn<int>("workspace");
        QTest::newRow("chat") << 0;
        QTest::newRow("decode") << 1;
        QTest::newRow("memory") << 2;
    }

    void everyDockIsClosedAndBroughtBack()
    {
        QFETCH(int, workspace);
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        switchTo(fixture, workspace);
        for (const char *name : docks) {
            QDockWidget *dock = fixture.dock(name);
            QVERIFY2(dock, name);
            QAction *action = fixture.action(QString(QStringLiteral("View: ") + dock->windowTitle()));
            QVERIFY2(action, name);
            if (isShown(fixture, name)) {
                action->trigger();
                QVERIFY2(!isShown(fixture, name), name);
                QVERIFY2(!action->isChecked(), name);
            }
            action->trigger();
            QVERIFY2(isShown(fixture, name), name);
            // In the window's layout, and in front of what it may share its place with.
            QVERIFY2(fixture.window->dockWidgetArea(dock) != Qt::NoDockWidgetArea, name);
            QTRY_VERIFY2(!dock->visibleRegion().isEmpty(), name);
        }
    }

    void theBuiltInArrangementsFitTheWindow_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("1280x800") << QSize(1280, 800);
        QTest::newRow("1600x1000") << QSize(1600, 1000);
        QTest::newRow("1920x1080") << QSize(1920, 1080);
    }

    void theBuiltInArrangementsFitTheWindow()
    {
        QFETCH(QSize, size);
        WindowFixture fixture(size);
        QVERIFY(fixture.ready());
        for (int workspace = 0; workspace < 3; ++workspace) {
            switchTo(fixture, workspace);
            QCOMPARE(fixture.window->size(), size); // nothing has pushed it wider
            for (const char *name : docks) {
                const QDockWidget *dock = fixture.dock(name);
                if (!dock->isVisible() || dock->visibleRegion().isEmpty())
                    continue;
                QVERIFY2(fixture.window->rect().contains(dock->geometry()), name);
                for (const char *other : docks) {
                    const QDockWidget *second = fixture.dock(other);
                    if (second != dock && second->isVisible() && !second->visibleRegion().isEmpty())
                        QVERIFY2(!dock->geometry().intersects(second->geometry()), name);
                }
            }
            QVERIFY(isShown(fixture, "chat"));
        }
    }

    void aWorkspaceRemembersWhatOneChanged()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        switchTo(fixture, 0);
        QVERIFY(isShown(fixture, "chain"));
        QVERIFY(!isShown(fixture, "timeline"));
        fixture.dock("chain")->close();
        switchTo(fixture, 1);
        QVERIFY(isShown(fixture, "chain"));
        QVERIFY(isShown(fixture, "timeline"));
        fixture.dock("timeline")->close();
        switchTo(fixture, 0);
        QVERIFY(!isShown(fixture, "chain"));
        switchTo(fixture, 1);
        QVERIFY(!isShown(fixture, "timeline"));
        fixture.action(QStringLiteral("Workspace: reset the arrangement"))->trigger();
        QVERIFY(isShown(fixture, "timeline"));
        switchTo(fixture, 0);
        QVERIFY(!isShown(fixture, "chain")); // the other one was not reset
    }

    void theArrangementIsThereAgainAtTheNextStart()
    {
        {
            WindowFixture fixture;
            QVERIFY(fixture.ready());
            switchTo(fixture, 1);
            fixture.dock("kvcache")->close();
            switchTo(fixture, 2);
            fixture.dock("timeline")->close();
            fixture.window->close();
        }
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        QVERIFY(fixture.action(workspaceName(2))->isChecked());
        QVERIFY(!isShown(fixture, "timeline"));
        QVERIFY(isShown(fixture, "kvcache"));
        switchTo(fixture, 1);
        QVERIFY(!isShown(fixture, "kvcache"));
        QVERIFY(isShown(fixture, "timeline"));
    }

    void columnsKeepTheirWidthWhenTheWindowGrows()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        QSignalSpy settled(fixture.window->findChild<Workspaces *>(), &Workspaces::settled);
        switchTo(fixture, 1);
        QVERIFY(settled.wait());
        const int left = fixture.dock("chain")->width();
        const int right = fixture.dock("kvcache")->width();
        const int middle = fixture.dock("chat")->width();
        fixture.window->resize(1900, 1000);
        QTRY_VERIFY(fixture.dock("chat")->width() > middle + 200);
        QTRY_VERIFY2(std::abs(fixture.dock("chain")->width() - left) < 20,
                     qPrintable(QString::number(fixture.dock("chain")->width() - left)));
        QTRY_VERIFY2(std::abs(fixture.dock("kvcache")->width() - right) < 20,
                     qPrintable(QString::number(fixture.dock("kvcache")->width() - right)));
    }

    void theThemeIsSwitchedWithoutARestart()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        const auto ground = [&] {
            return fixture.window->grab().toImage().pixelColor(3, fixture.window->height() / 2);
        };
        const QColor light = ground();
        QCOMPARE(light.rgb(), Theme::instance().colors().window.rgb());
        fixture.action(QStringLiteral("Theme: Dark"))->trigger();
        QVERIFY(Theme::instance().isDark());
        QTRY_COMPARE(ground().rgb(), Theme::instance().colors().window.rgb());
        QVERIFY(ground() != light);
        QCOMPARE(QApplication::palette().color(QPalette::Window), Theme::instance().colors().window);
        QCOMPARE(QSettings().value(QStringLiteral("theme")).toString(), QStringLiteral("dark"));
        fixture.action(QStringLiteral("Theme: Light"))->trigger();
        QTRY_COMPARE(ground().rgb(), light.rgb());
    }

    void theColouringIsRemembered()
    {
        {
            WindowFixture fixture;
            QVERIFY(fixture.ready());
            QCOMPARE(fixture.panel<ChatView>()->colouring(), TokenColouring::Surprise);
            fixture.action(QStringLiteral("Colour tokens by: Entropy"))->trigger();
            QCOMPARE(fixture.panel<ChatView>()->colouring(), TokenColouring::Entropy);
        }
        WindowFixture fixture;
        QCOMPARE(fixture.panel<ChatView>()->colouring(), TokenColouring::Entropy);
        QVERIFY(fixture.action(QStringLiteral("Colour tokens by: Entropy"))->isChecked());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestWindowLayout)
#include "tst_windowlayout.moc"
