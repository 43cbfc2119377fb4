// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/panel.h"

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QVBoxLayout>

using namespace tokenloupe;

class TestPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void emptyStateReplacesTheContent()
    {
        Panel panel(QStringLiteral("Memory"));
        auto *inside = new QLabel(QStringLiteral("content"));
        panel.content()->addWidget(inside);
        panel.resize(300, 200);
        panel.show();
        QVERIFY(inside->isVisible());
        panel.setEmptyState(QStringLiteral("Open a model"), QStringLiteral("Open"));
        QVERIFY(panel.isEmptyState());
        QVERIFY(!inside->isVisible());
        auto *button = panel.findChild<QPushButton *>();
        QVERIFY(button->isVisible());
        QSignalSpy action(&panel, &Panel::emptyActionTriggered);
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(action.size(), 1);
        panel.setEmptyState(QStringLiteral("Send a message"));
        QVERIFY(!button->isVisible());
        panel.setEmptyState({});
        QVERIFY(!panel.isEmptyState());
        QVERIFY(inside->isVisible());
    }

    void theSummaryIsCutNotClippedAndReadAloud()
    {
        Panel panel(QStringLiteral("KV cache"));
        panel.resize(200, 100);
        panel.show();
        const QString text = QStringLiteral("2.00 MiB · 22.5 KiB a token · 3 of 9 heads, and more than fits");
        panel.setSummary(text);
        QCOMPARE(panel.summary(), text);
        QCOMPARE(panel.accessibleName(), QStringLiteral("KV cache"));
        QCOMPARE(panel.accessibleDescription(), text);
        QVERIFY(panel.minimumSizeHint().width() < 200);
        panel.grab();
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestPanel)
#include "tst_panel.moc"
