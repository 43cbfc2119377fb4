// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/workerpool.h"
#include "engine/model/model.h"

#include <span>

namespace tokenloupe {

/// Writes the device's form of a whole matrix, each thread a part of its rows. `image` has
/// deviceWeightBytes() of it.
void writeMatrixImage(const Weight &weight, std::span<std::byte> image, WorkerPool &pool);
/// Its values as float32; `image` has room for one row.
void writeVectorImage(const Weight &weight, std::span<std::byte> image);

} // namespace tokenloupe
