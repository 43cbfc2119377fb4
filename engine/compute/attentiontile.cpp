// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/attentiontile.h"

#include <cassert>

namespace tokenloupe {

namespace {

// With more lanes than this, turning the keys round once costs less than summing across registers for each.
constexpr std::size_t directLanes = 8;
// Lanes whose weighted sums are computed together. A multiple of what every set's kernel takes at once.
constexpr std::size_t weighedLanes = 6;
// How far ahead of the keys that are read others are asked for.
constexpr std::uint32_t positionsAhead = 64;

bool standsAlone(TensorType type)
{
    return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::BF16;
}

} // namespace

void AttentionTile::add(std::int64_t row, std::uint32_t head)
{
    assert(m_count < attentionLanes);
    const AttentionInput &in = m_input;
    float *query = m_scratch + in.places.queries + m_count * in.places.keyStride;
    std::copy_n(in.queries.data + row * in.queries.columns + std::int64_t(head) * in.layer.keySize,
                in.layer.keySize, query);
    std::fill(query + in.layer.keySize, query + in.places.keyStride, 0.0F);
    in.kernels.scale(in.params.scale, in.layer.keySize, query);
    m_lanes[m_count++] = {row, head, in.positionsOf(row)};
}

float *AttentionTile::scoresOf(std::size_t lane) const
{
    return m_scratch + m_input.places.scores + lane * attentionPiece;
}

void AttentionTile::attend(std::uint32_t first, float *sums) const
{
    const PositionRange piece = intersection({first, first + attentionPiece}, positions());
    if (piece.isEmpty())
        return;
    if (m_count > directLanes)
        scoreTransposed(piece, first);
    else
        score(piece, first);
    const std::uint64_t stride = m_input.places.sumStride;
    for (std::size_t lane = 0; lane < m_count; ++lane)
        exponentiate(lane, piece, first, sums + lane * stride);
    accumulate(piece, first, sums);
}

/// Calls visit(range) for the stretches of `range` that lie in one block, chunks at most.
template <class Visit>
void AttentionTile::inBlocks(PositionRange range, const Visit &visit) const
{
    const std::uint32_t blockTokens = m_input.view.shape().blockTokens;
    for (std::uint32_t position = range.begin; position < range.end;) {
        const std::uint32_t blockEnd = position - position % blockTokens + blockTokens;
        const std::uint32_t end = std::min({range.end, blockEnd, position + attentionChunk});
        visit(PositionRange{position, end});
        position = end;
    }
}

template <class Visit>
void AttentionTile::inChunks(PositionRange range, const Visit &visit) const
{
    for (std::uint32_t position = range.begin; position < range.end; position += attentionChunk)
        visit(PositionRange{position, std::min(range.end, position + attentionChunk)});
}

/// scores[lane][position - first] = query · key.
void AttentionTile::score(PositionRange piece, std::uint32_t first) const
{
    const auto stride = static_cast<std::int64_t>(m_input.places.keyStride);
    inBlocks(piece, [&](PositionRange range) {
        fetchAhead(range);
        m_input.attention.scoreRows(keys(range), queries(), stride, static_cast<std::int64_t>(m_count),
                                    scoresOf(0) + (range.begin - first), attentionPiece);
    });
}

void AttentionTile::scoreTransposed(PositionRange piece, std::uint32_t first) const
{
    float *turned = m_scratch + m_input.places.keys;
    const auto keyStride = static_cast<std::int64_t>(m_input.places.keyStride);
    inChunks(piece, [&](PositionRange chunk) {
        const std::int64_t stride = (std::int64_t(chunk.size()) + 15) / 16 * 16;
        inBlocks(chunk, [&](PositionRange range) {
            m_input.attention.transposeRows(keys(range), turned + (range.begin - chunk.begin), stride);
        });
        // What lies behind the last key is summed too, and nobody looks at it.
        m_input.attention.scoreTile(turned, stride, keyStride, queries(), keyStride,
                                    static_cast<std::int64_t>(m_count), scoresOf(0) + (chunk.begin - first),
                                    attentionPiece);
    });
}

/// Between two tokens a whole model of weights went through the caches, so keys and values lie in memory, in
/// pieces that are too short for the processor to see where they go on.
void AttentionTile::fetchAhead(PositionRange range) const
{
    const auto fetch = [](const std::byte *p, std::uint64_t bytes) {
        for (std::uint64_t i = 0; i < bytes; i += 64)
            __builtin_prefetch(p + i, 0, 2);
    };
    const AttentionInput &in = m_input;
    const KvShape &shape = in.view.shape();
    fetch(in.view.values(in.params.layer, m_kvHead, range.begin).data,
          range.size() * kvRowBytes(shape.valueType, in.layer.valueSize));
    const std::uint32_t ahead = range.begin + positionsAhead;
    if (ahead < positions().end)
        fetch(in.view.keys(in.params.layer, m_kvHead, ahead).data,
              std::min(range.size(), positions().end - ahead) * kvRowBytes(shape.keyType, in.layer.keySize));
}

WeightMatrix AttentionTile::asFloats(const WeightMatrix &stored, float *out) const
{
    // The rows follow each other, each of whole blocks: they are read as one.
    const std::int64_t count = stored.rows * stored.columns;
    m_input.kernels.dequantizeRow({stored.type, 1, count, stored.data}, 0, out);
    return {TensorType::F32, stored.rows, stored.columns, reinterpret_cast<const std::byte *>(out)};
}

/// Keys of a block are a matrix as the kernels know it, in place unless they are still to be converted or
/// rotated.
WeightMatrix AttentionTile::keys(PositionRange range) const
{
    const AttentionInput &in = m_input;
    const WeightMatrix stored{tensorTypeOf(in.view.shape().keyType), range.size(), in.layer.keySize,
                              in.view.keys(in.params.layer, m_kvHead, range.begin).data};
    const bool isRotated = in.view.keyPhase() == KeyPhase::Rotated;
    if (isRotated && standsAlone(stored.type))
        return stored;
    float *rows = m_scratch + in.places.rows;
    const WeightMatrix converted = asFloats(stored, rows);
    for (std::uint32_t row = 0; row < range.size() && !isRotated; ++row)
        in.keyRotary.rotate(rows + std::size_t(row) * in.layer.keySize, std::int64_t(range.begin) + row,
                            in.params.keyRotation.style);
    return converted;
}

WeightMatrix AttentionTile::values(PositionRange range) const
{
    const AttentionInput &in = m_input;
    return {tensorTypeOf(in.view.shape().valueType), range.size(), in.layer.valueSize,
            in.view.values(in.params.layer, m_kvHead, range.begin).data};
}

/// What the architecture does to scores before the softmax.
void AttentionTile::shape(const Lane &lane, PositionRange seen, float *scores) const
{
    const AttentionParams &params = m_input.params;
    if (params.softCap > 0.0F)
        m_input.kernels.softCap(params.softCap, seen.size(), scores);
    if (params.slopes.empty())
        return;
    const float slope = params.slopes[lane.head];
    auto distance = static_cast<float>(lane.positions.end - 1 - seen.begin);
    for (std::uint32_t i = 0; i < seen.size(); ++i, distance -= 1.0F)
        scores[i] -= slope * distance;
}

void AttentionTile::exponentiate(std::size_t lane, PositionRange piece, std::uint32_t first, float *sum) const
{
    const Lane &own = m_lanes[lane];
    const PositionRange seen = intersection(own.positions, piece);
    if (seen.isEmpty())
        return;
    float *scores = scoresOf(lane) + (seen.begin - first);
    shape(own, seen, scores);
    if (float *weights = m_input.weightsOf(own.row, own.head))
        std::copy_n(scores, seen.size(), weights + seen.begin);
    m_input.attention.softmaxPiece(scores, seen.size(), sum + AttentionSum::maximum,
                                   sum + AttentionSum::total);
    std::fill(sum + AttentionSum::unused, sum + m_input.places.sumStride, 0.0F);
}

/// sums[lane] += Σ weight · value, positions in rising order.
void AttentionTile::accumulate(PositionRange piece, std::uint32_t first, float *sums) const
{
    if (m_count <= directLanes) {
        inBlocks(piece, [&](PositionRange range) {
            const WeightMatrix stored = values(range);
            weigh(0, m_count, range,
                  standsAlone(stored.type) ? stored : asFloats(stored, m_scratch + m_input.places.rows),
                  first, sums);
        });
        return;
    }
    inChunks(piece, [&](PositionRange chunk) {
        float *rows = m_scratch + m_input.places.rows;
        inBlocks(chunk, [&](PositionRange range) {
            asFloats(values(range), rows + std::size_t(range.begin - chunk.begin) * m_input.layer.valueSize);
        });
        const WeightMatrix matrix{TensorType::F32, chunk.size(), m_input.layer.valueSize,
                                  reinterpret_cast<const std::byte *>(rows)};
        for (std::size_t lane = 0; lane < m_count; lane += weighedLanes)
            weigh(lane, std::min(weighedLanes, m_count - lane), chunk, matrix, first, sums);
    });
}

/// Neighbouring lanes see almost the same positions: those that all of them see together, the others each for
/// itself. What a lane does not see must not be touched, not even with a weight of 0: it may be infinite.
void AttentionTile::weigh(std::size_t firstLane, std::size_t count, PositionRange range,
                          const WeightMatrix &values, std::uint32_t first, float *sums) const
{
    const PositionRange common{m_lanes[firstLane + count - 1].positions.begin,
                               m_lanes[firstLane].positions.end};
    const PositionRange together = intersection(common, range);
    if (together.isEmpty()) {
        for (std::size_t lane = firstLane; lane < firstLane + count; ++lane)
            weighRange(lane, 1, intersection(m_lanes[lane].positions, range), range, values, first, sums);
        return;
    }
    for (std::size_t lane = firstLane; lane < firstLane + count; ++lane) {
        const PositionRange own = intersection(m_lanes[lane].positions, range);
        weighRange(lane, 1, {own.begin, together.begin}, range, values, first, sums);
    }
    weighRange(firstLane, count, together, range, values, first, sums);
    for (std::size_t lane = firstLane; lane < firstLane + count; ++lane) {
        const PositionRange own = intersection(m_lanes[lane].positions, range);
        weighRange(lane, 1, {together.end, own.end}, range, values, first, sums);
    }
}

void AttentionTile::weighRange(std::size_t firstLane, std::size_t count, PositionRange range,
                               PositionRange chunk, const WeightMatrix &values, std::uint32_t first,
                               float *sums) const
{
    if (range.isEmpty())
        return;
    const std::uint64_t valueBytes = static_cast<std::uint64_t>(values.columns) *
                                     (values.type == TensorType::F32 ? sizeof(float) : sizeof(std::uint16_t));
    const WeightMatrix rows{values.type, range.size(), values.columns,
                            values.data + (range.begin - chunk.begin) * valueBytes};
    const std::uint64_t stride = m_input.places.sumStride;
    m_input.attention.weighRows(
        rows, scoresOf(firstLane) + (range.begin - first), attentionPiece, static_cast<std::int64_t>(count),
        sums + firstLane * stride + AttentionSum::values, static_cast<std::int64_t>(stride));
}

} // namespace tokenloupe
