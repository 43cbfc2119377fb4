// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/toggleswitch.h"

#include <QAccessible>
#include <QApplication>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestToggleSwitch : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void mouseAndKeyToggle()
    {
        ToggleSwitch toggle(QStringLiteral("Top-k"));
        toggle.show();
        QSignalSpy toggled(&toggle, &QAbstractButton::toggled);
        QTest::mouseClick(&toggle, Qt::LeftButton);
        QVERIFY(toggle.isChecked());
        QTest::keyClick(&toggle, Qt::Key_Space);
        QVERIFY(!toggle.isChecked());
        QCOMPARE(toggled.size(), 2);
        toggle.setEnabled(false);
        QTest::mouseClick(&toggle, Qt::LeftButton);
        QVERIFY(!toggle.isChecked());
    }

    void aScreenReaderSeesACheckBox()
    {
        ToggleSwitch toggle(QStringLiteral("Top-k"));
        QAccessibleInterface *interface = QAccessible::queryAccessibleInterface(&toggle);
        QVERIFY(interface);
        QCOMPARE(interface->text(QAccessible::Name), QStringLiteral("Top-k"));
        QVERIFY(interface->state().checkable);
        QVERIFY(!interface->state().checked);
        toggle.setChecked(true);
        QVERIFY(interface->state().checked);
    }

    void stateShowsWithoutColour()
    {
        ToggleSwitch toggle(QStringLiteral("x"));
        const QImage off = toggle.grab().toImage().convertToFormat(QImage::Format_Grayscale8);
        toggle.setChecked(true);
        const QImage on = toggle.grab().toImage().convertToFormat(QImage::Format_Grayscale8);
        // the knob is brighter than its track and sits on the other side
        const int y = off.height() / 2;
        const int left = off.width() / 2 - 6;
        const int right = off.width() / 2 + 6;
        QVERIFY(off.pixelColor(left, y).lightness() > off.pixelColor(right, y).lightness());
        QVERIFY(on.pixelColor(right, y).lightness() > on.pixelColor(left, y).lightness());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestToggleSwitch)
#include "tst_toggleswitch.moc"
