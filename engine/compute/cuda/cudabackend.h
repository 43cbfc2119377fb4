// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"
#include "engine/compute/cuda/cublashandle.h"
#include "engine/compute/cuda/cudadevice.h"
#include "engine/compute/cuda/deferredrows.h"
#include "engine/compute/cuda/devicefloats.h"
#include "engine/compute/cuda/deviceweights.h"
#include "engine/compute/cuda/passgraphs.h"
#include "engine/compute/cuda/stepinputs.h"
#include "kernels/cuda/rowops.h"

#include <memory>
#include <string>

namespace tokenloupe {

/// Whether passes that come again are replayed as a whole.
enum class GraphUse : std::uint8_t { Replay, Never };

/// The coarse operations on a CUDA device. Checks shapes, then starts kernels on one stream and does not
/// wait: only read(), copyToHost() and synchronize() do. A pass of one token waits once, for its logits.
///
/// An operation may be held back until the next one is known (DeferredRows); nobody can tell, as everything
/// that reads memory starts it first.
class CudaBackend final : public Backend
{
public:
    static Result<std::shared_ptr<CudaBackend>> create(const CudaDevice &device, GraphUse graphs);
    ~CudaBackend() override;

    std::string name() const override { return "CUDA"; }
    std::string isa() const override { return "compute capability " + m_device.capability(); }
    std::string deviceName() const override { return m_device.name; }
    std::string remark() const override { return m_remark; }
    double bytesPerSecond() const override { return m_device.bytesPerSecond; }
    bool isLost() const override { return m_queue->isLost(); }
    int threads() const override { return 1; }
    const CudaDevice &device() const { return m_device; }
    std::optional<DeviceNeeds> needs(const Model &model, Precision precision, std::uint32_t batchTokens,
                                     std::uint32_t contextTokens, const ModelPart &part) const override;
    std::optional<DeviceMemoryUse> deviceMemory() const override;
    void measureOperations(Measuring measuring) override;
    OperationTimes takeOperationTimes() override;
    std::optional<LogitStatistics> takeStatistics() override;
    std::uint64_t weightBytes() const { return m_weights->bytes(); }
    std::uint64_t replays() const { return m_graphs.replays(); } ///< of remembered passes, so far

    Status prepare(const std::shared_ptr<const Model> &model, Precision precision, const ModelPart &part,
                   Progress *progress, const std::stop_token &stop) override;
    Result<std::unique_ptr<BackendBuffer>> allocate(std::uint64_t bytes, std::string_view what) override;
    KvAllocator kvAllocator() override;
    Status copyToHost(const float *source, std::span<float> target) override;
    Result<std::span<const float>> read(const float *source, std::size_t count) override;
    Status write(std::span<const float> source, float *target) override;
    Status synchronize() override;
    Result<PassStart> beginPass(const PassRequest &pass) override;
    Result<PassEnd> endPass() override;
    void abandonPass() override;

    Status embed(const Weight &table, std::span<const TokenId> ids, Activations output) override;
    Status addRows(const Weight &table, std::uint32_t first, Activations target) override;
    Status norm(Activations input, const NormParams &params, Activations output) override;
    Status multiply(Activations input, std::span<const Projection> projections) override;
    Status rope(Activations values, std::uint32_t firstPosition, const RopeParams &params) override;
    Status storeKv(Activations keys, Activations values, LayerIndex layer, std::uint32_t firstPosition,
                   const KvView &view) override;
    Status attend(Activations queries, const KvView &view, const AttentionParams &params,
                  Activations output) override;
    Status activate(Activation activation, Activations gate, Activations up, Activations output) override;
    Status experts(Activations input, Activations router, const ExpertParams &params,
                   Activations output) override;
    Status scale(Activations values, float factor) override;
    Status clamp(Activations values, float limit) override;
    Status softCap(Activations values, float cap) override;
    Status add(Activations input, Activations target) override;

private:
    /// Memory that operations work in; it only grows.
    struct Scratch
    {
        DeviceMemory memory;
        const char *what;
    };

    CudaBackend(CudaDevice device, std::shared_ptr<CudaQueue> queue);

    Result<std::byte *> reserve(Scratch &scratch, std::uint64_t bytes);
    Status reserve(PinnedMemory &memory, std::uint64_t bytes, std::string_view what);
    Status start(cudaError_t returned, std::string_view operation)
    {
        return m_queue->check(returned, operation);
    }
    void noteContext();
    void openCublas();
    Status startCublas();
    PassKey keyOf(const PassRequest &pass) const;
    std::int32_t longestContext(const KvView &view, std::int64_t end) const;

    // What operations need on the device. Whatever waits is started before something is replaced there.
    Result<const cuda::StepState *> stateOf(std::uint32_t firstPosition, std::int64_t rows);
    Result<cuda::KvLayerView> viewOf(const KvView &view, LayerIndex layer);
    Result<cuda::RotaryParams> rotaryOf(const RopeParams &params);
    Result<const float *> floatsOf(std::span<const float> values);
    Result<const float *> vectorOf(std::string_view operation, const Weight *weight, std::int64_t columns);

    Operation productOf(const Projection &projection) const;
    Status checkProduct(Activations input, const Projection &projection) const;
    Status multiplyFew(Activations input, std::span<const Projection> projections);
    Status multiplyMany(Activations input, const Projection &projection);
    bool isRounded(TensorType type, std::int64_t columns) const;
    Result<cuda::QuantizedRows> quantize(cuda::DeviceRows rows);
    Status attendWith(cuda::DeviceRows queries, const cuda::KvLayerView &view,
                      const cuda::AttentionShape &shape, const cuda::StepState *state,
                      cuda::DeviceRows output);
    Status summarizeLogits();
    Status multiplyExperts(Activations input, const ExpertParams &params, cuda::ExpertPairs pairs);

    CudaDevice m_device;
    std::shared_ptr<CudaQueue> m_queue;
    std::string m_remark;
    std::uint64_t m_contextBytes = 0; ///< see DeviceMemoryUse
    std::uint64_t m_libraryBytes = 0;
    Precision m_precision = Precision::Exact;
    std::shared_ptr<const Model> m_model; // its weights are known by their addresses
    std::shared_ptr<DeviceWeights> m_weights;
    DeviceMemory m_cublasWorkspace;
    std::unique_ptr<CublasHandle> m_cublas; // null: products of many rows go a few at a time
    bool m_triedCublas = false;
    DeviceFloats m_floats;
    StepInputs m_inputs;
    DeferredRows m_deferred;
    Scratch m_quantized{{}, "rounded activations"};
    Scratch m_attention{{}, "attention"};
    Scratch m_product{{}, "products"};
    Scratch m_routes{{}, "routes to experts"};
    Scratch m_statistics{{}, "statistics of logits"};
    PinnedMemory m_readBack;
    PinnedMemory m_written;
    bool m_isWriting = false;            // the device may not have taken all of it yet
    PinnedMemory m_summary;              // one cuda::LogitSummary, which the device writes by itself
    const float *m_summarized = nullptr; // the row of the last pass that it is of; null: of none
    PassGraphs m_graphs;                 // goes first: its launches use the memory above
};

/// Activations as the kernels take them.
inline cuda::DeviceRows rowsOf(const Activations &values)
{
    return {values.data, static_cast<std::int32_t>(values.rows), static_cast<std::int32_t>(values.columns),
            values.columns};
}

} // namespace tokenloupe
