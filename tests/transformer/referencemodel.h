// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/model.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tokenloupe::test {

/// The plainest forward pass there is: double precision, the whole sequence at once, one loop for each
/// formula, no cache, no batches, nothing shared with the engine but the unpacking of stored weights.
class ReferenceModel
{
public:
    struct Rotary
    {
        double base = 10000.0;
        double stretch = 1.0;       ///< positions are divided by it
        std::vector<float> factors; ///< each pair's frequency is divided by its own; or empty
    };

    ReferenceModel(const Model &model, Rotary rotary);

    /// Logits of every position, one row after the other.
    std::vector<double> logits(const std::vector<std::uint32_t> &ids,
                               std::optional<std::uint32_t> window = {}) const;

private:
    using Row = std::vector<double>;
    using Rows = std::vector<Row>; // one row for each token
    struct Matrix
    {
        std::vector<Row> rows;
        Row bias; // may be empty
    };
    struct Layer
    {
        Row attentionNorm, feedForwardNorm;
        Matrix query, key, value, output, gate, up, down;
    };

    Row times(const Matrix &matrix, const Row &x) const;
    Row normalized(const Row &x, const Row &gain) const;
    void rotate(Row &heads, std::size_t position) const;
    Row attended(const Rows &queries, const Rows &keys, const Rows &values, std::size_t position,
                 std::optional<std::uint32_t> window) const;

    ModelConfig m_config;
    Rotary m_rotary;
    Matrix m_embedding, m_head;
    Row m_outputNorm;
    std::vector<Layer> m_layers;
};

} // namespace tokenloupe::test
