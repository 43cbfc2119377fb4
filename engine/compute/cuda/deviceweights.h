// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/compute/cuda/devicememory.h"
#include "engine/compute/workerpool.h"
#include "engine/model/model.h"
#include "kernels/cuda/deviceviews.h"
#include "kernels/cuda/experts.h"
#include "kernels/cuda/products.h"

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <tuple>
#include <vector>

namespace tokenloupe {

/// Weights of a part of a model on a device: matrices quantised as they are, in the layout of the kernels;
/// norms and biases as float32. Each layer lies in a piece of memory of its own, and so do the model's ends.
/// What is asked for and was not brought with the part is brought when it is asked for.
class DeviceWeights
{
public:
    enum class ExpertMatrix : std::uint8_t { Gate, Up, Down };

    /// None yet.
    explicit DeviceWeights(std::shared_ptr<CudaQueue> queue)
        : m_queue(std::move(queue))
    {}
    /// Everything that a forward pass through the part reads. Progress counts bytes on the device.
    /// OutOfMemory says how much was wanted and is free; Cancelled between pieces. The pages of the file's
    /// form are given back. Backends of the same model on the same device share the layers that they have in
    /// common.
    static Result<std::shared_ptr<DeviceWeights>> of(const std::shared_ptr<const Model> &model,
                                                     const ModelPart &part,
                                                     const std::shared_ptr<CudaQueue> &queue,
                                                     Progress *progress, const std::stop_token &stop);

    /// What of() brings, aligned as it lies there.
    static Result<std::uint64_t> bytesOf(const Model &model, const ModelPart &part);
    /// Of these, what is on that device already.
    static std::uint64_t bytesThere(const Model &model, const ModelPart &part, int device);

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

    /// One layer of a model, or its ends. Immutable once it is brought.
    struct Piece
    {
        std::shared_ptr<CudaQueue> queue;
        std::vector<Item> items;
        DeviceMemory memory;
        std::uint64_t bytes = 0;
    };
    struct Registry;
    static Registry &registry();

    static Key keyOf(const Weight &weight, Role role)
    {
        return {weight.data.data(), weight.rows, weight.columns, role};
    }
    static Result<std::shared_ptr<Piece>> pieceOf(const Model &model, std::uint32_t number);
    static Result<std::uint64_t> bytesOf(const Weight &weight, Role role);
    Status bring(const Model &model, std::span<const std::shared_ptr<Piece>> pieces, Progress *progress,
                 const std::stop_token &stop);
    void add(std::shared_ptr<const Piece> piece);
    Status listExperts(const Model &model, const ModelPart &part);
    Result<const std::byte *> find(const Weight &weight, Role role);

    std::shared_ptr<CudaQueue> m_queue;
    std::vector<std::shared_ptr<const Piece>> m_pieces;
    std::map<Key, const std::byte *> m_places;
    std::map<const std::byte *, const std::byte *const *> m_expertLists; // by the first expert's matrix
    std::vector<DeviceMemory> m_memory;
    std::uint64_t m_bytes = 0;
};

} // namespace tokenloupe
