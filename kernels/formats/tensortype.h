// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tokenloupe {

/// Element types of stored tensors; values are the type ids of GGUF files.
enum class TensorType : std::uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
};

struct TensorTypeTraits
{
    const char *name;          ///< "Q4_1"
    std::uint32_t blockValues; ///< values in one block (1 for plain types)
    std::uint32_t blockBytes;  ///< bytes of one block
    bool computable;           ///< the CPU kernels multiply by it
};

/// Traits of a type id as read from a file; nullptr for ids that do not exist or were removed from the
/// format.
const TensorTypeTraits *tensorTypeTraits(std::uint32_t id);
inline const TensorTypeTraits &traitsOf(TensorType type)
{
    return *tensorTypeTraits(static_cast<std::uint32_t>(type));
}
/// The type of that name, in capitals as above.
std::optional<TensorType> tensorTypeNamed(std::string_view name);

} // namespace tokenloupe
