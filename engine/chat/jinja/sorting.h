// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tokenloupe::jinja {

/// A stable merge sort. Unlike the library's it stays in bounds with an order that contradicts itself (NaN),
/// and `isBefore` may throw.
template <class Item, class Before>
void stableSort(std::vector<Item> &items, Before isBefore)
{
    std::vector<Item> merged(items.size());
    for (std::size_t width = 1; width < items.size(); width *= 2) {
        for (std::size_t begin = 0; begin < items.size(); begin += 2 * width) {
            const std::size_t middle = std::min(begin + width, items.size());
            const std::size_t end = std::min(begin + 2 * width, items.size());
            std::size_t left = begin;
            std::size_t right = middle;
            for (std::size_t to = begin; to < end; ++to) {
                const bool takeRight = left == middle || (right < end && isBefore(items[right], items[left]));
                merged[to] = takeRight ? items[right++] : items[left++];
            }
        }
        items.swap(merged);
    }
}

} // namespace tokenloupe::jinja
