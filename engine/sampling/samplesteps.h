// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/candidateset.h"

#include <nlohmann/json_fwd.hpp>
#include <span>

namespace tokenloupe {

/// One step of a sampling case, {"sampler": NAME, parameters…}, applied to the candidates. InvalidArgument
/// for an unknown sampler, a parameter that it has not, a missing one or a value out of range; the set is
/// then as before.
Status applySampleStep(const nlohmann::json &step, std::span<const TokenId> history, CandidateSet &set);

} // namespace tokenloupe
