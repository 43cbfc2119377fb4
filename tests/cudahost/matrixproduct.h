// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudahost {

enum class MatrixElement : std::uint8_t { Float, Half, Bfloat };
/// To what factors are rounded before they are multiplied.
enum class FactorRounding : std::uint8_t { None, Half, Bfloat, Tf32 };

/// A matrix that lies column after column, or (`isTransposed`) row after row.
struct MatrixView
{
    const void *data = nullptr;
    MatrixElement element = MatrixElement::Float;
    std::size_t stride = 0; ///< elements from column to column as it lies
    bool isTransposed = false;
};

struct MatrixProduct
{
    std::size_t rows = 0;    ///< of the product
    std::size_t columns = 0; ///< of the product
    std::size_t depth = 0;   ///< columns of a, rows of b
    float alpha = 1.0F;
    float beta = 0.0F; ///< where 0 what lies in the target is not read
    MatrixView a;
    MatrixView b;
    FactorRounding rounding = FactorRounding::None;
    void *target = nullptr; ///< column after column
    MatrixElement targetElement = MatrixElement::Float;
    std::size_t targetStride = 0;
};

std::size_t bytesOf(MatrixElement element);

/// target = alpha · a · b + beta · target, summed in float32 in the order of the depth.
void multiply(const MatrixProduct &product);

} // namespace cudahost
