// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/messagebar.h"

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

using namespace tokenloupe;

class TestMessageBar : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void saysWhatWhyAndWhatToDo()
    {
        QWidget window;
        MessageBar bar(&window);
        window.show();
        QVERIFY(!bar.isVisible());
        bar.showMessage({MessageKind::Error, QStringLiteral("What"), QStringLiteral("Why."),
                         QStringLiteral("Do."), QStringLiteral("Long details"), QStringLiteral("Retry")});
        QVERIFY(bar.isVisible());
        QStringList shown;
        for (const QLabel *label : bar.findChildren<QLabel *>())
            if (label->isVisible())
                shown << label->text();
        QVERIFY(shown.contains(QStringLiteral("What")));
        QVERIFY(shown.contains(QStringLiteral("Why. Do.")));
        QVERIFY(!shown.contains(QStringLiteral("Long details")));
        QCOMPARE(bar.accessibleName(), QStringLiteral("What"));
        QCOMPARE(bar.accessibleDescription(), QStringLiteral("Why. Do."));
    }

    void detailsOnDemandActionAndClose()
    {
        QWidget window;
        MessageBar bar(&window);
        window.show();
        bar.showMessage({MessageKind::Warning,
                         QStringLiteral("What"),
                         {},
                         {},
                         QStringLiteral("Long details"),
                         QStringLiteral("Retry")});
        QLabel *details = nullptr;
        for (QLabel *label : bar.findChildren<QLabel *>())
            if (label->text() == QLatin1String("Long details"))
                details = label;
        QVERIFY(details && !details->isVisible());
        QSignalSpy action(&bar, &MessageBar::actionTriggered);
        QSignalSpy closed(&bar, &MessageBar::closed);
        for (QPushButton *button : bar.findChildren<QPushButton *>()) {
            if (button->isVisible())
                QTest::mouseClick(button, Qt::LeftButton);
        }
        QVERIFY(details->isVisible());
        QCOMPARE(action.size(), 1);
        QTest::mouseClick(bar.findChild<QToolButton *>(), Qt::LeftButton);
        QCOMPARE(closed.size(), 1);
        QVERIFY(!bar.isVisible());
        bar.showMessage({MessageKind::Info, QStringLiteral("Again"), {}, {}, {}, {}});
        for (const QPushButton *button : bar.findChildren<QPushButton *>())
            QVERIFY(!button->isVisible());
        QTest::keyClick(&bar, Qt::Key_Escape);
        QCOMPARE(closed.size(), 2);
    }

    void aSecondChoiceLiesBelowTheFirst()
    {
        QWidget window;
        window.resize(700, 300);
        MessageBar bar(&window);
        bar.setFixedWidth(700);
        window.show();
        Message message;
        message.what = QStringLiteral("What");
        message.action = QStringLiteral("This");
        message.otherAction = QStringLiteral("Or that");
        bar.showMessage(message);
        const auto button = [&](const QString &text) -> QPushButton * {
            for (QPushButton *each : bar.findChildren<QPushButton *>()) {
                if (each->text() == text)
                    return each;
            }
            return nullptr;
        };
        QPushButton *first = button(message.action);
        QPushButton *second = button(message.otherAction);
        QVERIFY(first && second && first->isVisible() && second->isVisible());
        QTRY_VERIFY(bar.rect().contains(second->geometry()));
        QVERIFY(second->y() > first->geometry().bottom());
        QSignalSpy action(&bar, &MessageBar::actionTriggered);
        QSignalSpy other(&bar, &MessageBar::otherActionTriggered);
        QTest::mouseClick(second, Qt::LeftButton);
        QCOMPARE(action.size(), 0);
        QCOMPARE(other.size(), 1);
        first->setFocus();
        QTest::keyClick(first, Qt::Key_Space);
        QCOMPARE(action.size(), 1);
        QCOMPARE(other.size(), 1);
        message.otherAction.clear();
        bar.showMessage(message);
        QVERIFY(first->isVisible() && !second->isVisible());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestMessageBar)
#include "tst_messagebar.moc"
