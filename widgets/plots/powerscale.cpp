// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plots/powerscale.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tokenloupe {

PowerScale powerScaleFor(double largest)
{
    static const std::array<QString, 5> powers{QString(), QStringLiteral("10⁻³"), QStringLiteral("10⁻⁶"),
                                               QStringLiteral("10⁻⁹"), QStringLiteral("10⁻¹²")};
    if (!(largest > 0.0) || !std::isfinite(largest))
        return {};
    // 0.05 is still read as such; 0.005 is 5 · 10⁻³
    const int thousands = std::clamp(static_cast<int>(std::ceil(-std::log10(largest * 20.0) / 3.0)), 0, 4);
    return {std::pow(1000.0, -thousands), powers[static_cast<std::size_t>(thousands)]};
}

} // namespace tokenloupe
