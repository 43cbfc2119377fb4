// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/estimate/shapefamily.h"
#include "engine/model/hf/jsonfields.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tokenloupe {

/// Positions that each layer of a config sees, 0: all.
std::vector<std::uint64_t> windowsOfConfig(JsonFields &fields, const ConfigFamily &family,
                                           std::uint64_t layers);

/// In a GGUF of this architecture that states a window and no pattern: all layers but every n-th see only the
/// window. 0: all of them do.
std::uint64_t windowEveryOf(std::string_view architecture);

} // namespace tokenloupe
