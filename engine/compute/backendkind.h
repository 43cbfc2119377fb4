// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tokenloupe {

enum class BackendKind : std::uint8_t { Cpu, Cuda };
std::string_view backendKindName(BackendKind kind); ///< "cpu", "cuda"
std::optional<BackendKind> backendKindOf(std::string_view name);

} // namespace tokenloupe
