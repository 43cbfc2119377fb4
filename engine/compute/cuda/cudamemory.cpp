// SPDX-License-Identifier: GPL-3.0-or-later
// What a session takes of a device, before it does and while it does.
#include "engine/compute/cuda/cudabackend.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/matrixproduct.h"
#include "kernels/cuda/statistics.h"
#include "kernels/cuda/weightlayout.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace tokenloupe {

namespace {

struct FreeAndTotal
{
    std::size_t free = 0;
    std::size_t total = 0;
};

std::optional<FreeAndTotal> memoryOfThisDevice()
{
    FreeAndTotal memory;
    if (cudaMemGetInfo(&memory.free, &memory.total) == cudaSuccess)
        return memory;
    cudaGetLastError();
    return std::nullopt;
}

/// What the driver took for this process on each device, by bus id: it is taken once, and never given back.
struct ContextCosts
{
    std::mutex mutex;
    std::map<std::string, std::uint64_t> bytes;
};

ContextCosts &contextCosts()
{
    static ContextCosts instance;
    return instance;
}

template <class Visit>
void forEachMatrix(const Model &model, const ModelPart &part, const Visit &visit)
{
    const auto add = [&](const Weight &weight) {
        if (weight.isPresent() && weight.rows > 1)
            visit(weight);
    };
    for (const LayerWeights &layer : layersOf(model.weights(), part)) {
        for (const Weight *weight : layer.all())
            add(*weight);
        // Experts are alike, and never multiplied by many rows at once.
    }
    if (part.hasEnds)
        add(model.weights().outputHead);
}

/// Rounded activations: of products with few rows, and of experts, which go by tokens and by pairs of a token
/// and one of its experts.
std::uint64_t roundedBytes(const Model &model, const ModelPart &part, std::uint32_t batchTokens)
{
    std::uint64_t most = 0;
    const auto add = [&](const Weight &weight, std::uint64_t rows) {
        if (cuda::hasQuantizedProduct(weight.type, weight.columns))
            most = std::max(most, cuda::quantizedRowsBytes(static_cast<std::int64_t>(rows), weight.columns));
    };
    forEachMatrix(model, part, [&](const Weight &weight) { add(weight, cuda::largestDecodeRows); });
    for (const LayerWeights &layer : layersOf(model.weights(), part)) {
        if (layer.experts.empty()) // the others are like the first
            continue;
        add(layer.experts.front().gate, batchTokens);
        add(layer.experts.front().up, batchTokens);
        add(layer.experts.front().down, std::uint64_t(batchTokens) * model.config().expertsUsed);
    }
    return most;
}

/// Attention of one token or a few over the whole context, in the layer that needs most.
std::uint64_t attentionBytes(const ModelConfig &config, const ModelPart &part, std::uint32_t contextTokens)
{
    std::uint64_t most = 0;
    for (std::uint32_t layer = part.firstLayer; layer < std::min(part.endLayer, config.layers); ++layer) {
        cuda::AttentionShape shape;
        shape.heads = static_cast<std::int32_t>(config.heads);
        shape.window = static_cast<std::int32_t>(config.windowOf(layer));
        shape.longestContext = static_cast<std::int32_t>(contextTokens);
        cuda::KvLayerView view;
        view.kvHeads = static_cast<std::int32_t>(config.kvHeadsOf(layer));
        view.keySize = static_cast<std::int32_t>(config.headSize);
        view.valueSize = static_cast<std::int32_t>(config.valueHeadSize);
        if (view.kvHeads > 0)
            most = std::max(most, cuda::attentionScratchBytes(shape, view, cuda::largestDecodeRows));
    }
    return most;
}

} // namespace

/// Called when the context is there.
void CudaBackend::noteContext()
{
    ContextCosts &known = contextCosts();
    const std::lock_guard lock(known.mutex);
    const auto found = known.bytes.find(m_device.busId);
    if (found != known.bytes.end()) {
        m_contextBytes = found->second;
        return;
    }
    const auto now = memoryOfThisDevice();
    if (now && m_device.freeBytes > now->free)
        m_contextBytes = m_device.freeBytes - now->free;
    known.bytes.emplace(m_device.busId, m_contextBytes);
}

std::optional<DeviceNeeds> CudaBackend::needs(const Model &model, Precision precision,
                                              std::uint32_t batchTokens, std::uint32_t contextTokens,
                                              const ModelPart &part) const
{
    const ModelConfig &config = model.config();
    const Result<std::uint64_t> weights = DeviceWeights::bytesOf(model, part);
    if (!weights)
        return std::nullopt; // prepare() says why
    const auto asProduct =
        precision == Precision::Fast ? cuda::ProductPrecision::Half : cuda::ProductPrecision::Exact;
    const std::uint64_t rounded = precision == Precision::Fast ? roundedBytes(model, part, batchTokens) : 0;
    std::uint64_t product = 0;
    forEachMatrix(model, part, [&](const Weight &weight) {
        if (static_cast<std::int32_t>(batchTokens) > cuda::largestDecodeRows)
            product =
                std::max(product, cuda::matrixProductPlan(asProduct, weight.type, weight.rows, weight.columns,
                                                          static_cast<std::int32_t>(batchTokens))
                                      .bytes);
    });
    const std::uint64_t routes =
        3 * ((std::uint64_t(batchTokens) * config.expertsUsed * sizeof(float) + 255) / 256 * 256);

    DeviceNeeds needs;
    needs.device = m_device.name;
    needs.weightBytes = *weights;
    const std::uint64_t statistics =
        part.hasEnds ? cuda::logitSummaryBytes(1, static_cast<std::int32_t>(config.vocabulary), 0) : 0;
    needs.workspaceBytes =
        rounded + product + routes + attentionBytes(config, part, contextTokens) + statistics;
    needs.libraryBytes = std::max<std::uint64_t>(m_libraryBytes, cuda::cublasWorkspaceBytes(m_device.major));
    needs.contextBytes = m_contextBytes;
    needs.presentBytes =
        m_contextBytes + m_libraryBytes + DeviceWeights::bytesThere(model, part, m_queue->device());
    return needs;
}

std::optional<DeviceMemoryUse> CudaBackend::deviceMemory() const
{
    if (m_queue->isLost())
        return std::nullopt;
    const auto now = memoryOfThisDevice();
    if (!now)
        return std::nullopt;
    DeviceMemoryUse use;
    use.totalBytes = now->total;
    use.freeBytes = now->free;
    use.contextBytes = m_contextBytes;
    use.libraryBytes = m_libraryBytes;
    use.weightBytes = m_weights->bytes();
    for (const Scratch *scratch : {&m_quantized, &m_attention, &m_product, &m_routes, &m_statistics})
        use.workspaceBytes += scratch->memory.bytes();
    return use;
}

void CudaBackend::measureOperations(Measuring measuring)
{
    m_queue->clock().turn(measuring);
}

OperationTimes CudaBackend::takeOperationTimes()
{
    return m_queue->clock().take();
}

} // namespace tokenloupe
