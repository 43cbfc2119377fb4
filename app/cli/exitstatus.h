// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tokenloupe::cli {

/// How the program ends; part of its interface.
enum class ExitStatus {
    Done = 0,
    Failed = 1, ///< the input or the machine stands against it
    Usage = 2,  ///< wrong options
    Cancelled = 130,
};

} // namespace tokenloupe::cli
