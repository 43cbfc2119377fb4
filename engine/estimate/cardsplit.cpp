// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/cardsplit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tokenloupe {

namespace {

bool fitsAll(const std::vector<std::uint64_t> &bytes, const std::vector<std::uint64_t> &memory)
{
    for (std::size_t card = 0; card < bytes.size(); ++card) {
        if (bytes[card] > memory[card])
            return false;
    }
    return true;
}

} // namespace

std::vector<std::uint64_t> cardBytes(const std::vector<std::uint64_t> &fixed,
                                     const std::vector<std::uint64_t> &layers,
                                     const std::vector<std::uint32_t> &counts)
{
    std::vector<std::uint64_t> bytes = fixed;
    std::size_t layer = 0;
    for (std::size_t card = 0; card < counts.size(); ++card) {
        for (std::uint32_t i = 0; i < counts[card]; ++i)
            bytes[card] += layers[layer++];
    }
    return bytes;
}

std::vector<std::uint32_t> proportionalLayers(const std::vector<std::uint64_t> &fixed,
                                              const std::vector<std::uint64_t> &layers,
                                              const std::vector<std::uint64_t> &memory)
{
    std::vector<double> left;
    for (std::size_t card = 0; card < fixed.size(); ++card)
        left.push_back(memory[card] > fixed[card] ? static_cast<double>(memory[card] - fixed[card]) : 0.0);
    const double all = std::accumulate(left.begin(), left.end(), 0.0);
    std::vector<std::uint32_t> counts(fixed.size(), 0);
    std::size_t given = 0;
    double before = 0.0;
    for (std::size_t card = 0; card < fixed.size(); ++card) {
        before += left[card];
        const double upTo = all > 0.0 ? std::round(static_cast<double>(layers.size()) * before / all) : 0.0;
        const auto end = card + 1 == fixed.size() ? layers.size()
                                                  : std::min(layers.size(), static_cast<std::size_t>(upTo));
        counts[card] = static_cast<std::uint32_t>(end - given);
        given = end;
    }
    return counts;
}

std::optional<std::vector<std::uint32_t>> placeLayers(const std::vector<std::uint64_t> &fixed,
                                                      const std::vector<std::uint64_t> &layers,
                                                      const std::vector<std::uint64_t> &memory)
{
    if (!fitsAll(fixed, memory))
        return std::nullopt;
    std::vector<std::uint32_t> counts = proportionalLayers(fixed, layers, memory);
    if (fitsAll(cardBytes(fixed, layers, counts), memory))
        return counts;
    counts.assign(fixed.size(), 0);
    std::size_t layer = 0;
    for (std::size_t card = 0; card < fixed.size(); ++card) {
        std::uint64_t left = memory[card] - fixed[card];
        while (layer < layers.size() && layers[layer] <= left) {
            left -= layers[layer++];
            ++counts[card];
        }
    }
    if (layer < layers.size())
        return std::nullopt;
    return counts;
}

} // namespace tokenloupe
