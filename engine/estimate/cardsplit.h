// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tokenloupe {

/// How many layers, in order, each card gets. Nothing: no placement of whole layers fits. `fixed`: what a
/// card holds whatever its layers; without layers only that has to fit.
/// Filling one card after the other finds a placement whenever there is one; where the even one, in
/// proportion to the memory left, fits too, that is preferred.
std::optional<std::vector<std::uint32_t>> placeLayers(const std::vector<std::uint64_t> &fixed,
                                                      const std::vector<std::uint64_t> &layers,
                                                      const std::vector<std::uint64_t> &memory);

/// In proportion to the memory left beside `fixed`, whether it fits or not.
std::vector<std::uint32_t> proportionalLayers(const std::vector<std::uint64_t> &fixed,
                                              const std::vector<std::uint64_t> &layers,
                                              const std::vector<std::uint64_t> &memory);

/// Bytes on each card.
std::vector<std::uint64_t> cardBytes(const std::vector<std::uint64_t> &fixed,
                                     const std::vector<std::uint64_t> &layers,
                                     const std::vector<std::uint32_t> &counts);

} // namespace tokenloupe
