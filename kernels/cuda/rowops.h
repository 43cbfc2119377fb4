// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"

#include <cuda_runtime.h>

// Operations on whole rows of activations: norms, rounding, element-wise steps. Launchers check shapes
// (cudaErrorInvalidValue), start on the stream, return the launch's status and never wait. Pointers are the
// device's.

namespace tokenloupe::cuda {

enum class RowNorm : std::uint8_t { Rms, Layer };

struct RowNormParams
{
    RowNorm kind = RowNorm::Rms;
    const float *gain = nullptr; ///< (columns)
    const float *bias = nullptr; ///< (columns) or null
    float epsilon = 1e-5F;
    float gainOffset = 0.0F; ///< added to each gain
};

/// One norm over each row; `output` (may be the input; may have no data) and, where it has planes,
/// `quantized` get the result. Where `addend` has data, input += addend comes first and is kept in input. The
/// sum of a row's squares has to be a float32 number, else the row becomes NaN.
cudaError_t normRows(DeviceRows input, DeviceRows addend, const RowNormParams &params, DeviceRows output,
                     QuantizedRows quantized, cudaStream_t stream);

/// Rows to 15 bits: the scale of a row is its largest magnitude / 16256, codes are rounded to the nearest
/// even. A row below 1e-30 is all zeros with scale 0; a row with a NaN or an infinity has a NaN as scale.
cudaError_t quantizeRows(DeviceRows input, QuantizedRows output, cudaStream_t stream);

/// Memory for the planes of such rows, and the planes in it; its beginning is aligned to 256 bytes.
std::uint64_t quantizedRowsBytes(std::int64_t rows, std::int64_t columns);
QuantizedRows quantizedRowsAt(std::byte *memory, std::int32_t rows, std::int32_t columns);

enum class RowActivation : std::uint8_t { Silu, GeluTanh, Gelu }; ///< the tanh form, and the exact one

/// output = activation(gate) · up, or activation(gate) where `up` has no data. `quantized` as in normRows.
cudaError_t activateRows(RowActivation activation, DeviceRows gate, DeviceRows up, DeviceRows output,
                         QuantizedRows quantized, cudaStream_t stream);

cudaError_t addRows(DeviceRows input, DeviceRows target, cudaStream_t stream); ///< target += input
cudaError_t scaleRows(DeviceRows values, float factor, cudaStream_t stream);
cudaError_t clampRows(DeviceRows values, float limit, cudaStream_t stream); ///< to [-limit, limit]
cudaError_t softCapRows(DeviceRows values, float cap, cudaStream_t stream); ///< cap · tanh(value / cap)

} // namespace tokenloupe::cuda
