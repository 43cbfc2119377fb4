// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <nlohmann/json_fwd.hpp>

namespace tokenloupe {

/// Runs sampling cases given as JSON:
///
///     {"cases": [{"id", "steps": [{"sampler": NAME, parameters…}], "input": {"logits" or "probs": […]},
///                 "history": [ids]}]}
///
/// through the stages of the chain, and answers
///
///     {"results": [{"id", "kept": [ids], "probs": {id: p}, "logits": […], "argmax",
///                   "stages": [{"name", "candidates", "mass"}]} or {"id", "error"}]}
///
/// Numbers that JSON has not are the strings "nan", "inf" and "-inf". Samplers: temperature, top_k, top_p,
/// min_p, penalties, logit_bias, repetition_penalty (every token of the history), softmax (leaves the logits
/// as they are). A case that cannot be run gets "error" and the others go on; BadFile when the document
/// itself has another form.
Result<nlohmann::json> runSampleCases(const nlohmann::json &document);

} // namespace tokenloupe
