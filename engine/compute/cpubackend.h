// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/backend.h"
#include "engine/compute/expertroutes.h"
#include "engine/compute/operationwatch.h"
#include "engine/compute/packedweights.h"
#include "engine/compute/rotarytable.h"
#include "engine/compute/stretchqueue.h"
#include "engine/compute/workerpool.h"
#include "kernels/cpu/cpukernels.h"
#include "kernels/cpu/fastkernels.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tokenloupe {

/// The coarse operations on the CPU. Checks shapes, then splits the rows among the workers; the inner loops
/// are the kernels'. Results depend neither on the number of threads nor on which thread computes what: every
/// number is computed as a whole by one of them, in an order that only its own position in the model sets.
class CpuBackend final : public Backend
{
public:
    CpuBackend(std::unique_ptr<WorkerPool> pool, const CpuKernels &kernels, const FastKernels &fastKernels);

    std::string name() const override { return "CPU"; }
    std::string isa() const override
    {
        return m_packed && m_packed->bytes() > 0 ? m_fastKernels.name : m_kernels.name;
    }
    bool isInHostMemory() const override { return true; }
    int threads() const override { return m_pool->threads(); }

    void measureOperations(Measuring measuring) override { m_watch.turn(measuring); }
    OperationTimes takeOperationTimes() override { return m_watch.take(); }

    Status prepare(const std::shared_ptr<const Model> &model, Precision precision, const ModelPart &part,
                   Progress *progress, const std::stop_token &stop) override;
    Result<std::unique_ptr<BackendBuffer>> allocate(std::uint64_t bytes, std::string_view what) override;
    Status copyToHost(const float *source, std::span<float> target) override;
    Result<std::span<const float>> read(const float *source, std::size_t count) override
    {
        return std::span<const float>(source, count);
    }
    Status write(std::span<const float> source, float *target) override;
    Status synchronize() override { return {}; } // every call returns when its work is done

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
    /// One matrix of a multiply call, as the workers see it.
    struct Product
    {
        WeightMatrix matrix;
        const PackedMatrix *packed = nullptr;
        const float *bias = nullptr;
        Activations output;
        std::int64_t firstUnit = 0; // of the call's row groups, counted over all matrices
    };

    /// What comes after a product, as it was the last time.
    struct Following
    {
        std::vector<const std::byte *> starts;         // where each worker begins in the next product
        std::vector<std::span<const std::byte>> gains; // of the norms before that
    };

    /// work(worker, begin, end) for pieces that cover [0, units); in place when `cost` (about the number of
    /// multiply-adds of one unit) makes the whole too small to be worth a hand-over.
    template <class Work>
    void share(std::int64_t units, std::int64_t cost, const Work &work);

    /// A vector weight as float32: the file's own memory where it holds just that, else converted to
    /// `scratch`.
    const float *vectorOf(const Weight &weight, std::vector<float> &scratch) const;
    /// work(first, count) for pieces of `values` that start at fixed places.
    template <class Work>
    void sharePieces(Activations values, std::int64_t cost, const Work &work);
    void activatePiece(Activation activation, const float *gate, const float *up, std::int64_t count,
                       float *output) const;
    Status multiplyExperts(Activations input, const ExpertParams &params);
    Status prepareProducts(Activations input, std::span<const Projection> projections);
    void quantizeInput(Activations input);
    const std::byte *startOf(std::int64_t unit) const;
    void learnOrder(std::int64_t units);
    void fetchNext();
    void noteGain(const Weight &gain);
    void multiplyUnits(Activations input, std::int64_t begin, std::int64_t end) const;

    std::unique_ptr<WorkerPool> m_pool;
    const CpuKernels &m_kernels;
    const FastKernels &m_fastKernels;
    std::shared_ptr<const PackedWeights> m_packed; // null: exact
    std::shared_ptr<const void> m_inPlace;         // exact: the weights stay where they are
    StretchQueue m_queue;
    OperationWatch m_watch;
    const Weight *m_head = nullptr; ///< of the model that was prepared: the matrix that gives the logits
    RotaryTables m_rotary;
    RotaryTables m_keyRotary; // of all positions: keys that are stored unrotated
    std::vector<float> m_normScratch;
    std::vector<float> m_normBiasScratch;
    ExpertRoutes m_routes;
    std::vector<std::vector<float>> m_biasScratch; // one for each projection of a call
    std::vector<Product> m_products;
    // By the first matrix of a product: one token after the other they come in the same order.
    std::unordered_map<const std::byte *, Following> m_following;
    const std::byte *m_lastCall = nullptr;
    std::vector<std::byte> m_quantized;    // (tokens of a call × ActivationRow)
    std::vector<float> m_attentionScratch; // threads × AttentionScratch::total
    std::vector<float> m_attentionShared;
};

/// The view of a weight that the kernels take.
inline WeightMatrix matrixOf(const Weight &weight)
{
    return {weight.type, weight.rows, weight.columns, weight.data.data()};
}

// Below this many multiply-adds (about a microsecond) a hand-over to other threads costs more than it saves.
constexpr std::int64_t smallestShare = 16384;

// Element-wise work is cut at fixed places, so that a value is always computed in the same lane of the
// kernel.
constexpr std::int64_t elementPiece = 1024;

template <class Work>
void CpuBackend::sharePieces(Activations values, std::int64_t cost, const Work &work)
{
    const std::int64_t total = values.rows * values.columns;
    const std::int64_t pieces = (total + elementPiece - 1) / elementPiece;
    share(pieces, cost * elementPiece, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece)
            work(piece * elementPiece, std::min(elementPiece, total - piece * elementPiece));
    });
}

template <class Work>
void CpuBackend::share(std::int64_t units, std::int64_t cost, const Work &work)
{
    const std::int64_t unitCost = cost > 0 ? cost : 1;
    const std::int64_t grain = (smallestShare + unitCost - 1) / unitCost;
    if (m_pool->threads() == 1 || units <= grain) {
        if (units > 0)
            work(0, std::int64_t(0), units);
        return;
    }
    m_queue.reset(units, grain);
    m_pool->run([this, &work](int worker) {
        for (Stretch piece = m_queue.next(worker); !piece.isEmpty(); piece = m_queue.next(worker))
            work(worker, piece.begin, piece.end);
    });
}

} // namespace tokenloupe
