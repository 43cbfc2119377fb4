// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvplan.h"
#include "engine/estimate/estimate.h"
#include "engine/estimate/estimatebuffers.h"
#include "engine/estimate/weightplaces.h"
#include "engine/memory/memoryplan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tokenloupe {

/// Everything at one context and batch, in bytes.
struct Costs
{
    std::uint64_t context = 0;
    std::uint64_t batch = 0;
    std::uint64_t microBatch = 0;
    KvPlan kv;
    std::uint64_t state = 0; ///< of recurrent layers

    // EstimateTarget::Gpu
    BufferSettings bufferSettings;
    GpuBuffers buffers; ///< of one card
    KvPlan draftKv;
    BufferSettings draftSettings;
    GpuBuffers draftBuffers;
    std::vector<std::uint64_t> fixed;  ///< on each card whatever layers it holds
    std::vector<std::uint64_t> layers; ///< weights, keys and values, state (SplitKind::Layers)
    std::uint64_t replicated = 0;      ///< stored more than once because there are several cards

    // EstimateTarget::ThisProgram
    MemoryPlan plan;

    std::uint64_t total = 0;
};

/// A request made ready: settings checked, weights planned. What it costs at any context and batch is then a
/// few sums.
class CostModel
{
public:
    static Result<CostModel> create(const EstimateRequest &request);

    Result<Costs> at(std::uint64_t context, std::uint64_t batch) const;
    bool fits(const Costs &costs) const;

    const EstimateRequest &request() const { return m_request; }
    const ModelShape &shape() const { return *m_request.shape; }
    const WeightPlan &weights() const { return m_weights; }
    const WeightPlan &draftWeights() const { return m_draftWeights; }
    const WeightPlaces &places() const { return m_places; }
    const KvShape &kvShape() const { return m_kv; }
    const KvShape &draftKvShape() const { return m_draftKv; }
    const BufferShape &buffers() const { return m_buffers; }
    const BufferShape &draftBuffers() const { return m_draftBuffers; }
    std::uint64_t capacity() const { return m_capacity; }
    /// Memory of each card; capacity alone is one card without a name.
    const std::vector<std::uint64_t> &cardMemory() const { return m_cardMemory; }
    std::size_t cards() const { return m_cardMemory.size(); }

private:
    explicit CostModel(EstimateRequest request);
    Status checkRequest() const;
    void setCapacity();
    Status addGpu(Costs &costs) const;
    Status addThisProgram(Costs &costs) const;
    Status addDraft(Costs &costs) const;
    Status splitLayers(Costs &costs) const;
    Status splitTensors(Costs &costs) const;
    /// Keys and values that one of several cards holds when heads are divided.
    std::uint64_t cardKv(const Costs &costs) const;

    EstimateRequest m_request;
    ModelConfig m_config; ///< ThisProgram
    WeightPlan m_weights, m_draftWeights;
    WeightPlaces m_places;
    std::uint64_t m_normBytes = 0;
    KvShape m_kv, m_draftKv;
    BufferShape m_buffers, m_draftBuffers;
    std::uint64_t m_capacity = 0;
    std::vector<std::uint64_t> m_cardMemory;
};

/// Largest number up to searchLimit for which `fits` holds; it must hold for all smaller ones. 0: not even 1.
constexpr std::uint64_t searchLimit = std::uint64_t(1) << 40;
template <class Predicate>
std::uint64_t largestThatFits(const Predicate &fits)
{
    std::uint64_t low = 0;
    std::uint64_t high = searchLimit + 1;
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (fits(middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

} // namespace tokenloupe
