// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

namespace tokenloupe {

/// Bounds of one rendering, so that a hostile template ends.
struct TemplateLimits
{
    std::size_t steps =
        2'000'000;           ///< nodes evaluated, and a share for bytes and items that an operation moves
    std::size_t depth = 200; ///< nesting of expressions, blocks and calls, and of lists in lists
    std::size_t outputBytes =
        16 << 20; ///< of the result and of any one string; a list's items count 32 bytes each
};

} // namespace tokenloupe
