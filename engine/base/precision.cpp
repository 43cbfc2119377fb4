// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/precision.h"

namespace tokenloupe {

std::string_view precisionName(Precision precision)
{
    return precision == Precision::Fast ? "fast" : "exact";
}

std::optional<Precision> precisionOf(std::string_view name)
{
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
        if (precisionName(precision) == name)
            return precision;
    }
    return std::nullopt;
}

} // namespace tokenloupe
