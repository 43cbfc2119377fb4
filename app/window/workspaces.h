// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMainWindow>
#include <QObject>
#include <QRect>
#include <QTimer>
#include <map>

class QDockWidget;
class QSettings;

namespace tokenloupe {

enum class Workspace { Chat, Decode, Memory };

/// Whole arrangements of the docks. The user's own changes are kept per workspace; reset() goes back to the
/// built-in arrangement, which depends on the room there is.
class Workspaces : public QObject
{
    Q_OBJECT

public:
    Workspaces(QMainWindow &window, std::map<QString, QDockWidget *> docks, QObject *parent = nullptr);

    Workspace current() const { return m_current; }
    void switchTo(Workspace workspace);
    void reset(); ///< the built-in arrangement of the present workspace
    void save(QSettings &settings);
    void restore(const QSettings &settings); ///< call when the window has its size
    /// Side columns and the timeline keep their size when the window changes; the middle takes the
    /// difference.
    void windowResized();
    void windowShown(); ///< for the first time

    static QString name(Workspace workspace);

Q_SIGNALS:
    void changed(tokenloupe::Workspace workspace);
    void settled(); ///< docks have come to rest after a change

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void settle();                     ///< remembers where the docks are, once nothing moves any more
    void arrange(Workspace workspace); ///< the built-in arrangement
    /// Docks that the arrangement does without get a place too, hidden: the View menu shows them there, not
    /// loose over the others.
    void keepPlaces();
    void applySizes(); ///< of the built-in arrangement
    void resize(std::initializer_list<const char *> names, const QList<int> &sizes,
                Qt::Orientation direction);
    void atBottom(const char *name);
    QDockWidget *dock(const char *name) const { return m_docks.at(QString::fromLatin1(name)); }
    void place(std::initializer_list<const char *> columns);
    void below(const char *upper, const char *lower);
    void tab(const char *front, std::initializer_list<const char *> behind);

    QMainWindow &m_window;
    std::map<QString, QDockWidget *> m_docks;
    std::map<Workspace, QByteArray> m_states;
    Workspace m_current = Workspace::Decode;
    bool m_isRoomy = true;    ///< the arrangement was made for a wide window
    bool m_isBuiltIn = false; ///< nothing was restored over it
    std::map<QDockWidget *, QRect> m_settled;
    QSize m_settledWindow;
    QTimer m_settleTimer;
};

} // namespace tokenloupe
