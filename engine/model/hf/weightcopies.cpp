// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/weightcopies.h"

#include "engine/base/mappedfile.h"
#include "kernels/formats/blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tokenloupe {

namespace {

constexpr std::size_t tile =
    32; ///< rows and columns that are transposed at a time, so that lines stay cached

template <std::size_t ElementBytes>
void transpose(const std::byte *from, std::size_t rows, std::size_t columns, std::byte *to)
{
    for (std::size_t row = 0; row < rows; row += tile) {
        const std::size_t lastRow = std::min(row + tile, rows);
        for (std::size_t column = 0; column < columns; column += tile) {
            const std::size_t lastColumn = std::min(column + tile, columns);
            for (std::size_t r = row; r < lastRow; ++r) {
                for (std::size_t c = column; c < lastColumn; ++c)
                    std::memcpy(to + (c * rows + r) * ElementBytes, from + (r * columns + c) * ElementBytes,
                                ElementBytes);
            }
        }
    }
}

} // namespace

Result<std::byte *> WeightCopies::take(std::size_t bytes)
{
    auto *memory =
        static_cast<std::byte *>(::operator new(std::max<std::size_t>(bytes, 1), alignment, std::nothrow));
    if (!memory)
        return makeError(ErrorCode::OutOfMemory, "load the model",
                         std::to_string(bytes) + " bytes for a tensor in another order are not to be had");
    m_pieces.emplace_back(memory);
    m_bytes += bytes;
    return memory;
}

Result<std::span<const std::byte>> WeightCopies::copy(std::span<const std::byte> values)
{
    const auto memory = take(values.size());
    if (!memory)
        return tl::unexpected(memory.error());
    std::memcpy(*memory, values.data(), values.size());
    return std::span<const std::byte>(*memory, values.size());
}

Result<std::span<const std::byte>> WeightCopies::widened(std::span<const std::byte> values, TensorType type)
{
    const std::size_t count = values.size() / sizeof(std::uint16_t);
    const auto memory = take(count * sizeof(float));
    if (!memory)
        return tl::unexpected(memory.error());
    for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, values.data() + i * sizeof bits, sizeof bits);
        const float value =
            type == TensorType::BF16 ? std::bit_cast<float>(std::uint32_t{bits} << 16) : halfToFloat(bits);
        std::memcpy(*memory + i * sizeof value, &value, sizeof value);
    }
    return std::span<const std::byte>(*memory, count * sizeof(float));
}

Result<std::span<const std::byte>> WeightCopies::transposed(std::span<const std::byte> values,
                                                            std::size_t rows, std::size_t columns,
                                                            std::size_t elementBytes)
{
    const auto memory = take(values.size());
    if (!memory)
        return tl::unexpected(memory.error());
    if (elementBytes == 2)
        transpose<2>(values.data(), rows, columns, *memory);
    else
        transpose<4>(values.data(), rows, columns, *memory);
    return std::span<const std::byte>(*memory, values.size());
}

Result<std::span<const std::byte>> WeightCopies::ungrouped(std::span<const std::byte> values,
                                                           std::size_t groups, std::size_t queries,
                                                           std::size_t keys, std::size_t rowBytes)
{
    const auto memory = take(values.size());
    if (!memory)
        return tl::unexpected(memory.error());
    const std::byte *from = values.data();
    for (std::size_t group = 0; group < groups; ++group) {
        std::size_t first = 0; // row of the kind's part
        for (const std::size_t rows : {queries, keys, keys}) {
            std::memcpy(*memory + (first + group * rows) * rowBytes, from, rows * rowBytes);
            from += rows * rowBytes;
            first += groups * rows;
        }
    }
    return std::span<const std::byte>(*memory, values.size());
}

} // namespace tokenloupe
