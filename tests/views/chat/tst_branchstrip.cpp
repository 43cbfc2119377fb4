// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "tests/models/plaintext.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "tests/views/viewfixture.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chat/branchstrip.h"

#include <QLabel>
#include <QTest>
#include <QToolButton>

using namespace tokenloupe;

namespace {

constexpr int patience = 60'000;

} // namespace

/// Branches of the last reply, made by the conversation and walked with the strip's buttons.
class TestBranchStrip : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }

    void walksTheBranches()
    {
        test::ViewFixture fixture;
        fixture.conversation.setMaxTokens(8);
        fixture.sampler.setSettings(test::plainTextSettings());
        QVERIFY(fixture.openTinyModel());
        QWidget window;
        BranchStrip strip(fixture.context, &window);
        window.show();
        fixture.conversation.send(QStringLiteral("hello"));
        const auto ended = [&] {
            return !fixture.conversation.isReplying() && fixture.host.status().state == EngineState::Idle;
        };
        QTRY_VERIFY_WITH_TIMEOUT(ended(), patience);
        QVERIFY(!strip.isVisible()); // there is one
        const std::string first = fixture.conversation.entries().back().text;
        QVERIFY(!first.empty());

        fixture.conversation.branchAt(StepIndex(3));
        const auto &entries = fixture.conversation.entries();
        QTRY_COMPARE_WITH_TIMEOUT(entries.back().branches.size(), std::size_t(2), patience);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.host.status().state, EngineState::Paused, patience);
        QTRY_VERIFY_WITH_TIMEOUT(strip.isVisible(), patience);
        QVERIFY(entries.back().text.size() < first.size());
        auto *label = strip.findChild<QLabel *>();
        QCOMPARE(label->text(), QStringLiteral("branch 2 of 2 · parted at step 4"));
        const QList<QToolButton *> buttons = strip.findChildren<QToolButton *>();
        QCOMPARE(buttons.size(), 2);
        QVERIFY(buttons[0]->isEnabled() && !buttons[1]->isEnabled());

        QTest::mouseClick(buttons[0], Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(QString::fromStdString(entries.back().text), QString::fromStdString(first),
                                  patience);
        QCOMPARE(label->text(), QStringLiteral("branch 1 of 2"));
        QCOMPARE(fixture.runs.newestRun(), entries.back().branches[0]);
        buttons[1]->setFocus();
        QTest::keyClick(buttons[1], Qt::Key_Space);
        QTRY_COMPARE_WITH_TIMEOUT(fixture.runs.newestRun(), entries.back().branches[1], patience);

        // The next message goes on from the branch that is shown; then there is nothing to walk any more.
        fixture.conversation.send(QStringLiteral("and"));
        QTRY_VERIFY_WITH_TIMEOUT(ended(), patience);
        QVERIFY(!strip.isVisible());
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestBranchStrip)
#include "tst_branchstrip.moc"
