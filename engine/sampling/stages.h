// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/candidateset.h"
#include "engine/sampling/samplerchain.h"
#include "engine/sampling/samplersettings.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// The stages of a chain: candidates in, candidates out. None keeps anything between calls. The parameters
/// are expected to be active (StageSettings::isActive()); whatever their values, no NaN and no +inf comes
/// out.

/// The fewest candidates that a truncation leaves (as far as there were so many); at least 1.
struct KeepAtLeast
{
    std::size_t count = 1;
};

/// How often a token occurs in the window of the penalties.
struct TokenCount
{
    TokenId id;
    std::uint32_t count = 0;
};

/// The last `lastN` tokens of the history (-1: all of it).
std::span<const TokenId> penaltyWindow(std::span<const TokenId> history, std::int32_t lastN);
/// Distinct tokens by rising id; those outside the vocabulary are left out.
std::vector<TokenCount> countTokens(std::span<const TokenId> window, std::size_t vocabulary);

/// InvalidLogits when no token is left.
Status applyLogitBias(const LogitBiasParams &params, CandidateSet &set);
void applyPenalties(const PenaltiesParams &params, std::span<const TokenId> history, CandidateSet &set);
void applyTopK(const TopKParams &params, KeepAtLeast least, CandidateSet &set);
void applyTopP(const TopPParams &params, KeepAtLeast least, CandidateSet &set);
void applyMinP(const MinPParams &params, KeepAtLeast least, CandidateSet &set);
void applyTemperature(const TemperatureParams &params, CandidateSet &set);

/// The one that `stage` names, whether it is active or not.
Status applyStage(const StageSettings &stage, const SamplingContext &context, CandidateSet &set);

} // namespace tokenloupe
