// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenloupe {

/// Reads `bytes` (a multiple of 1024) from front to back as fast as one thread can, with the widest loads of
/// this machine and the lines ahead asked for early; returns something of all of them, so that no read is
/// left out. The bytes are read as float32.
float readAll(const std::byte *data, std::int64_t bytes);

} // namespace tokenloupe
