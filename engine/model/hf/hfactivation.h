// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/architecturespec.h"

#include <optional>
#include <string>
#include <string_view>

namespace tokenloupe {

/// A config's name of an activation ("gelu_pytorch_tanh"), in a feed-forward with a gate as `usual` has it or
/// without one; nothing: none that the forward pass knows.
std::optional<Activation> hfActivation(std::string_view name, Activation usual);
/// What the library that writes such configs calls it.
std::string hfActivationName(Activation activation);

} // namespace tokenloupe
