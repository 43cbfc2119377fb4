// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"

#include <optional>
#include <string>

namespace tokenloupe::test {

/// Does everything that a program does with a model file, reading every byte that the result refers to, and
/// checks that the parts agree with each other. Never fails by itself: broken promises come back as text.
struct ModelCheck
{
    std::optional<Error> error; ///< of the first stage that refused the bytes
    bool parsed = false;
    bool loaded = false;
    std::size_t warnings = 0;
    std::string broken; ///< what is inconsistent; empty when nothing is
};

ModelCheck checkModelBytes(std::span<const std::byte> bytes);

} // namespace tokenloupe::test
