// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/transformer/referencemodel.h"

#include "kernels/cpu/cpukernels.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe::test {

namespace {

std::vector<std::vector<double>> unpacked(const Weight &weight)
{
    const WeightMatrix matrix{weight.type, weight.rows, weight.columns, weight.data.data()};
    const CpuKernels *kernels = cpuKernelsFor(IsaLevel::Portable);
    std::vector<std::vector<double>> rows;
    std::vector<float> row(static_cast<std::size_t>(weight.columns));
    for (std::int64_t r = 0; r < weight.rows; ++r) {
        kernels->dequantizeRow(matrix, r, row.data());
        rows.emplace_back(row.begin(), row.end());
    }
    return rows;
}

std::vector<double> vectorOf(const Weight &weight)
{
    return weight.isPresent() ? unpacked(weight).front() : std::vector<double>();
}

void addTo(std::vector<double> &target, const std::vector<double> &added)
{
    for (std::size_t i = 0; i < target.size(); ++i)
        target[i] += added[i];
}

} // namespace

ReferenceModel::ReferenceModel(const Model &model, Rotary rotary)
    : m_config(model.config())
    , m_rotary(std::move(rotary))
{
    const auto matrix = [](const Weight &weight, const Weight &bias = {}) {
        return Matrix{unpacked(weight), vectorOf(bias)};
    };
    const ModelWeights &weights = model.weights();
    m_embedding = matrix(weights.tokenEmbedding);
    m_head = weights.outputKind == OutputHead::Tied ? m_embedding : matrix(weights.outputHead);
    m_outputNorm = vectorOf(weights.outputNorm);
    for (const LayerWeights &layer : weights.layers)
        m_layers.push_back({vectorOf(layer.attentionNorm), vectorOf(layer.feedForwardNorm),
                            matrix(layer.query, layer.queryBias), matrix(layer.key, layer.keyBias),
                            matrix(layer.value, layer.valueBias), matrix(layer.output, layer.outputBias),
                            matrix(layer.gate), matrix(layer.up), matrix(layer.down)});
}

ReferenceModel::Row ReferenceModel::times(const Matrix &matrix, const Row &x) const
{
    Row y(matrix.rows.size(), 0.0);
    for (std::size_t r = 0; r < y.size(); ++r) {
        for (std::size_t c = 0; c < x.size(); ++c)
            y[r] += matrix.rows[r][c] * x[c];
    }
    if (!matrix.bias.empty())
        addTo(y, matrix.bias);
    return y;
}

ReferenceModel::Row ReferenceModel::normalized(const Row &x, const Row &gain) const
{
    double squares = 0;
    for (const double value : x)
        squares += value * value;
    const double scale =
        1.0 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(m_config.normEpsilon));
    Row y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = x[i] * scale * gain[i];
    return y;
}

void ReferenceModel::rotate(Row &heads, std::size_t position) const
{
    for (std::size_t head = 0; head < heads.size(); head += m_config.headSize) {
        for (std::size_t pair = 0; pair < m_config.ropeDimensions / 2; ++pair) {
            double angle =
                static_cast<double>(position) / m_rotary.stretch *
                std::pow(m_rotary.base, -2.0 * static_cast<double>(pair) / m_config.ropeDimensions);
            if (!m_rotary.factors.empty())
                angle /= static_cast<double>(m_rotary.factors[pair]);
            double &a = heads[head + 2 * pair];
            double &b = heads[head + 2 * pair + 1];
            const double turned = a * std::cos(angle) - b * std::sin(angle);
            b = a * std::sin(angle) + b * std::cos(angle);
            a = turned;
        }
    }
}

ReferenceModel::Row ReferenceModel::attended(const Rows &queries, const Rows &keys, const Rows &values,
                                             std::size_t position, std::optional<std::uint32_t> window) const
{
    const std::size_t size = m_config.headSize;
    const std::size_t valueSize = m_config.valueHeadSize;
    const std::size_t group = m_config.heads / (keys.front().size() / size);
    const std::size_t first = window && position + 1 > *window ? position + 1 - *window : 0;
    Row out(m_config.heads * valueSize, 0.0);
    for (std::size_t head = 0; head < m_config.heads; ++head) {
        Row scores;
        for (std::size_t seen = first; seen <= position; ++seen) {
            double dot = 0;
            for (std::size_t i = 0; i < size; ++i)
                dot += queries[position][head * size + i] * keys[seen][head / group * size + i];
            scores.push_back(dot / std::sqrt(static_cast<double>(size)));
        }
        const double top = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double &score : scores)
            sum += score = std::exp(score - top);
        for (std::size_t seen = first; seen <= position; ++seen) {
            for (std::size_t i = 0; i < valueSize; ++i)
                out[head * valueSize + i] +=
                    scores[seen - first] / sum * values[seen][head / group * valueSize + i];
        }
    }
    return out;
}

std::vector<double> ReferenceModel::logits(const std::vector<std::uint32_t> &ids,
                                           std::optional<std::uint32_t> window) const
{
    Rows residual;
    for (const std::uint32_t id : ids)
        residual.push_back(m_embedding.rows[id]);
    for (const Layer &layer : m_layers) {
        Rows queries, keys, values;
        for (std::size_t position = 0; position < ids.size(); ++position) {
            const Row x = normalized(residual[position], layer.attentionNorm);
            queries.push_back(times(layer.query, x));
            keys.push_back(times(layer.key, x));
            values.push_back(times(layer.value, x));
            rotate(queries.back(), position);
            rotate(keys.back(), position);
        }
        for (std::size_t position = 0; position < ids.size(); ++position) {
            addTo(residual[position], times(layer.output, attended(queries, keys, values, position, window)));
            const Row x = normalized(residual[position], layer.feedForwardNorm);
            Row gate = times(layer.gate, x);
            const Row up = times(layer.up, x);
            for (std::size_t i = 0; i < gate.size(); ++i)
                gate[i] = gate[i] / (1.0 + std::exp(-gate[i])) * up[i];
            addTo(residual[position], times(layer.down, gate));
        }
    }
    std::vector<double> all;
    for (const Row &row : residual) {
        const Row logits = times(m_head, normalized(row, m_outputNorm));
        all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
}

} // namespace tokenloupe::test
