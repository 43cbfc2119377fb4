// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/memoryplan.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace tokenloupe {

namespace {

/// "VmRSS:     1234 kB" -> bytes.
std::uint64_t kibibytesOf(std::string_view line)
{
    const std::size_t begin = line.find_first_of("0123456789");
    if (begin == std::string_view::npos)
        return 0;
    std::uint64_t number = 0;
    std::from_chars(line.data() + begin, line.data() + line.size(), number);
    return number * 1024;
}

} // namespace

ProcessMemory processMemory()
{
    ProcessMemory memory;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:"))
            memory.residentBytes = kibibytesOf(line);
        else if (line.starts_with("VmHWM:"))
            memory.peakResidentBytes = kibibytesOf(line);
    }
    // Systems that do not keep a high-water mark leave the line out.
    memory.peakResidentBytes = std::max(memory.peakResidentBytes, memory.residentBytes);
    return memory;
}

} // namespace tokenloupe
