// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/cuda/attention.h"
#include "tests/kernels/cuda/devicerows.h"

#include <QTest>
#include <cstdint>
#include <vector>

namespace tokenloupe::test {

/// A cache of one layer and an attention over it.
struct AttentionCase
{
    cuda::KvElement keyType = cuda::KvElement::F16;
    cuda::KvElement valueType = cuda::KvElement::F16;
    int kvHeads = 2;
    int group = 2; ///< query heads that share a KV head
    int keySize = 64;
    int valueSize = 64;
    int blockTokens = 16;
    int first = 99; ///< position of the first row
    int rows = 1;
    int window = 0;
    float softCap = 0.0F;
    int slopes = 0;  ///< 1: each head has one
    int rotated = 0; ///< keys are stored unrotated; so many of their values turn
    cuda::RotaryPairs pairs = cuda::RotaryPairs::Neighbours;
    int longest = 0; ///< 0: no longer than it is

    int heads() const { return kvHeads * group; }
    int positions() const { return first + rows; }
};

TensorType tensorTypeOf(cuda::KvElement type);
/// Bytes of `values` stored numbers.
std::size_t storedBytes(cuda::KvElement type, int values);

/// What the case says, in device memory, with random numbers, and what comes of it in double precision.
/// Blocks lie in no order. What nobody may read (positions behind the last, blocks left behind, room between
/// blocks) is NaN.
class AttentionWorld
{
public:
    explicit AttentionWorld(const AttentionCase &attention, unsigned seed = 1);

    cuda::KvLayerView view() const;
    cuda::AttentionShape shape() const;
    const cuda::StepState *state() const { return m_state.data(); }
    /// Rows [first, first + count) of the queries.
    cuda::DeviceRows queries(int first = 0, int count = -1) const;
    /// For a call with some of the rows: the position of its first one.
    void setFirstRow(int row);
    /// Every value at this position becomes infinite (types that can say so).
    void makeInfinite(int position);

    /// (rows × heads · valueSize)
    std::vector<double> expected() const;
    /// (rows × heads × positions)
    std::vector<double> expectedWeights() const;
    double largestValue() const;

private:
    void fill(unsigned seed);
    double score(int row, int head, int position) const;
    std::size_t rowPlace(int plane, int kvHead, int position) const;

    AttentionCase m_case;
    std::size_t m_rowBytes[2];   // keys, values
    std::size_t m_blockBytes[2]; // with room behind each
    std::vector<std::int32_t> m_blocks;
    std::vector<std::byte> m_planes[2];
    std::vector<float> m_queryValues;
    std::vector<float> m_slopeValues;
    std::vector<float> m_frequencyValues;
    std::vector<double> m_stored[2]; // (kvHeads × positions × size), keys turned
    DeviceValues<std::byte> m_devicePlanes[2];
    DeviceValues<std::int32_t> m_table;
    DeviceValues<float> m_queries;
    DeviceValues<float> m_slopes;
    DeviceValues<float> m_frequencies;
    DeviceValues<cuda::StepState> m_state;
};

/// Largest difference, relative to `scale`. NaN is larger than all.
double worstError(const std::vector<float> &actual, const std::vector<double> &expected, double scale);

} // namespace tokenloupe::test

Q_DECLARE_METATYPE(tokenloupe::test::AttentionCase)
