// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <chrono>
#include <functional>

namespace tokenloupe {

/// Shows what is new, but not every time that something is: whatever happens in one turn of the event loop is
/// shown once, and while a run keeps all cores busy there is a rest between two times, because every picture
/// drawn then costs tokens. What came last is always shown.
class RefreshPace : public QObject
{
    Q_OBJECT

public:
    RefreshPace(std::function<void()> refresh, QObject *parent);

    void schedule();
    void cancel(); ///< what was scheduled
    /// Somebody refreshed by other means: the rest begins now.
    void refreshed();

    /// Least time between two refreshes, of everything in the program. 0: none.
    static void setRest(std::chrono::milliseconds rest);
    /// For setRest() while tokens come: ten pictures a second are more than numbers can be read.
    static constexpr std::chrono::milliseconds runningRest{100};

private:
    std::function<void()> m_refresh;
    QTimer m_timer;
    QElapsedTimer m_sinceLast;
};

} // namespace tokenloupe
