// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvview.h"
#include "engine/compute/backend.h"
#include "engine/compute/rotarytable.h"
#include "engine/memory/activationlayout.h"
#include "kernels/cpu/attentionkernels.h"
#include "kernels/cpu/cpukernels.h"

#include <algorithm>
#include <array>
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

inline PositionRange intersection(PositionRange a, PositionRange b)
{
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// What all pieces of work of one attention call share.
struct AttentionInput
{
    Activations queries;
    const KvView &view;
    const AttentionParams &params;
    const RotaryTable &keyRotary; ///< of all positions, where keys are stored unrotated
    const CpuKernels &kernels;
    const AttentionKernels &attention; ///< of the same level
    KvLayerShape layer;
    AttentionScratch places;

    /// Of the call: columns of the weights that somebody wants.
    std::uint32_t seenPositions() const
    {
        return params.firstPosition + static_cast<std::uint32_t>(queries.rows);
    }
    PositionRange positionsOf(std::int64_t row) const
    {
        const std::uint32_t end = params.firstPosition + static_cast<std::uint32_t>(row) + 1;
        return {params.window && end > *params.window ? end - *params.window : 0, end};
    }
    /// Where the softmax weights of a token and head go; null where nobody wants them.
    float *weightsOf(std::int64_t row, std::uint32_t head) const
    {
        return params.weights ? params.weights + (row * params.heads + head) * seenPositions() : nullptr;
    }
};

/// What one (token, head) pair gathered from some positions, as AttentionKernels::mergeSums() has it, in
/// sumStride floats.
struct AttentionSum
{
    static constexpr std::size_t maximum = 0; ///< the largest score
    static constexpr std::size_t total = 1;   ///< of the exponentials relative to it
    static constexpr std::size_t unused = 2;
    static constexpr std::size_t values = 16; ///< weighted with them: (valueSize)
};

/// Some tokens × some heads of one group on one thread, so that keys and values are fetched once for all of
/// them. Nothing that it computes for one (token, head) pair depends on which others are there.
class AttentionTile
{
public:
    struct Lane
    {
        std::int64_t row = 0;
        std::uint32_t head = 0;
        PositionRange positions; ///< what it sees
    };

    AttentionTile(const AttentionInput &input, std::uint32_t kvHead, float *scratch)
        : m_input(input)
        , m_kvHead(kvHead)
        , m_scratch(scratch)
    {}

    /// Lanes in the order of their rows.
    void add(std::int64_t row, std::uint32_t head);
    std::span<const Lane> lanes() const { return {m_lanes.data(), m_count}; }
    PositionRange positions() const
    {
        return {m_lanes.front().positions.begin, lanes().back().positions.end};
    }

    /// The sums over the positions [first, first + attentionPiece) of each lane that sees any of them; lane
    /// i's goes to sums + i · sumStride.
    void attend(std::uint32_t first, float *sums) const;

private:
    const float *queries() const { return m_scratch + m_input.places.queries; }
    float *scoresOf(std::size_t lane) const;

    template <class Visit>
    void inBlocks(PositionRange range, const Visit &visit) const;
    template <class Visit>
    void inChunks(PositionRange range, const Visit &visit) const;

    void score(PositionRange piece, std::uint32_t first) const;
    void scoreTransposed(PositionRange piece, std::uint32_t first) const;
    void exponentiate(std::size_t lane, PositionRange piece, std::uint32_t first, float *sum) const;
    void shape(const Lane &lane, PositionRange seen, float *scores) const;
    void accumulate(PositionRange piece, std::uint32_t first, float *sums) const;
    void weigh(std::size_t firstLane, std::size_t count, PositionRange range, const WeightMatrix &values,
               std::uint32_t first, float *sums) const;
    void weighRange(std::size_t firstLane, std::size_t count, PositionRange range, PositionRange chunk,
                    const WeightMatrix &values, std::uint32_t first, float *sums) const;
    WeightMatrix keys(PositionRange range) const;
    WeightMatrix values(PositionRange range) const;
    WeightMatrix asFloats(const WeightMatrix &stored, float *out) const;
    void fetchAhead(PositionRange range) const;

    const AttentionInput &m_input;
    std::uint32_t m_kvHead;
    float *m_scratch;
    std::array<Lane, attentionLanes> m_lanes;
    std::size_t m_count = 0;
};

} // namespace tokenloupe
