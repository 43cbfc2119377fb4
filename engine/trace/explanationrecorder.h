// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplerchain.h"
#include "engine/sampling/stagemeter.h"
#include "engine/trace/stepexplanation.h"

#include <optional>
#include <span>
#include <vector>

namespace tokenloupe {

/// Fills the parts of a StepExplanation that come from watching the chain. The candidates to follow must be
/// in the explanation beforehand (id, rank and raw values), and rawLogSumExp; it outlives the recorder.
class ExplanationRecorder final : public ChainRecorder
{
public:
    ExplanationRecorder(StepExplanation &explanation, std::span<const TokenId> history);

    void begin(std::span<const float> logits) override;
    void afterStage(const StageSettings &stage, const CandidateSet &set, double microseconds) override;
    void beforeDraw(const CandidateSet &survivors, const SoftmaxWeights &weights) override;
    void drawn(const DrawResult &result) override;

private:
    struct Followed
    {
        TokenId id;
        std::uint32_t index = 0; ///< into the explanation's candidates
    };

    /// The tokens of the window before the penalties are looked at; completed afterwards.
    std::vector<ExplainedPenalty> penalisedTokens(const PenaltiesParams &params) const;
    void followCandidates(const CandidateSet &set, std::int32_t stageIndex);
    /// Calls visit(followed candidate, present logit) for those that are alive.
    template <class Visit>
    void forEachFollowed(const CandidateSet &set, Visit visit);

    StepExplanation &m_explanation;
    std::span<const TokenId> m_history;
    std::optional<StageMeter> m_meter;
    std::vector<Followed> m_followed; ///< by rising id
    std::size_t m_vocabulary = 0;
};

} // namespace tokenloupe
