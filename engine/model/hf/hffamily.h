// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/model/hf/hfnames.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tokenloupe {

/// Which layers see a window, where the config has one.
enum class HfWindows : std::uint8_t {
    None,      ///< none: such a field means nothing
    All,       ///< all
    AllIfUsed, ///< all, where `use_sliding_window` is set
    Upper,     ///< from `max_window_layers` on, where it is set
    Unrotated, ///< those that turn nothing, where it is set
    AllButNth, ///< all but each n-th
};

/// What a family of configs means by its name, and what holds where a field is absent (other than null): the
/// defaults of the library that writes them.
struct HfFamily
{
    std::string_view type;         ///< "model_type" of the config
    std::string_view architecture; ///< row of ArchitectureSpec; rotations are of half-split pairs here
    const HfNaming *naming = &hfLlamaNames;
    std::span<const HfStem> ownNames = {};

    std::string_view activationField = "hidden_act"; ///< empty: it is always the row's
    bool isTied = false;
    float gainOffset = 0.0F;         ///< added to the gains of norms
    std::string_view biasField = {}; ///< of attention
    std::string_view feedForwardBiasField = {};
    bool hasBiases = false; ///< where the fields are absent, or there are none

    std::uint32_t vocabulary = 0;
    std::uint32_t width = 0;
    std::uint32_t inner = 0; ///< 0: 4 × width
    std::uint32_t layers = 0;
    std::uint32_t heads = 0;
    std::uint32_t keyValueHeads = 0; ///< 0: as many as heads
    std::uint32_t headSize = 0;      ///< 0: width / heads
    std::uint32_t context = 0;
    double epsilon = 1e-6;
    double ropeBase = 10000.0;

    HfWindows windows = HfWindows::None;
    std::uint32_t window = 0; ///< 0: none
    std::uint32_t windowPeriod = 0;

    std::uint32_t experts = 0;
    std::uint32_t expertsUsed = 0;
    std::uint32_t expertInner = 0; ///< 0: inner
};

/// Unsupported names the type and those that are known.
Result<const HfFamily *> hfFamily(std::string_view type);

} // namespace tokenloupe
