// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/transformer/plainforward.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace tokenloupe::test {

namespace {

using Model = TinyArchitecture;

void addTo(std::vector<double> &target, const std::vector<double> &added)
{
    for (std::size_t i = 0; i < target.size(); ++i)
        target[i] += added[i];
}

double capped(double value, double cap)
{
    return cap > 0.0 ? cap * std::tanh(value / cap) : value;
}

std::vector<double> softmax(std::vector<double> scores)
{
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    for (double &score : scores)
        sum += score = std::exp(score - top);
    for (double &score : scores)
        score /= sum;
    return scores;
}

} // namespace

PlainForward::PlainForward(const TinyArchitecture &model, const TinyTensors &tensors,
                           std::uint32_t cacheContext)
    : m_model(model)
    , m_tensors(tensors)
    , m_cacheContext(cacheContext)
{}

const TinyTensor *PlainForward::find(const std::string &name) const
{
    const auto found = m_tensors.find(name);
    return found == m_tensors.end() ? nullptr : &found->second;
}

PlainForward::Row PlainForward::times(const std::string &name, const Row &x) const
{
    const TinyTensor &matrix = m_tensors.at(name + ".weight");
    const TinyTensor *bias = find(name + ".bias");
    Row y(matrix.rows, 0.0);
    for (std::size_t r = 0; r < matrix.rows; ++r) {
        for (std::size_t c = 0; c < matrix.columns; ++c)
            y[r] += static_cast<double>(matrix.values[r * matrix.columns + c]) * x[c];
        if (bias)
            y[r] += static_cast<double>(bias->values[r]);
    }
    return y;
}

PlainForward::Row PlainForward::normedPart(const TinyTensor &gain, const TinyTensor *bias, const Row &x,
                                           std::size_t first, std::size_t count) const
{
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
    Row y(begin, begin + static_cast<std::ptrdiff_t>(count));
    const auto size = static_cast<double>(count);
    if (m_model.norm == Model::Norm::Layer) {
        const double mean = std::accumulate(y.begin(), y.end(), 0.0) / size;
        for (double &value : y)
            value -= mean;
    }
    const double squares = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
    for (std::size_t i = 0; i < count; ++i) {
        y[i] *= static_cast<double>(gain.values[i]) / std::sqrt(squares / size + 1e-5);
        if (bias)
            y[i] += static_cast<double>(bias->values[i]);
    }
    return y;
}

PlainForward::Row PlainForward::normed(const std::string &name, const Row &x) const
{
    const TinyTensor *gain = find(name + ".weight");
    return gain ? normedPart(*gain, find(name + ".bias"), x, 0, x.size()) : x;
}

void PlainForward::normHeads(const std::string &name, Row &heads) const
{
    if (m_model.headNorm == Model::HeadNorm::None)
        return;
    const TinyTensor &gain = m_tensors.at(name + ".weight");
    Row all;
    for (std::size_t first = 0; first < heads.size(); first += gain.columns) {
        const Row part = normedPart(gain, find(name + ".bias"), heads, first, gain.columns);
        all.insert(all.end(), part.begin(), part.end());
    }
    heads = all;
}

PlainForward::Row PlainForward::start(std::uint32_t id, std::size_t position) const
{
    const auto rowOf = [&](const char *name, std::size_t row, double factor) {
        const TinyTensor &table = m_tensors.at(name);
        Row values;
        for (std::size_t c = 0; c < table.columns; ++c)
            values.push_back(static_cast<double>(table.values[row * table.columns + c]) * factor);
        return values;
    };
    Row x = rowOf("token_embd.weight", id, m_model.embeddingFactor);
    if (m_model.places == Model::Places::Learned)
        addTo(x, rowOf("position_embd.weight", position, 1.0));
    return normed("token_embd_norm", x);
}

std::vector<double> PlainForward::frequencies(bool isLocal, double &magnitude) const
{
    const Model &m = m_model;
    const double d = m.rotated;
    const double original = m.originalContext > 0 ? m.originalContext : m.context;
    const Model::Scaling scaling = isLocal ? Model::Scaling::None : m.scaling;
    double base = isLocal ? m.localBase : m.base;
    magnitude = 1.0;
    if (scaling == Model::Scaling::Ntk)
        base *= std::pow(m.factor, d / (d - 2));
    if (scaling == Model::Scaling::Dynamic && m_cacheContext > original)
        base *= std::pow(m.factor * m_cacheContext / original - (m.factor - 1), d / (d - 2));
    std::vector<double> all;
    for (std::uint32_t pair = 0; pair < m.rotated / 2; ++pair)
        all.push_back(1.0 / std::pow(base, 2.0 * pair / d));
    for (std::uint32_t pair = 0; pair < all.size(); ++pair) {
        if (scaling == Model::Scaling::Linear)
            all[pair] /= m.factor;
        if (scaling == Model::Scaling::Factors)
            all[pair] /= static_cast<double>(m.factors[pair]);
        if (scaling == Model::Scaling::Long)
            all[pair] /=
                static_cast<double>((m_cacheContext > original ? m.longFactors : m.shortFactors)[pair]);
        if (scaling == Model::Scaling::Wavelength) {
            const double wavelength = 2 * std::numbers::pi / all[pair];
            const double blend = (original / wavelength - 1.0) / (4.0 - 1.0);
            if (wavelength > original / 1.0)
                all[pair] /= m.factor;
            else if (wavelength > original / 4.0)
                all[pair] = (1 - blend) * all[pair] / m.factor + blend * all[pair];
        }
        if (scaling == Model::Scaling::Yarn) {
            const auto border = [&](double turns) {
                return d * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
            };
            const double low = std::max(0.0, std::floor(border(32)));
            const double high = std::min(d - 1, std::ceil(border(1)));
            const double ramp = std::min(1.0, std::max(0.0, (pair - low) / (high - low)));
            all[pair] = all[pair] / m.factor * ramp + all[pair] * (1 - ramp);
        }
    }
    if (scaling == Model::Scaling::Yarn)
        magnitude = (m.attentionFactor > 0 ? m.attentionFactor : 1.0) * (0.1 * std::log(m.factor) + 1);
    if (scaling == Model::Scaling::Long)
        magnitude = m.attentionFactor > 0
                        ? m.attentionFactor
                        : std::sqrt(1 + std::log(m.context / original) / std::log(original));
    return all;
}

void PlainForward::rotate(Row &heads, std::size_t position, std::uint32_t layer) const
{
    const Model &m = m_model;
    const bool isRotary = m.places == Model::Places::Neighbours || m.places == Model::Places::Halves;
    if (!isRotary || (m.unrotatedPeriod > 0 && (layer + 1) % m.unrotatedPeriod == 0))
        return;
    double magnitude = 1.0;
    const auto turning = frequencies(m.localBase > 0 && m.windowOf(layer) > 0, magnitude);
    for (std::size_t head = 0; head < heads.size(); head += m.headSize) {
        for (std::size_t pair = 0; pair < turning.size(); ++pair) {
            const bool isHalf = m.places == Model::Places::Halves;
            double &a = heads[head + (isHalf ? pair : 2 * pair)];
            double &b = heads[head + (isHalf ? pair + turning.size() : 2 * pair + 1)];
            const double angle = static_cast<double>(position) * turning[pair];
            const double turned = magnitude * (a * std::cos(angle) - b * std::sin(angle));
            b = magnitude * (a * std::sin(angle) + b * std::cos(angle));
            a = turned;
        }
    }
}

/// As the ALiBi paper's code has it: for n heads the powers of the next power of 2 below, then every second
/// one of twice as many.
double PlainForward::slopeOf(std::uint32_t head) const
{
    std::uint32_t even = 1;
    while (even * 2 <= m_model.heads)
        even *= 2;
    std::vector<double> slopes;
    for (std::uint32_t i = 1; i <= even; ++i)
        slopes.push_back(std::pow(2.0, -m_model.slopeBias * i / even));
    for (std::uint32_t i = 1; slopes.size() < m_model.heads; i += 2)
        slopes.push_back(std::pow(2.0, -m_model.slopeBias * i / (2 * even)));
    return slopes[head];
}

PlainForward::Row PlainForward::projected(const std::string &at, const char *what, const Row &x) const
{
    Row y = times(at + what, x);
    for (double &value : y)
        value = m_model.clamp > 0 ? std::min(std::max(value, -m_model.clamp), m_model.clamp) : value;
    return y;
}

PlainForward::Row PlainForward::attended(const Rows &queries, const Rows &keys, const Rows &values,
                                         std::size_t position, std::uint32_t layer) const
{
    const Model &m = m_model;
    const std::size_t size = m.headSize;
    const std::size_t window = m.windowOf(layer);
    const std::size_t first = window > 0 && position + 1 > window ? position + 1 - window : 0;
    const double scale = m.scoreScale > 0 ? m.scoreScale : 1 / std::sqrt(static_cast<double>(size));
    Row out(m.heads * size, 0.0);
    for (std::uint32_t head = 0; head < m.heads; ++head) {
        const std::size_t kv = head / (m.heads / m.kvHeads) * size;
        Row scores;
        for (std::size_t seen = first; seen <= position; ++seen) {
            double dot = 0;
            for (std::size_t i = 0; i < size; ++i)
                dot += queries[position][head * size + i] * keys[seen][kv + i];
            double score = capped(dot * scale, m.scoreCap);
            if (m.places == Model::Places::Slopes)
                score += slopeOf(head) * static_cast<double>(seen); // a shift of all changes no softmax
            scores.push_back(score);
        }
        const Row weights = softmax(scores);
        for (std::size_t seen = first; seen <= position; ++seen) {
            for (std::size_t i = 0; i < size; ++i)
                out[head * size + i] += weights[seen - first] * values[seen][kv + i];
        }
    }
    return out;
}

double PlainForward::curve(double x) const
{
    switch (m_model.curve) {
    case Model::Curve::Silu:
        return x / (1 + std::exp(-x));
    case Model::Curve::GeluTanh:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Model::Curve::GeluErf:
        break;
    }
    return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

PlainForward::Row PlainForward::dense(const std::string &at, const std::string &expert, const Row &x) const
{
    Row inner = times(at + "ffn_up" + expert, x);
    if (m_model.gated) {
        const Row gate = times(at + "ffn_gate" + expert, x);
        for (std::size_t i = 0; i < inner.size(); ++i)
            inner[i] *= curve(gate[i]);
    } else {
        for (double &value : inner)
            value = curve(value);
    }
    return times(at + "ffn_down" + expert, inner);
}

PlainForward::Row PlainForward::mixed(const std::string &at, const Row &x) const
{
    const Row probabilities = softmax(times(at + "ffn_gate_inp", x));
    std::vector<std::size_t> order(probabilities.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
    order.resize(m_model.expertsUsed);
    double sum = 0;
    for (const std::size_t expert : order)
        sum += probabilities[expert];
    Row out(x.size(), 0.0);
    for (const std::size_t expert : order) {
        Row y = dense(at, "." + std::to_string(expert), x);
        for (double &value : y)
            value *= probabilities[expert] / sum;
        addTo(out, y);
    }
    return out;
}

PlainForward::Row PlainForward::feedForward(const std::string &at, const Row &x) const
{
    return m_model.experts > 0 ? mixed(at, x) : dense(at, "", x);
}

void PlainForward::runLayer(std::uint32_t layer, Rows &residual) const
{
    const std::string at = "blk." + std::to_string(layer) + ".";
    const std::string attentionNorm = m_model.secondNorm ? "attn_norm_2" : "attn_norm";
    const std::string feedForwardNorm = m_model.parallel ? "attn_norm" : "ffn_norm";
    Rows queries, keys, values;
    for (std::size_t position = 0; position < residual.size(); ++position) {
        const Row x = normed(at + attentionNorm, residual[position]);
        queries.push_back(projected(at, "attn_q", x));
        keys.push_back(projected(at, "attn_k", x));
        values.push_back(projected(at, "attn_v", x));
        normHeads(at + "attn_q_norm", queries.back());
        normHeads(at + "attn_k_norm", keys.back());
        rotate(queries.back(), position, layer);
        rotate(keys.back(), position, layer);
    }
    for (std::size_t position = 0; position < residual.size(); ++position) {
        const Row before = residual[position];
        const Row attention = times(at + "attn_output", attended(queries, keys, values, position, layer));
        addTo(residual[position], normed(at + "post_attention_norm", attention));
        const Row &read = m_model.parallel ? before : residual[position];
        const Row added = feedForward(at, normed(at + feedForwardNorm, read));
        addTo(residual[position], normed(at + "post_ffw_norm", added));
    }
}

std::vector<double> PlainForward::logits(const std::vector<std::uint32_t> &ids) const
{
    Rows residual;
    for (const std::uint32_t id : ids)
        residual.push_back(start(id, residual.size()));
    for (std::uint32_t layer = 0; layer < m_model.layers; ++layer)
        runLayer(layer, residual);
    std::vector<double> all;
    for (const Row &row : residual) {
        for (const double logit :
             times(m_model.ownHead ? "output" : "token_embd", normed("output_norm", row)))
            all.push_back(capped(logit, m_model.logitCap));
    }
    return all;
}

} // namespace tokenloupe::test
