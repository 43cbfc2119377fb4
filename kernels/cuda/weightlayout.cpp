// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/weightlayout.h"

#include "kernels/cuda/unitpacking.h"

namespace tokenloupe::cuda {

namespace {

BlockPacker packerOf(TensorType type)
{
    if (const BlockPacker packer = smallBlockPacker(type))
        return packer;
    if (const BlockPacker packer = superBlockPacker(type))
        return packer;
    return codebookPacker(type);
}

} // namespace

std::uint64_t deviceWeightBytes(TensorType type, std::int64_t rows, std::int64_t columns)
{
    if (rows <= 0 || columns <= 0 || columns > mostUnits || rows > mostUnits)
        return 0;
    if (plainValueBytes(type) != 0)
        return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(plainRowBytes(type, columns));
    if (!packerOf(type) || columns % traitsOf(type).blockValues != 0 ||
        rows > mostUnits / (columns / unitColumns))
        return 0;
    return planeOffsetsOf(planeShapeOf(type), static_cast<std::uint64_t>(rows * (columns / unitColumns))).end;
}

void packDeviceRows(TensorType type, std::int64_t rows, std::int64_t columns, std::int64_t first,
                    std::int64_t count, const std::byte *file, std::byte *device)
{
    if (const std::int64_t valueBytes = plainValueBytes(type); valueBytes != 0) {
        const std::int64_t rowBytes = plainRowBytes(type, columns);
        const auto used = static_cast<std::size_t>(columns * valueBytes);
        for (std::int64_t row = 0; row < count; ++row) {
            std::byte *out = device + (first + row) * rowBytes;
            std::memcpy(out, file + row * columns * valueBytes, used);
            std::memset(out + used, 0, static_cast<std::size_t>(rowBytes) - used);
        }
        return;
    }
    const PlaneShape shape = planeShapeOf(type);
    const std::int64_t rowUnits = columns / unitColumns;
    const PlaneOffsets offsets = planeOffsetsOf(shape, static_cast<std::uint64_t>(rows * rowUnits));
    const std::int64_t unit = first * rowUnits;
    const std::int64_t blocks = count * (columns / traitsOf(type).blockValues);
    packerOf(type)(file, blocks,
                   {device + unit * shape.codes / superUnits,
                    device + offsets.extra + unit * shape.extra / superUnits,
                    device + offsets.scales + unit * shape.scales / superUnits,
                    device + offsets.supers + unit * shape.supers / superUnits});
}

bool hasQuantizedProduct(TensorType type, std::int64_t columns)
{
    return packerOf(type) && columns > 0 && columns % traitsOf(type).blockValues == 0;
}

} // namespace tokenloupe::cuda
