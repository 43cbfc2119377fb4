// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/controls/progressstrip.h"

#include <QApplication>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

using namespace tokenloupe;

class TestProgressStrip : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void timeLeft_data()
    {
        QTest::addColumn<quint64>("done");
        QTest::addColumn<quint64>("total");
        QTest::addColumn<double>("seconds");
        QTest::addColumn<QString>("text");
        QTest::newRow("too early to say") << quint64(1) << quint64(100) << 0.1 << QString();
        QTest::newRow("nothing done") << quint64(0) << quint64(100) << 5.0 << QString();
        QTest::newRow("total not known") << quint64(7) << quint64(0) << 5.0 << QString();
        QTest::newRow("done") << quint64(100) << quint64(100) << 5.0 << QString();
        QTest::newRow("seconds") << quint64(25) << quint64(100) << 5.0 << QStringLiteral("15 s left");
        QTest::newRow("almost") << quint64(99) << quint64(100) << 5.0 << QStringLiteral("less than 1 s left");
        QTest::newRow("minutes") << quint64(1) << quint64(100) << 3.0 << QStringLiteral("5 min left");
        QTest::newRow("hours") << quint64(1) << quint64(10000) << 1.0 << QStringLiteral("2.8 h left");
    }
    void timeLeft()
    {
        QFETCH(quint64, done);
        QFETCH(quint64, total);
        QFETCH(double, seconds);
        QTEST(ProgressStrip::timeLeft(done, total, seconds), "text");
    }

    void showsAndCancels()
    {
        ProgressStrip strip;
        strip.setTitle(QStringLiteral("Loading x"));
        strip.show();
        auto *bar = strip.findChild<QProgressBar *>();
        strip.setProgress(0, 0, 0.0, QStringLiteral("opening"));
        QCOMPARE(bar->maximum(), 0); // busy, no made-up share
        strip.setProgress(50, 200, 4.0, QStringLiteral("50 of 200 MiB"));
        QCOMPARE(bar->value() * 4, bar->maximum());
        QCOMPARE(strip.detail(), QStringLiteral("50 of 200 MiB · 12 s left"));
        QSignalSpy cancelled(&strip, &ProgressStrip::cancelRequested);
        QTest::mouseClick(strip.findChild<QPushButton *>(), Qt::LeftButton);
        QCOMPARE(cancelled.size(), 1);
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestProgressStrip)
#include "tst_progressstrip.moc"
