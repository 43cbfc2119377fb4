// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/controls/flowchips.h"
#include "widgets/theme/theme.h"
#include "widgets/views/prompt/promptpanel.h"

#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QTest>
#include <QToolTip>

using namespace tokenloupe;

namespace {

struct PromptFixture : test::ViewFixture
{
    PromptPanel panel{context};
    FlowChips *chips = panel.findChild<FlowChips *>();

    PromptFixture()
    {
        panel.resize(500, 400);
        panel.show();
    }
    const RunRecord &start() const { return runs.run(runs.newestRun())->start; }
    /// Chips that are there, counted by walking to the last one.
    int count()
    {
        chips->setFocus();
        QTest::keyClick(chips, Qt::Key_End);
        return chips->current() + 1;
    }
    QString tipOf(int index)
    {
        const QPoint at = chips->itemRect(index).center();
        QHelpEvent help(QEvent::ToolTip, at, chips->viewport()->mapToGlobal(at));
        QApplication::sendEvent(chips->viewport(), &help);
        return QToolTip::text();
    }
};

} // namespace

class TestPromptPanel : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void withoutAPromptItSaysWhatToDo()
    {
        PromptFixture fixture;
        QVERIFY(fixture.panel.isEmptyState());
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.panel.isEmptyState());
        QCOMPARE(fixture.panel.summary(), QString());
    }

    void showsEveryTokenThatWasSent()
    {
        PromptFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(2));
        QTRY_VERIFY(!fixture.panel.isEmptyState());
        const auto tokens = int(fixture.start().prompt.size());
        QCOMPARE(fixture.panel.summary(), QStringLiteral("%1 tokens").arg(tokens));
        QCOMPARE(fixture.count(), tokens);
        // All of it, control tokens written out.
        QTest::keyClick(fixture.chips, Qt::Key_Home);
        QTest::keyClick(fixture.chips, Qt::Key_End, Qt::ShiftModifier);
        QTest::keyClick(fixture.chips, Qt::Key_C, Qt::ControlModifier);
        const QString copied = QGuiApplication::clipboard()->text();
        QVERIFY2(copied.contains(QStringLiteral("<|im_start|>")), qPrintable(copied));
        QVERIFY2(copied.contains(QStringLiteral("hello there")), qPrintable(copied));
        QVERIFY2(copied.contains(QStringLiteral("<|im_end|>")), qPrintable(copied));
        const QString tip = fixture.tipOf(0);
        QVERIFY2(tip.contains(QStringLiteral("token %1 ").arg(fixture.start().prompt[0].value())),
                 qPrintable(tip));
        QVERIFY2(tip.contains(QStringLiteral("position 0")), qPrintable(tip));
    }

    void saysWhatCameFromTheCache()
    {
        PromptFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(2));
        QVERIFY(fixture.reply(2));
        const std::uint32_t reused = fixture.start().reusedTokens;
        QVERIFY(reused > 0);
        QTRY_VERIFY2(fixture.panel.summary().endsWith(QStringLiteral("%1 from the cache").arg(reused)),
                     qPrintable(fixture.panel.summary()));
        QVERIFY(fixture.tipOf(int(reused) - 1).endsWith(QStringLiteral("from the cache")));
        QVERIFY(!fixture.tipOf(int(reused)).contains(QStringLiteral("cache")));
    }

    void followsTheSelectedRun()
    {
        PromptFixture fixture;
        QVERIFY(fixture.openTinyModel());
        QVERIFY(fixture.reply(3));
        const RunId first = fixture.runs.newestRun();
        const auto tokens = int(fixture.start().prompt.size());
        fixture.conversation.setMaxTokens(2);
        QSignalSpy ended(&fixture.runs, &RunStore::runEnded);
        fixture.conversation.send(QStringLiteral("a much longer message than the other one"));
        QVERIFY(ended.wait(60'000));
        QVERIFY(int(fixture.start().prompt.size()) > tokens);
        QTRY_COMPARE(fixture.count(), int(fixture.start().prompt.size()));
        fixture.selection.select({first, StepIndex(1)});
        QTRY_COMPARE(fixture.count(), tokens);
        fixture.runs.clear();
        QTRY_VERIFY(fixture.panel.isEmptyState());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestPromptPanel)
#include "tst_promptpanel.moc"
