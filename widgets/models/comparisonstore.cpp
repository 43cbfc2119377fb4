// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/comparisonstore.h"

#include "widgets/models/runstore.h"

#include <algorithm>

namespace tokenloupe {

ComparisonStore::ComparisonStore(EngineHost &host, RunStore &runs, QObject *parent)
    : QObject(parent)
    , m_runs(runs)
{
    connect(&host, &EngineHost::precisionsCompared, this, &ComparisonStore::add);
    connect(&runs, &RunStore::runStarted, this, &ComparisonStore::beginBranch);
    connect(&runs, &RunStore::truncated, this, &ComparisonStore::truncate);
    connect(&runs, &RunStore::cleared, this, [this] {
        m_positions.clear();
        Q_EMIT changed();
    });
}

std::uint32_t ComparisonStore::textLength(const Run &run)
{
    return static_cast<std::uint32_t>(run.start.prompt.size() + run.steps.size());
}

std::uint32_t ComparisonStore::positionOf(const Run &run, StepIndex step)
{
    return static_cast<std::uint32_t>(run.start.prompt.size()) + step.value() - 1;
}

StepIndex ComparisonStore::stepAt(const Run &run, std::uint32_t position)
{
    const auto prompt = static_cast<std::uint32_t>(run.start.prompt.size());
    if (position + 1 < prompt || position + 1 - prompt >= run.steps.size())
        return {};
    return StepIndex(position + 1 - prompt);
}

ComparisonStore::Position ComparisonStore::position(RunId run, std::uint32_t position) const
{
    const auto found = m_positions.find(run);
    return found != m_positions.end() && position < found->second.size() ? found->second[position] : nullptr;
}

std::vector<ComparisonStore::Position> ComparisonStore::positions(const Run &run) const
{
    std::vector<Position> list;
    if (const auto found = m_positions.find(run.start.run); found != m_positions.end())
        list = found->second;
    list.resize(textLength(run));
    return list;
}

void ComparisonStore::add(const ComparedText &part)
{
    const Run *run = m_runs.run(part.run);
    const std::size_t end = part.first + part.positions.size();
    if (!run || end > textLength(*run))
        return;
    // The text may have been cut while it was computed.
    const std::vector<TokenId> history =
        run->historyBefore(StepIndex(static_cast<std::uint32_t>(run->steps.size())));
    if (!std::equal(part.tokens->begin(), part.tokens->begin() + std::ptrdiff_t(end), history.begin()))
        return;
    std::vector<Position> &positions = m_positions[part.run];
    positions.resize(std::max(positions.size(), end));
    std::copy(part.positions.begin(), part.positions.end(), positions.begin() + part.first);
    Q_EMIT changed();
}

void ComparisonStore::beginBranch(RunId id)
{
    const Run *run = m_runs.run(id);
    const auto parent = run ? m_positions.find(run->start.parent.run) : m_positions.end();
    if (parent == m_positions.end())
        return;
    std::vector<Position> shared = parent->second;
    // The parting step itself was drawn from the same text.
    const std::size_t count = run->start.prompt.size() + run->start.parent.step.value();
    shared.resize(std::min(shared.size(), count));
    m_positions[id] = std::move(shared);
    Q_EMIT changed();
}

void ComparisonStore::truncate(RunId id, int from)
{
    const Run *run = m_runs.run(id);
    const auto found = m_positions.find(id);
    if (!run || found == m_positions.end())
        return;
    const std::size_t count = run->start.prompt.size() + static_cast<std::size_t>(from);
    if (found->second.size() <= count)
        return;
    found->second.resize(count);
    Q_EMIT changed();
}

} // namespace tokenloupe
