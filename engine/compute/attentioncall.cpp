// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/attentioncall.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tokenloupe {

namespace {

PositionRange intersection(PositionRange a, PositionRange b)
{
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

} // namespace

AttentionCall::AttentionCall(Activations queries, const KvView &view, const AttentionParams &params,
                             const RotaryTable &keyRotary, Activations output, const CpuKernels &kernels)
    : m_queries(queries)
    , m_view(view)
    , m_params(params)
    , m_keyRotary(keyRotary)
    , m_output(output)
    , m_kernels(kernels)
    , m_layer(view.shape().layers[params.layer.value()])
    , m_places(
          attentionScratch(m_layer.keySize, m_layer.valueSize, view.shape().blockTokens, view.keyPhase()))
    , m_kvHeads(m_layer.heads)
    , m_group(params.heads / m_kvHeads)
{
    cut(std::min(m_group, attentionLanes));
}

void AttentionCall::balance(int threads)
{
    if (pieces() < 4 * threads && m_headsPerPiece > 1)
        cut(1);
}

std::int64_t AttentionCall::pieceCost() const
{
    const auto positions = static_cast<std::int64_t>(m_params.firstPosition) + m_queries.rows;
    return positions * m_headsPerPiece * m_rowsPerPiece * (std::int64_t(m_layer.keySize) + m_layer.valueSize);
}

void AttentionCall::run(std::int64_t piece, float *scratch) const
{
    // Neighbouring pieces share a KV head.
    const std::int64_t tile = piece % m_tiles;
    const auto part = static_cast<std::uint32_t>(piece / m_tiles % m_parts);
    const auto kvHead = static_cast<std::uint32_t>(piece / m_tiles / m_parts);
    const std::uint32_t firstHead = part * m_headsPerPiece;
    const std::uint32_t endHead = std::min(firstHead + m_headsPerPiece, m_group);
    const std::int64_t endRow = std::min((tile + 1) * m_rowsPerPiece, m_queries.rows);

    std::array<Lane, attentionLanes> lanes;
    std::size_t count = 0;
    for (std::int64_t row = tile * m_rowsPerPiece; row < endRow; ++row) {
        for (std::uint32_t head = firstHead; head < endHead; ++head, ++count)
            lanes[count] = startLane(row, kvHead * m_group + head, queryOf(scratch, count));
    }
    walk({lanes.data(), count}, kvHead, scratch);
    for (std::size_t lane = 0; lane < count; ++lane)
        finish(lanes[lane]);
}

void AttentionCall::cut(std::uint32_t headsPerPiece)
{
    m_headsPerPiece = headsPerPiece;
    m_parts = (m_group + headsPerPiece - 1) / headsPerPiece;
    m_rowsPerPiece = std::min<std::int64_t>(attentionLanes / headsPerPiece, m_queries.rows);
    m_tiles = (m_queries.rows + m_rowsPerPiece - 1) / m_rowsPerPiece;
}

std::uint32_t AttentionCall::seenPositions() const
{
    return m_params.firstPosition + static_cast<std::uint32_t>(m_queries.rows);
}

float *AttentionCall::queryOf(float *scratch, std::size_t lane) const
{
    return scratch + m_places.queries + lane * m_layer.keySize;
}

float *AttentionCall::scoresOf(float *scratch, std::size_t lane) const
{
    return scratch + m_places.scores + lane * attentionPiece;
}

AttentionCall::Lane AttentionCall::startLane(std::int64_t row, std::uint32_t head, float *query) const
{
    const std::uint32_t position = m_params.firstPosition + static_cast<std::uint32_t>(row);
    Lane lane;
    lane.positions.end = position + 1;
    if (!m_params.slopes.empty())
        lane.slope = m_params.slopes[head];
    if (m_params.window && lane.positions.end > *m_params.window)
        lane.positions.begin = lane.positions.end - *m_params.window;
    lane.output = m_output.data + row * m_output.columns + std::int64_t(head) * m_layer.valueSize;
    std::fill_n(lane.output, m_layer.valueSize, 0.0F);
    if (m_params.weights) {
        lane.weights = m_params.weights + (row * m_params.heads + head) * seenPositions();
        std::fill_n(lane.weights, seenPositions(), 0.0F);
    }
    std::copy_n(m_queries.data + row * m_queries.columns + std::int64_t(head) * m_layer.keySize,
                m_layer.keySize, query);
    m_kernels.scale(m_params.scale, m_layer.keySize, query);
    return lane;
}

/// All positions that any lane sees, in pieces that start at multiples of attentionPiece: where a lane's sum
/// is rescaled depends on the position alone.
void AttentionCall::walk(std::span<Lane> lanes, std::uint32_t kvHead, float *scratch) const
{
    const PositionRange all{lanes.front().positions.begin, lanes.back().positions.end};
    std::uint32_t first = all.begin / attentionPiece * attentionPiece;
    for (; first < all.end; first += attentionPiece) {
        const PositionRange piece = intersection({first, first + attentionPiece}, all);
        score(lanes.size(), kvHead, piece, first, scratch);
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
            exponentiate(lanes[lane], piece, scoresOf(scratch, lane), first);
        accumulate(lanes, kvHead, piece, first, scratch);
    }
}

/// Calls visit(range) for the stretches of `piece` that lie in one block.
template <class Visit>
void AttentionCall::forBlocks(PositionRange piece, const Visit &visit) const
{
    const std::uint32_t blockTokens = m_view.shape().blockTokens;
    for (std::uint32_t position = piece.begin; position < piece.end;) {
        const std::uint32_t end = std::min(piece.end, position - position % blockTokens + blockTokens);
        visit(PositionRange{position, end});
        position = end;
    }
}

/// scores[lane][position - first] = query · key.
void AttentionCall::score(std::size_t lanes, std::uint32_t kvHead, PositionRange piece, std::uint32_t first,
                          float *scratch) const
{
    forBlocks(piece, [&](PositionRange range) {
        fetchAhead(kvHead, range, piece.end);
        m_kernels.matmul(blockKeys(kvHead, range, scratch + m_places.keys), queryOf(scratch, 0),
                         m_layer.keySize, static_cast<std::int64_t>(lanes),
                         scoresOf(scratch, 0) + (range.begin - first), attentionPiece, 0, range.size());
    });
}

/// Asks for the next block's keys and for this block's values, which come after all scores. Between two
/// tokens a whole model of weights went through the caches, so both lie in memory.
void AttentionCall::fetchAhead(std::uint32_t kvHead, PositionRange range, std::uint32_t end) const
{
    const auto fetch = [](const std::byte *p, std::uint64_t bytes) {
        for (std::uint64_t i = 0; i < bytes; i += 64)
            __builtin_prefetch(p + i);
    };
    if (m_queries.rows > 1) // many queries share what is fetched once
        return;
    const std::uint64_t valueBytes = kvRowBytes(m_view.shape().valueType, m_layer.valueSize);
    fetch(m_view.values(m_params.layer, kvHead, range.begin).data, range.size() * valueBytes);
    if (range.end >= end)
        return;
    const std::uint64_t keyBytes = kvRowBytes(m_view.shape().keyType, m_layer.keySize);
    fetch(m_view.keys(m_params.layer, kvHead, range.end).data,
          std::min(end - range.end, m_view.shape().blockTokens) * keyBytes);
}

/// The keys of a block are a matrix as the kernels know it, in place unless they are still to be rotated.
WeightMatrix AttentionCall::blockKeys(std::uint32_t kvHead, PositionRange range, float *rotated) const
{
    const KvRows keys = m_view.keys(m_params.layer, kvHead, range.begin);
    const WeightMatrix stored{tensorTypeOf(m_view.shape().keyType), range.size(), m_layer.keySize, keys.data};
    if (m_view.keyPhase() == KeyPhase::Rotated)
        return stored;
    for (std::uint32_t row = 0; row < range.size(); ++row) {
        float *key = rotated + std::size_t(row) * m_layer.keySize;
        m_kernels.dequantizeRow(stored, row, key);
        m_keyRotary.rotate(key, std::int64_t(range.begin) + row, m_params.keyRotation.style);
    }
    return {TensorType::F32, stored.rows, stored.columns, reinterpret_cast<const std::byte *>(rotated)};
}

void AttentionCall::shape(const Lane &lane, PositionRange seen, float *scores) const
{
    if (m_params.softCap > 0.0F)
        m_kernels.softCap(m_params.softCap, seen.size(), scores);
    if (lane.slope == 0.0F)
        return;
    auto distance = static_cast<float>(lane.positions.end - 1 - seen.begin);
    for (std::uint32_t i = 0; i < seen.size(); ++i, distance -= 1.0F)
        scores[i] -= lane.slope * distance;
}

void AttentionCall::exponentiate(Lane &lane, PositionRange piece, float *scores, std::uint32_t first) const
{
    const PositionRange seen = intersection(lane.positions, piece);
    if (seen.isEmpty())
        return;
    float *own = scores + (seen.begin - first);
    shape(lane, seen, own);
    if (lane.weights)
        std::copy_n(own, seen.size(), lane.weights + seen.begin);
    const float maximum = std::max(lane.maximum, m_kernels.maximum(own, seen.size()));
    if (maximum > lane.maximum && lane.sum > 0.0F) {
        const float factor = std::exp(lane.maximum - maximum);
        m_kernels.scale(factor, m_layer.valueSize, lane.output);
        lane.sum *= factor;
    }
    lane.maximum = maximum;
    lane.sum += m_kernels.expSum(own, maximum, seen.size());
}

/// output[lane] += Σ weight · value, positions in rising order.
void AttentionCall::accumulate(std::span<const Lane> lanes, std::uint32_t kvHead, PositionRange piece,
                               std::uint32_t first, float *scratch) const
{
    const std::int64_t width = m_layer.valueSize;
    forBlocks(piece, [&](PositionRange range) {
        const float *values = blockValues(kvHead, range, scratch + m_places.values);
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            const PositionRange seen = intersection(lanes[lane].positions, range);
            if (!seen.isEmpty())
                m_kernels.addRows(scoresOf(scratch, lane) + (seen.begin - first), seen.size(),
                                  values + std::int64_t(seen.begin - range.begin) * width, width,
                                  lanes[lane].output);
        }
    });
}

const float *AttentionCall::blockValues(std::uint32_t kvHead, PositionRange range, float *converted) const
{
    const std::byte *stored = m_view.values(m_params.layer, kvHead, range.begin).data;
    const KvType type = m_view.shape().valueType;
    if (type == KvType::F32)
        return reinterpret_cast<const float *>(stored);
    // The rows follow each other, each of whole blocks: they are read as one.
    const std::int64_t count = std::int64_t(range.size()) * m_layer.valueSize;
    m_kernels.dequantizeRow({tensorTypeOf(type), 1, count, stored}, 0, converted);
    return converted;
}

void AttentionCall::finish(const Lane &lane) const
{
    const float inverse = 1.0F / lane.sum;
    m_kernels.scale(inverse, m_layer.valueSize, lane.output);
    if (!lane.weights)
        return;
    float *weights = lane.weights + lane.positions.begin;
    m_kernels.expSum(weights, lane.maximum, lane.positions.size());
    m_kernels.scale(inverse, lane.positions.size(), weights);
}

} // namespace tokenloupe
