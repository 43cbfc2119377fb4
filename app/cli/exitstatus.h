// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tokenloupe::cli {

/// How the program ends; part of its interface.
enum class ExitStatus {
    Done = 0,
    Failed = 1,     ///< the input or the machine stands against it
    Usage = 2,      ///< wrong options
    DoesNotFit = 3, ///< estimate: what was asked for needs more than there is
    Cancelled = 130,
};

} // namespace tokenloupe::cli
