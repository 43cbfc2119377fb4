// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/hostmemory.h"

#include <fstream>
#include <string>
#include <unistd.h>

namespace tokenloupe {

std::uint64_t hostMemoryBytes()
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long pageBytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || pageBytes <= 0)
        return 0;
    return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(pageBytes);
}

std::uint64_t availableMemoryBytes()
{
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::uint64_t kibibytes = 0;
    std::string unit;
    while (file >> name >> kibibytes) {
        if (name == "MemAvailable:")
            return kibibytes * 1024;
        std::getline(file, unit);
    }
    return 0;
}

bool exceedsHostMemory(std::uint64_t bytes)
{
    const std::uint64_t installed = hostMemoryBytes();
    return installed > 0 && bytes > installed;
}

tl::unexpected<Error> outOfHostMemory(std::string_view what, std::uint64_t bytes)
{
    std::string message = std::to_string(bytes) + " bytes wanted";
    if (const std::uint64_t installed = hostMemoryBytes(); installed > 0)
        message += ", the machine has " + std::to_string(installed);
    return makeError(ErrorCode::OutOfMemory, "allocate " + std::string(what), std::move(message));
}

} // namespace tokenloupe
