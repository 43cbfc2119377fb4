// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/seededweights.h"

#include "engine/base/philox.h"

#include <cmath>
#include <numbers>

namespace tokenloupe::test {

std::vector<float> SeededWeights::take(std::string_view name, std::size_t count, float mean,
                                       float deviation) const
{
    std::uint32_t stream = 0x811C9DC5; // FNV-1a of the name
    for (const char letter : name)
        stream = (stream ^ static_cast<unsigned char>(letter)) * 0x01000193U;
    const auto low = static_cast<std::uint32_t>(m_seed);
    const auto high = static_cast<std::uint32_t>(m_seed >> 32);
    std::vector<float> values(count);
    // Each block of four words becomes two pairs of normal values (Box and Muller).
    for (std::size_t i = 0; i < count; i += 4) {
        const auto words = philox4x32({static_cast<std::uint32_t>(i / 4), stream, 0, 0}, {low, high});
        for (std::size_t pair = 0; pair < 4 && i + pair < count; pair += 2) {
            const double radius = std::sqrt(-2.0 * std::log((words[pair] + 1.0) * 0x1p-32));
            const double angle = 2.0 * std::numbers::pi * words[pair + 1] * 0x1p-32;
            values[i + pair] = mean + deviation * static_cast<float>(radius * std::cos(angle));
            if (i + pair + 1 < count)
                values[i + pair + 1] = mean + deviation * static_cast<float>(radius * std::sin(angle));
        }
    }
    return values;
}

} // namespace tokenloupe::test
