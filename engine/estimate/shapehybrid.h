// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/shapefamily.h"
#include "engine/estimate/shapespec.h"
#include "engine/model/hf/jsonfields.h"

namespace tokenloupe {

/// Replaces the attention of those layers of `spec` that are recurrent in this family by what they are, and
/// states what they keep of a sequence. Errors stay in `fields`.
void placeRecurrent(JsonFields &fields, const ConfigFamily &family, ShapeSpec &spec);

} // namespace tokenloupe
