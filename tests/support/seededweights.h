// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tokenloupe::test {

/// Weights of one model; a tensor's values depend on seed and name alone, so options do not move each
/// other's.
class SeededWeights
{
public:
    explicit SeededWeights(std::uint64_t seed)
        : m_seed(seed)
    {}

    /// Normal values around `mean`.
    std::vector<float> take(std::string_view name, std::size_t count, float mean, float deviation) const;

private:
    std::uint64_t m_seed;
};

} // namespace tokenloupe::test
