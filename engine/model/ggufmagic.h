// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tokenloupe {

inline constexpr std::string_view ggufMagic = "GGUF";

/// What a file that is no GGUF seems to be, for a message ("a file of the old GGJT format, …"); nullptr when
/// nothing is recognised.
const char *foreignFormat(std::span<const std::byte> bytes);

} // namespace tokenloupe
