// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudakv.h"

namespace tokenloupe {

namespace {

class CudaKvMemory final : public KvMemory
{
public:
    CudaKvMemory(std::shared_ptr<CudaQueue> queue, DeviceMemory memory)
        : m_queue(std::move(queue))
        , m_memory(std::move(memory))
    {}

    Reader reader() const override { return Reader::Device; }
    std::byte *data() const override { return m_memory.data(); }
    std::uint64_t bytes() const override { return m_memory.bytes(); }
    void copyWithin(std::uint64_t from, std::uint64_t to, std::uint64_t count) override
    {
        if (m_queue->isLost())
            return;
        // An error stays with the queue: the next operation of the backend tells it.
        (void)m_queue->check(
            cudaMemcpyAsync(data() + to, data() + from, count, cudaMemcpyDeviceToDevice, m_queue->stream()),
            "copy a block of the KV cache");
    }
    void commit() override {} // a device's memory is there from the start

private:
    std::shared_ptr<CudaQueue> m_queue;
    DeviceMemory m_memory;
};

cuda::KvElement elementOf(KvType type)
{
    switch (type) {
    case KvType::F32:
        return cuda::KvElement::F32;
    case KvType::F16:
        return cuda::KvElement::F16;
    case KvType::BF16:
        return cuda::KvElement::BF16;
    case KvType::Q8_0:
        return cuda::KvElement::Q8_0;
    case KvType::Q5_1:
        return cuda::KvElement::Q5_1;
    case KvType::Q5_0:
        return cuda::KvElement::Q5_0;
    case KvType::Q4_1:
        return cuda::KvElement::Q4_1;
    case KvType::Q4_0:
        break;
    }
    return cuda::KvElement::Q4_0;
}

} // namespace

Result<std::unique_ptr<KvMemory>> cudaKvMemory(const std::shared_ptr<CudaQueue> &queue, std::uint64_t bytes)
{
    Result<DeviceMemory> memory = DeviceMemory::allocate(queue, bytes, "KV cache");
    if (!memory)
        return tl::unexpected(memory.error());
    const cudaError_t cleared = cudaMemsetAsync(memory->data(), 0, bytes, queue->stream());
    if (Status good = queue->check(cleared, "clear the KV cache"); !good)
        return tl::unexpected(good.error());
    return std::make_unique<CudaKvMemory>(queue, std::move(*memory));
}

cuda::KvLayerView layerView(const KvView &view, LayerIndex layer, const std::int32_t *table)
{
    const KvShape &shape = view.shape();
    const KvLayerShape &kept = shape.layers[layer.value()];
    const KvBlockPlaces places = view.places(layer);
    cuda::KvLayerView result;
    result.keys = places.keys;
    result.values = places.values;
    result.table = table;
    result.keyBlockStride = static_cast<std::int64_t>(places.keyBlockStride);
    result.valueBlockStride = static_cast<std::int64_t>(places.valueBlockStride);
    result.keyHeadStride = static_cast<std::int32_t>(places.keyHeadStride);
    result.valueHeadStride = static_cast<std::int32_t>(places.valueHeadStride);
    result.keyRowBytes = static_cast<std::int32_t>(kvRowBytes(shape.keyType, kept.keySize));
    result.valueRowBytes = static_cast<std::int32_t>(kvRowBytes(shape.valueType, kept.valueSize));
    result.blockTokens = static_cast<std::int32_t>(shape.blockTokens);
    result.kvHeads = static_cast<std::int32_t>(kept.heads);
    result.keySize = static_cast<std::int32_t>(kept.keySize);
    result.valueSize = static_cast<std::int32_t>(kept.valueSize);
    result.keyType = elementOf(shape.keyType);
    result.valueType = elementOf(shape.valueType);
    return result;
}

} // namespace tokenloupe
