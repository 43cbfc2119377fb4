// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/mappedpages.h"

#include "engine/memory/memoryplan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <unistd.h>

namespace tokenloupe {

namespace {

constexpr std::uint64_t presentBit = std::uint64_t(1) << 63; ///< of an entry of /proc/self/pagemap

/// "Rss:     1234 kB" -> bytes.
std::uint64_t kibibytesOf(std::string_view line)
{
    const std::size_t begin = line.find_first_of("0123456789");
    std::uint64_t number = 0;
    if (begin != std::string_view::npos)
        std::from_chars(line.data() + begin, line.data() + line.size(), number);
    return number * 1024;
}

} // namespace

std::optional<std::uint64_t> residentBytes(const void *begin, std::uint64_t bytes)
{
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto close = [](std::FILE *file) { std::fclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> map(std::fopen("/proc/self/pagemap", "rb"), close);
    const auto first = reinterpret_cast<std::uint64_t>(begin);
    const std::uint64_t end = first + bytes;
    if (!map || bytes == 0 || end < first)
        return bytes == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
    const std::uint64_t lastPage = (end + page - 1) / page;
    std::array<std::uint64_t, 4096> entries{};
    std::uint64_t resident = 0;
    for (std::uint64_t number = first / page; number < lastPage;) {
        const std::size_t wanted = std::min<std::uint64_t>(entries.size(), lastPage - number);
        if (fseeko(map.get(), static_cast<off_t>(number * sizeof(std::uint64_t)), SEEK_SET) != 0 ||
            std::fread(entries.data(), sizeof(std::uint64_t), wanted, map.get()) != wanted)
            return std::nullopt;
        for (std::size_t i = 0; i < wanted; ++i, ++number) {
            if ((entries[i] & presentBit) != 0)
                resident += std::min(end, (number + 1) * page) - std::max(first, number * page);
        }
    }
    return resident;
}

MappedMemory mappedMemory()
{
    MappedMemory memory;
    std::ifstream maps("/proc/self/smaps");
    std::uint64_t resident = 0;
    for (std::string line; std::getline(maps, line);) {
        const std::string_view view = line;
        if (view.starts_with("Rss:")) {
            resident = kibibytesOf(view);
        } else if (view.starts_with("Anonymous:")) {
            // Written pages of a file's private mapping are anonymous memory too.
            const std::uint64_t anonymous = std::min(resident, kibibytesOf(view));
            memory.anonymous += anonymous;
            memory.files += resident - anonymous;
        }
    }
    return memory;
}

std::uint64_t programMemory()
{
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    std::ifstream maps("/proc/self/smaps");
    std::uint64_t sum = 0;
    std::uint64_t size = 0;
    bool isOwn = false;
    for (std::string line; std::getline(maps, line);) {
        const std::string_view view = line;
        if (view.starts_with("Size:")) {
            size = kibibytesOf(view);
        } else if (view.starts_with("Rss:")) {
            const std::uint64_t resident = kibibytesOf(view);
            sum += isOwn ? std::max(size, resident) : resident;
        } else if (view.find('-') < view.find(':')) {
            // "7f12-7f34 r-xp … path". Of the program's own what runs or is written to becomes resident
            // sooner or later; what is only read may be code for devices that are not here.
            const std::string_view rights = view.substr(std::min(view.find(' '), view.size() - 1) + 1, 4);
            isOwn =
                !program.empty() && view.ends_with(program) &&
                (rights.find('x') != std::string_view::npos || rights.find('w') != std::string_view::npos);
        }
    }
    return sum > 0 ? sum : processMemory().residentBytes;
}

} // namespace tokenloupe
