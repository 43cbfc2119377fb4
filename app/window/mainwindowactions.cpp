// SPDX-License-Identifier: GPL-3.0-or-later
// The window's actions, menus and shortcuts.
#include "app/window/mainwindow.h"

#include "app/window/commandpalette.h"
#include "app/window/paneldock.h"
#include "app/window/workspaces.h"
#include "widgets/controls/panel.h"
#include "widgets/theme/numbers.h"
#include "widgets/views/chat/chatpanel.h"
#include "widgets/views/precision/precisionpanel.h"

#include <QAction>
#include <QActionGroup>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>

namespace tokenloupe {

QAction *MainWindow::addNamedAction(QMenu *menu, const QString &text, const QKeySequence &shortcut,
                                    const QString &icon, const QString &paletteName)
{
    auto *action = new QAction(text, this);
    action->setShortcut(shortcut);
    if (!icon.isEmpty())
        action->setIcon(Theme::instance().icon(icon));
    if (!paletteName.isEmpty())
        action->setData(paletteName);
    menu->addAction(action);
    addAction(action); // the shortcut works with the menu bar hidden too
    m_actions.push_back(action);
    return action;
}

void MainWindow::createFileMenu()
{
    QMenu *menu = menuBar()->addMenu(tr("&File"));
    m_modelMenu = new QMenu(tr("Model"), this);
    QAction *open = addNamedAction(menu, tr("&Open a model…"), QKeySequence::Open, QStringLiteral("open"));
    connect(open, &QAction::triggered, this, &MainWindow::chooseModel);
    QAction *openFolder = addNamedAction(menu, tr("Open a Hugging Face &folder…"),
                                         QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O));
    openFolder->setToolTip(tr("A folder with config.json and safetensors files (Ctrl+Shift+O)"));
    connect(openFolder, &QAction::triggered, this, &MainWindow::chooseModelFolder);
    m_recentMenu = menu->addMenu(tr("Open &recent"));
    connect(m_recentMenu, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
    QAction *close = addNamedAction(menu, tr("&Close the model"));
    connect(close, &QAction::triggered, this, [this] {
        m_inspector.conversation.newChat();
        m_inspector.host.closeModel();
        m_inspector.runs.clear();
        m_openPath.clear();
        setWindowTitle(QStringLiteral("Tokenloupe"));
    });
    m_cancel = addNamedAction(menu, tr("C&ancel loading or prefill"));
    connect(m_cancel, &QAction::triggered, this, [this] { m_inspector.host.cancelWork(); });
    menu->addSeparator();
    QAction *quit = addNamedAction(menu, tr("&Quit"), QKeySequence::Quit);
    connect(quit, &QAction::triggered, this, &QWidget::close);

    m_modelMenu->addAction(open);
    m_modelMenu->addAction(openFolder);
    m_modelMenu->addMenu(m_recentMenu);
    m_modelMenu->addAction(close);
}

void MainWindow::fillRecentMenu()
{
    m_recentMenu->clear();
    const QStringList recent = m_settings.value(QStringLiteral("recentModels")).toStringList();
    for (const QString &path : recent) {
        QAction *action = m_recentMenu->addAction(QFileInfo(path).fileName());
        action->setToolTip(path);
        action->setEnabled(QFileInfo::exists(path));
        connect(action, &QAction::triggered, this, [this, path] { openModel(path); });
    }
    if (recent.isEmpty())
        m_recentMenu->addAction(tr("none yet"))->setEnabled(false);
}

void MainWindow::chooseModel()
{
    const QString folder = m_openPath.isEmpty() ? QString() : QFileInfo(m_openPath).path();
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a model"), folder,
                                                      tr("GGUF models (*.gguf);;All files (*)"));
    if (!path.isEmpty())
        openModel(path);
}

void MainWindow::chooseModelFolder()
{
    const QString folder = m_openPath.isEmpty() ? QString() : QFileInfo(m_openPath).path();
    const QString path = QFileDialog::getExistingDirectory(this, tr("Open a Hugging Face folder"), folder);
    if (!path.isEmpty())
        openModel(path);
}

void MainWindow::createRunActions()
{
    QMenu *menu = menuBar()->addMenu(tr("&Run"));
    m_run = addNamedAction(menu, tr("Run"), Qt::Key_F5, QStringLiteral("run"), tr("Run, or continue"));
    m_pause = addNamedAction(menu, tr("Pause"), Qt::Key_F6, QStringLiteral("pause"));
    m_step = addNamedAction(menu, tr("Step"), Qt::Key_F10, QStringLiteral("step"), tr("Step one token"));
    m_stop = addNamedAction(menu, tr("Stop"), QKeySequence(Qt::SHIFT | Qt::Key_F5), QStringLiteral("stop"),
                            tr("Stop the reply"));
    connect(m_run, &QAction::triggered, this, &MainWindow::runPressed);
    connect(m_pause, &QAction::triggered, this, [this] { m_inspector.host.pause(); });
    connect(m_step, &QAction::triggered, this, &MainWindow::stepPressed);
    connect(m_stop, &QAction::triggered, this, [this] { m_inspector.host.stop(); });
    m_branch = addNamedAction(menu, tr("Branch"), QKeySequence(Qt::CTRL | Qt::Key_B),
                              QStringLiteral("branch"), tr("Branch off before the selected step"));
    m_branch->setToolTip(tr("Another continuation from before the selected step; the present one is kept "
                            "(Ctrl+B)"));
    connect(m_branch, &QAction::triggered, this, [this] {
        m_inspector.conversation.branchAt(m_inspector.selection.current().step);
        m_inspector.selection.followLive();
    });
    connect(&m_inspector.selection, &SelectionState::changed, this, &MainWindow::refreshActions);
    m_compare = addNamedAction(menu, tr("Compare precisions"), QKeySequence(Qt::CTRL | Qt::Key_P), {},
                               tr("Compare precisions at the selected step"));
    connect(m_compare, &QAction::triggered, this, &MainWindow::compareAtStep);
    menu->addSeparator();
    createSelectionActions(menu);

    QMenu *chat = menuBar()->addMenu(tr("&Chat"));
    m_newChat = addNamedAction(chat, tr("&New chat"), QKeySequence::New, QStringLiteral("new"));
    connect(m_newChat, &QAction::triggered, this, [this] {
        m_inspector.conversation.newChat();
        m_chat->focusInput();
    });
    m_regenerate = addNamedAction(chat, tr("&Regenerate the reply"), QKeySequence(Qt::CTRL | Qt::Key_R),
                                  QStringLiteral("refresh"));
    connect(m_regenerate, &QAction::triggered, this, [this] { m_inspector.conversation.regenerate(); });
    m_editLast = addNamedAction(chat, tr("&Edit the last message"), QKeySequence(Qt::CTRL | Qt::Key_E),
                                QStringLiteral("edit"));
    connect(m_editLast, &QAction::triggered, m_chat, &ChatPanel::beginEditLast);
    connect(&m_inspector.conversation, &Conversation::entryAppended, this, &MainWindow::refreshActions);
    connect(&m_inspector.conversation, &Conversation::entriesRemoved, this, &MainWindow::refreshActions);
    connect(&m_inspector.conversation, &Conversation::reset, this, &MainWindow::refreshActions);
}

void MainWindow::createSelectionActions(QMenu *menu)
{
    // In text fields these keys keep their meaning: the field takes them before the window does.
    QAction *previous = addNamedAction(menu, tr("Previous step"), Qt::Key_Left);
    connect(previous, &QAction::triggered, this, [this] { m_inspector.selection.selectPrevious(); });
    QAction *next = addNamedAction(menu, tr("Next step"), Qt::Key_Right);
    connect(next, &QAction::triggered, this, [this] { m_inspector.selection.selectNext(); });
    QAction *live = addNamedAction(menu, tr("Newest step (live)"), Qt::Key_End);
    connect(live, &QAction::triggered, this, [this] { m_inspector.selection.followLive(); });
}

void MainWindow::createViewMenu()
{
    QMenu *menu = menuBar()->addMenu(tr("&View"));
    for (const auto &[name, dock] : m_docks) {
        QAction *action = dock->toggleViewAction();
        action->setData(tr("View: %1").arg(dock->windowTitle()));
        menu->addAction(action);
        m_actions.push_back(action);
        // A dock that is brought back from behind others comes to the front.
        connect(action, &QAction::triggered, dock, [dock = dock](bool visible) {
            if (visible)
                dock->raise();
        });
    }
    menu->addSeparator();
    createWorkspaceMenu(menu->addMenu(tr("&Workspace")));
    createColourMenu(menu->addMenu(tr("&Colour tokens by")));
    createThemeMenu(menu->addMenu(tr("&Theme")));
    menu->addSeparator();
    QAction *palette = addNamedAction(menu, tr("Command &palette…"), QKeySequence(Qt::CTRL | Qt::Key_K),
                                      QStringLiteral("search"));
    connect(palette, &QAction::triggered, this, [this] { m_palette->open(m_actions); });
    QAction *input = addNamedAction(menu, tr("Go to the message field"), QKeySequence(Qt::CTRL | Qt::Key_L));
    connect(input, &QAction::triggered, m_chat, &ChatPanel::focusInput);
}

void MainWindow::createWorkspaceMenu(QMenu *menu)
{
    auto *group = new QActionGroup(this);
    const struct
    {
        Workspace workspace;
        QString title;
        QKeySequence shortcut;
    } rows[] = {{Workspace::Chat, tr("Chat"), QKeySequence(Qt::CTRL | Qt::Key_1)},
                {Workspace::Decode, tr("Decode"), QKeySequence(Qt::CTRL | Qt::Key_2)},
                {Workspace::Memory, tr("Memory"), QKeySequence(Qt::CTRL | Qt::Key_3)}};
    for (const auto &row : rows) {
        QAction *action =
            addNamedAction(menu, row.title, row.shortcut, {}, tr("Workspace: %1").arg(row.title));
        action->setCheckable(true);
        group->addAction(action);
        connect(action, &QAction::triggered, this,
                [this, workspace = row.workspace] { m_workspaces->switchTo(workspace); });
        connect(m_workspaces, &Workspaces::changed, action,
                [action, workspace = row.workspace](Workspace current) {
                    action->setChecked(current == workspace);
                });
    }
    menu->addSeparator();
    QAction *reset =
        addNamedAction(menu, tr("Reset this workspace"), {}, {}, tr("Workspace: reset the arrangement"));
    connect(reset, &QAction::triggered, m_workspaces, &Workspaces::reset);
}

void MainWindow::createThemeMenu(QMenu *menu)
{
    auto *group = new QActionGroup(this);
    const struct
    {
        ThemeMode mode;
        QString title;
        QString name;
    } rows[] = {{ThemeMode::System, tr("As the desktop"), QStringLiteral("system")},
                {ThemeMode::Light, tr("Light"), QStringLiteral("light")},
                {ThemeMode::Dark, tr("Dark"), QStringLiteral("dark")}};
    for (const auto &row : rows) {
        QAction *action = addNamedAction(menu, row.title, {}, {}, tr("Theme: %1").arg(row.title));
        action->setCheckable(true);
        action->setChecked(Theme::instance().mode() == row.mode);
        group->addAction(action);
        connect(action, &QAction::triggered, this, [this, mode = row.mode, name = row.name] {
            Theme::instance().setMode(mode);
            m_settings.setValue(QStringLiteral("theme"), name);
        });
    }
}

void MainWindow::createColourMenu(QMenu *menu)
{
    auto *group = new QActionGroup(this);
    const struct
    {
        TokenColouring colouring;
        QString title;
    } rows[] = {{TokenColouring::Surprise, tr("Surprise")},
                {TokenColouring::Probability, tr("Probability")},
                {TokenColouring::Entropy, tr("Entropy")},
                {TokenColouring::Rank, tr("Chosen rank")},
                {TokenColouring::None, tr("Nothing")}};
    const int saved = m_settings.value(QStringLiteral("colouring"), 0).toInt();
    for (const auto &row : rows) {
        QAction *action = addNamedAction(menu, row.title, {}, {}, tr("Colour tokens by: %1").arg(row.title));
        action->setCheckable(true);
        group->addAction(action);
        connect(action, &QAction::triggered, this, [this, colouring = row.colouring] {
            m_chat->setColouring(colouring);
            m_settings.setValue(QStringLiteral("colouring"), static_cast<int>(colouring));
        });
        if (static_cast<int>(row.colouring) == saved) {
            action->setChecked(true);
            m_chat->setColouring(row.colouring);
        }
    }
}

void MainWindow::compareAtStep()
{
    PanelDock *dock = m_docks.at(QStringLiteral("precision"));
    dock->show();
    dock->raise();
    m_precision->compareStep();
}

void MainWindow::runPressed()
{
    if (m_inspector.host.status().canContinue)
        m_inspector.host.run();
    else if (m_chat->hasDraft())
        m_chat->submit(SubmitMode::Run);
}

void MainWindow::stepPressed()
{
    const EngineStatus &status = m_inspector.host.status();
    if (status.canContinue && (status.state != EngineState::Idle || !m_chat->hasDraft()))
        m_inspector.host.step();
    else if (m_chat->hasDraft())
        m_chat->submit(SubmitMode::Paused);
}

void MainWindow::refreshActions()
{
    const EngineStatus &status = m_inspector.host.status();
    const bool model = status.model != nullptr;
    const bool working = status.state == EngineState::Running || status.state == EngineState::Prefilling;
    const bool loading = status.state == EngineState::Loading;
    const bool lost = status.state == EngineState::TraceOnly;
    m_run->setEnabled(model && !working && !loading && !lost);
    m_pause->setEnabled(status.state == EngineState::Running);
    m_step->setEnabled(model && !lost && status.state != EngineState::Prefilling && !loading);
    m_stop->setEnabled(working || status.state == EngineState::Paused);
    const bool measuring = status.state == EngineState::Measuring;
    const bool comparing = status.state == EngineState::Comparing;
    m_cancel->setEnabled(loading || measuring || comparing || status.state == EngineState::Prefilling);
    const StepRef selected = m_inspector.selection.current();
    m_branch->setEnabled(model && selected.isValid() && selected.run == status.run && !lost &&
                         status.state != EngineState::Prefilling && !loading && !measuring && !comparing);
    m_compare->setEnabled(model && selected.isValid() && !lost && !working && !loading && !measuring &&
                          !comparing);
    for (std::size_t i = 0; i < m_precisions.size(); ++i) {
        m_precisions[i]->setEnabled(model && !loading);
        m_precisions[i]->setChecked(model && std::size_t(status.session.precision) == i);
    }
    const bool talked = !m_inspector.conversation.entries().empty();
    m_regenerate->setEnabled(model && talked && !loading && !lost);
    m_editLast->setEnabled(m_inspector.conversation.canEditLast());
    m_newChat->setEnabled(model);
}

} // namespace tokenloupe
