// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/cuda/cudaqueue.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/rowops.h"

#include <optional>
#include <variant>

namespace tokenloupe {

/// Operations on rows that wait for the next one, because one launch can do both: a sum with the norm of it,
/// a norm, an activation or attention with the rounding of its result, rotations with the store of what they
/// turned.
/// Whatever does not go together is started in the order in which it came. The results are the same.
class DeferredRows
{
public:
    explicit DeferredRows(CudaQueue &queue)
        : m_queue(queue)
    {}

    struct Rotation
    {
        cuda::DeviceRows rows; ///< whole heads
        std::int32_t headSize = 0;
        cuda::RotaryParams rotary;
        const cuda::StepState *state = nullptr;
    };

    /// Of few rows, computed but for the join of its stretches.
    struct Attention
    {
        cuda::DeviceRows queries;
        cuda::KvLayerView view;
        cuda::AttentionShape shape;
        const cuda::StepState *state = nullptr;
        void *scratch = nullptr;
        cuda::DeviceRows output;
    };

    Status add(cuda::DeviceRows input, cuda::DeviceRows target);
    Status norm(cuda::DeviceRows input, const cuda::RowNormParams &params, cuda::DeviceRows output);
    Status activate(cuda::RowActivation activation, cuda::DeviceRows gate, cuda::DeviceRows up,
                    cuda::DeviceRows output);
    Status rotate(const Rotation &rotation);
    Status attend(const Attention &attention); ///< joins the stretches

    /// Rows in 15 bits, for a product of them.
    Status quantize(cuda::DeviceRows rows, const cuda::QuantizedRows &planes);
    Status store(cuda::DeviceRows keys, cuda::DeviceRows values, const cuda::KvLayerView &view,
                 const cuda::StepState *state);
    /// Starts what waits: before everything else that reads or writes memory of the device.
    Status flush();
    void forget() { m_waiting = {}; }

private:
    struct Sum
    {
        cuda::DeviceRows input;
        cuda::DeviceRows target;
    };
    struct Norm
    {
        cuda::DeviceRows input;
        cuda::DeviceRows addend; ///< may have no data
        cuda::RowNormParams params;
        cuda::DeviceRows output;
    };
    struct Activated
    {
        cuda::RowActivation activation = cuda::RowActivation::Silu;
        cuda::DeviceRows gate;
        cuda::DeviceRows up; ///< may have no data
        cuda::DeviceRows output;
    };
    struct Rotations
    {
        Rotation first;
        std::optional<Rotation> second;
    };

    cudaError_t start(const std::monostate &) { return cudaSuccess; }
    cudaError_t start(const Sum &sum);
    cudaError_t start(const Norm &norm, const cuda::QuantizedRows &planes = {});
    cudaError_t start(const Activated &activated, const cuda::QuantizedRows &planes = {});
    cudaError_t start(const Rotations &rotations);
    cudaError_t start(const Attention &attention, const cuda::QuantizedRows &planes = {});

    CudaQueue &m_queue;
    std::variant<std::monostate, Sum, Norm, Activated, Rotations, Attention> m_waiting;
};

} // namespace tokenloupe
