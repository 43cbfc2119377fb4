// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/nearestnames.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace tokenloupe {

namespace {

/// Edits that turn one text into the other; leaving out a piece of `name` costs little, so that the start of
/// a long name finds it.
std::size_t distance(std::string_view asked, std::string_view name)
{
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= asked.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i * 4;
        for (std::size_t j = 1; j <= name.size(); ++j) {
            const std::size_t change = diagonal + (asked[i - 1] == name[j - 1] ? 0 : 4);
            diagonal = row[j];
            row[j] = std::min({change, row[j] + 4, row[j - 1] + 1});
        }
    }
    return row.back();
}

} // namespace

std::string comparableName(std::string_view name)
{
    std::string plain;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)))
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return plain;
}

std::vector<std::string> nearestNames(std::string_view asked, const std::vector<std::string> &names,
                                      std::size_t most)
{
    const std::string wanted = comparableName(asked.substr(0, 64));
    std::vector<std::pair<std::size_t, std::size_t>> order; // distance, place
    for (std::size_t i = 0; i < names.size(); ++i)
        order.emplace_back(distance(wanted, comparableName(names[i])), i);
    std::sort(order.begin(), order.end());
    std::vector<std::string> nearest;
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
        nearest.push_back(names[order[i].second]);
    return nearest;
}

std::string nearestNamesText(std::string_view asked, const std::vector<std::string> &names)
{
    std::string text;
    for (const std::string &name : nearestNames(asked, names))
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

} // namespace tokenloupe
