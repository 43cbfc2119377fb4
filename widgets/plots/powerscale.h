// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace tokenloupe {

/// A power of a thousand that brings small numbers to a size that axis labels have room for.
struct PowerScale
{
    double divisor = 1.0;
    QString text; ///< "10⁻⁶"; empty: no scaling
};

/// For numbers up to `largest`.
PowerScale powerScaleFor(double largest);

} // namespace tokenloupe
