// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvshape.h"
#include "engine/model/model.h"

#include <cstdint>

namespace tokenloupe {

/// Bytes of weights, as they are stored, that the forward pass of one token reads: all but the rows of the
/// embedding table that it does not look up (unless the head is that table), and of experts those it takes.
std::uint64_t weightBytesRead(const Model &model);

/// Bytes of keys and values that attention reads for one token which sees `positions` of them, itself
/// included; layers with a window read no more than that.
std::uint64_t kvBytesRead(const KvShape &shape, std::uint64_t positions);

} // namespace tokenloupe
