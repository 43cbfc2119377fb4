// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvplan.h"
#include "engine/estimate/estimate.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tokenloupe {

/// What the cache holds, of the model itself and of a draft model.
KvShape kvShapeOf(const ModelShape &shape, const EstimateRequest &request);

/// Tokens that each further hypothesis of a beam search keeps for itself: whole blocks behind the prompt that
/// it shares, at least the one that it writes.
std::uint64_t ownBeamTokens(const EstimateRequest &request, std::uint64_t context);

/// planKv() of all sequences, and of what beams need on top. `microBatch`: tokens of one forward call.
Result<KvPlan> planEstimateKv(const KvShape &shape, const EstimateRequest &request, std::uint64_t context,
                              std::uint64_t batch, std::uint64_t microBatch);

/// The arithmetic in words, and the bytes by kind of layer.
std::string kvWords(const KvShape &shape, const KvPlan &plan, const EstimateRequest &request);
std::vector<std::pair<std::string, std::uint64_t>> kvByKind(const KvShape &shape, const KvPlan &plan);

} // namespace tokenloupe
