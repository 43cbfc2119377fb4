// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/matrixproduct.h"

#include "tests/cudahost/halfbits.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cudahost {

namespace {

// A tile of the product that the processor holds in its registers.
constexpr std::size_t tileRows = 8;
constexpr std::size_t tileColumns = 4;
// Columns of the product whose factors are unpacked at a time.
constexpr std::size_t stripColumns = 64;

float read(const void *data, MatrixElement element, std::size_t index)
{
    switch (element) {
    case MatrixElement::Float:
        return static_cast<const float *>(data)[index];
    case MatrixElement::Half:
        return floatOfHalf(static_cast<const std::uint16_t *>(data)[index]);
    case MatrixElement::Bfloat:
        break;
    }
    return floatOfBfloat(static_cast<const std::uint16_t *>(data)[index]);
}

void write(void *data, MatrixElement element, std::size_t index, float value)
{
    switch (element) {
    case MatrixElement::Float:
        static_cast<float *>(data)[index] = value;
        return;
    case MatrixElement::Half:
        static_cast<std::uint16_t *>(data)[index] = halfOfFloat(value);
        return;
    case MatrixElement::Bfloat:
        static_cast<std::uint16_t *>(data)[index] = bfloatOfFloat(value);
        return;
    }
}

float rounded(float value, FactorRounding rounding)
{
    switch (rounding) {
    case FactorRounding::None:
        return value;
    case FactorRounding::Half:
        return floatOfHalf(halfOfFloat(value));
    case FactorRounding::Bfloat:
        return floatOfBfloat(bfloatOfFloat(value));
    case FactorRounding::Tf32:
        break;
    }
    const std::uint32_t bits = bitsOf(value);
    if (!std::isfinite(value))
        return value;
    return floatOf((bits + 0xFFFU + (bits >> 13 & 1U)) & ~0x1FFFU); // 10 bits of fraction stay
}

// Numbers [first, first + width) across of a factor as panel[depth][width]; those that do not exist are 0.
// `isAcross`: neighbours across are neighbours in memory.
void unpack(const MatrixView &matrix, bool isAcross, std::size_t first, std::size_t count, std::size_t width,
            std::size_t depth, FactorRounding rounding, float *panel)
{
    for (std::size_t across = 0; across < width; ++across)
        for (std::size_t k = 0; k < depth; ++k) {
            const std::size_t at = first + across;
            const std::size_t index = isAcross ? k * matrix.stride + at : at * matrix.stride + k;
            panel[k * width + across] =
                at < count ? rounded(read(matrix.data, matrix.element, index), rounding) : 0.0F;
        }
}

using Tile = std::array<std::array<float, tileRows>, tileColumns>;

Tile multiplyPanels(const float *a, const float *b, std::size_t depth)
{
    Tile sums{};
    for (std::size_t k = 0; k < depth; ++k, a += tileRows, b += tileColumns)
        for (std::size_t column = 0; column < tileColumns; ++column)
            for (std::size_t row = 0; row < tileRows; ++row)
                sums[column][row] += a[row] * b[column];
    return sums;
}

void store(const MatrixProduct &product, const Tile &sums, std::size_t firstRow, std::size_t firstColumn)
{
    const std::size_t rows = std::min(tileRows, product.rows - firstRow);
    const std::size_t columns = std::min(tileColumns, product.columns - firstColumn);
    for (std::size_t column = 0; column < columns; ++column)
        for (std::size_t row = 0; row < rows; ++row) {
            const std::size_t index = (firstColumn + column) * product.targetStride + firstRow + row;
            float value = product.alpha * sums[column][row];
            if (product.beta != 0.0F)
                value += product.beta * read(product.target, product.targetElement, index);
            write(product.target, product.targetElement, index, value);
        }
}

} // namespace

std::size_t bytesOf(MatrixElement element)
{
    return element == MatrixElement::Float ? 4 : 2;
}

void multiply(const MatrixProduct &product)
{
    const std::size_t depth = product.depth;
    std::vector<float> panelA(tileRows * depth);
    std::vector<float> panelsB(stripColumns * depth);
    for (std::size_t strip = 0; strip < product.columns; strip += stripColumns) {
        const std::size_t stripEnd = std::min(product.columns, strip + stripColumns);
        for (std::size_t column = strip; column < stripEnd; column += tileColumns)
            unpack(product.b, product.b.isTransposed, column, product.columns, tileColumns, depth,
                   product.rounding, panelsB.data() + (column - strip) * depth);
        for (std::size_t row = 0; row < product.rows; row += tileRows) {
            unpack(product.a, !product.a.isTransposed, row, product.rows, tileRows, depth, product.rounding,
                   panelA.data());
            for (std::size_t column = strip; column < stripEnd; column += tileColumns)
                store(product,
                      multiplyPanels(panelA.data(), panelsB.data() + (column - strip) * depth, depth), row,
                      column);
        }
    }
}

} // namespace cudahost
