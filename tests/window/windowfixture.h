// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/window/mainwindow.h"
#include "tests/models/plaintext.h"
#include "tests/support/tinymodel.h"
#include "widgets/views/chat/chatinput.h"
#include "widgets/views/chat/chatpanel.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <memory>

namespace tokenloupe::test {

/// The whole window with settings of its own: those of the person who runs the tests are left alone.
class WindowFixture
{
public:
    static constexpr int patience = 120'000; ///< ms, for machines that are busy with other things

    /// Call once per program.
    static void useOwnSettings(const QTemporaryDir &folder)
    {
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
        QCoreApplication::setOrganizationName(QStringLiteral("TokenloupeTests"));
        QCoreApplication::setApplicationName(QStringLiteral("Tokenloupe"));
    }
    /// As after the first start; one thread, for the sake of the machine.
    static void clearSettings()
    {
        QSettings settings;
        settings.clear();
        settings.setValue(QStringLiteral("engine/threads"), 1);
        settings.setValue(QStringLiteral("engine/context"), 16384);
    }

    explicit WindowFixture(const QSize &size = {1600, 1000}, DeviceSource devices = cpuAlone())
    {
        window = std::make_unique<MainWindow>(std::move(devices));
        window->resize(size);
        window->restoreLayout();
        window->show();
    }

    bool ready() { return QTest::qWaitForWindowActive(window.get()); }
    Inspector &inspector() { return window->inspector(); }
    EngineState state() { return inspector().host.status().state; }
    const Run *run() { return inspector().runs.run(inspector().runs.newestRun()); }
    std::size_t steps() { return run() ? run()->steps.size() : 0; }
    ChatInput *input() { return window->findChild<ChatInput *>(); }
    template <class Panel>
    Panel *panel()
    {
        return window->findChild<Panel *>();
    }
    QDockWidget *dock(const char *name)
    {
        return window->findChild<QDockWidget *>(QString::fromLatin1(name));
    }
    /// By what the command palette calls it, or its text.
    QAction *action(const QString &name)
    {
        for (QAction *action : window->findChildren<QAction *>()) {
            if (action->data().toString() == name || action->text().remove(QLatin1Char('&')) == name)
                return action;
        }
        return nullptr;
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {})
    {
        QTest::keyClick(input(), key, modifiers);
    }

    QString writeTiny(const std::string &name = "tiny")
    {
        TinyModelOptions options;
        options.chatTemplate = tinyChatTemplate;
        options.name = name;
        return QString::fromStdString(writeTinyModel(folder.path().toStdString(), options).string());
    }
    QString writeBroken()
    {
        const QString path = folder.filePath(QStringLiteral("broken.gguf"));
        QFile file(path);
        if (file.open(QIODevice::WriteOnly))
            file.write("GGUF, but no more than that");
        return path;
    }
    bool open(const QString &path)
    {
        QSignalSpy opened(&inspector().host, &EngineHost::modelOpened);
        window->openModel(path);
        return opened.wait(patience);
    }
    /// A tiny model that never ends its turn, the window active and the field ready to type in.
    bool openTiny()
    {
        if (!ready() || !open(writeTiny()))
            return false;
        inspector().sampler.setSettings(plainTextSettings());
        inspector().conversation.setMaxTokens(0);
        return true;
    }
    bool waitFor(EngineState wanted)
    {
        return QTest::qWaitFor([&] { return state() == wanted; }, patience);
    }
    bool waitForSteps(std::size_t wanted)
    {
        return QTest::qWaitFor([&] { return steps() >= wanted; }, patience);
    }
    /// Types a message and waits for `tokens` tokens of the reply, to its end.
    bool say(const QString &text, std::uint32_t tokens)
    {
        const RunId before = inspector().runs.newestRun();
        inspector().conversation.setMaxTokens(tokens);
        input()->setFocus();
        QTest::keyClicks(input(), text);
        QTest::keyClick(input(), Qt::Key_Return);
        return QTest::qWaitFor(
            [&] {
                return inspector().runs.newestRun() != before && run() && run()->end &&
                       state() == EngineState::Idle;
            },
            patience);
    }
    bool waitForExplanationOf(StepIndex step)
    {
        const StepRef ref{inspector().runs.newestRun(), step};
        return QTest::qWaitFor(
            [&] {
                const ExplanationPtr current = inspector().explanations.current();
                return current && current->ref == ref;
            },
            patience);
    }

    QTemporaryDir folder;
    std::unique_ptr<MainWindow> window;
};

} // namespace tokenloupe::test
