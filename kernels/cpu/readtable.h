// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokenloupe::readkernel {

/// readAll() over a Vector type V.
template <class V>
float readAll(const std::byte *data, std::int64_t bytes)
{
    constexpr int lanesBytes = 64;
    constexpr int sums = 8; // so that the additions never wait for one another
    constexpr int ahead = 2048;
    typename V::Reg total[sums];
    for (auto &sum : total)
        sum = V::zero();
    for (std::int64_t at = 0; at + sums * lanesBytes <= bytes; at += sums * lanesBytes) {
        for (int k = 0; k < sums; ++k) {
            const std::byte *line = data + at + k * lanesBytes;
            __builtin_prefetch(line + ahead); // harmless behind the end
            total[k] = V::add(total[k], V::load(line));
        }
    }
    for (int k = 1; k < sums; ++k)
        total[0] = V::add(total[0], total[k]);
    return V::sum(total[0]);
}

} // namespace tokenloupe::readkernel
