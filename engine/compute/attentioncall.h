// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/compute/attentiontile.h"

#include <span>
#include <vector>

namespace tokenloupe {

/// One attention call as all workers see it, and how it is cut into pieces of work: tiles (some tokens × some
/// heads of one group), and where these are too few, each of them over one stretch of attentionPiece
/// positions after the other. A (token, head) pair's sums over those stretches are always added in rising
/// order, so how the work is cut changes no result. run() and merge() may be called by many threads.
class AttentionCall
{
public:
    /// Shapes are the caller's to check. `keyRotary` covers all positions where keys are stored unrotated.
    AttentionCall(Activations queries, const KvView &view, const AttentionParams &params,
                  const RotaryTable &keyRotary, Activations output, const CpuKernels &kernels);

    /// Cuts the work for `threads`. `shared` may hold attentionSharedFloats and has to live as long as this.
    void balance(int threads, std::vector<float> &shared);

    std::uint64_t scratchFloats() const { return m_input.places.total; }
    /// Turns that come one after the other: run() of all pieces, then merge() of all rows.
    std::uint32_t turns() const { return m_turns; }
    std::int64_t pieces() const { return m_tiles * m_piecesOfTile; }
    std::int64_t pieceCost() const; ///< multiply-adds, about
    void run(std::uint32_t turn, std::int64_t piece, float *scratch) const;

    /// Nothing to merge where a piece is a whole tile.
    std::int64_t merges() const { return m_isSplit ? m_input.queries.rows * m_input.params.heads : 0; }
    std::int64_t mergeCost() const { return std::int64_t(m_piecesOfTile) * m_input.layer.valueSize; }
    void merge(std::uint32_t turn, std::int64_t rowAndHead) const;

private:
    void cut(std::uint32_t lanes, std::uint32_t parts);
    void split(std::vector<float> &shared);
    AttentionTile tileAt(std::int64_t tile, float *scratch) const;
    std::int64_t laneAt(std::int64_t row, std::uint32_t head) const;
    float *outputOf(std::int64_t row, std::uint32_t head) const;
    void runWhole(const AttentionTile &tile, float *scratch) const;
    void begin(float *total) const;
    void finish(const float *total, std::int64_t row, std::uint32_t head) const;

    AttentionInput m_input;
    Activations m_output;
    std::uint32_t m_kvHeads;
    std::uint32_t m_group;          // query heads that share a KV head
    std::uint32_t m_firstPiece = 0; // of the positions that any token sees
    std::uint32_t m_endPiece = 0;
    std::uint32_t m_headsPerTile = 1;
    std::uint32_t m_parts = 1; // of a group
    std::int64_t m_rowsPerTile = 1;
    std::int64_t m_rowTiles = 1;
    std::int64_t m_tiles = 1;
    // Where pieces are stretches of positions:
    bool m_isSplit = false;
    std::uint32_t m_turns = 1;
    std::int64_t m_piecesOfTile = 1; // in one turn
    float *m_sums = nullptr;         // (tiles × pieces of a turn × lanes of a tile × sumStride)
    float *m_totals = nullptr;       // (rows × heads × sumStride): after the turns so far
};

} // namespace tokenloupe
