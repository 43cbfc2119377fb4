// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudabackend.h"

#include "engine/compute/cuda/cudakv.h"
#include "engine/compute/shapecheck.h"
#include "kernels/cuda/attentionplan.h"

#include <algorithm>
#include <cstring>

namespace tokenloupe {

namespace {

constexpr std::uint32_t headStep = 8; ///< numbers of a head that a thread reads together

class DeviceBuffer final : public BackendBuffer
{
public:
    explicit DeviceBuffer(DeviceMemory memory)
        : m_memory(std::move(memory))
    {}
    std::byte *data() override { return m_memory.data(); }
    std::uint64_t bytes() const override { return m_memory.bytes(); }

private:
    DeviceMemory m_memory;
};

/// What the kernels of attention take.
Status checkHeads(const ModelConfig &config)
{
    for (const std::uint32_t size : {config.headSize, config.valueHeadSize}) {
        if (size % headStep != 0 || size > static_cast<std::uint32_t>(cuda::largestAttentionHead))
            return makeError(ErrorCode::Unsupported, "CUDA",
                             "attention heads of " + std::to_string(size) + " numbers: multiples of " +
                                 std::to_string(headStep) + " up to " +
                                 std::to_string(cuda::largestAttentionHead) + " are needed");
    }
    return {};
}

} // namespace

Result<std::shared_ptr<CudaBackend>> CudaBackend::create(const CudaDevice &device, GraphUse graphs)
{
    Result<std::shared_ptr<CudaQueue>> queue = CudaQueue::create(device.index);
    if (!queue)
        return tl::unexpected(queue.error());
    std::shared_ptr<CudaBackend> backend(new CudaBackend(device, std::move(*queue)));
    backend->noteContext();
    if (graphs == GraphUse::Never)
        backend->m_graphs.turnOff();
    return backend;
}

CudaBackend::CudaBackend(CudaDevice device, std::shared_ptr<CudaQueue> queue)
    : m_device(std::move(device))
    , m_queue(std::move(queue))
    , m_weights(std::make_shared<DeviceWeights>(m_queue))
    , m_floats(m_queue)
    , m_inputs(m_queue)
    , m_deferred(*m_queue)
    , m_graphs(m_queue)
{}

CudaBackend::~CudaBackend()
{
    abandonPass();
    // What still runs reads memory that goes now.
    (void)m_queue->synchronize("end");
}

Status CudaBackend::prepare(const std::shared_ptr<const Model> &model, Precision precision,
                            const ModelPart &part, Progress *progress, const std::stop_token &stop)
{
    if (Status good = checkHeads(model->config()); !good)
        return good;
    abandonPass();
    if (Status done = synchronize(); !done)
        return done;
    m_graphs.forget();
    m_weights.reset(); // first, so that two models are never held at once
    m_weights = std::make_shared<DeviceWeights>(m_queue);
    m_model = model;
    m_precision = precision;
    openCublas();
    Result<std::shared_ptr<DeviceWeights>> weights = DeviceWeights::of(model, part, m_queue, progress, stop);
    if (!weights)
        return tl::unexpected(weights.error());
    m_weights = std::move(*weights);
    return {};
}

/// Without it everything works, prompts only take longer.
void CudaBackend::openCublas()
{
    if (m_triedCublas)
        return;
    m_triedCublas = true;
    const std::optional<DeviceMemoryUse> before = deviceMemory();
    const Status started = startCublas();
    const std::optional<DeviceMemoryUse> after = deviceMemory();
    if (m_cublas && before && after && before->freeBytes > after->freeBytes)
        m_libraryBytes = before->freeBytes - after->freeBytes;
    if (!started)
        m_remark = "prompts take longer than they need to: " + started.error().text();
}

Status CudaBackend::startCublas()
{
    auto library = CublasLibrary::open(CublasLibrary::usualFiles());
    if (!library)
        return tl::unexpected(library.error());
    Result<DeviceMemory> workspace =
        DeviceMemory::allocate(m_queue, cuda::cublasWorkspaceBytes(m_device.major), "cuBLAS");
    if (!workspace)
        return tl::unexpected(workspace.error());
    auto handle =
        CublasHandle::create(std::move(*library), m_queue->stream(), workspace->data(), workspace->bytes());
    if (!handle)
        return tl::unexpected(handle.error());
    m_cublasWorkspace = std::move(*workspace);
    m_cublas = std::move(*handle);
    return {};
}

Result<std::unique_ptr<BackendBuffer>> CudaBackend::allocate(std::uint64_t bytes, std::string_view what)
{
    Result<DeviceMemory> memory = DeviceMemory::allocate(m_queue, bytes, what);
    if (!memory)
        return tl::unexpected(memory.error());
    return std::make_unique<DeviceBuffer>(std::move(*memory));
}

KvAllocator CudaBackend::kvAllocator()
{
    return [queue = m_queue](std::uint64_t bytes) { return cudaKvMemory(queue, bytes); };
}

Result<std::byte *> CudaBackend::reserve(Scratch &scratch, std::uint64_t bytes)
{
    if (scratch.memory.bytes() >= bytes)
        return scratch.memory.data();
    if (m_graphs.isCapturing())
        return makeError(ErrorCode::Unsupported, std::string("memory for ") + scratch.what,
                         "it has to be there before a pass is remembered");
    m_graphs.drop();
    if (Status done = m_queue->synchronize("wait for the device"); !done) // it may be in use
        return tl::unexpected(done.error());
    scratch.memory = {}; // first, so that both are never held at once
    Result<DeviceMemory> larger = DeviceMemory::allocate(m_queue, bytes, scratch.what);
    if (!larger)
        return tl::unexpected(larger.error());
    scratch.memory = std::move(*larger);
    return scratch.memory.data();
}

Result<std::span<const float>> CudaBackend::read(const float *source, std::size_t count)
{
    if (Status started = m_deferred.flush(); !started)
        return tl::unexpected(started.error());
    const std::size_t bytes = count * sizeof(float);
    if (Status room = reserve(m_readBack, bytes, "results"); !room)
        return tl::unexpected(room.error());
    m_queue->count(Operation::Copy);
    const cudaError_t sent =
        cudaMemcpyAsync(m_readBack.data(), source, bytes, cudaMemcpyDeviceToHost, m_queue->stream());
    if (Status good = start(sent, "copy from the device"); !good)
        return tl::unexpected(good.error());
    m_queue->clock().end(m_queue->stream());
    if (Status done = m_queue->synchronize("copy from the device"); !done)
        return tl::unexpected(done.error());
    m_isWriting = false;
    m_queue->clock().settle();
    return std::span(reinterpret_cast<const float *>(m_readBack.data()), count);
}

Status CudaBackend::write(std::span<const float> source, float *target)
{
    if (Status started = m_deferred.flush(); !started)
        return started;
    // Mostly somebody has read since, and what was written last is there.
    if (Status done = m_isWriting ? m_queue->synchronize("copy to the device") : m_queue->alive(); !done)
        return done;
    if (Status room = reserve(m_written, source.size_bytes(), "rows for the device"); !room)
        return room;
    std::memcpy(m_written.data(), source.data(), source.size_bytes());
    m_queue->count(Operation::Copy);
    m_isWriting = true;
    return start(cudaMemcpyAsync(target, m_written.data(), source.size_bytes(), cudaMemcpyHostToDevice,
                                 m_queue->stream()),
                 "copy to the device");
}

/// The device does not use it now.
Status CudaBackend::reserve(PinnedMemory &memory, std::uint64_t bytes, std::string_view what)
{
    if (memory.bytes() >= bytes)
        return {};
    memory = {};
    Result<PinnedMemory> larger = PinnedMemory::allocate(*m_queue, bytes, what);
    if (!larger)
        return tl::unexpected(larger.error());
    memory = std::move(*larger);
    return {};
}

Status CudaBackend::copyToHost(const float *source, std::span<float> target)
{
    const Result<std::span<const float>> values = read(source, target.size());
    if (!values)
        return tl::unexpected(values.error());
    std::memcpy(target.data(), values->data(), target.size_bytes());
    return {};
}

Status CudaBackend::synchronize()
{
    if (Status started = m_deferred.flush(); !started)
        return started;
    return m_queue->synchronize("wait for the device");
}

Result<const cuda::StepState *> CudaBackend::stateOf(std::uint32_t firstPosition, std::int64_t rows)
{
    if (!m_inputs.holdsState(firstPosition, rows)) {
        if (Status started = m_deferred.flush(); !started)
            return tl::unexpected(started.error());
    }
    return m_inputs.state(firstPosition, rows);
}

Result<cuda::KvLayerView> CudaBackend::viewOf(const KvView &view, LayerIndex layer)
{
    if (view.isOnHost(layer))
        return makeError(ErrorCode::InvalidArgument, "KV cache", "it is not on the device");
    if (!m_inputs.holdsTables(view)) {
        if (Status started = m_deferred.flush(); !started)
            return tl::unexpected(started.error());
    }
    const Result<const std::int32_t *> table = m_inputs.table(view, view.tableOf(layer));
    if (!table)
        return tl::unexpected(table.error());
    return layerView(view, layer, *table);
}

Result<const float *> CudaBackend::floatsOf(std::span<const float> values)
{
    if (!m_floats.holds(values) && m_floats.isFull()) {
        if (Status done = synchronize(); !done)
            return tl::unexpected(done.error());
        m_graphs.drop();
        m_floats.forget();
    }
    return m_floats.on(values);
}

Result<cuda::RotaryParams> CudaBackend::rotaryOf(const RopeParams &params)
{
    cuda::RotaryParams rotary;
    rotary.pairs =
        params.style == RotaryStyle::Interleaved ? cuda::RotaryPairs::Neighbours : cuda::RotaryPairs::Halves;
    rotary.rotated = static_cast<std::int32_t>(params.rotated);
    rotary.magnitude = params.magnitude;
    if (params.rotated == 0)
        return rotary;
    const Result<const float *> frequencies = floatsOf(params.inverseFrequencies);
    if (!frequencies)
        return tl::unexpected(frequencies.error());
    rotary.inverseFrequencies = *frequencies;
    return rotary;
}

/// Null for one that is absent.
Result<const float *> CudaBackend::vectorOf(std::string_view operation, const Weight *weight,
                                            std::int64_t columns)
{
    if (!weight || !weight->isPresent())
        return nullptr;
    if (Status good = checkWeight(operation, *weight, columns); !good)
        return tl::unexpected(good.error());
    return m_weights->vector(*weight);
}

} // namespace tokenloupe
