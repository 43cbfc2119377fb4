// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/jinja/filters.h"

#include <algorithm>

namespace tokenloupe::jinja {

const FilterEntry *findFilter(std::string_view name)
{
    for (const auto filters :
         {textFilters(), layoutFilters(), numberFilters(), sequenceFilters(), selectionFilters()}) {
        const auto found = std::find_if(filters.begin(), filters.end(),
                                        [name](const FilterEntry &entry) { return entry.name == name; });
        if (found != filters.end())
            return &*found;
    }
    return nullptr;
}

} // namespace tokenloupe::jinja
