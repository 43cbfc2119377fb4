// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/cli/terminal.h"
#include "engine/base/utf8.h"
#include "engine/session/session.h"
#include "engine/trace/stepexplanation.h"

#include <cstdint>
#include <optional>

namespace tokenloupe::cli {

struct ReportOptions
{
    Format format = Format::Text;
    std::uint32_t top = 0; ///< most likely tokens of each step to tell of
    bool stages = false;   ///< and what each stage did
};

/// Tells of a run as it happens: events as JSON lines, or the text as it grows (with --top or --stages: a
/// table for every token) and a summary on standard error.
class RunReport
{
public:
    RunReport(Terminal &terminal, const Session &session, ReportOptions options);

    void prompt(const RunRecord &run);
    /// Right after the session's step: the logits are still there.
    Status token(const StepRecord &step);
    void end(EndReason reason);

private:
    Json tokenJson(const StepRecord &step, const std::string &text, const std::string &hex,
                   const std::optional<StepExplanation> &explanation) const;
    std::string tokenTable(const StepRecord &step, const std::optional<StepExplanation> &explanation) const;
    std::string summary(EndReason reason) const;

    Terminal &m_terminal;
    const Session &m_session;
    ReportOptions m_options;
    Utf8Stream m_stream;
    std::string m_text;
    std::uint32_t m_tokens = 0;
    std::uint32_t m_promptTokens = 0;
    std::uint32_t m_reused = 0;
    std::uint64_t m_seed = 0;
    std::uint32_t m_droppedTokens = 0;
    std::uint32_t m_droppedTurns = 0;
    /// Multiply-adds by formula: of the passes that ran, of one token a step, and of every step anew.
    struct
    {
        double done = 0.0;
        double kept = 0.0;
        double anew = 0.0;
    } m_work;
    double m_prefillMs = 0.0;
    double m_firstMs = 0.0; ///< prefill and the first draw
    double m_laterMs = 0.0; ///< all steps after the first
};

} // namespace tokenloupe::cli
