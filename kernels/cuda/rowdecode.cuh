// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/warptile.cuh"
#include "kernels/cuda/weightunits.cuh"

// Whole rows of a matrix as float32 or binary16: gathered by token, added as learned positions, or expanded
// for the matrix products of prefill. A warp decodes 32 units, a lane one, and writes them side by side
// through a tile in shared memory.

namespace tokenloupe::cuda {

enum class DecodeTarget : std::uint8_t { Floats, Halves, AddedFloats };

struct RowDecode
{
    const std::byte *weights;
    PlaneOffsets offsets;  ///< of types with planes
    std::int64_t rowBytes; ///< of plain types
    std::int32_t columns;
    std::int32_t pieces;     ///< of a row: one for each warp
    std::int64_t rows;       ///< to be decoded
    std::int64_t first;      ///< row r is `first` + r of the matrix …
    const std::int32_t *ids; ///< … or ids[r] …
    const StepState *state;  ///< … or state->firstPosition + r
    DecodeTarget target;
    void *output;
    std::int64_t stride; ///< values from row to row of the output
};

__device__ inline std::int64_t sourceRow(const RowDecode &call, std::int64_t row)
{
    if (call.ids)
        return call.ids[row];
    return (call.state ? call.state->firstPosition : call.first) + row;
}

/// Which piece of which row a warp decodes.
struct DecodePlace
{
    std::int64_t row;
    std::int32_t piece;
    int lane;
    int warp;

    __device__ explicit DecodePlace(std::int32_t pieces)
        : lane(static_cast<int>(threadIdx.x) % warpLanes)
        , warp(static_cast<int>(threadIdx.x) / warpLanes)
    {
        const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * productWarps + warp;
        row = number / pieces;
        piece = static_cast<std::int32_t>(number % pieces);
    }
};

__device__ inline void storeDecoded(const RowDecode &call, std::int64_t at, float value)
{
    if (call.target == DecodeTarget::Halves)
        static_cast<__half *>(call.output)[at] = __float2half_rn(value);
    else if (call.target == DecodeTarget::Floats)
        static_cast<float *>(call.output)[at] = value;
    else
        static_cast<float *>(call.output)[at] += value;
}

struct DecodeScratch
{
    WarpTile tiles[productWarps];
};

template <class Format>
__global__ void __launch_bounds__(productThreads) rowDecodeKernel(RowDecode call)
{
    followPrevious();
    const DecodePlace place(call.pieces);
    if (place.row >= call.rows)
        return;
    WarpTile &tile = sharedMemory<DecodeScratch>().tiles[place.warp];
    const std::int32_t units = call.columns / unitColumns;
    const std::int32_t firstUnit = place.piece * warpLanes;
    if (firstUnit + place.lane < units) {
        const auto row = static_cast<std::int32_t>(sourceRow(call, place.row));
        WeightUnit unit;
        Format::unpack(
            Format::load(planesAt(call.weights, call.offsets), row * units + firstUnit + place.lane), unit);
#pragma unroll
        for (int j = 0; j < WarpTile::groups; ++j) {
            float w[4];
            decodeWord<Format>(unit.words[j], scaleOf<Format>(unit, j / 4), offsetOf<Format>(unit, j / 4), w);
            tile.at(place.lane, j) = make_float4(w[0], w[1], w[2], w[3]);
        }
    }
    __syncwarp();
    const int columns = (units - firstUnit < warpLanes ? units - firstUnit : warpLanes) * unitColumns;
    const std::int64_t begin = place.row * call.stride + static_cast<std::int64_t>(firstUnit) * unitColumns;
    if (call.target == DecodeTarget::Halves) {
        __half2 *halves = reinterpret_cast<__half2 *>(static_cast<__half *>(call.output) + begin);
        for (int pair = place.lane; pair < columns / 2; pair += warpLanes) {
            const float2 values = reinterpret_cast<const float2 *>(
                &tile.at(pair / (unitColumns / 2), pair % (unitColumns / 2) / 2))[pair % 2];
            halves[pair] = __floats2half2_rn(values.x, values.y);
        }
        return;
    }
    for (int column = place.lane; column < columns; column += warpLanes) {
        const float4 &four = tile.at(column / unitColumns, column % unitColumns / 4);
        storeDecoded(call, begin + column, reinterpret_cast<const float *>(&four)[column % 4]);
    }
}

template <class Kernel>
cudaError_t launchDecode(Kernel kernel, RowDecode call, std::size_t sharedBytes, cudaStream_t stream)
{
    const std::int64_t pieces = decodePieces(call.columns);
    const std::int64_t blocks = decodeBlocks(call.rows, pieces);
    if (blocks == 0)
        return cudaErrorInvalidValue;
    call.pieces = static_cast<std::int32_t>(pieces);
    LaunchShape shape;
    shape.grid = dim3(static_cast<unsigned>(blocks));
    shape.block = dim3(productThreads);
    shape.sharedBytes = sharedBytes;
    return launch(kernel, shape, stream, call);
}

template <class Format>
cudaError_t launchRowDecode(const RowDecode &call, cudaStream_t stream)
{
    return launchDecode(rowDecodeKernel<Format>, call, sizeof(DecodeScratch), stream);
}

} // namespace tokenloupe::cuda
