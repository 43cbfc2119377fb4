// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/trace/explanationrecorder.h"

#include "engine/sampling/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokenloupe {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::size_t longestFinalList = 4096;
constexpr std::int32_t survived = -1; // of ExplainedCandidate::removedBy

} // namespace

ExplanationRecorder::ExplanationRecorder(StepExplanation &explanation, std::span<const TokenId> history)
    : m_explanation(explanation)
    , m_history(history)
{}

void ExplanationRecorder::begin(std::span<const float> logits)
{
    m_meter.emplace(logits);
    m_slots.assign(logits.size(), notFollowed);
    for (std::size_t i = 0; i < m_explanation.candidates.size(); ++i)
        m_slots[m_explanation.candidates[i].id.value()] = static_cast<std::int32_t>(i);
}

std::vector<ExplainedPenalty> ExplanationRecorder::penalisedTokens(const PenaltiesParams &params) const
{
    std::vector<ExplainedPenalty> rows;
    const auto window = penaltyWindow(m_history, params.lastN);
    for (const TokenCount &entry : countTokens(window, m_slots.size())) {
        if (m_meter->logit(entry.id) == minusInfinity)
            continue; // removed before
        ExplainedPenalty row;
        row.id = entry.id;
        row.count = entry.count;
        row.logitBefore = m_meter->logit(entry.id);
        row.pBefore = m_meter->probability(entry.id);
        rows.push_back(row);
    }
    return rows;
}

void ExplanationRecorder::afterStage(const StageSettings &stage, const Candidates &candidates,
                                     double microseconds)
{
    const auto *penalties = std::get_if<PenaltiesParams>(&stage.params);
    std::vector<ExplainedPenalty> rows;
    if (penalties)
        rows = penalisedTokens(*penalties);

    const StageMeasure measure = m_meter->measure(candidates);
    const auto stageIndex = static_cast<std::int32_t>(m_explanation.stages.size());
    ExplainedStage explained;
    explained.settings = stage;
    explained.name = stageName(stage.kind());
    explained.label = stageLabel(stage);
    explained.candidates = measure.candidates;
    explained.mass = measure.mass;
    explained.entropyBits = measure.entropyBits;
    explained.microseconds = microseconds;
    m_explanation.stages.push_back(std::move(explained));
    followCandidates(candidates, stageIndex);

    if (!penalties)
        return;
    for (ExplainedPenalty &row : rows) {
        row.logitAfter = m_meter->logit(row.id);
        row.pAfter = m_meter->probability(row.id);
    }
    const auto change = [](const ExplainedPenalty &row) {
        return std::abs(static_cast<double>(row.logitAfter) - static_cast<double>(row.logitBefore));
    };
    std::stable_sort(
        rows.begin(), rows.end(),
        [change](const ExplainedPenalty &a, const ExplainedPenalty &b) { return change(a) > change(b); });
    m_explanation.penalties = std::move(rows);
    m_explanation.penaltyWindow =
        static_cast<std::int32_t>(penaltyWindow(m_history, penalties->lastN).size());
}

void ExplanationRecorder::followCandidates(const Candidates &candidates, std::int32_t stageIndex)
{
    for (ExplainedCandidate &followed : m_explanation.candidates) {
        followed.logitStage.push_back(minusInfinity);
        followed.pStage.push_back(0.0);
        if (followed.removedBy == survived)
            followed.removedBy = stageIndex; // until it is met below
    }
    for (const Candidate &item : candidates.items) {
        const std::int32_t slot = m_slots[item.id.value()];
        if (slot == notFollowed)
            continue;
        ExplainedCandidate &followed = m_explanation.candidates[static_cast<std::size_t>(slot)];
        followed.logitStage.back() = item.logit;
        followed.pStage.back() = m_meter->sums().probabilityOf(item.logit);
        followed.removedBy = survived;
    }
}

void ExplanationRecorder::beforeDraw(const Candidates &candidates, std::span<const double> probabilities)
{
    const std::size_t listed = std::min(candidates.items.size(), longestFinalList);
    m_explanation.finalIds.reserve(listed);
    m_explanation.finalCumulative.reserve(listed);
    double running = 0.0;
    for (std::size_t i = 0; i < candidates.items.size(); ++i) {
        const TokenId id = candidates.items[i].id;
        running += probabilities[i];
        if (i < listed) {
            m_explanation.finalIds.push_back(id);
            m_explanation.finalCumulative.push_back(std::min(running, 1.0));
        }
        if (const std::int32_t slot = m_slots[id.value()]; slot != notFollowed)
            m_explanation.candidates[static_cast<std::size_t>(slot)].p = probabilities[i];
    }
    if (listed == candidates.items.size())
        m_explanation.finalCumulative.back() = 1.0; // but for rounding
}

void ExplanationRecorder::drawn(const DrawResult &result)
{
    m_explanation.draw = result;
}

} // namespace tokenloupe
