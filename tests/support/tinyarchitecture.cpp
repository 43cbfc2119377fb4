// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tinyarchitecture.h"

#include "tests/support/seededweights.h"
#include "tests/support/tinymodel.h"

#include <cmath>

namespace tokenloupe::test {

namespace {

using Model = TinyArchitecture;

class TensorMaker
{
public:
    explicit TensorMaker(const Model &model)
        : m_model(model)
        , m_source(model.seed)
    {}

    TinyTensors make();

private:
    void layer(const std::string &at);
    void feedForward(const std::string &at);
    void matrix(const std::string &name, std::uint32_t rows, std::uint32_t columns, float gain = 1.0F)
    {
        const float deviation = gain / std::sqrt(static_cast<float>(columns));
        m_tensors[name + ".weight"] = {rows, columns,
                                       m_source.take(name, std::size_t{rows} * columns, 0.0F, deviation)};
    }
    void bias(const std::string &name, std::uint32_t size, bool isThere)
    {
        if (isThere)
            m_tensors[name + ".bias"] = {1, size, m_source.take(name + ".bias", size, 0.0F, 0.3F)};
    }
    void norm(const std::string &name, std::uint32_t size)
    {
        m_tensors[name + ".weight"] = {1, size, m_source.take(name, size, 1.0F, 0.2F)};
        bias(name, size, m_model.normBias);
    }

    const Model &m_model;
    SeededWeights m_source;
    TinyTensors m_tensors;
};

TinyTensors TensorMaker::make()
{
    const Model &m = m_model;
    matrix("token_embd", m.vocabulary, m.width, m.ownHead ? 6.0F : 4.0F);
    if (m.ownHead)
        matrix("output", m.vocabulary, m.width, 4.0F);
    if (m.places == Model::Places::Learned)
        matrix("position_embd", m.context, m.width, 3.0F);
    if (m.embeddingNorm)
        norm("token_embd_norm", m.width);
    norm("output_norm", m.width);
    for (std::uint32_t index = 0; index < m.layers; ++index)
        layer("blk." + std::to_string(index) + ".");
    return std::move(m_tensors);
}

void TensorMaker::layer(const std::string &at)
{
    const Model &m = m_model;
    const std::uint32_t queries = m.heads * m.headSize;
    const std::uint32_t keys = m.kvHeads * m.headSize;
    if (m.where != Model::Where::After) {
        norm(at + "attn_norm", m.width);
        if (!m.parallel)
            norm(at + "ffn_norm", m.width);
        else if (m.secondNorm)
            norm(at + "attn_norm_2", m.width);
    }
    if (m.where != Model::Where::Before) {
        norm(at + "post_attention_norm", m.width);
        norm(at + "post_ffw_norm", m.width);
    }
    for (const auto &[name, rows] :
         {std::pair("attn_q", queries), std::pair("attn_k", keys), std::pair("attn_v", keys)}) {
        matrix(at + name, rows, m.width, 1.5F);
        bias(at + name, rows, m.qkvBias);
    }
    if (m.headNorm != Model::HeadNorm::None) {
        const bool isEach = m.headNorm == Model::HeadNorm::EachHead;
        norm(at + "attn_q_norm", isEach ? m.headSize : queries);
        norm(at + "attn_k_norm", isEach ? m.headSize : keys);
    }
    matrix(at + "attn_output", m.width, queries, 3.0F);
    bias(at + "attn_output", m.width, m.otherBias);
    feedForward(at);
}

void TensorMaker::feedForward(const std::string &at)
{
    const Model &m = m_model;
    if (m.experts == 0) {
        if (m.gated) {
            matrix(at + "ffn_gate", m.inner, m.width);
            bias(at + "ffn_gate", m.inner, m.otherBias);
        }
        matrix(at + "ffn_up", m.inner, m.width);
        bias(at + "ffn_up", m.inner, m.otherBias);
        matrix(at + "ffn_down", m.width, m.inner, 3.0F);
        bias(at + "ffn_down", m.width, m.otherBias);
        return;
    }
    matrix(at + "ffn_gate_inp", m.experts, m.width, 2.0F);
    for (std::uint32_t expert = 0; expert < m.experts; ++expert) {
        const std::string number = "." + std::to_string(expert);
        matrix(at + "ffn_gate" + number, m.expertInner, m.width);
        matrix(at + "ffn_up" + number, m.expertInner, m.width);
        matrix(at + "ffn_down" + number, m.width, m.expertInner, 4.0F);
    }
}

/// Writes tensors, joining what the file stores as one.
class TensorWriter
{
public:
    TensorWriter(const Model &model, const TinyTensors &tensors, GgufWriter &writer)
        : m_model(model)
        , m_rest(tensors)
        , m_writer(writer)
    {}

    void write();

private:
    /// One tensor of several: below each other, or as matrices of a third dimension.
    void join(const std::vector<std::string> &parts, const std::string &name, std::uint64_t matrices);
    void joinLayer(const std::string &at);

    const Model &m_model;
    TinyTensors m_rest;
    GgufWriter &m_writer;
};

void TensorWriter::join(const std::vector<std::string> &parts, const std::string &name,
                        std::uint64_t matrices)
{
    TinyTensor all{0, 0, {}};
    for (const std::string &part : parts) {
        const auto found = m_rest.find(part);
        if (found == m_rest.end())
            return; // biases need not be there
        const TinyTensor &tensor = found->second;
        all.rows += tensor.rows;
        all.columns = tensor.columns;
        all.values.insert(all.values.end(), tensor.values.begin(), tensor.values.end());
        m_rest.erase(found);
    }
    std::vector<std::uint64_t> shape = {all.columns, all.rows / matrices};
    if (name.ends_with(".bias"))
        shape = {all.values.size()};
    else if (matrices > 1)
        shape.push_back(matrices);
    m_writer.tensor(name, shape, 0, std::as_bytes(std::span(all.values)));
}

void TensorWriter::joinLayer(const std::string &at)
{
    for (const std::string end : {".weight", ".bias"}) {
        if (m_model.fusedQkv)
            join({at + "attn_q" + end, at + "attn_k" + end, at + "attn_v" + end}, at + "attn_qkv" + end, 1);
        if (m_model.fusedGateUp)
            join({at + "ffn_gate" + end, at + "ffn_up" + end}, at + "ffn_up" + end, 1);
    }
    if (m_model.experts == 0 || m_model.expertsApart)
        return;
    for (const std::string role : {"ffn_gate", "ffn_up", "ffn_down"}) {
        std::vector<std::string> parts;
        for (std::uint32_t expert = 0; expert < m_model.experts; ++expert)
            parts.push_back(at + role + "." + std::to_string(expert) + ".weight");
        join(parts, at + role + "_exps.weight", m_model.experts);
    }
}

void TensorWriter::write()
{
    for (std::uint32_t layer = 0; layer < m_model.layers; ++layer)
        joinLayer("blk." + std::to_string(layer) + ".");
    for (const auto &[name, tensor] : m_rest) {
        std::vector<std::uint64_t> shape = {tensor.columns};
        if (tensor.rows > 1)
            shape.push_back(tensor.rows);
        m_writer.tensor(name, shape, 0, std::as_bytes(std::span(tensor.values)));
    }
    for (const auto &[name, factors] : {std::pair("rope_freqs.weight", &m_model.factors),
                                        std::pair("rope_factors_short.weight", &m_model.shortFactors),
                                        std::pair("rope_factors_long.weight", &m_model.longFactors)}) {
        if (!factors->empty())
            m_writer.tensor(name, {factors->size()}, 0, std::as_bytes(std::span(*factors)));
    }
}

void writeScaling(const Model &m, const std::string &at, GgufWriter &writer)
{
    const auto kind = [&](const char *name) { writer.string(at + "rope.scaling.type", name); };
    switch (m.scaling) {
    case Model::Scaling::Linear:
        kind("linear");
        break;
    case Model::Scaling::Ntk:
        kind("ntk");
        break;
    case Model::Scaling::Dynamic:
        kind("dynamic");
        break;
    case Model::Scaling::Yarn:
        kind("yarn");
        break;
    case Model::Scaling::Wavelength:
        kind("llama3");
        break;
    case Model::Scaling::None:
    case Model::Scaling::Factors:
    case Model::Scaling::Long:
        break;
    }
    if (m.factor != 1.0)
        writer.f32(at + "rope.scaling.factor", static_cast<float>(m.factor));
    if (m.originalContext > 0)
        writer.u32(at + "rope.scaling.original_context_length", m.originalContext);
    if (m.attentionFactor != 0.0)
        writer.f32(at + "rope.scaling.attn_factor", static_cast<float>(m.attentionFactor));
}

void writeConfig(const Model &m, GgufWriter &writer)
{
    const std::string at = m.architecture + ".";
    const auto optional = [&](const char *key, double value) {
        if (value != 0.0)
            writer.f32(at + key, static_cast<float>(value));
    };
    writer.string("general.architecture", m.architecture).string("general.name", m.name);
    writer.u32(at + "block_count", m.layers)
        .u32(at + "context_length", m.context)
        .u32(at + "embedding_length", m.width)
        .u32(at + "feed_forward_length", m.inner)
        .u32(at + "attention.head_count", m.heads)
        .u32(at + "attention.head_count_kv", m.kvHeads)
        .u32(at + "attention.key_length", m.headSize)
        .u32(at + "attention.value_length", m.headSize);
    writer.f32(at + (m.norm == Model::Norm::Rms ? "attention.layer_norm_rms_epsilon"
                                                : "attention.layer_norm_epsilon"),
               1e-5F);
    if (m.places == Model::Places::Neighbours || m.places == Model::Places::Halves)
        writer.u32(at + "rope.dimension_count", m.rotated)
            .f32(at + "rope.freq_base", static_cast<float>(m.base));
    if (m.window > 0)
        writer.u32(at + "attention.sliding_window", m.window);
    optional("rope.freq_base_swa", m.localBase);
    optional("attn_logit_softcapping", m.scoreCap);
    optional("final_logit_softcapping", m.logitCap);
    optional("attention.clamp_kqv", m.clamp);
    optional("attention.scale", m.scoreScale);
    if (m.places == Model::Places::Slopes)
        writer.f32(at + "attention.max_alibi_bias", static_cast<float>(m.slopeBias));
    if (m.experts > 0) {
        writer.u32(at + "expert_count", m.experts).u32(at + "expert_used_count", m.expertsUsed);
        if (m.expertInner != m.inner)
            writer.u32(at + "expert_feed_forward_length", m.expertInner);
    }
    writeScaling(m, at, writer);
}

} // namespace

TinyTensors tinyTensors(const TinyArchitecture &model)
{
    return TensorMaker(model).make();
}

GgufWriter tinyArchitecture(const TinyArchitecture &model, const TinyTensors &tensors)
{
    GgufWriter writer;
    writeConfig(model, writer);
    addTinyVocabulary(writer, model.vocabulary);
    TensorWriter(model, tensors, writer).write();
    return writer;
}

} // namespace tokenloupe::test
