// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/textsearch.h"

#include "engine/chat/jinja/meter.h"

#include <cstdint>
#include <vector>

namespace tokenloupe::jinja {

namespace {

/// Needles up to here cost little even where every place nearly matches.
constexpr std::size_t shortNeedle = 16;

/// Knuth, Morris, Pratt.
template <class Iterator>
std::size_t linearFind(Iterator text, std::size_t textSize, Iterator needle, std::size_t needleSize)
{
    std::vector<std::uint32_t> border(needleSize, 0);
    for (std::size_t i = 1, k = 0; i < needleSize; ++i) {
        while (k > 0 && needle[static_cast<std::ptrdiff_t>(i)] != needle[static_cast<std::ptrdiff_t>(k)])
            k = border[k - 1];
        if (needle[static_cast<std::ptrdiff_t>(i)] == needle[static_cast<std::ptrdiff_t>(k)])
            ++k;
        border[i] = static_cast<std::uint32_t>(k);
    }
    for (std::size_t i = 0, k = 0; i < textSize; ++i) {
        while (k > 0 && text[static_cast<std::ptrdiff_t>(i)] != needle[static_cast<std::ptrdiff_t>(k)])
            k = border[k - 1];
        if (text[static_cast<std::ptrdiff_t>(i)] == needle[static_cast<std::ptrdiff_t>(k)])
            ++k;
        if (k == needleSize)
            return i + 1 - needleSize;
    }
    return std::string_view::npos;
}

} // namespace

std::size_t findText(Meter &meter, std::string_view text, std::string_view needle, std::size_t from)
{
    if (from > text.size() || needle.size() > text.size() - from)
        return std::string_view::npos;
    std::size_t found = 0;
    if (needle.size() <= shortNeedle) {
        found = text.find(needle, from);
    } else {
        meter.work(needle.size() * sizeof(std::uint32_t));
        found = linearFind(text.begin() + static_cast<std::ptrdiff_t>(from), text.size() - from,
                           needle.begin(), needle.size());
        if (found != std::string_view::npos)
            found += from;
    }
    meter.work((found == std::string_view::npos ? text.size() : found) - from);
    return found;
}

std::size_t findLastText(Meter &meter, std::string_view text, std::string_view needle, std::size_t end)
{
    text = text.substr(0, end);
    if (needle.size() > text.size())
        return std::string_view::npos;
    std::size_t found = 0;
    if (needle.size() <= shortNeedle) {
        found = text.rfind(needle);
    } else {
        meter.work(needle.size() * sizeof(std::uint32_t));
        found = linearFind(text.rbegin(), text.size(), needle.rbegin(), needle.size());
        if (found != std::string_view::npos)
            found = text.size() - found - needle.size();
    }
    meter.work(text.size() - (found == std::string_view::npos ? 0 : found));
    return found;
}

} // namespace tokenloupe::jinja
