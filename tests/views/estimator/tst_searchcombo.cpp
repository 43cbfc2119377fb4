// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/theme/theme.h"
#include "widgets/views/estimator/searchcombo.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestSearchCombo : public QObject
{
    Q_OBJECT

    static void fill(SearchCombo &combo)
    {
        combo.setEntries({QStringLiteral("Alpha 24 GiB"), QStringLiteral("Beta 8 GiB"),
                          QStringLiteral("Beta Plus 12 GiB")},
                         {QStringLiteral("a"), QStringLiteral("b"), QStringLiteral("bp")});
        combo.showEntry(QStringLiteral("a"));
        combo.resize(200, 28);
        combo.show();
        QVERIFY(QTest::qWaitForWindowActive(&combo));
        combo.setFocus();
        combo.lineEdit()->selectAll();
    }

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void aPartOfANameAndReturnChooses_data()
    {
        QTest::addColumn<QString>("typed");
        QTest::addColumn<QString>("data");
        QTest::newRow("beginning") << QStringLiteral("beta") << QStringLiteral("b");
        QTest::newRow("middle") << QStringLiteral("plus") << QStringLiteral("bp");
        QTest::newRow("whole, other case") << QStringLiteral("BETA PLUS 12 gib") << QStringLiteral("bp");
    }

    void aPartOfANameAndReturnChooses()
    {
        QFETCH(const QString, typed);
        QFETCH(const QString, data);
        SearchCombo combo(QStringLiteral("cards"));
        fill(combo);
        QSignalSpy chosen(&combo, &SearchCombo::chosen);
        QTest::keyClicks(combo.lineEdit(), typed);
        QTest::keyClick(combo.lineEdit(), Qt::Key_Return);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(chosen[0][0].toString(), data);
        QCOMPARE(combo.currentText(), combo.itemText(combo.findData(data)));
    }

    void theListOfMatchesChooses()
    {
        SearchCombo combo(QStringLiteral("cards"));
        fill(combo);
        QSignalSpy chosen(&combo, &SearchCombo::chosen);
        QTest::keyClicks(combo.lineEdit(), QStringLiteral("beta"));
        QAbstractItemView *popup = combo.completer()->popup();
        QTRY_VERIFY(popup->isVisible());
        QTest::keyClick(popup, Qt::Key_Down);
        QTest::keyClick(popup, Qt::Key_Down);
        QTest::keyClick(popup, Qt::Key_Return);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(chosen[0][0].toString(), QStringLiteral("bp"));
    }

    void anUnknownTextIsReportedAndTheChoiceStays()
    {
        SearchCombo combo(QStringLiteral("cards"));
        fill(combo);
        QSignalSpy chosen(&combo, &SearchCombo::chosen);
        QSignalSpy unknown(&combo, &SearchCombo::unknownEntered);
        QTest::keyClicks(combo.lineEdit(), QStringLiteral("gamma"));
        QTest::keyClick(combo.lineEdit(), Qt::Key_Return);
        QCOMPARE(unknown.count(), 1);
        QCOMPARE(unknown[0][0].toString(), QStringLiteral("gamma"));
        QCOMPARE(chosen.count(), 0);
        QCOMPARE(combo.currentText(), QStringLiteral("Alpha 24 GiB"));
        QCOMPARE(combo.currentData().toString(), QStringLiteral("a"));
    }

    void newEntriesKeepWhatIsShown()
    {
        SearchCombo combo(QStringLiteral("cards"));
        fill(combo);
        QSignalSpy chosen(&combo, &SearchCombo::chosen);
        combo.setEntries({QStringLiteral("Zero"), QStringLiteral("Alpha 24 GiB")},
                         {QStringLiteral("z"), QStringLiteral("a")});
        QCOMPARE(combo.currentData().toString(), QStringLiteral("a"));
        combo.showEntry({});
        QCOMPARE(combo.currentIndex(), -1);
        QCOMPARE(combo.currentText(), QString());
        QCOMPARE(chosen.count(), 0);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestSearchCombo)
#include "tst_searchcombo.moc"
