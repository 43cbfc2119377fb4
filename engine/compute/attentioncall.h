// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvview.h"
#include "engine/compute/backend.h"
#include "engine/compute/rotarytable.h"
#include "engine/memory/activationlayout.h"
#include "kernels/cpu/cpukernels.h"

#include <limits>
#include <span>

namespace tokenloupe {

/// Positions [begin, end).
struct PositionRange
{
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool isEmpty() const { return begin >= end; }
    std::uint32_t size() const { return end - begin; }
};

/// One attention call as all workers see it, and how it is cut into pieces of work: some tokens × some heads
/// of one group, so that keys and values are fetched once for all of them. run() may be called by many
/// threads.
class AttentionCall
{
public:
    /// Shapes are the caller's to check. `keyRotary` covers all positions where keys are stored unrotated.
    AttentionCall(Activations queries, const KvView &view, const AttentionParams &params,
                  const RotaryTable &keyRotary, Activations output, const CpuKernels &kernels);

    /// Finer pieces when there are too few for `threads`. Changes no result.
    void balance(int threads);
    std::int64_t pieces() const { return std::int64_t(m_kvHeads) * m_parts * m_tiles; }
    std::int64_t pieceCost() const; ///< multiply-adds, about
    std::uint64_t scratchFloats() const { return m_places.total; }

    void run(std::int64_t piece, float *scratch) const;

private:
    /// One (token, head) pair on its way through the positions: softmax and weighted sum in one pass, the sum
    /// being rescaled whenever a larger score turns up. Depends on nothing but its own query and the keys and
    /// values.
    struct Lane
    {
        PositionRange positions;  // what it sees
        float *output = nullptr;  // (valueHeadSize)
        float *weights = nullptr; // (positions of the call) or absent
        float slope = 0.0F;       // ALiBi
        float maximum = -std::numeric_limits<float>::infinity();
        float sum = 0.0F;
    };

    void cut(std::uint32_t headsPerPiece);
    std::uint32_t seenPositions() const;
    float *queryOf(float *scratch, std::size_t lane) const;
    float *scoresOf(float *scratch, std::size_t lane) const;

    Lane startLane(std::int64_t row, std::uint32_t head, float *query) const;
    void walk(std::span<Lane> lanes, std::uint32_t kvHead, float *scratch) const;
    template <class Visit>
    void forBlocks(PositionRange piece, const Visit &visit) const;
    void score(std::size_t lanes, std::uint32_t kvHead, PositionRange piece, std::uint32_t first,
               float *scratch) const;
    /// What the architecture does to scores before the softmax.
    void shape(const Lane &lane, PositionRange seen, float *scores) const;
    void exponentiate(Lane &lane, PositionRange piece, float *scores, std::uint32_t first) const;
    void accumulate(std::span<const Lane> lanes, std::uint32_t kvHead, PositionRange piece,
                    std::uint32_t first, float *scratch) const;
    void fetchAhead(std::uint32_t kvHead, PositionRange range, std::uint32_t end) const;
    const float *blockValues(std::uint32_t kvHead, PositionRange range, float *converted) const;
    WeightMatrix blockKeys(std::uint32_t kvHead, PositionRange range, float *rotated) const;
    void finish(const Lane &lane) const;

    Activations m_queries;
    const KvView &m_view;
    const AttentionParams &m_params;
    const RotaryTable &m_keyRotary;
    Activations m_output;
    const CpuKernels &m_kernels;
    KvLayerShape m_layer;
    AttentionScratch m_places;
    std::uint32_t m_kvHeads;
    std::uint32_t m_group; // query heads that share a KV head
    std::uint32_t m_headsPerPiece = 1;
    std::uint32_t m_parts = 1; // of a group
    std::int64_t m_rowsPerPiece = 1;
    std::int64_t m_tiles = 1; // of the rows
};

} // namespace tokenloupe
