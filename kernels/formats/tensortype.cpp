// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/tensortype.h"

namespace tokenloupe {

namespace {

constexpr bool computable = true;
constexpr bool stored = false; // can be listed and measured, not multiplied by

// By type id. Gaps are ids that were removed from the format (4, 5, 31 to 33, 36 to 38): rows packed for one
// machine's instructions, or older layouts under the same name; such data must not be guessed at.
constexpr TensorTypeTraits table[] = {
    {"F32", 1, 4, computable},        // 0
    {"F16", 1, 2, computable},        // 1
    {"Q4_0", 32, 18, computable},     // 2
    {"Q4_1", 32, 20, computable},     // 3
    {},                               // 4
    {},                               // 5
    {"Q5_0", 32, 22, computable},     // 6
    {"Q5_1", 32, 24, computable},     // 7
    {"Q8_0", 32, 34, computable},     // 8
    {"Q8_1", 32, 36, stored},         // 9
    {"Q2_K", 256, 84, computable},    // 10
    {"Q3_K", 256, 110, computable},   // 11
    {"Q4_K", 256, 144, computable},   // 12
    {"Q5_K", 256, 176, computable},   // 13
    {"Q6_K", 256, 210, computable},   // 14
    {"Q8_K", 256, 292, computable},   // 15
    {"IQ2_XXS", 256, 66, computable}, // 16
    {"IQ2_XS", 256, 74, computable},  // 17
    {"IQ3_XXS", 256, 98, computable}, // 18
    {"IQ1_S", 256, 50, computable},   // 19
    {"IQ4_NL", 32, 18, computable},   // 20
    {"IQ3_S", 256, 110, computable},  // 21
    {"IQ2_S", 256, 82, computable},   // 22
    {"IQ4_XS", 256, 136, computable}, // 23
    {"I8", 1, 1, stored},             // 24
    {"I16", 1, 2, stored},            // 25
    {"I32", 1, 4, stored},            // 26
    {"I64", 1, 8, stored},            // 27
    {"F64", 1, 8, stored},            // 28
    {"IQ1_M", 256, 56, computable},   // 29
    {"BF16", 1, 2, computable},       // 30
    {},                               // 31
    {},                               // 32
    {},                               // 33
    {"TQ1_0", 256, 54, computable},   // 34
    {"TQ2_0", 256, 66, computable},   // 35
    {},                               // 36
    {},                               // 37
    {},                               // 38
    {"MXFP4", 32, 17, computable},    // 39
    {"NVFP4", 64, 36, computable},    // 40
};

constexpr std::uint32_t tableSize = sizeof(table) / sizeof(table[0]);
static_assert(tableSize == static_cast<std::uint32_t>(TensorType::NVFP4) + 1, "one row for each id");

} // namespace

const TensorTypeTraits *tensorTypeTraits(std::uint32_t id)
{
    if (id >= tableSize || !table[id].name)
        return nullptr;
    return &table[id];
}

std::optional<TensorType> tensorTypeNamed(std::string_view name)
{
    for (std::uint32_t id = 0; id < tableSize; ++id) {
        if (table[id].name && table[id].name == name)
            return static_cast<TensorType>(id);
    }
    return std::nullopt;
}

} // namespace tokenloupe
