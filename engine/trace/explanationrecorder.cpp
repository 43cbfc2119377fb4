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
    const auto &candidates = m_explanation.candidates;
    const bool isKnown = !candidates.empty() && candidates.front().rank == 0;
    const float maximum = isKnown ? candidates.front().logit : scanLogits(logits).maximum;
    m_meter.emplace(
        logits, SoftmaxWeights{maximum, std::exp(m_explanation.rawLogSumExp - static_cast<double>(maximum))});
    m_vocabulary = logits.size();
    m_followed.clear();
    for (const ExplainedCandidate &candidate : m_explanation.candidates)
        m_followed.push_back({candidate.id, static_cast<std::uint32_t>(m_followed.size())});
    std::sort(m_followed.begin(), m_followed.end(),
              [](const Followed &a, const Followed &b) { return a.id < b.id; });
}

std::vector<ExplainedPenalty> ExplanationRecorder::penalisedTokens(const PenaltiesParams &params) const
{
    std::vector<ExplainedPenalty> rows;
    const auto window = penaltyWindow(m_history, params.lastN);
    for (const TokenCount &entry : countTokens(window, m_vocabulary)) {
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

void ExplanationRecorder::afterStage(const StageSettings &stage, const CandidateSet &set, double microseconds)
{
    const auto *penalties = std::get_if<PenaltiesParams>(&stage.params);
    std::vector<ExplainedPenalty> rows;
    if (penalties)
        rows = penalisedTokens(*penalties);

    const StageMeasure measure = m_meter->measure(set);
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
    followCandidates(set, stageIndex);

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

template <class Visit>
void ExplanationRecorder::forEachFollowed(const CandidateSet &set, Visit visit)
{
    const std::span<const Candidate> sorted = set.descending();
    if (sorted.empty()) {
        for (const Followed &entry : m_followed) {
            if (const auto logit = set.logitOf(entry.id))
                visit(m_explanation.candidates[entry.index], *logit);
        }
        return;
    }
    for (const Candidate &item : sorted) {
        const auto entry = std::lower_bound(m_followed.begin(), m_followed.end(), item.id,
                                            [](const Followed &a, TokenId id) { return a.id < id; });
        if (entry != m_followed.end() && entry->id == item.id)
            visit(m_explanation.candidates[entry->index], item.logit);
    }
}

void ExplanationRecorder::followCandidates(const CandidateSet &set, std::int32_t stageIndex)
{
    for (ExplainedCandidate &followed : m_explanation.candidates) {
        followed.logitStage.push_back(minusInfinity);
        followed.pStage.push_back(0.0);
        if (followed.removedBy == survived)
            followed.removedBy = stageIndex; // until it is met below
    }
    forEachFollowed(set, [this](ExplainedCandidate &followed, float logit) {
        followed.logitStage.back() = logit;
        followed.pStage.back() = m_meter->weights().probabilityOf(logit);
        followed.removedBy = survived;
    });
}

void ExplanationRecorder::beforeDraw(const CandidateSet &survivors, const SoftmaxWeights &weights)
{
    const std::vector<Candidate> listed = survivors.top(longestFinalList);
    m_explanation.finalIds.reserve(listed.size());
    m_explanation.finalCumulative.reserve(listed.size());
    double running = 0.0;
    for (const Candidate &candidate : listed) {
        running += weights.probabilityOf(candidate.logit);
        m_explanation.finalIds.push_back(candidate.id);
        m_explanation.finalCumulative.push_back(std::min(running, 1.0));
    }
    if (listed.size() == survivors.size())
        m_explanation.finalCumulative.back() = 1.0; // but for rounding
    forEachFollowed(survivors, [&weights](ExplainedCandidate &followed, float logit) {
        followed.p = weights.probabilityOf(logit);
    });
}

void ExplanationRecorder::drawn(const DrawResult &result)
{
    m_explanation.draw = result;
}

} // namespace tokenloupe
