// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/selectionstate.h"

#include "widgets/models/runstore.h"

namespace tokenloupe {

SelectionState::SelectionState(RunStore &store, QObject *parent)
    : QObject(parent)
    , m_store(store)
{
    connect(&store, &RunStore::updated, this, &SelectionState::storeChanged);
    connect(&store, &RunStore::cleared, this, &SelectionState::storeChanged);
}

void SelectionState::select(StepRef step)
{
    if (!m_store.record(step))
        return;
    const bool live = step == m_store.newestStep();
    if (step == m_current && live == m_live)
        return;
    m_current = step;
    m_live = live;
    Q_EMIT changed(m_current);
}

void SelectionState::selectPrevious()
{
    if (!m_current.isValid())
        return;
    if (m_current.step.value() > 0) {
        select({m_current.run, StepIndex(m_current.step.value() - 1)});
        return;
    }
    // The first step of a run: on to the last step of the run before, if there is one with steps.
    const auto &runs = m_store.runs();
    for (auto it = std::make_reverse_iterator(runs.find(m_current.run)); it != runs.rend(); ++it) {
        if (!it->second.steps.empty()) {
            select(it->second.steps.back().ref);
            return;
        }
    }
}

void SelectionState::selectNext()
{
    if (!m_current.isValid())
        return;
    const StepRef following{m_current.run, m_current.step.next()};
    if (m_store.record(following)) {
        select(following);
        return;
    }
    for (auto it = m_store.runs().upper_bound(m_current.run); it != m_store.runs().end(); ++it) {
        if (!it->second.steps.empty()) {
            select(it->second.steps.front().ref);
            return;
        }
    }
    followLive();
}

void SelectionState::followLive()
{
    const StepRef newest = m_store.newestStep();
    if (m_live && m_current == newest)
        return;
    m_live = true;
    m_current = newest;
    Q_EMIT changed(m_current);
}

void SelectionState::storeChanged()
{
    // A selected step that was rewound away, or the live selection: both go to the newest step.
    if (m_live || !m_store.record(m_current)) {
        const StepRef newest = m_store.newestStep();
        m_live = true;
        // The same reference can hold another token after a rewind, so equality alone does not mean
        // unchanged.
        m_current = newest;
        Q_EMIT changed(m_current);
    }
}

} // namespace tokenloupe
