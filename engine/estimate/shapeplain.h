// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/shapespec.h"
#include "engine/model/hf/jsonfields.h"

namespace tokenloupe {

/// A shape in the estimator's own spelling ("layers", "hidden", …). Errors stay in `fields`.
ShapeSpec specOfPlainShape(JsonFields &fields);

/// A Hugging Face config ("model_type", "num_hidden_layers", …). Errors stay in `fields`; a family that is
/// not known is Unsupported and named.
ShapeSpec specOfConfig(JsonFields &fields);

} // namespace tokenloupe
