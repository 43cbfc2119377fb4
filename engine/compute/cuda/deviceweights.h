// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/compute/cuda/devicememory.h"
#include "engine/compute/workerpool.h"
#include "engine/model/model.h"
#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/products.h"

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <tuple>
#include <vector>

namespace tokenloupe {

/// A model's weights on a device: matrices quantised as they are, in the layout of the kernels; norms and
/// biases as float32. All of a model lies in one piece of memory. What is asked for and was not brought with
/// the model is brought when it is asked for.
class DeviceWeights
{
public:
    enum class ExpertMatrix : std::uint8_t { Gate, Up, Down };

    /// None yet.
    explicit DeviceWeights(std::shared_ptr<CudaQueue> queue)
        : m_queue(std::move(queue))
    {}
    /// Everything that a forward pass reads. Progress counts bytes on the device. OutOfMemory says how much
    /// was wanted and is free; Cancelled between pieces. The pages of the file's form are given back.
    /// Backends of the same model on the same device share one copy.
    static Result<std::shared_ptr<DeviceWeights>> of(const std::shared_ptr<const Model> &model,
                                                     const std::shared_ptr<CudaQueue> &queue,
                                                     Progress *progress, const std::stop_token &stop);

    /// What of() brings, aligned as it lies there.
    static Result<std::uint64_t> bytesOf(const Model &model);
    /// Whether a copy of this model is on that device already.
    static bool areThere(const Model &model, int device);

    Result<cuda::DeviceWeight> matrix(const Weight &weight);
    Result<const float *> vector(const Weight &weight);
    /// The same matrix of all experts.
    Result<cuda::DeviceExperts> experts(std::span<const ExpertWeights> experts, ExpertMatrix which);

    std::uint64_t bytes() const { return m_bytes; }

private:
    enum class Role : std::uint8_t { Matrix, Vector };
    using Key = std::tuple<const std::byte *, std::int64_t, std::int64_t, Role>;

    struct Item
    {
        const Weight *weight = nullptr;
        Role role = Role::Matrix;
        std::uint64_t bytes = 0; ///< on the device
    };

    static Key keyOf(const Weight &weight, Role role)
    {
        return {weight.data.data(), weight.rows, weight.columns, role};
    }
    static Result<std::vector<Item>> itemsOf(const Model &model);
    static Result<std::uint64_t> bytesOf(const Weight &weight, Role role);
    Status bring(const Model &model, Progress *progress, const std::stop_token &stop);
    Result<const std::byte *> find(const Weight &weight, Role role);

    std::shared_ptr<CudaQueue> m_queue;
    std::map<Key, const std::byte *> m_places;
    std::map<const std::byte *, const std::byte *const *> m_expertLists; // by the first expert's matrix
    std::vector<DeviceMemory> m_memory;
    std::uint64_t m_bytes = 0;
};

} // namespace tokenloupe
