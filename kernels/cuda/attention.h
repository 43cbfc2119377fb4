// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"

#include <cuda_runtime.h>

// Rotary embedding, cache writes and attention. Launchers check shapes (cudaErrorInvalidValue), start on the
// stream and never wait. Heads have at most 512 numbers, a multiple of 8; rows of queries of attention begin
// at multiples of 16 bytes.

namespace tokenloupe::cuda {

enum class RotaryPairs : std::uint8_t { Neighbours, Halves }; ///< (2i, 2i + 1), or (i, i + rotated / 2)

struct RotaryParams
{
    RotaryPairs pairs = RotaryPairs::Neighbours;
    std::int32_t rotated = 0;                  ///< values of each head that turn; 0: none do
    const float *inverseFrequencies = nullptr; ///< (rotated / 2): angle = position · this
    float magnitude = 1.0F;                    ///< of sines and cosines
};

/// Row r of queries (heads × headSize each) and keys (view.kvHeads × view.keySize) turns in place by position
/// state->firstPosition + r. Either may have no data. Angles are computed in float32, large ones reduced.
cudaError_t rotateRows(DeviceRows queries, std::int32_t headSize, DeviceRows keys, const RotaryParams &rotary,
                       const StepState *state, cudaStream_t stream);

/// Keys and values of a batch to their places in the cache, rounded to its types as the CPU's cache does.
cudaError_t storeRows(DeviceRows keys, DeviceRows values, const KvLayerView &view, const StepState *state,
                      cudaStream_t stream);

/// Both in one launch for decoding: turns queries, turns keys on their way into the cache (and in place).
cudaError_t rotateAndStore(DeviceRows queries, std::int32_t headSize, DeviceRows keys, DeviceRows values,
                           const RotaryParams &rotary, const KvLayerView &view, const StepState *state,
                           cudaStream_t stream);

struct AttentionShape
{
    std::int32_t heads = 0;
    float scale = 1.0F;            ///< of q·k
    std::int32_t window = 0;       ///< 0: all positions; else a token sees the last `window`, itself included
    float softCap = 0.0F;          ///< score = cap · tanh(score / cap); 0: none
    const float *slopes = nullptr; ///< (heads): score -= slope · distance; null: none
    RotaryParams keyRotation;      ///< of keys that are stored unrotated; rotated 0: stored rotated
    /// Positions for which the launch has blocks enough. More are computed all the same, by longer stretches.
    std::int32_t longestContext = 0;
};

/// Scratch bytes of attendDecode for so many rows; it has to begin at a multiple of 16. What is in it at
/// first does not matter.
std::uint64_t attentionScratchBytes(const AttentionShape &shape, const KvLayerView &view, std::int32_t rows);

/// Rows 1 to 8, each sees positions up to its own (state->firstPosition + r). Split over stretches of the
/// context and merged; a group of query heads reads its keys and values once. The launch depends on
/// longestContext, not on the position, so it can be captured. output: (rows × heads · valueSize). Where
/// `quantized` has planes they get the output too, as from quantizeRows; rows of the output then begin at
/// multiples of 16 bytes.
cudaError_t attendDecode(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                         const StepState *state, void *scratch, DeviceRows output, QuantizedRows quantized,
                         cudaStream_t stream);

/// The two halves of attendDecode: all that reads the cache, and what makes the output of it. The second gets
/// what the first got; of the views it reads no memory but the scratch.
cudaError_t attendStretches(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                            const StepState *state, void *scratch, cudaStream_t stream);
cudaError_t joinStretches(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                          const StepState *state, void *scratch, DeviceRows output, QuantizedRows quantized,
                          cudaStream_t stream);

/// Any number of rows, in tiles with online softmax; never stores the scores. A row gets the same bits
/// whatever other rows are in the call. `tensorCores`: 1 where the device has them for binary16 (compute
/// capability 8.0 and up), which rounds q, k, v and the weights to binary16; 0: float32.
cudaError_t attendPrefill(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                          std::int32_t tensorCores, const StepState *state, DeviceRows output,
                          cudaStream_t stream);

/// The softmax weights themselves, (rows × heads × positions): for views that ask. `positions` is
/// firstPosition + rows; what a row does not see is 0.
cudaError_t attentionWeights(DeviceRows queries, const KvLayerView &view, const AttentionShape &shape,
                             const StepState *state, std::int32_t positions, float *weights,
                             cudaStream_t stream);

} // namespace tokenloupe::cuda
