// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/kernels/cuda/attentioncases.h"

#include "tests/kernels/kernelcases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace tokenloupe::test {

using namespace tokenloupe::cuda;

namespace {

constexpr std::int32_t spareBlocks = 3;
constexpr std::size_t roomBehindBlock = 64; // bytes
constexpr int queryPadding = 8;             // floats between rows

std::size_t blocksOf(const AttentionCase &attention)
{
    const auto blockTokens = static_cast<std::size_t>(attention.blockTokens);
    return (static_cast<std::size_t>(attention.positions()) + blockTokens - 1) / blockTokens;
}

template <class T>
void writeArray(DeviceValues<T> &array, const std::vector<T> &values)
{
    demand(cudaMemcpy(array.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
}

std::size_t planeBytes(const AttentionCase &attention, KvElement type, int size)
{
    const std::size_t block = storedBytes(type, size) * static_cast<std::size_t>(attention.blockTokens) *
                                  static_cast<std::size_t>(attention.kvHeads) +
                              roomBehindBlock;
    return block * (blocksOf(attention) + spareBlocks);
}

std::size_t queryFloats(const AttentionCase &attention)
{
    return static_cast<std::size_t>(attention.rows) *
           static_cast<std::size_t>(attention.heads() * attention.keySize + queryPadding);
}

} // namespace

TensorType tensorTypeOf(KvElement type)
{
    constexpr TensorType types[] = {TensorType::F32,  TensorType::F16,  TensorType::BF16, TensorType::Q8_0,
                                    TensorType::Q5_1, TensorType::Q5_0, TensorType::Q4_1, TensorType::Q4_0};
    return types[static_cast<int>(type)];
}

std::size_t storedBytes(KvElement type, int values)
{
    const TensorTypeTraits &traits = traitsOf(tensorTypeOf(type));
    return static_cast<std::size_t>(values) / traits.blockValues * traits.blockBytes;
}

AttentionWorld::AttentionWorld(const AttentionCase &attention, unsigned seed)
    : m_case(attention)
    , m_rowBytes{storedBytes(attention.keyType, attention.keySize),
                 storedBytes(attention.valueType, attention.valueSize)}
    , m_devicePlanes{DeviceValues<std::byte>(planeBytes(attention, attention.keyType, attention.keySize)),
                     DeviceValues<std::byte>(planeBytes(attention, attention.valueType, attention.valueSize))}
    , m_table(blocksOf(attention))
    , m_queries(queryFloats(attention))
    , m_slopes(static_cast<std::size_t>(attention.heads()))
    , m_frequencies(static_cast<std::size_t>(attention.rotated / 2 + 1))
    , m_state(1)
{
    fill(seed);
}

void AttentionWorld::fill(unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    m_blocks.resize(blocksOf(m_case) + spareBlocks);
    std::iota(m_blocks.begin(), m_blocks.end(), 0);
    std::shuffle(m_blocks.begin(), m_blocks.end(), random);
    m_blocks.resize(blocksOf(m_case));
    const int firstSeen = m_case.window > 0 ? std::max(0, m_case.first + 1 - m_case.window) : 0;
    const int leftBehind = firstSeen / m_case.blockTokens;

    for (int i = 0; i < m_case.rotated / 2; ++i)
        m_frequencyValues.push_back(std::pow(10000.0F, -2.0F * float(i) / float(m_case.rotated)));
    const int sizes[2] = {m_case.keySize, m_case.valueSize};
    const KvElement types[2] = {m_case.keyType, m_case.valueType};
    for (int plane = 0; plane < 2; ++plane) {
        m_blockBytes[plane] =
            planeBytes(m_case, types[plane], sizes[plane]) / (blocksOf(m_case) + spareBlocks);
        m_planes[plane].assign(m_devicePlanes[plane].size(), std::byte{0xFF});
        for (int head = 0; head < m_case.kvHeads; ++head) {
            for (int position = 0; position < m_case.positions(); ++position) {
                std::vector<float> values(static_cast<std::size_t>(sizes[plane]));
                for (float &value : values)
                    value = normal(random);
                std::byte *row = m_planes[plane].data() + rowPlace(plane, head, position);
                cpuKernels().quantizeRow(tensorTypeOf(types[plane]), values.data(), sizes[plane], row);
                std::vector<double> stored = referenceValues(tensorTypeOf(types[plane]), row, sizes[plane]);
                for (int i = 0; plane == 0 && i < m_case.rotated / 2; ++i) {
                    const bool areNeighbours = m_case.pairs == RotaryPairs::Neighbours;
                    const auto a = static_cast<std::size_t>(areNeighbours ? 2 * i : i);
                    const std::size_t b =
                        areNeighbours ? a + 1 : a + static_cast<std::size_t>(m_case.rotated / 2);
                    const double angle = position * double(m_frequencyValues[static_cast<std::size_t>(i)]);
                    const double x = stored[a];
                    const double y = stored[b];
                    stored[a] = x * std::cos(angle) - y * std::sin(angle);
                    stored[b] = x * std::sin(angle) + y * std::cos(angle);
                }
                m_stored[plane].insert(m_stored[plane].end(), stored.begin(), stored.end());
                if (position / m_case.blockTokens < leftBehind)
                    std::fill_n(row, m_rowBytes[plane], std::byte{0xFF});
            }
        }
        writeArray(m_devicePlanes[plane], m_planes[plane]);
    }
    std::vector<std::int32_t> table = m_blocks;
    std::fill_n(table.begin(), leftBehind, -1);
    writeArray(m_table, table);

    m_queryValues.resize(queryFloats(m_case));
    for (float &value : m_queryValues)
        value = 2.0F * normal(random);
    writeArray(m_queries, m_queryValues);
    for (int head = 0; head < m_case.heads(); ++head)
        m_slopeValues.push_back(0.1F / float(head + 1));
    writeArray(m_slopes, m_slopeValues);
    if (m_case.rotated > 0)
        writeArray(m_frequencies, m_frequencyValues);
    setFirstRow(0);
}

void AttentionWorld::setFirstRow(int row)
{
    writeArray(m_state, std::vector{StepState{m_case.first + row, m_case.rows - row}});
}

void AttentionWorld::makeInfinite(int position)
{
    for (int head = 0; head < m_case.kvHeads; ++head) {
        const std::vector<float> values(static_cast<std::size_t>(m_case.valueSize),
                                        std::numeric_limits<float>::infinity());
        cpuKernels().quantizeRow(tensorTypeOf(m_case.valueType), values.data(), m_case.valueSize,
                                 m_planes[1].data() + rowPlace(1, head, position));
    }
    writeArray(m_devicePlanes[1], m_planes[1]);
}

std::size_t AttentionWorld::rowPlace(int plane, int kvHead, int position) const
{
    const auto block =
        static_cast<std::size_t>(m_blocks[static_cast<std::size_t>(position / m_case.blockTokens)]);
    const auto row = static_cast<std::size_t>(kvHead * m_case.blockTokens + position % m_case.blockTokens);
    return block * m_blockBytes[plane] + row * m_rowBytes[plane];
}

KvLayerView AttentionWorld::view() const
{
    KvLayerView view;
    view.keys = m_devicePlanes[0].data();
    view.values = m_devicePlanes[1].data();
    view.table = m_table.data();
    view.keyBlockStride = static_cast<std::int64_t>(m_blockBytes[0]);
    view.valueBlockStride = static_cast<std::int64_t>(m_blockBytes[1]);
    view.keyRowBytes = static_cast<std::int32_t>(m_rowBytes[0]);
    view.valueRowBytes = static_cast<std::int32_t>(m_rowBytes[1]);
    view.keyHeadStride = view.keyRowBytes * m_case.blockTokens;
    view.valueHeadStride = view.valueRowBytes * m_case.blockTokens;
    view.blockTokens = m_case.blockTokens;
    view.kvHeads = m_case.kvHeads;
    view.keySize = m_case.keySize;
    view.valueSize = m_case.valueSize;
    view.keyType = m_case.keyType;
    view.valueType = m_case.valueType;
    return view;
}

AttentionShape AttentionWorld::shape() const
{
    AttentionShape shape;
    shape.heads = m_case.heads();
    shape.scale = 1.0F / std::sqrt(float(m_case.keySize));
    shape.window = m_case.window;
    shape.softCap = m_case.softCap;
    shape.slopes = m_case.slopes != 0 ? m_slopes.data() : nullptr;
    if (m_case.rotated > 0)
        shape.keyRotation = {m_case.pairs, m_case.rotated, m_frequencies.data(), 1.0F};
    shape.longestContext = m_case.longest != 0 ? m_case.longest : m_case.positions();
    return shape;
}

DeviceRows AttentionWorld::queries(int first, int count) const
{
    const int columns = m_case.heads() * m_case.keySize;
    const std::int64_t stride = columns + queryPadding;
    return {m_queries.data() + first * stride, count < 0 ? m_case.rows - first : count, columns, stride};
}

double AttentionWorld::score(int row, int head, int position) const
{
    const int distance = m_case.first + row - position;
    if (distance < 0 || (m_case.window > 0 && distance >= m_case.window))
        return -std::numeric_limits<double>::infinity();
    const auto size = static_cast<std::size_t>(m_case.keySize);
    const float *query =
        m_queryValues.data() +
        static_cast<std::size_t>(row) * (static_cast<std::size_t>(m_case.heads()) * size + queryPadding) +
        static_cast<std::size_t>(head) * size;
    const double *key = m_stored[0].data() + (static_cast<std::size_t>(head / m_case.group) *
                                                  static_cast<std::size_t>(m_case.positions()) +
                                              static_cast<std::size_t>(position)) *
                                                 size;
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i)
        sum += double(query[i]) * key[i];
    sum *= double(shape().scale);
    if (m_case.softCap > 0.0F)
        sum = double(m_case.softCap) * std::tanh(sum / double(m_case.softCap));
    if (m_case.slopes != 0)
        sum -= double(m_slopeValues[static_cast<std::size_t>(head)]) * distance;
    return sum;
}

std::vector<double> AttentionWorld::expectedWeights() const
{
    std::vector<double> all;
    for (int row = 0; row < m_case.rows; ++row) {
        for (int head = 0; head < m_case.heads(); ++head) {
            std::vector<double> weights;
            for (int position = 0; position < m_case.positions(); ++position)
                weights.push_back(score(row, head, position));
            const double largest = *std::max_element(weights.begin(), weights.end());
            double total = 0;
            for (double &weight : weights)
                total += weight = std::exp(weight - largest);
            for (const double weight : weights)
                all.push_back(weight / total);
        }
    }
    return all;
}

std::vector<double> AttentionWorld::expected() const
{
    const std::vector<double> weights = expectedWeights();
    const auto size = static_cast<std::size_t>(m_case.valueSize);
    const auto positions = static_cast<std::size_t>(m_case.positions());
    const auto lanes = static_cast<std::size_t>(m_case.rows * m_case.heads());
    std::vector<double> all(lanes * size);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t kvHead =
            lane % static_cast<std::size_t>(m_case.heads()) / static_cast<std::size_t>(m_case.group);
        for (std::size_t position = 0; position < positions; ++position) {
            const double weight = weights[lane * positions + position];
            for (std::size_t i = 0; i < size; ++i)
                all[lane * size + i] += weight * m_stored[1][(kvHead * positions + position) * size + i];
        }
    }
    return all;
}

double AttentionWorld::largestValue() const
{
    double largest = 0;
    for (const double value : m_stored[1])
        largest = std::max(largest, std::abs(value));
    return largest;
}

double worstError(const std::vector<float> &actual, const std::vector<double> &expected, double scale)
{
    if (actual.size() != expected.size())
        return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double error = std::abs(double(actual[i]) - expected[i]) / scale;
        if (!(error <= worst))
            worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    }
    return worst;
}

} // namespace tokenloupe::test
