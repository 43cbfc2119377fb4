// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/window/inspector.h"
#include "widgets/theme/theme.h"

#include <QMainWindow>
#include <QSettings>
#include <functional>
#include <map>
#include <optional>
#include <vector>

class QLabel;
class QMenu;
class QToolBar;

namespace tokenloupe {

class ChatPanel;
class CommandPalette;
class EngineSettingsDialog;
class KvCachePanel;
class MessageBar;
struct Message;
class Panel;
class PanelDock;
class PrecisionPanel;
class Workspaces;
enum class Workspace;

/// The window: docks, actions, menus. What the panels show and what the engine does is theirs; this puts them
/// together.
class MainWindow : public QMainWindow
{
    Q_OBJECT

public:
    explicit MainWindow(DeviceSource devices = cpuAlone(), QWidget *parent = nullptr);
    ~MainWindow() override;

    Inspector &inspector() { return m_inspector; }
    void openModel(const QString &path);
    /// Applies the remembered layout; call after the window has its size and before it is shown.
    void restoreLayout();

protected:
    void closeEvent(QCloseEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void showEvent(QShowEvent *event) override;
    void dragEnterEvent(QDragEnterEvent *event) override;
    void dropEvent(QDropEvent *event) override;

private:
    PanelDock *addPanel(const char *name, Panel *panel);
    QAction *addNamedAction(QMenu *menu, const QString &text, const QKeySequence &shortcut = {},
                            const QString &icon = {}, const QString &paletteName = {});
    void createPanels();
    void createFileMenu();
    void createRunActions();
    void createSelectionActions(QMenu *menu);
    void createViewMenu();
    void createWorkspaceMenu(QMenu *menu);
    void createThemeMenu(QMenu *menu);
    void createColourMenu(QMenu *menu);
    void createDeviceMenu();
    void createPrecisionActions();
    void compareAtStep();
    void createToolBars();
    void createStatusBar();
    void connectEngine();
    void connectDevice();
    void noteChosenDevice(const SessionSettings &chosen);
    void rememberSession();
    void tellDevice();
    void tellModelFailed(const QString &path, const EngineFailure &failure);
    void tellNotConfigured(const EngineFailure &failure);
    void configureOn(const SessionSettings &chosen);

    void chooseModel();
    void chooseModelFolder();
    void fillRecentMenu();
    void refreshAttentionKinds();
    void showEngineSettings();
    void runPressed();
    void stepPressed();
    void refreshActions();
    void refreshStatusBar();
    void refreshTraceLabel();
    /// Actions of the message's buttons; none: it shows the engine's settings.
    void showMessage(const Message &message, const std::function<void()> &action = {},
                     const std::function<void()> &otherAction = {});

    QSettings m_settings;
    Inspector m_inspector;
    InspectorContext m_context;
    KvCachePanel *m_cache = nullptr;
    SessionSettings m_session;                     ///< for the next model that is opened
    std::optional<SessionSettings> m_chosenDevice; ///< the engine has not taken it yet
    ModelLoadOptions m_loadOptions;                ///< the same
    EngineSettingsDialog *m_engineSettings = nullptr;
    QString m_openPath; // of the model that is open

    std::map<QString, PanelDock *> m_docks;
    std::vector<QAction *> m_actions; // everything that the palette offers
    ChatPanel *m_chat = nullptr;
    PrecisionPanel *m_precision = nullptr;
    Workspaces *m_workspaces = nullptr;
    CommandPalette *m_palette = nullptr;
    MessageBar *m_message = nullptr;
    std::function<void()> m_messageAction;
    std::function<void()> m_otherMessageAction;
    QToolBar *m_messageRow = nullptr;
    QMenu *m_recentMenu = nullptr;
    QMenu *m_modelMenu = nullptr;
    QMenu *m_deviceMenu = nullptr;
    QLabel *m_engineLabel = nullptr;
    QLabel *m_traceLabel = nullptr;
    QAction *m_run = nullptr;
    QAction *m_pause = nullptr;
    QAction *m_step = nullptr;
    QAction *m_stop = nullptr;
    QAction *m_branch = nullptr;
    QAction *m_cancel = nullptr;
    QAction *m_compare = nullptr;
    std::vector<QAction *> m_precisions; // by Precision
    QAction *m_regenerate = nullptr;
    QAction *m_editLast = nullptr;
    QAction *m_newChat = nullptr;
    bool m_wasShown = false;
};

} // namespace tokenloupe
