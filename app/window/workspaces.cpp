// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/workspaces.h"

#include "widgets/theme/theme.h"

#include <QDockWidget>
#include <QEvent>
#include <QSettings>

namespace tokenloupe {

namespace {

/// Changes when docks are added or renamed, so that an older saved arrangement is not applied to them.
constexpr int stateVersion = 3;
/// From this width on there is room for the penalties below the chain.
constexpr int roomyWidth = 1440;

const Workspace allWorkspaces[] = {Workspace::Chat, Workspace::Decode, Workspace::Memory};

} // namespace

Workspaces::Workspaces(QMainWindow &window, std::map<QString, QDockWidget *> docks, QObject *parent)
    : QObject(parent)
    , m_window(window)
    , m_docks(std::move(docks))
{
    m_settleTimer.setSingleShot(true);
    m_settleTimer.setInterval(100);
    connect(&m_settleTimer, &QTimer::timeout, this, &Workspaces::settle);
    for (const auto &[name, widget] : m_docks)
        widget->installEventFilter(this);
}

QString Workspaces::name(Workspace workspace)
{
    switch (workspace) {
    case Workspace::Chat:
        return QStringLiteral("chat");
    case Workspace::Decode:
        return QStringLiteral("decode");
    case Workspace::Memory:
        return QStringLiteral("memory");
    }
    return {};
}

void Workspaces::switchTo(Workspace workspace)
{
    m_states[m_current] = m_window.saveState(stateVersion);
    m_current = workspace;
    const auto it = m_states.find(workspace);
    m_isBuiltIn = false;
    if (it == m_states.end() || !m_window.restoreState(it->second, stateVersion))
        arrange(workspace);
    m_settleTimer.start();
    Q_EMIT changed(workspace);
}

void Workspaces::reset()
{
    m_states.erase(m_current);
    arrange(m_current);
    m_settleTimer.start();
}

void Workspaces::save(QSettings &settings)
{
    m_states[m_current] = m_window.saveState(stateVersion);
    settings.setValue(QStringLiteral("workspace"), name(m_current));
    for (const auto &[workspace, state] : m_states)
        settings.setValue(QString(QStringLiteral("layout/") + name(workspace)), state);
}

void Workspaces::restore(const QSettings &settings)
{
    for (const Workspace workspace : allWorkspaces) {
        const QByteArray state =
            settings.value(QString(QStringLiteral("layout/") + name(workspace))).toByteArray();
        if (!state.isEmpty())
            m_states[workspace] = state;
        if (settings.value(QStringLiteral("workspace")).toString() == name(workspace))
            m_current = workspace;
    }
    const auto it = m_states.find(m_current);
    if (it == m_states.end() || !m_window.restoreState(it->second, stateVersion))
        arrange(m_current);
    m_settleTimer.start();
    Q_EMIT changed(m_current);
}

void Workspaces::place(std::initializer_list<const char *> columns)
{
    QDockWidget *left = nullptr;
    for (const char *name : columns) {
        QDockWidget *next = dock(name);
        if (left)
            m_window.splitDockWidget(left, next, Qt::Horizontal);
        else
            m_window.addDockWidget(Qt::TopDockWidgetArea, next);
        next->show();
        left = next;
    }
}

void Workspaces::below(const char *upper, const char *lower)
{
    m_window.splitDockWidget(dock(upper), dock(lower), Qt::Vertical);
    dock(lower)->show();
}

void Workspaces::atBottom(const char *name)
{
    m_window.addDockWidget(Qt::BottomDockWidgetArea, dock(name));
    dock(name)->show();
}

void Workspaces::tab(const char *front, std::initializer_list<const char *> behind)
{
    for (const char *name : behind) {
        m_window.tabifyDockWidget(dock(front), dock(name));
        dock(name)->show();
    }
    dock(front)->raise();
}

void Workspaces::arrange(Workspace workspace)
{
    for (const auto &[name, widget] : m_docks) {
        widget->setFloating(false);
        m_window.removeDockWidget(widget);
    }
    const bool isRoomy = m_window.width() >= Theme::instance().scaled(roomyWidth);
    switch (workspace) {
    case Workspace::Chat:
        place({"chat", "distribution"});
        below("distribution", "chain");
        tab("chat", {"prompt"});
        tab("distribution", {"vocabulary", "tokens", "precision"});
        tab("chain", {"penalties"});
        break;
    case Workspace::Decode:
        place({"chain", "chat", "kvcache"});
        atBottom("timeline");
        below("chat", "distribution");
        below("kvcache", "memory");
        below("memory", "cumulative");
        if (isRoomy)
            below("chain", "penalties");
        else
            tab("chain", {"penalties"});
        tab("chat", {"prompt"});
        tab("distribution", {"vocabulary", "tokens", "precision"});
        break;
    case Workspace::Memory:
        place({"estimator", "kvcache"});
        below("kvcache", "memory");
        tab("estimator", {"chat", "prompt"});
        break;
    }
    keepPlaces();
    m_isRoomy = isRoomy;
    m_isBuiltIn = true;
    applySizes();
}

void Workspaces::keepPlaces()
{
    for (const auto &[name, widget] : m_docks) {
        if (m_window.dockWidgetArea(widget) != Qt::NoDockWidgetArea)
            continue;
        if (widget == dock("timeline"))
            m_window.addDockWidget(Qt::BottomDockWidgetArea, widget);
        else
            m_window.tabifyDockWidget(dock("chat"), widget);
        widget->hide();
    }
    dock(m_current == Workspace::Memory ? "estimator" : "chat")->raise();
}

void Workspaces::applySizes()
{
    const Theme &theme = Theme::instance();
    const int width = m_window.width();
    const auto horizontal = [&](std::initializer_list<const char *> names, const QList<int> &sizes) {
        resize(names, sizes, Qt::Horizontal);
    };
    const auto vertical = [&](std::initializer_list<const char *> names, const QList<int> &sizes) {
        resize(names, sizes, Qt::Vertical);
    };
    const int timeline = theme.scaled(m_isRoomy ? 152 : 124);
    // What the menu, the tool bar and the status bar leave.
    const int height = m_window.height() - theme.scaled(100) - timeline;
    switch (m_current) {
    case Workspace::Chat: {
        const int right = std::min(theme.scaled(520), width * 2 / 5);
        horizontal({"chat", "distribution"}, {width - right, right});
        vertical({"distribution", "chain"}, {m_window.height() / 2, m_window.height() / 2});
        break;
    }
    case Workspace::Decode: {
        const int left = theme.scaled(m_isRoomy ? 304 : 248);
        const int right = theme.scaled(m_isRoomy ? 388 : 320);
        horizontal({"chain", "chat", "kvcache"}, {left, width - left - right, right});
        vertical({"chat", "timeline"}, {height, timeline});
        vertical({"chat", "distribution"}, {height / 2, height / 2});
        vertical({"kvcache", "memory", "cumulative"},
                 {height * 40 / 100, height * 24 / 100, height * 36 / 100});
        if (m_isRoomy)
            vertical({"chain", "penalties"}, {height * 62 / 100, height * 38 / 100});
        break;
    }
    case Workspace::Memory:
        horizontal({"estimator", "kvcache"}, {width * 57 / 100, width * 43 / 100});
        vertical({"kvcache", "memory"}, {(height + timeline) * 72 / 100, (height + timeline) * 28 / 100});
        break;
    }
}

void Workspaces::resize(std::initializer_list<const char *> names, const QList<int> &sizes,
                        Qt::Orientation direction)
{
    QList<QDockWidget *> docks;
    for (const char *name : names)
        docks << dock(name);
    m_window.resizeDocks(docks, sizes, direction);
}

void Workspaces::windowShown()
{
    // Sizes that were set before the window had its place count for little: once more.
    if (m_isBuiltIn)
        applySizes();
    m_settleTimer.start();
}

void Workspaces::settle()
{
    m_settledWindow = m_window.size();
    m_settled.clear();
    Q_EMIT settled();
    for (const auto &[name, widget] : m_docks) {
        if (!widget->isFloating() && widget->isVisible() && !widget->visibleRegion().isEmpty())
            m_settled[widget] = widget->geometry();
    }
}

void Workspaces::windowResized()
{
    QList<QDockWidget *> columns, rows;
    QList<int> widths, heights;
    const int slack = Theme::instance().scaled(24);
    const int growth = m_window.width() - m_settledWindow.width();
    for (const auto &[widget, rect] : m_settled) {
        if (widget->isFloating() || !widget->isVisible())
            continue;
        const bool wide = rect.width() > m_settledWindow.width() / 2;
        const bool atEdge = rect.left() < slack || rect.right() > m_settledWindow.width() - slack;
        if (wide && m_window.dockWidgetArea(widget) == Qt::BottomDockWidgetArea) {
            rows << widget;
            heights << rect.height();
        } else {
            // All columns are told their width: what is left open would be shared out, the sides with it.
            columns << widget;
            widths << rect.width() + (!wide && atEdge ? 0 : growth);
        }
    }
    if (!columns.isEmpty())
        m_window.resizeDocks(columns, widths, Qt::Horizontal);
    if (!rows.isEmpty())
        m_window.resizeDocks(rows, heights, Qt::Vertical);
    m_settleTimer.start();
}

bool Workspaces::eventFilter(QObject *watched, QEvent *event)
{
    // A dock that was resized without the window: the user moved a splitter, or the arrangement changed.
    if (event->type() == QEvent::Resize && m_window.size() == m_settledWindow)
        m_settleTimer.start();
    return QObject::eventFilter(watched, event);
}

} // namespace tokenloupe
