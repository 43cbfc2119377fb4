// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/usablecores.h"

#include "engine/compute/workerpool.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sched.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tokenloupe {

namespace {

namespace fs = std::filesystem;

std::optional<double> numberOf(std::string_view text)
{
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data())
        return std::nullopt;
    return number;
}

std::string firstWord(std::ifstream &file)
{
    std::string word;
    file >> word;
    return word;
}

/// quota / period, where both are numbers and the quota is a limit ("max" and -1 are not).
std::optional<double> share(std::string_view quota, std::string_view period)
{
    const std::optional<double> q = numberOf(quota);
    const std::optional<double> p = numberOf(period);
    if (!q || !p || *q <= 0 || *p <= 0)
        return std::nullopt;
    return *q / *p;
}

std::optional<double> limitOf(const fs::path &group)
{
    if (std::ifstream file(group / "cpu.max"); file) {
        const std::string quota = firstWord(file);
        return share(quota, firstWord(file));
    }
    std::ifstream quota(group / "cpu.cfs_quota_us");
    std::ifstream period(group / "cpu.cfs_period_us");
    if (quota && period)
        return share(firstWord(quota), firstWord(period));
    return std::nullopt;
}

/// The least limit of a group and all groups around it.
void narrow(std::optional<double> &least, const fs::path &root, fs::path group)
{
    for (;;) {
        if (const std::optional<double> limit = limitOf(root / group.relative_path()))
            least = least ? std::min(*least, *limit) : *limit;
        if (group.relative_path().empty())
            return;
        group = group.parent_path();
    }
}

bool hasController(std::string_view list, std::string_view wanted)
{
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (list.substr(0, comma) == wanted)
            return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

} // namespace

std::optional<double> cgroupCores(const fs::path &membership, const fs::path &root)
{
    std::optional<double> least;
    std::ifstream file(membership);
    for (std::string line; std::getline(file, line);) { // "hierarchy:controllers:path"
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
        const fs::path group = fs::path("/") / line.substr(second + 1);
        if (controllers.empty())
            narrow(least, root, group.lexically_normal());
        else if (hasController(controllers, "cpu"))
            narrow(least, root / "cpu", group.lexically_normal());
    }
    return least;
}

int usableCores()
{
    int cores = static_cast<int>(std::thread::hardware_concurrency());
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        cores = CPU_COUNT(&set);
    // Rounded down: threads that spin beyond the quota are stopped together with those that work.
    if (const std::optional<double> granted = cgroupCores("/proc/self/cgroup", "/sys/fs/cgroup"))
        cores = std::min(cores, static_cast<int>(std::floor(std::min(*granted, 1e6))));
    return std::clamp(cores, 1, WorkerPool::maxThreads);
}

} // namespace tokenloupe
