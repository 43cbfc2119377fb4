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
#include <utility>

namespace tokenloupe {

namespace {

constexpr std::uint64_t stagingPiece = std::uint64_t(8) << 20;
constexpr std::uint64_t alignment = 256; ///< of each weight on the device

std::uint64_t aligned(std::uint64_t bytes)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/// A model's ends as a piece; layers have their own numbers.
constexpr std::uint32_t endsPiece = ModelPart::allLayers;

/// The pieces of a part, in the order in which a forward pass comes to them.
std::vector<std::uint32_t> piecesOf(const Model &model, const ModelPart &part)
{
    std::vector<std::uint32_t> numbers;
    if (part.hasEnds)
        numbers.push_back(endsPiece);
    for (std::uint32_t layer = 0; layer < model.weights().layers.size(); ++layer) {
        if (part.hasLayer(layer))
            numbers.push_back(layer);
    }
    return numbers;
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

/// Pieces that are alive. The CUDA engine works in one thread, but sessions of a test may not.
struct DeviceWeights::Registry
{
    using Pieces =
        std::map<std::pair<int, std::uint32_t>, std::weak_ptr<const Piece>>; // by device and number

    std::mutex mutex;
    std::map<std::weak_ptr<const Model>, Pieces, std::owner_less<>> models;

    static std::shared_ptr<const Piece> find(const Pieces &pieces, int device, std::uint32_t number)
    {
        const auto found = pieces.find({device, number});
        std::shared_ptr<const Piece> piece = found == pieces.end() ? nullptr : found->second.lock();
        return piece && !piece->queue->isLost() ? piece : nullptr;
    }
};

DeviceWeights::Registry &DeviceWeights::registry()
{
    static Registry instance;
    return instance;
}

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

/// Its weights, each once, in the order that a forward pass reads them. Nothing is on the device yet.
Result<std::shared_ptr<DeviceWeights::Piece>> DeviceWeights::pieceOf(const Model &model, std::uint32_t number)
{
    auto piece = std::make_shared<Piece>();
    std::set<Key> seen;
    Status status;
    const auto add = [&](const Weight &weight) {
        if (!status || !weight.isPresent())
            return;
        const Role role = weight.rows == 1 ? Role::Vector : Role::Matrix;
        const Result<std::uint64_t> bytes = bytesOf(weight, role);
        if (!bytes) {
            status = tl::unexpected(bytes.error());
        } else if (seen.insert(keyOf(weight, role)).second) {
            piece->items.push_back({&weight, role, *bytes});
            piece->bytes += aligned(*bytes);
        }
    };
    const ModelWeights &weights = model.weights();
    if (number == endsPiece) {
        for (const Weight *weight :
             {&weights.tokenEmbedding, &weights.positionEmbedding, &weights.embeddingNorm,
              &weights.embeddingNormBias, &weights.outputNorm, &weights.outputNormBias, &weights.outputHead})
            add(*weight);
    } else {
        weights.layers[number].forEach(add);
    }
    if (!status)
        return tl::unexpected(status.error());
    return piece;
}

Result<std::shared_ptr<DeviceWeights>> DeviceWeights::of(const std::shared_ptr<const Model> &model,
                                                         const ModelPart &part,
                                                         const std::shared_ptr<CudaQueue> &queue,
                                                         Progress *progress, const std::stop_token &stop)
{
    Registry &known = registry();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.models, [](const auto &entry) { return entry.first.expired(); });
    Registry::Pieces &pieces = known.models[model];
    auto weights = std::make_shared<DeviceWeights>(queue);
    std::vector<std::shared_ptr<Piece>> missing;
    std::vector<std::uint32_t> numbers;
    for (const std::uint32_t number : piecesOf(*model, part)) {
        if (auto piece = Registry::find(pieces, queue->device(), number)) {
            weights->add(std::move(piece));
            continue;
        }
        auto piece = pieceOf(*model, number);
        if (!piece)
            return tl::unexpected(piece.error());
        missing.push_back(std::move(*piece));
        numbers.push_back(number);
    }
    if (Status brought = weights->bring(*model, missing, progress, stop); !brought)
        return tl::unexpected(brought.error());
    for (std::size_t i = 0; i < missing.size(); ++i) {
        pieces.insert_or_assign({queue->device(), numbers[i]}, missing[i]);
        weights->add(std::move(missing[i]));
    }
    if (Status listed = weights->listExperts(*model, part); !listed)
        return tl::unexpected(listed.error());
    return weights;
}

Result<std::uint64_t> DeviceWeights::bytesOf(const Model &model, const ModelPart &part)
{
    std::uint64_t total = 0;
    for (const std::uint32_t number : piecesOf(model, part)) {
        const auto piece = pieceOf(model, number);
        if (!piece)
            return tl::unexpected(piece.error());
        total += (*piece)->bytes;
    }
    return total;
}

std::uint64_t DeviceWeights::bytesThere(const Model &model, const ModelPart &part, int device)
{
    Registry &known = registry();
    const std::lock_guard lock(known.mutex);
    const auto found = std::find_if(known.models.begin(), known.models.end(),
                                    [&](const auto &entry) { return entry.first.lock().get() == &model; });
    std::uint64_t bytes = 0;
    if (found == known.models.end())
        return bytes;
    for (const std::uint32_t number : piecesOf(model, part)) {
        if (const auto piece = Registry::find(found->second, device, number))
            bytes += piece->bytes;
    }
    return bytes;
}

/// All have their memory before the first is filled: what does not fit is said at once.
Status DeviceWeights::bring(const Model &model, std::span<const std::shared_ptr<Piece>> pieces,
                            Progress *progress, const std::stop_token &stop)
{
    std::uint64_t total = 0;
    std::uint64_t largest = 0;
    for (const std::shared_ptr<Piece> &piece : pieces) {
        total += piece->bytes;
        for (const Item &item : piece->items)
            largest = std::max(largest, item.bytes);
    }
    if (progress)
        progress->start(total);
    if (pieces.empty())
        return {};
    for (const std::shared_ptr<Piece> &piece : pieces) {
        Result<DeviceMemory> memory = DeviceMemory::allocate(m_queue, piece->bytes, "weights");
        if (!memory) {
            if (memory.error().code == ErrorCode::OutOfMemory)
                memory.error().message += "; quantised to fewer bits while loading they take less";
            return tl::unexpected(memory.error());
        }
        piece->memory = std::move(*memory);
        piece->queue = m_queue;
    }
    Result<DeviceStaging> staging = DeviceStaging::create(m_queue, std::min(stagingPiece, aligned(largest)));
    if (!staging)
        return tl::unexpected(staging.error());
    Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::create(usableCores());
    if (!pool)
        return tl::unexpected(pool.error());

    std::vector<std::byte> image(largest);
    for (const std::shared_ptr<Piece> &piece : pieces) {
        std::byte *target = piece->memory.data();
        for (const Item &item : piece->items) {
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
            target += aligned(item.bytes);
        }
    }
    return staging->finish();
}

void DeviceWeights::add(std::shared_ptr<const Piece> piece)
{
    const std::byte *place = piece->memory.data();
    for (const Item &item : piece->items) {
        m_places.emplace(keyOf(*item.weight, item.role), place);
        place += aligned(item.bytes);
    }
    m_bytes += piece->bytes;
    m_pieces.push_back(std::move(piece));
}

Status DeviceWeights::listExperts(const Model &model, const ModelPart &part)
{
    for (const LayerWeights &layer : layersOf(model.weights(), part)) {
        if (layer.experts.empty())
            continue;
        for (const ExpertMatrix which : {ExpertMatrix::Gate, ExpertMatrix::Up, ExpertMatrix::Down}) {
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
