// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/flowchips.h"

#include <QApplication>
#include <QClipboard>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

namespace {

class Numbers : public ChipProvider
{
public:
    int count() const override { return m_count; }
    TokenChip chip(int index) const override
    {
        ++asked;
        TokenChip chip;
        chip.label.text = QStringLiteral("t%1").arg(index);
        return chip;
    }
    QString tooltip(int index) const override { return QStringLiteral("token %1").arg(index); }

    int m_count = 0;
    mutable int asked = 0;
};

} // namespace

class TestFlowChips : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void wrapsInOrderWithoutOverlap()
    {
        Numbers numbers;
        numbers.m_count = 60;
        FlowChips chips;
        chips.resize(300, 200);
        chips.show();
        chips.setProvider(&numbers);
        QRect before;
        for (int i = 0; i < numbers.count(); ++i) {
            const QRect rect = chips.itemRect(i);
            QVERIFY(rect.right() < chips.viewport()->width());
            if (i > 0) {
                QVERIFY(!rect.intersects(before));
                QVERIFY(rect.top() > before.top() ||
                        (rect.top() == before.top() && rect.left() > before.right()));
            }
            QCOMPARE(chips.itemAt(rect.center()), i);
            before = rect;
        }
        QVERIFY(chips.rowCount() > 1);
        QCOMPARE(chips.itemAt(QPoint(-5, -5)), -1);
    }

    void laysOutOnlyWhatIsSeenAtOnce()
    {
        Numbers numbers;
        numbers.m_count = 100'000;
        FlowChips chips;
        chips.resize(400, 200);
        chips.show();
        chips.setProvider(&numbers);
        QVERIFY(chips.verticalScrollBar()->maximum() > 100'000);
        QVERIFY2(numbers.asked < 5'000, qPrintable(QString::number(numbers.asked)));
        QVERIFY(!chips.isLaidOut());
        QTRY_VERIFY(chips.isLaidOut()); // the rest while idle
        numbers.asked = 0;
        chips.verticalScrollBar()->setValue(chips.verticalScrollBar()->maximum() / 2);
        chips.grab();
        QVERIFY2(numbers.asked < 1'000, qPrintable(QString::number(numbers.asked)));
    }

    void appendingKeepsWhatIsThere()
    {
        Numbers numbers;
        numbers.m_count = 10;
        FlowChips chips;
        chips.resize(200, 400);
        chips.show();
        chips.setProvider(&numbers);
        const QRect third = chips.itemRect(3);
        numbers.asked = 0;
        numbers.m_count = 12;
        chips.itemsAppended();
        QCOMPARE(chips.itemRect(3), third);
        QVERIFY(chips.itemRect(11).isValid());
        QVERIFY(numbers.asked <= 2);
    }

    void clickAndHover()
    {
        Numbers numbers;
        numbers.m_count = 20;
        FlowChips chips;
        chips.resize(300, 200);
        chips.show();
        chips.setProvider(&numbers);
        QSignalSpy clicked(&chips, &FlowChips::clicked);
        QSignalSpy hovered(&chips, &FlowChips::hovered);
        QTest::mouseMove(chips.viewport(), chips.itemRect(4).center());
        QTRY_VERIFY(!hovered.isEmpty());
        QCOMPARE(hovered.last().first().toInt(), 4);
        QTest::mouseClick(chips.viewport(), Qt::LeftButton, {}, chips.itemRect(7).center());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked.first().first().toInt(), 7);
        QCOMPARE(chips.current(), 7);
        QTest::mouseClick(chips.viewport(), Qt::LeftButton, {}, QPoint(2, chips.viewport()->height() - 2));
        QCOMPARE(clicked.size(), 1);
    }

    void keyboardWalksAndClicks()
    {
        Numbers numbers;
        numbers.m_count = 500;
        FlowChips chips;
        chips.resize(300, 120);
        chips.show();
        chips.setProvider(&numbers);
        chips.setCurrent(0);
        QSignalSpy current(&chips, &FlowChips::currentChanged);
        QSignalSpy clicked(&chips, &FlowChips::clicked);
        QTest::keyClick(&chips, Qt::Key_Right);
        QCOMPARE(chips.current(), 1);
        QTest::keyClick(&chips, Qt::Key_Down);
        QVERIFY(chips.current() > 1);
        QCOMPARE(chips.itemRect(chips.current()).top(),
                 chips.itemRect(1).top() + chips.itemRect(0).height() + 4);
        QTest::keyClick(&chips, Qt::Key_Up);
        QCOMPARE(chips.current(), 1);
        QTest::keyClick(&chips, Qt::Key_End);
        QCOMPARE(chips.current(), 499);
        QVERIFY(chips.viewport()->rect().intersects(chips.itemRect(499)));
        QCOMPARE(chips.accessibleDescription(), QStringLiteral("token 499"));
        QTest::keyClick(&chips, Qt::Key_Return);
        QCOMPARE(clicked.last().first().toInt(), 499);
        QTest::keyClick(&chips, Qt::Key_Home);
        QCOMPARE(chips.current(), 0);
        QCOMPARE(chips.verticalScrollBar()->value(), 0);
        QCOMPARE(current.size(), 5);
    }

    void aRangeIsCopied()
    {
        Numbers numbers;
        numbers.m_count = 20;
        FlowChips chips;
        chips.resize(300, 200);
        chips.show();
        chips.setProvider(&numbers);
        chips.setCurrent(2);
        QTest::keyClick(&chips, Qt::Key_Right, Qt::ShiftModifier);
        QTest::keyClick(&chips, Qt::Key_Right, Qt::ShiftModifier);
        QCOMPARE(chips.selectedText(), QStringLiteral("t2 t3 t4"));
        QTest::keyClick(&chips, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("t2 t3 t4"));
        QTest::mousePress(chips.viewport(), Qt::LeftButton, {}, chips.itemRect(1).center());
        QTest::mouseMove(chips.viewport(), chips.itemRect(3).center());
        QTest::mouseRelease(chips.viewport(), Qt::LeftButton, {}, chips.itemRect(3).center());
        QTRY_COMPARE(chips.selectedText(), QStringLiteral("t1 t2 t3"));
    }

    void nothingToShow()
    {
        FlowChips chips;
        chips.resize(200, 100);
        chips.show();
        QTest::keyClick(&chips, Qt::Key_Down);
        QTest::mouseClick(chips.viewport(), Qt::LeftButton, {}, QPoint(10, 10));
        chips.grab();
        Numbers none;
        chips.setProvider(&none);
        QTest::keyClick(&chips, Qt::Key_End);
        chips.grab();
        QCOMPARE(chips.current(), -1);
        QCOMPARE(chips.itemRect(0), QRect());
        chips.setProvider(nullptr);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestFlowChips)
#include "tst_flowchips.moc"
