// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"

#include <QObject>

namespace tokenloupe {

class RunStore;

/// The only owner of "which step is looked at". Live: the newest step of the newest run, moving on with it.
class SelectionState : public QObject
{
    Q_OBJECT

public:
    explicit SelectionState(RunStore &store, QObject *parent = nullptr);

    StepRef current() const { return m_current; } ///< invalid: there is no step yet
    bool isLive() const { return m_live; }

    void select(StepRef step); ///< ignored when the step does not exist
    void selectPrevious();     ///< Left: one step back (from live: the one before the newest)
    void selectNext();         ///< Right: one on; at the newest step it goes live
    void followLive();         ///< End

Q_SIGNALS:
    void changed(tokenloupe::StepRef step); ///< also when live moves on; at most once per tick

private:
    void storeChanged();
    RunStore &m_store;
    StepRef m_current;
    bool m_live = true;
};

} // namespace tokenloupe
