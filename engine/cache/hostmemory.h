// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string_view>

namespace tokenloupe {

/// Memory that this machine has, or 0 when the system does not say.
std::uint64_t hostMemoryBytes();

/// Memory that can be had now without pushing others out, or 0 when the system does not say.
std::uint64_t availableMemoryBytes();

/// The error for memory that was wanted and is not to be had; names both sizes.
tl::unexpected<Error> outOfHostMemory(std::string_view what, std::uint64_t bytes);

/// Whether asking for that much makes sense at all: systems that over-commit grant any size and kill the
/// program later, when the pages are touched.
bool exceedsHostMemory(std::uint64_t bytes);

} // namespace tokenloupe
