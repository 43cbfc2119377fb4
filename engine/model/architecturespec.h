// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"

#include <string_view>

namespace tokenloupe {

enum class NormKind { Rms };
enum class Activation { SiluGated };
enum class RotaryStyle { Interleaved, HalfSplit };
enum class OutputHead { Tied, Separate };

/// What makes an architecture, as data: one Transformer::forward reads it. New architectures are new rows
/// (and new enumerators where they need something that no row had).
struct ArchitectureSpec
{
    std::string_view name;
    NormKind norm = NormKind::Rms;
    Activation activation = Activation::SiluGated;
    RotaryStyle rotary = RotaryStyle::Interleaved;
    bool attentionBias = false; ///< q, k, v, o may carry biases
};

/// The row for a GGUF `general.architecture`; Unsupported names the architecture and those that are known.
Result<const ArchitectureSpec *> architectureSpec(std::string_view name);

} // namespace tokenloupe
