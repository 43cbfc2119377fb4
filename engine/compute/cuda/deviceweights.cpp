// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/deviceweights.h"

#include "engine/compute/cuda/devicestaging.h"
#include "engine/compute/cuda/weightimage.h"
#include "engine/compute/usablecores.h"
#include "kernels/cuda/weightlayout.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

namespace tokenloupe {

namespace {

constexpr std::uint64_t stagingPiece = std::uint64_t(8) << 20;
constexpr std::uint64_t alignment = 256; ///< of each weight on the device

std::uint64_t aligned(std::uint64_t bytes)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/// Copies that are alive. The CUDA engine works in one thread, but sessions of a test may not.
struct Registry
{
    std::mutex mutex;
    std::map<std::weak_ptr<const Model>, std::weak_ptr<DeviceWeights>, std::owner_less<>> copies;
};

Registry &registry()
{
    static Registry instance;
    return instance;
}

const Weight &matrixOf(const ExpertWeights &expert, DeviceWeights::ExpertMatrix which)
{
    switch (which) {
    case DeviceWeights::ExpertMatrix::Gate:
        return expert.gate;
    case DeviceWeights::ExpertMatrix::Up:
        return expert.up;
    case DeviceWeights::ExpertMatrix::Down:
        break;
    }
    return expert.down;
}

} // namespace

Result<std::uint64_t> DeviceWeights::bytesOf(const Weight &weight, Role role)
{
    const auto columns = static_cast<std::uint64_t>(weight.columns);
    const std::uint64_t bytes = role == Role::Vector
                                    ? columns * sizeof(float)
                                    : cuda::deviceWeightBytes(weight.type, weight.rows, weight.columns);
    if (bytes > 0)
        return bytes;
    const TensorTypeTraits *traits = tensorTypeTraits(static_cast<std::uint32_t>(weight.type));
    return makeError(ErrorCode::Unsupported, "weights on the device",
                     std::string("no layout for matrices of type ") + (traits ? traits->name : "unknown") +
                         " with " + std::to_string(weight.columns) + " columns");
}

/// Each weight once, in the order that a forward pass reads them.
Result<std::vector<DeviceWeights::Item>> DeviceWeights::itemsOf(const Model &model)
{
    std::vector<Item> items;
    std::set<Key> seen;
    Status status;
    const auto add = [&](const Weight &weight) {
        if (!status || !weight.isPresent())
            return;
        const Role role = weight.rows == 1 ? Role::Vector : Role::Matrix;
        const Result<std::uint64_t> bytes = bytesOf(weight, role);
        if (!bytes)
            status = tl::unexpected(bytes.error());
        else if (seen.insert(keyOf(weight, role)).second)
            items.push_back({&weight, role, *bytes});
    };
    const ModelWeights &weights = model.weights();
    for (const Weight *weight : {&weights.tokenEmbedding, &weights.positionEmbedding, &weights.embeddingNorm,
                                 &weights.embeddingNormBias})
        add(*weight);
    for (const LayerWeights &layer : weights.layers) {
        for (const Weight *weight : layer.all())
            add(*weight);
        for (const ExpertWeights &expert : layer.experts) {
            add(expert.gate);
            add(expert.up);
            add(expert.down);
        }
    }
    for (const Weight *weight : {&weights.outputNorm, &weights.outputNormBias, &weights.outputHead})
        add(*weight);
    if (!status)
        return tl::unexpected(status.error());
    return items;
}

Result<std::shared_ptr<DeviceWeights>> DeviceWeights::of(const std::shared_ptr<const Model> &model,
                                                         const std::shared_ptr<CudaQueue> &queue,
                                                         Progress *progress, const std::stop_token &stop)
{
    Registry &known = registry();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.copies, [](const auto &entry) { return entry.second.expired(); });
    if (const auto found = known.copies.find(model); found != known.copies.end()) {
        std::shared_ptr<DeviceWeights> copy = found->second.lock();
        if (copy && copy->m_queue->device() == queue->device() && !copy->m_queue->isLost())
            return copy;
    }
    auto copy = std::make_shared<DeviceWeights>(queue);
    if (Status brought = copy->bring(*model, progress, stop); !brought)
        return tl::unexpected(brought.error());
    known.copies.insert_or_assign(model, copy);
    return copy;
}

Result<std::uint64_t> DeviceWeights::bytesOf(const Model &model)
{
    const Result<std::vector<Item>> items = itemsOf(model);
    if (!items)
        return tl::unexpected(items.error());
    std::uint64_t total = 0;
    for (const Item &item : *items)
        total += aligned(item.bytes);
    return total;
}

bool DeviceWeights::areThere(const Model &model, int device)
{
    Registry &known = registry();
    const std::lock_guard lock(known.mutex);
    return std::any_of(known.copies.begin(), known.copies.end(), [&](const auto &entry) {
        const std::shared_ptr<const Model> held = entry.first.lock();
        const std::shared_ptr<DeviceWeights> copy = entry.second.lock();
        return held.get() == &model && copy && copy->m_queue->device() == device && !copy->m_queue->isLost();
    });
}

Status DeviceWeights::bring(const Model &model, Progress *progress, const std::stop_token &stop)
{
    const Result<std::vector<Item>> items = itemsOf(model);
    if (!items)
        return tl::unexpected(items.error());
    std::uint64_t total = 0;
    std::uint64_t largest = 0;
    for (const Item &item : *items) {
        total += aligned(item.bytes);
        largest = std::max(largest, item.bytes);
    }
    if (progress)
        progress->start(total);
    Result<DeviceMemory> memory = DeviceMemory::allocate(m_queue, total, "weights");
    if (!memory) {
        if (memory.error().code == ErrorCode::OutOfMemory)
            memory.error().message += "; quantised to fewer bits while loading they take less";
        return tl::unexpected(memory.error());
    }
    Result<DeviceStaging> staging = DeviceStaging::create(m_queue, std::min(stagingPiece, aligned(largest)));
    if (!staging)
        return tl::unexpected(staging.error());
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(usableCores());
    if (!pool)
        return tl::unexpected(pool.error());

    std::vector<std::byte> image(largest);
    std::byte *target = memory->data();
    std::map<Key, const std::byte *> places;
    for (const Item &item : *items) {
        const Weight &weight = *item.weight;
        if (Status there = model.restorePages(weight.data, **pool); !there)
            return there;
        const std::span<std::byte> written = std::span(image).first(item.bytes);
        if (item.role == Role::Matrix)
            writeMatrixImage(weight, written, **pool);
        else
            writeVectorImage(weight, written);
        if (Status copied = staging->copy(written, target, progress, stop); !copied)
            return copied;
        if (item.role == Role::Matrix)
            model.releasePages(weight.data);
        places.emplace(keyOf(weight, item.role), target);
        target += aligned(item.bytes);
    }
    if (Status done = staging->finish(); !done)
        return done;
    m_places = std::move(places);
    m_memory.push_back(std::move(*memory));
    m_bytes += total;
    for (const LayerWeights &layer : model.weights().layers) {
        for (const ExpertMatrix which : {ExpertMatrix::Gate, ExpertMatrix::Up, ExpertMatrix::Down}) {
            if (layer.experts.empty())
                continue;
            if (const auto listed = experts(layer.experts, which); !listed)
                return tl::unexpected(listed.error());
        }
    }
    return {};
}

Result<const std::byte *> DeviceWeights::find(const Weight &weight, Role role)
{
    const auto found = m_places.find(keyOf(weight, role));
    if (found != m_places.end())
        return found->second;
    const Result<std::uint64_t> bytes = bytesOf(weight, role);
    if (!bytes)
        return tl::unexpected(bytes.error());
    Result<DeviceMemory> memory = DeviceMemory::allocate(m_queue, *bytes, "a weight");
    if (!memory)
        return tl::unexpected(memory.error());
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(1);
    if (!pool)
        return tl::unexpected(pool.error());
    Result<DeviceStaging> staging = DeviceStaging::create(m_queue, std::min(stagingPiece, *bytes));
    if (!staging)
        return tl::unexpected(staging.error());
    std::vector<std::byte> image(*bytes);
    if (role == Role::Matrix)
        writeMatrixImage(weight, image, **pool);
    else
        writeVectorImage(weight, image);
    if (Status copied = staging->copy(image, memory->data()); !copied)
        return tl::unexpected(copied.error());
    if (Status done = staging->finish(); !done)
        return tl::unexpected(done.error());
    const std::byte *place = memory->data();
    m_places.emplace(keyOf(weight, role), place);
    m_memory.push_back(std::move(*memory));
    m_bytes += *bytes;
    return place;
}

Result<cuda::DeviceWeight> DeviceWeights::matrix(const Weight &weight)
{
    const Result<const std::byte *> place = find(weight, Role::Matrix);
    if (!place)
        return tl::unexpected(place.error());
    return cuda::DeviceWeight{*place, weight.type, weight.rows, weight.columns};
}

Result<const float *> DeviceWeights::vector(const Weight &weight)
{
    const Result<const std::byte *> place = find(weight, Role::Vector);
    if (!place)
        return tl::unexpected(place.error());
    return reinterpret_cast<const float *>(*place);
}

Result<cuda::DeviceExperts> DeviceWeights::experts(std::span<const ExpertWeights> experts, ExpertMatrix which)
{
    const Weight &first = matrixOf(experts.front(), which);
    cuda::DeviceExperts result{nullptr, first.type, static_cast<std::int32_t>(experts.size()), first.rows,
                               first.columns};
    if (const auto found = m_expertLists.find(first.data.data()); found != m_expertLists.end()) {
        result.data = found->second;
        return result;
    }
    std::vector<const std::byte *> list;
    for (const ExpertWeights &expert : experts) {
        const Weight &weight = matrixOf(expert, which);
        if (weight.type != first.type || weight.rows != first.rows || weight.columns != first.columns)
            return makeError(ErrorCode::Unsupported, "weights on the device",
                             "experts of one layer that differ in type or shape");
        const Result<const std::byte *> place = find(weight, Role::Matrix);
        if (!place)
            return tl::unexpected(place.error());
        list.push_back(*place);
    }
    const std::uint64_t bytes = list.size() * sizeof(list.front());
    Result<DeviceMemory> memory = DeviceMemory::allocate(m_queue, bytes, "places of the experts");
    if (!memory)
        return tl::unexpected(memory.error());
    const cudaError_t sent =
        cudaMemcpyAsync(memory->data(), list.data(), bytes, cudaMemcpyHostToDevice, m_queue->stream());
    if (Status good = m_queue->check(sent, "copy to the device"); !good)
        return tl::unexpected(good.error());
    if (Status done = m_queue->synchronize("copy to the device"); !done) // `list` goes
        return tl::unexpected(done.error());
    result.data = memory->as<const std::byte *>();
    m_expertLists.emplace(first.data.data(), result.data);
    m_memory.push_back(std::move(*memory));
    m_bytes += bytes;
    return result;
}

} // namespace tokenloupe
