// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/formats/tensortype.h"

#include <cstddef>
#include <cstdint>

// How a weight matrix lies in device memory. What the file holds as one block after the other (scale, then
// codes, unaligned) is taken apart into planes, each of them rows × units and aligned to 256 bytes, so that
// neighbouring threads read neighbouring 16-byte words (see weightplanes.h). F32, F16 and BF16 lie as in the
// file, rows padded to 16 bytes. Pure functions of the host.

namespace tokenloupe::cuda {

/// Bytes of a matrix in device memory, at most 4 % more than in the file; 0 for types and shapes that there
/// is no layout for (block types need columns that are whole blocks).
std::uint64_t deviceWeightBytes(TensorType type, std::int64_t rows, std::int64_t columns);

/// Writes rows [first, first + count) of the file's matrix to their places in `device`, an image of the whole
/// matrix as it will lie on the device. `file` is row `first`. Different rows may be packed side by side by
/// several threads.
void packDeviceRows(TensorType type, std::int64_t rows, std::int64_t columns, std::int64_t first,
                    std::int64_t count, const std::byte *file, std::byte *device);

/// Whether products with quantised activations exist (see multiplyQuantized); the others are multiplied with
/// float32 activations in both precisions.
bool hasQuantizedProduct(TensorType type, std::int64_t columns);

} // namespace tokenloupe::cuda
