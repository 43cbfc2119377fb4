// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/tensortype.h"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace tokenloupe::test {

/// Sizes of a model of the Llama architecture.
struct RandomModelShape
{
    std::string_view name;
    std::uint32_t layers = 0;
    std::uint32_t embedding = 0;
    std::uint32_t heads = 0;
    std::uint32_t kvHeads = 0;
    std::uint32_t feedForward = 0;
    std::uint32_t vocabulary = 0;
    std::uint32_t context = 0;
    bool isTied = false; ///< the embedding is the output head, too

    std::uint32_t headSize() const { return embedding / heads; }
    /// Numbers in the matrices of all layers, and in the output head.
    std::uint64_t layerWeights() const;
    std::uint64_t headWeights() const { return std::uint64_t(vocabulary) * embedding; }
    /// Multiplications and additions of a prompt of so many tokens; of the logits only the last token's are
    /// computed.
    double prefillOperations(std::uint64_t tokens) const;
};

/// "1b", "8b" (those of Llama 3.2 1B and Llama 3.1 8B), "tiny"; nullptr for others.
const RandomModelShape *randomModelShape(std::string_view name);

/// Writes a GGUF file with random weights of about the size that trained ones have, piece by piece, so that
/// it may be larger than memory. Types: Q4_0 (with the output head in Q6_K, as in such files), Q8_0, F16.
/// Returns its bytes; throws std::runtime_error.
std::uint64_t writeRandomModel(const std::filesystem::path &path, const RandomModelShape &shape,
                               TensorType type, std::uint64_t seed);

} // namespace tokenloupe::test
