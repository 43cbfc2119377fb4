// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/modelshape.h"

#include <memory>
#include <span>

namespace tokenloupe {

/// The shape of a model whose header is spread over several files, in order; the first one holds the keys.
Result<ModelShape> shapeOfGgufParts(std::span<const std::shared_ptr<const GgufFile>> parts);

} // namespace tokenloupe
