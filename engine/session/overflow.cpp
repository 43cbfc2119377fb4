// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/overflow.h"

#include <array>
#include <string>

namespace tokenloupe {

namespace {

constexpr std::array<std::string_view, 3> names = {"stop", "drop-turns", "streaming"};

} // namespace

std::string_view overflowPolicyName(OverflowPolicy policy)
{
    return names[static_cast<std::size_t>(policy)];
}

Result<OverflowPolicy> overflowPolicyOf(std::string_view name)
{
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name)
            return static_cast<OverflowPolicy>(i);
    }
    return makeError(ErrorCode::InvalidArgument, "overflow policy",
                     std::string(name) + " is not one of stop, drop-turns, streaming");
}

} // namespace tokenloupe
