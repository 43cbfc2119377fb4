// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace cudahost {

/// The name of a function of this program, from its symbol table; its address where that has none.
std::string kernelName(const void *function);

} // namespace cudahost
