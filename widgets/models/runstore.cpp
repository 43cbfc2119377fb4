// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/runstore.h"

#include <algorithm>

namespace tokenloupe {

std::vector<TokenId> Run::historyBefore(StepIndex step) const
{
    std::vector<TokenId> history = start.prompt;
    const std::size_t count = std::min<std::size_t>(step.value(), steps.size());
    history.reserve(history.size() + count);
    for (std::size_t i = 0; i < count; ++i)
        history.push_back(steps[i].token);
    return history;
}

const Run *RunStore::run(RunId id) const
{
    const auto it = m_runs.find(id);
    return it == m_runs.end() ? nullptr : &it->second;
}

const StepRecord *RunStore::record(StepRef ref) const
{
    const Run *found = ref.isValid() ? run(ref.run) : nullptr;
    if (!found || ref.step.value() >= found->steps.size())
        return nullptr;
    return &found->steps[ref.step.value()];
}

Run RunStore::begun(const RunRecord &start) const
{
    Run begun{start, {}, std::nullopt};
    const Run *parent = start.parent.isValid() ? run(start.parent.run) : nullptr;
    if (!parent)
        return begun;
    const std::size_t count = std::min<std::size_t>(start.parent.step.value(), parent->steps.size());
    begun.steps.assign(parent->steps.begin(), parent->steps.begin() + std::ptrdiff_t(count));
    for (StepRecord &step : begun.steps)
        step.ref.run = start.run;
    // The prompt was read once, for both.
    begun.start.promptText = parent->start.promptText;
    begun.start.reusedTokens = parent->start.reusedTokens;
    begun.start.prefilledTokens = parent->start.prefilledTokens;
    begun.start.prefillMs = parent->start.prefillMs;
    begun.start.operations = parent->start.operations;
    begun.start.tokenizeMs = parent->start.tokenizeMs;
    return begun;
}

StepRef RunStore::newestStep() const
{
    const Run *newest = run(m_newest);
    if (!newest || newest->steps.empty())
        return {};
    return newest->steps.back().ref;
}

void RunStore::apply(const std::vector<TraceEvent> &events)
{
    // Steps of one run that follow each other are announced together.
    RunId appendedRun;
    int appendedFirst = 0;
    int appendedCount = 0;
    const auto flush = [&] {
        if (appendedCount > 0)
            Q_EMIT stepsAppended(appendedRun, appendedFirst, appendedCount);
        appendedCount = 0;
    };

    bool any = false;
    for (const TraceEvent &event : events) {
        if (const auto *start = std::get_if<RunRecord>(&event)) {
            flush();
            m_runs[start->run] = begun(*start);
            m_newest = start->run;
            any = true;
            Q_EMIT runStarted(start->run);
            if (const int inherited = static_cast<int>(m_runs[start->run].steps.size()); inherited > 0)
                Q_EMIT stepsAppended(start->run, 0, inherited);
        } else if (const auto *step = std::get_if<StepRecord>(&event)) {
            const auto it = m_runs.find(step->ref.run);
            if (it == m_runs.end() || step->ref.step.value() != it->second.steps.size())
                continue; // of a run that was cleared meanwhile
            if (appendedCount > 0 && appendedRun != step->ref.run)
                flush();
            if (appendedCount == 0) {
                appendedRun = step->ref.run;
                appendedFirst = static_cast<int>(step->ref.step.value());
            }
            it->second.steps.push_back(*step);
            it->second.end.reset();
            ++appendedCount;
            any = true;
        } else if (const auto *end = std::get_if<RunEnded>(&event)) {
            flush();
            if (const auto it = m_runs.find(end->run); it != m_runs.end()) {
                it->second.end = end->reason;
                any = true;
                Q_EMIT runEnded(end->run);
            }
        } else if (const auto *cut = std::get_if<RunTruncated>(&event)) {
            flush();
            const auto it = m_runs.find(cut->run);
            if (it != m_runs.end() && cut->from.value() < it->second.steps.size()) {
                it->second.steps.resize(cut->from.value());
                it->second.end.reset();
                any = true;
                Q_EMIT truncated(cut->run, static_cast<int>(cut->from.value()));
            }
        } else if (const auto *activated = std::get_if<RunActivated>(&event)) {
            flush();
            if (m_runs.count(activated->run) > 0 && m_newest != activated->run) {
                m_newest = activated->run;
                any = true;
                Q_EMIT runActivated(activated->run);
            }
        }
    }
    flush();
    if (any)
        Q_EMIT updated();
}

void RunStore::clear()
{
    m_runs.clear();
    m_newest = {};
    Q_EMIT cleared();
}

} // namespace tokenloupe
