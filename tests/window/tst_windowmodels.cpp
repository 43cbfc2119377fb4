// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>

#include "tests/support/testmain.h"
#include "tests/support/tinyfolder.h"
#include "tests/theme/guiwarnings.h"
#include "tests/window/windowfixture.h"
#include "widgets/controls/messagebar.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QMimeData>
#include <QPushButton>
#include <QTest>
#include <QTimer>
#include <QUrl>

using namespace tokenloupe;
using namespace tokenloupe::test;

/// Models that are opened in the window, dropped on it, exchanged and closed.
class TestWindowModels : public QObject
{
    Q_OBJECT

    QTemporaryDir m_settings;

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

    void aBrokenFileIsToldAndTheModelKept()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        const auto model = fixture.inspector().host.status().model;
        const QString title = fixture.window->windowTitle();
        auto *bar =
            fixture.window->findChild<QWidget *>(QStringLiteral("messageRow"))->findChild<MessageBar *>();
        QVERIFY(!bar->isVisible());
        fixture.window->openModel(fixture.writeBroken());
        QTRY_VERIFY_WITH_TIMEOUT(bar->isVisible(), WindowFixture::patience);
        QCOMPARE(bar->message().kind, MessageKind::Error);
        QVERIFY(bar->message().what.contains(QStringLiteral("broken.gguf")));
        QVERIFY(!bar->message().why.isEmpty());
        QVERIFY(bar->message().advice.contains(QStringLiteral("tiny.gguf")));
        QVERIFY(fixture.waitFor(EngineState::Idle));
        QCOMPARE(fixture.inspector().host.status().model, model);
        QCOMPARE(fixture.window->windowTitle(), title);
        // The chat is as it was, and goes on.
        QCOMPARE(fixture.inspector().conversation.entries().size(), std::size_t(2));
        QVERIFY(fixture.say(QStringLiteral("again"), 3));
        QCOMPARE(fixture.inspector().conversation.entries().size(), std::size_t(4));
        // A model that opens takes the message away.
        QVERIFY(fixture.open(fixture.writeTiny("other")));
        QTRY_VERIFY(!bar->isVisible());
    }

    void anotherModelBeginsAnew()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        QVERIFY(fixture.window->windowTitle().startsWith(QStringLiteral("tiny")));
        fixture.inspector().conversation.send(QStringLiteral("hello"));
        QVERIFY(fixture.waitForSteps(3));
        QVERIFY(fixture.open(fixture.writeTiny("other")));
        QVERIFY(fixture.window->windowTitle().startsWith(QStringLiteral("other")));
        QVERIFY(fixture.inspector().conversation.entries().empty());
        QVERIFY(fixture.inspector().runs.isEmpty());
        QVERIFY(!fixture.inspector().selection.current().isValid());
        QVERIFY(fixture.say(QStringLiteral("hello"), 3));
        const QStringList recent = QSettings().value(QStringLiteral("recentModels")).toStringList();
        QCOMPARE(recent.size(), 2);
        QVERIFY(recent[0].endsWith(QStringLiteral("other.gguf")));
        QVERIFY(recent[1].endsWith(QStringLiteral("tiny.gguf")));
        QCOMPARE(QSettings().value(QStringLiteral("lastModel")).toString(), recent[0]);
    }

    void closingTheModelForgetsItsRuns()
    {
        WindowFixture fixture;
        QVERIFY(fixture.openTiny());
        fixture.inspector().conversation.send(QStringLiteral("hello"));
        QVERIFY(fixture.waitForSteps(2));
        fixture.action(QStringLiteral("Close the model"))->trigger();
        QVERIFY(fixture.waitFor(EngineState::NoModel));
        QTRY_VERIFY(fixture.inspector().runs.isEmpty());
        QVERIFY(fixture.panel<ChatPanel>()->isEmptyState());
        QCOMPARE(fixture.window->windowTitle(), QStringLiteral("Tokenloupe"));
    }

    void everyEmptyPanelThatOffersToOpenAModelDoesSo()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        int offers = 0;
        for (QPushButton *button : fixture.window->findChildren<QPushButton *>()) {
            if (!button->isVisible() || !button->text().startsWith(QStringLiteral("Open a model")))
                continue;
            ++offers;
            bool asked = false;
            QTimer answer;
            connect(&answer, &QTimer::timeout, this, [&] {
                if (auto *dialog = qobject_cast<QFileDialog *>(QApplication::activeModalWidget())) {
                    asked = true;
                    dialog->reject();
                }
            });
            answer.start(10);
            QTest::mouseClick(button, Qt::LeftButton);
            QTRY_VERIFY(asked);
        }
        QVERIFY2(offers >= 3, qPrintable(QString::number(offers)));
    }

    void aFileIsDroppedOnTheWindow()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(fixture.writeTiny())});
        QDragEnterEvent enter({300, 300}, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(fixture.window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(fixture.window.get(), &drop);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.inspector().host.status().model, WindowFixture::patience);
    }

    /// Where folders are chosen, and dropped, their names may end in a slash.
    void aFolderIsDroppedOnTheWindow()
    {
        WindowFixture fixture;
        QVERIFY(fixture.ready());
        QVERIFY(fixture.action(QStringLiteral("Open a Hugging Face folder…")));
        const QTemporaryDir directory;
        const TinyArchitecture model = tinyArchitectureNamed("llama");
        const auto folder =
            writeTinyFolder(directory.path().toStdString() + "/some-model", model, tinyTensors(model));
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QString::fromStdString(folder.string()) + QLatin1Char('/'))});
        QDragEnterEvent enter({300, 300}, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(fixture.window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(fixture.window.get(), &drop);
        QTRY_VERIFY_WITH_TIMEOUT(fixture.inspector().host.status().model, WindowFixture::patience);
        QVERIFY(fixture.window->windowTitle().contains(QStringLiteral("some-model")));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestWindowModels)
#include "tst_windowmodels.moc"
