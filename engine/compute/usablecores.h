// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <optional>

namespace tokenloupe {

/// Cores that a control group grants this process (quota divided by period), the least along the path from
/// the process's group to the root; nothing when there is no limit. `membership` is a file like
/// /proc/self/cgroup, `root` where the groups are mounted. Version 2 and the cpu controller of version 1.
std::optional<double> cgroupCores(const std::filesystem::path &membership, const std::filesystem::path &root);

/// Threads that are of use: the cores that this process may run on, within its control group's quota.
int usableCores();

} // namespace tokenloupe
