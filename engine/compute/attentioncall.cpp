// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/attentioncall.h"

#include <limits>

namespace tokenloupe {

namespace {

// Pieces for each thread that are enough to keep all of them busy to the end.
constexpr std::int64_t piecesPerThread = 4;
// Tiles of fewer lanes read keys and values too often.
constexpr std::uint32_t fewestLanes = 16;

std::int64_t quotientUp(std::int64_t a, std::int64_t b)
{
    return (a + b - 1) / b;
}

} // namespace

AttentionCall::AttentionCall(Activations queries, const KvView &view, const AttentionParams &params,
                             const RotaryTable &keyRotary, Activations output, const CpuKernels &kernels)
    : m_input{queries,
              view,
              params,
              keyRotary,
              kernels,
              *attentionKernelsFor(kernels.level),
              view.shape().layers[params.layer.value()],
              {}}
    , m_output(output)
    , m_kvHeads(m_input.layer.heads)
    , m_group(params.heads / m_kvHeads)
{
    m_input.places = attentionScratch(m_input.layer.keySize, m_input.layer.valueSize);
    m_firstPiece = m_input.positionsOf(0).begin / attentionPiece;
    m_endPiece = static_cast<std::uint32_t>(quotientUp(m_input.seenPositions(), attentionPiece));
    cut(attentionLanes, 1);
}

/// Tiles of so many lanes, at least `parts` for each group of heads.
void AttentionCall::cut(std::uint32_t lanes, std::uint32_t parts)
{
    m_headsPerTile = static_cast<std::uint32_t>(quotientUp(m_group, parts));
    m_headsPerTile = std::min(m_headsPerTile, attentionLanes);
    m_parts = static_cast<std::uint32_t>(quotientUp(m_group, m_headsPerTile));
    m_rowsPerTile = std::clamp<std::int64_t>(lanes / m_headsPerTile, 1, m_input.queries.rows);
    m_rowTiles = quotientUp(m_input.queries.rows, m_rowsPerTile);
    m_tiles = m_kvHeads * m_parts * m_rowTiles;
}

void AttentionCall::balance(int threads, std::vector<float> &shared)
{
    if (threads == 1)
        return;
    const std::int64_t enough = piecesPerThread * threads;
    for (std::uint32_t lanes = attentionLanes; m_tiles < enough && lanes > fewestLanes;) {
        lanes /= 2;
        cut(lanes, 1);
    }
    if (m_tiles < enough && m_endPiece - m_firstPiece > 1)
        split(shared);
    else if (m_tiles < threads)
        cut(fewestLanes, static_cast<std::uint32_t>(quotientUp(threads, m_tiles)));
}

/// Pieces of positions, as many at a time as there is room for their sums.
void AttentionCall::split(std::vector<float> &shared)
{
    const std::uint64_t lanes = static_cast<std::uint64_t>(m_rowsPerTile) * m_headsPerTile;
    const std::uint64_t onePiece = static_cast<std::uint64_t>(m_tiles) * lanes * m_input.places.sumStride;
    const std::uint64_t totals =
        static_cast<std::uint64_t>(m_input.queries.rows) * m_input.params.heads * m_input.places.sumStride;
    const std::uint32_t all = m_endPiece - m_firstPiece;
    if (totals + 2 * onePiece > attentionSharedFloats)
        return;
    const auto room = static_cast<std::uint32_t>((attentionSharedFloats - totals) / onePiece);
    m_isSplit = true;
    m_piecesOfTile = std::min(room, all);
    m_turns = static_cast<std::uint32_t>(quotientUp(all, m_piecesOfTile));
    shared.resize(attentionSharedFloats);
    m_totals = shared.data();
    m_sums = shared.data() + totals;
}

std::int64_t AttentionCall::pieceCost() const
{
    const auto positions = m_isSplit ? std::int64_t(attentionPiece)
                                     : std::int64_t(m_input.params.firstPosition) + m_input.queries.rows;
    return positions * m_headsPerTile * m_rowsPerTile *
           (std::int64_t(m_input.layer.keySize) + m_input.layer.valueSize);
}

/// Neighbouring tiles share a KV head.
AttentionTile AttentionCall::tileAt(std::int64_t tile, float *scratch) const
{
    const std::int64_t rows = tile % m_rowTiles;
    const auto part = static_cast<std::uint32_t>(tile / m_rowTiles % m_parts);
    const auto kvHead = static_cast<std::uint32_t>(tile / m_rowTiles / m_parts);
    const std::uint32_t firstHead = part * m_headsPerTile;
    const std::uint32_t endHead = std::min(firstHead + m_headsPerTile, m_group);
    const std::int64_t endRow = std::min((rows + 1) * m_rowsPerTile, m_input.queries.rows);
    AttentionTile result(m_input, kvHead, scratch);
    for (std::int64_t row = rows * m_rowsPerTile; row < endRow; ++row) {
        for (std::uint32_t head = firstHead; head < endHead; ++head)
            result.add(row, kvHead * m_group + head);
    }
    return result;
}

float *AttentionCall::outputOf(std::int64_t row, std::uint32_t head) const
{
    return m_output.data + row * m_output.columns + std::int64_t(head) * m_input.layer.valueSize;
}

void AttentionCall::run(std::uint32_t turn, std::int64_t piece, float *scratch) const
{
    const AttentionTile tile = tileAt(piece / m_piecesOfTile, scratch);
    if (!m_isSplit)
        return runWhole(tile, scratch);
    const std::int64_t first =
        m_firstPiece + turn * m_piecesOfTile + piece % m_piecesOfTile; // the last turn has fewer
    if (first < m_endPiece) {
        const std::uint64_t tileFloats =
            static_cast<std::uint64_t>(m_rowsPerTile) * m_headsPerTile * m_input.places.sumStride;
        tile.attend(static_cast<std::uint32_t>(first) * attentionPiece,
                    m_sums + static_cast<std::uint64_t>(piece) * tileFloats);
    }
}

void AttentionCall::runWhole(const AttentionTile &tile, float *scratch) const
{
    const PositionRange all = tile.positions();
    const std::span<const AttentionTile::Lane> lanes = tile.lanes();
    const std::uint64_t stride = m_input.places.sumStride;
    float *sums = scratch + m_input.places.sums;
    float *totals = scratch + m_input.places.totals;
    for (std::size_t i = 0; i < lanes.size(); ++i)
        begin(totals + i * stride);
    for (std::uint32_t first = all.begin / attentionPiece * attentionPiece; first < all.end;
         first += attentionPiece) {
        tile.attend(first, sums);
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            if (!intersection(lanes[i].positions, {first, first + attentionPiece}).isEmpty())
                m_input.attention.mergeSums(sums + i * stride, totals + i * stride, m_input.layer.valueSize);
        }
    }
    for (std::size_t i = 0; i < lanes.size(); ++i)
        finish(totals + i * stride, lanes[i].row, lanes[i].head);
}

/// Where the sums of a token and head lie among those of a piece of its tile, in lanes from the first tile's
/// first piece.
std::int64_t AttentionCall::laneAt(std::int64_t row, std::uint32_t head) const
{
    const std::uint32_t inGroup = head % m_group;
    const std::uint32_t part = inGroup / m_headsPerTile;
    const std::int64_t tile =
        (std::int64_t(head / m_group) * m_parts + part) * m_rowTiles + row / m_rowsPerTile;
    const std::uint32_t heads = std::min(m_headsPerTile, m_group - part * m_headsPerTile);
    const std::int64_t lane = row % m_rowsPerTile * heads + inGroup % m_headsPerTile;
    return tile * m_piecesOfTile * m_rowsPerTile * m_headsPerTile + lane;
}

void AttentionCall::merge(std::uint32_t turn, std::int64_t rowAndHead) const
{
    const std::int64_t row = rowAndHead / m_input.params.heads;
    const auto head = static_cast<std::uint32_t>(rowAndHead % m_input.params.heads);
    const std::int64_t lanesOfPiece = m_rowsPerTile * m_headsPerTile;
    const std::uint64_t stride = m_input.places.sumStride;
    float *total = m_totals + static_cast<std::uint64_t>(rowAndHead) * stride;
    if (turn == 0)
        begin(total);
    const std::int64_t lane = laneAt(row, head);
    for (std::int64_t piece = 0; piece < m_piecesOfTile; ++piece) {
        const auto first =
            static_cast<std::uint32_t>(m_firstPiece + turn * m_piecesOfTile + piece) * attentionPiece;
        if (!intersection(m_input.positionsOf(row), {first, first + attentionPiece}).isEmpty())
            m_input.attention.mergeSums(m_sums +
                                            static_cast<std::uint64_t>(lane + piece * lanesOfPiece) * stride,
                                        total, m_input.layer.valueSize);
    }
    if (turn + 1 == m_turns)
        finish(total, row, head);
}

/// A sum over no positions.
void AttentionCall::begin(float *total) const
{
    std::fill_n(total, m_input.places.sumStride, 0.0F);
    total[AttentionSum::maximum] = -std::numeric_limits<float>::infinity();
}

void AttentionCall::finish(const float *total, std::int64_t row, std::uint32_t head) const
{
    const CpuKernels &kernels = m_input.kernels;
    const float inverse = 1.0F / total[AttentionSum::total];
    std::copy_n(total + AttentionSum::values, m_input.layer.valueSize, outputOf(row, head));
    kernels.scale(inverse, m_input.layer.valueSize, outputOf(row, head));
    float *weights = m_input.weightsOf(row, head);
    if (!weights)
        return;
    const PositionRange seen = m_input.positionsOf(row);
    std::fill_n(weights, seen.begin, 0.0F);
    std::fill(weights + seen.end, weights + m_input.seenPositions(), 0.0F);
    kernels.expSum(weights + seen.begin, total[AttentionSum::maximum], seen.size());
    kernels.scale(inverse, seen.size(), weights + seen.begin);
}

} // namespace tokenloupe
