// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/shapespec.h"

#include "engine/estimate/shapetensors.h"

#include <algorithm>

namespace tokenloupe {

namespace {

/// Writes one model's tensors, layer by layer, under the names that GGUF files give them.
class ShapeWriter
{
public:
    explicit ShapeWriter(const ShapeSpec &spec)
        : m_spec(spec)
    {}

    Result<ModelShape> write();

private:
    void matrix(const std::string &role, std::uint64_t rows, std::uint64_t columns)
    {
        emit({TensorClass::Other, role, rows, columns});
    }
    void vector(const std::string &role, std::uint64_t size) { emit({TensorClass::Other, role, 1, size}); }
    void biasIf(bool wanted, const std::string &role, std::uint64_t size)
    {
        if (wanted)
            vector(role + ".bias", size);
    }
    void norm(const std::string &role, std::uint64_t size);
    void emit(ShapeTensorList::Item item);

    void writeEnds();
    void writeNorms(const LayerSpec &layer);
    void writeAttention(const AttentionSpec &attention);
    void writeLatent(const AttentionSpec &attention);
    void writeQueryKeyNorm(const AttentionSpec &attention);
    void writeFeedForward(const FeedForwardSpec &feedForward, const std::string &suffix);
    void writeExperts(const ExpertsSpec &experts);
    KvLayerShape kvOf(const AttentionSpec &attention) const;

    const ShapeSpec &m_spec;
    ShapeTensorList m_tensors;
    std::uint32_t m_layer = 0;
    bool m_inLayer = false;
};

void ShapeWriter::emit(ShapeTensorList::Item item)
{
    item.tensorClass = tensorClassOf(item.role);
    if (m_inLayer)
        m_tensors.add(std::move(item), m_layer);
    else
        m_tensors.add(std::move(item));
}

void ShapeWriter::norm(const std::string &role, std::uint64_t size)
{
    if (m_spec.norm == NormParameters::None)
        return;
    vector(role, size);
    biasIf(m_spec.norm == NormParameters::WeightAndBias, role, size);
}

void ShapeWriter::writeEnds()
{
    const std::uint64_t rows = m_spec.embeddingRows;
    const double row = 1.0 / static_cast<double>(rows);
    emit({TensorClass::Other, "token_embd", rows, m_spec.embedding, 1, 0, m_spec.tied ? 1.0 : row});
    if (m_spec.positions > 0)
        emit({TensorClass::Other, "position_embd", m_spec.positions, m_spec.embedding, 1, 0,
              1.0 / static_cast<double>(m_spec.positions)});
    if (m_spec.embeddingNorm)
        norm("token_embd_norm", m_spec.embedding);
    if (m_spec.finalNorm)
        norm("output_norm", m_spec.embedding);
    if (!m_spec.tied)
        matrix("output", rows, m_spec.embedding);
    biasIf(m_spec.headBias, "output", rows);
}

void ShapeWriter::writeNorms(const LayerSpec &layer)
{
    static constexpr const char *roles[] = {"attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"};
    const std::uint32_t first = layer.normsAfter ? 2 : 0;
    for (std::uint32_t i = first; i < std::min<std::uint32_t>(first + layer.norms, 4); ++i)
        norm(roles[i], m_spec.embedding);
}

void ShapeWriter::writeQueryKeyNorm(const AttentionSpec &attention)
{
    const std::uint64_t queries = attention.heads * attention.keySize;
    const std::uint64_t keys = attention.kvHeads * attention.keySize;
    switch (attention.queryKeyNorm) {
    case QkNorm::None:
        return;
    case QkNorm::Head:
        norm("attn_q_norm", attention.keySize);
        norm("attn_k_norm", attention.keySize);
        return;
    case QkNorm::Whole:
        norm("attn_q_norm", queries);
        norm("attn_k_norm", keys);
        return;
    case QkNorm::HeadSets:
        vector("attn_q_norm", queries);
        vector("attn_k_norm", keys);
        return;
    }
}

void ShapeWriter::writeLatent(const AttentionSpec &attention)
{
    const LatentSpec &latent = *attention.latent;
    const std::uint64_t width = m_spec.embedding;
    const std::uint64_t queries = attention.heads * (latent.nopeSize + latent.ropeSize);
    if (latent.queryRank > 0) {
        matrix("attn_q_a", latent.queryRank, width);
        biasIf(attention.queryKeyValueBias, "attn_q_a", latent.queryRank);
        norm("attn_q_a_norm", latent.queryRank);
        matrix("attn_q_b", queries, latent.queryRank);
    } else {
        matrix("attn_q", queries, width);
    }
    matrix("attn_kv_a_mqa", latent.rank + latent.ropeSize, width);
    biasIf(attention.queryKeyValueBias, "attn_kv_a_mqa", latent.rank + latent.ropeSize);
    norm("attn_kv_a_norm", latent.rank);
    matrix("attn_kv_b", attention.heads * (latent.nopeSize + latent.valueSize), latent.rank);
    matrix("attn_output", width, attention.heads * latent.valueSize);
    biasIf(attention.outputBias, "attn_output", width);
}

void ShapeWriter::writeAttention(const AttentionSpec &attention)
{
    if (attention.latent)
        return writeLatent(attention);
    const std::uint64_t width = m_spec.embedding;
    const std::uint64_t queries = attention.heads * attention.keySize * (attention.queryGate ? 2 : 1);
    const std::uint64_t keys = attention.kvHeads * attention.keySize;
    const std::uint64_t values = attention.kvHeads * attention.valueSize;
    if (attention.fused) {
        matrix("attn_qkv", queries + keys + values, width);
        biasIf(attention.queryKeyValueBias, "attn_qkv", queries + keys + values);
    } else {
        matrix("attn_q", queries, width);
        biasIf(attention.queryKeyValueBias, "attn_q", queries);
        matrix("attn_k", keys, width);
        biasIf(attention.queryKeyValueBias, "attn_k", keys);
        matrix("attn_v", values, width);
        biasIf(attention.queryKeyValueBias, "attn_v", values);
    }
    matrix("attn_output", width, attention.heads * attention.valueSize);
    biasIf(attention.outputBias, "attn_output", width);
    writeQueryKeyNorm(attention);
    if (attention.sinks)
        vector("attn_sinks", attention.heads);
}

void ShapeWriter::writeFeedForward(const FeedForwardSpec &feedForward, const std::string &suffix)
{
    const std::uint64_t width = m_spec.embedding;
    const bool isFused = feedForward.kind == MlpKind::GatedFused;
    if (feedForward.kind == MlpKind::Gated) {
        matrix("ffn_gate" + suffix, feedForward.size, width);
        biasIf(feedForward.bias, "ffn_gate" + suffix, feedForward.size);
    }
    const std::uint64_t up = feedForward.size * (isFused ? 2 : 1);
    matrix("ffn_up" + suffix, up, width);
    biasIf(feedForward.bias, "ffn_up" + suffix, up);
    matrix("ffn_down" + suffix, width, feedForward.size);
    biasIf(feedForward.bias, "ffn_down" + suffix, width);
}

void ShapeWriter::writeExperts(const ExpertsSpec &experts)
{
    const std::uint64_t width = m_spec.embedding;
    const double share = static_cast<double>(experts.used) / static_cast<double>(experts.count);
    const auto routed = [&](const std::string &role, std::uint64_t rows, std::uint64_t columns) {
        emit({TensorClass::Other, role, rows, columns, experts.count, 0, share});
        if (experts.bias)
            emit({TensorClass::Other, role + ".bias", 1, rows, experts.count, 0, share});
    };
    matrix("ffn_gate_inp", experts.count, width);
    biasIf(experts.routerBias, "ffn_gate_inp", experts.count);
    biasIf(experts.selectionBias, "exp_probs_b", experts.count);
    if (experts.kind != MlpKind::Plain)
        routed("ffn_gate_exps", experts.size, width);
    routed("ffn_up_exps", experts.size, width);
    routed("ffn_down_exps", width, experts.size);
    if (experts.sharedSize > 0)
        writeFeedForward({experts.sharedSize, experts.kind, false}, "_shexp");
    if (experts.sharedGate)
        vector("ffn_gate_inp_shexp", width);
}

KvLayerShape ShapeWriter::kvOf(const AttentionSpec &attention) const
{
    KvLayerShape kv;
    if (attention.heads == 0)
        return kv;
    kv.window = static_cast<std::uint32_t>(attention.window);
    if (attention.latent) {
        kv.heads = 1;
        kv.keySize = static_cast<std::uint32_t>(attention.latent->rank + attention.latent->ropeSize);
        return kv;
    }
    kv.heads = static_cast<std::uint32_t>(attention.kvHeads);
    kv.keySize = static_cast<std::uint32_t>(attention.keySize);
    kv.valueSize = static_cast<std::uint32_t>(attention.valueSize);
    return kv;
}

Result<ModelShape> ShapeWriter::write()
{
    ModelShape shape;
    shape.name = m_spec.name;
    shape.architecture = m_spec.architecture;
    shape.source = m_spec.source;
    shape.layers = static_cast<std::uint32_t>(m_spec.layers.size());
    shape.embedding = static_cast<std::uint32_t>(m_spec.embedding);
    shape.heads = static_cast<std::uint32_t>(m_spec.heads);
    shape.headSize = static_cast<std::uint32_t>(m_spec.headSize);
    shape.feedForward = static_cast<std::uint32_t>(m_spec.feedForward);
    shape.vocabulary = static_cast<std::uint32_t>(m_spec.vocabulary);
    shape.contextTrain = static_cast<std::uint32_t>(m_spec.context);
    shape.notes = m_spec.notes;

    writeEnds();
    m_inLayer = true;
    CheckedSize state;
    for (const LayerSpec &layer : m_spec.layers) {
        writeNorms(layer);
        if (layer.attention.heads > 0)
            writeAttention(layer.attention);
        if (layer.recurrent) {
            for (const RecurrentSpec::Part &part : layer.recurrent->parts)
                emit({TensorClass::Other, part.role, part.rows, part.columns});
            state += CheckedSize(layer.recurrent->stateValues) * 4;
        }
        if (layer.feedForward.size > 0)
            writeFeedForward(layer.feedForward, {});
        if (layer.experts.count > 0)
            writeExperts(layer.experts);
        if (layer.attention.latent) {
            shape.latentRank = static_cast<std::uint32_t>(layer.attention.latent->rank);
            shape.latentRopeSize = static_cast<std::uint32_t>(layer.attention.latent->ropeSize);
        }
        shape.experts = std::max(shape.experts, static_cast<std::uint32_t>(layer.experts.count));
        shape.expertsUsed = std::max(shape.expertsUsed, static_cast<std::uint32_t>(layer.experts.used));
        shape.kvLayers.push_back(kvOf(layer.attention));
        ++m_layer;
    }
    if (!m_tensors.isValid() || !state.isValid())
        return makeError(ErrorCode::InvalidArgument, "read shape " + m_spec.name,
                         "the sizes together are too large to be counted");
    shape.stateBytesPerSequence = state.value();
    shape.tensors = m_tensors.take();
    return shape;
}

} // namespace

Result<ModelShape> buildShape(const ShapeSpec &spec)
{
    return ShapeWriter(spec).write();
}

} // namespace tokenloupe
