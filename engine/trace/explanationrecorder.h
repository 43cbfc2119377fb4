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
/// in the explanation beforehand (id, rank and raw values); it outlives the recorder.
class ExplanationRecorder final : public ChainRecorder
{
public:
    ExplanationRecorder(StepExplanation &explanation, std::span<const TokenId> history);

    void begin(std::span<const float> logits) override;
    void afterStage(const StageSettings &stage, const Candidates &candidates, double microseconds) override;
    void beforeDraw(const Candidates &candidates, std::span<const double> probabilities) override;
    void drawn(const DrawResult &result) override;

private:
    static constexpr std::int32_t notFollowed = -1;

    /// The tokens of the window before the penalties are looked at; completed afterwards.
    std::vector<ExplainedPenalty> penalisedTokens(const PenaltiesParams &params) const;
    void followCandidates(const Candidates &candidates, std::int32_t stageIndex);

    StepExplanation &m_explanation;
    std::span<const TokenId> m_history;
    std::optional<StageMeter> m_meter;
    std::vector<std::int32_t> m_slots; ///< by id: index into the explanation's candidates
};

} // namespace tokenloupe
