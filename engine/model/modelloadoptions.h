// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tokenloupe {

/// What larger matrices become while a model is loaded. Each stands for a mixture as quantisers of files
/// make it (weightmixtures.h): Q4_K is Q4_K_M, with Q6_K where coarse values cost most.
enum class LoadQuantization : std::uint8_t { AsStored, Q8_0, Q6_K, Q5_K, Q4_K, Q4_0 };

std::span<const LoadQuantization> loadQuantizations();
std::string_view loadQuantizationName(LoadQuantization quantization);  ///< "stored", "q4_k"
std::string_view loadQuantizationTitle(LoadQuantization quantization); ///< "as stored", "Q4_K"
/// Case does not matter; '-' is read as '_'; the mixture's own name ("q4_k_m") is understood too.
std::optional<LoadQuantization> loadQuantizationOf(std::string_view name);
/// The mixture; empty for AsStored.
std::string_view mixtureOf(LoadQuantization quantization);

struct ModelLoadOptions
{
    LoadQuantization quantization = LoadQuantization::AsStored;
    int threads = 0; ///< to convert with; 0: usableCores()

    bool operator==(const ModelLoadOptions &) const = default;
};

} // namespace tokenloupe
