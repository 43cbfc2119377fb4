// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/trace/tracemailbox.h"

namespace tokenloupe::test {

/// Records of a run as the engine would post them, with numbers that follow from the step's index.
inline RunRecord runRecord(std::uint32_t run, std::vector<TokenId> prompt = {TokenId(1), TokenId(2)})
{
    RunRecord record;
    record.run = RunId(run);
    record.tag = run + 1;
    record.prompt = std::move(prompt);
    record.prefilledTokens = static_cast<std::uint32_t>(record.prompt.size());
    record.prefillMs = 5.0;
    return record;
}

inline StepRecord stepRecord(std::uint32_t run, std::uint32_t step, std::uint32_t token)
{
    StepRecord record;
    record.ref = {RunId(run), StepIndex(step)};
    record.token = TokenId(token);
    record.position = 2 + step;
    record.pRaw = 0.25;
    record.p = 0.5;
    record.entropyBits = 2.0;
    record.forwardMs = 10.0 + step % 3;
    record.sampleMs = 0.5;
    record.kvTokens = 2 + step;
    record.kvBlocks = record.kvTokens / 16 + 1;
    record.kvBytes = record.kvBlocks * 1024;
    record.settings = std::make_shared<SamplerSettings>();
    return record;
}

} // namespace tokenloupe::test
