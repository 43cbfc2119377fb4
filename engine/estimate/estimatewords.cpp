// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/estimatewords.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tokenloupe {

std::string countText(std::uint64_t number)
{
    std::string digits = std::to_string(number);
    if (digits.size() < 5)
        return digits;
    for (std::size_t at = digits.size() - 3;; at -= 3) {
        digits.insert(at, " ");
        if (at <= 3)
            return digits;
    }
}

std::string fixedText(double number, int decimals)
{
    std::array<char, 352> buffer{};
    const int size = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, number);
    return std::string(buffer.data(),
                       static_cast<std::size_t>(std::clamp(size, 0, static_cast<int>(buffer.size()) - 1)));
}

std::string sizeText(std::uint64_t bytes)
{
    constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024)
        return std::to_string(bytes) + " B";
    double value = static_cast<double>(bytes) / 1024.0;
    std::size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < units.size()) {
        value /= 1024.0;
        ++unit;
    }
    return fixedText(value, value < 10.0 ? 2 : 1) + " " + units[unit];
}

std::string plural(std::uint64_t count, const char *one)
{
    return countText(count) + " " + one + (count == 1 ? "" : "s");
}

} // namespace tokenloupe
