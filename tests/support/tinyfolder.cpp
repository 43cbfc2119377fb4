// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tinyfolder.h"

#include "tests/support/ggufwriter.h"

#include <functional>

namespace tokenloupe::test {

namespace {

using Model = TinyArchitecture;

/// The names of one family: GGUF's between "blk.N." and ".weight" to the folder's between prefix and suffix.
struct Names
{
    std::string prefix = "model.";
    std::string layer = "layers.";
    std::map<std::string, std::string> stems;
};

Names llamaNames(const Model &m)
{
    Names names;
    names.stems = {{"token_embd", "embed_tokens"},      {"output_norm", "norm"},
                   {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
                   {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
                   {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
                   {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
                   {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
                   {"ffn_down", "mlp.down_proj"}};
    if (m.where != Model::Where::Before) {
        names.stems["post_attention_norm"] = "post_attention_layernorm";
        names.stems["ffn_norm"] = "pre_feedforward_layernorm";
        names.stems["post_ffw_norm"] = "post_feedforward_layernorm";
    }
    if (m.architecture == "starcoder2") {
        names.stems["ffn_up"] = "mlp.c_fc";
        names.stems["ffn_down"] = "mlp.c_proj";
    }
    const bool isMixtral = m.architecture == "llama";
    const std::string experts = isMixtral ? "block_sparse_moe.experts." : "mlp.experts.";
    names.stems["ffn_gate_inp"] = isMixtral ? "block_sparse_moe.gate" : "mlp.gate";
    for (std::uint32_t expert = 0; expert < m.experts; ++expert) {
        const std::string number = std::to_string(expert);
        names.stems["ffn_gate." + number] = experts + number + (isMixtral ? ".w1" : ".gate_proj");
        names.stems["ffn_down." + number] = experts + number + (isMixtral ? ".w2" : ".down_proj");
        names.stems["ffn_up." + number] = experts + number + (isMixtral ? ".w3" : ".up_proj");
    }
    return names;
}

Names namesOf(const Model &m)
{
    if (m.architecture == "gpt2")
        return {"transformer.",
                "h.",
                {{"token_embd", "wte"},
                 {"position_embd", "wpe"},
                 {"output_norm", "ln_f"},
                 {"attn_norm", "ln_1"},
                 {"ffn_norm", "ln_2"},
                 {"attn_output", "attn.c_proj"},
                 {"ffn_up", "mlp.c_fc"},
                 {"ffn_down", "mlp.c_proj"}}};
    if (m.architecture == "mpt")
        return {"transformer.",
                "blocks.",
                {{"token_embd", "wte"},
                 {"output_norm", "norm_f"},
                 {"attn_norm", "norm_1"},
                 {"ffn_norm", "norm_2"},
                 {"attn_q_norm", "attn.q_ln"},
                 {"attn_k_norm", "attn.k_ln"},
                 {"attn_output", "attn.out_proj"},
                 {"ffn_up", "ffn.up_proj"},
                 {"ffn_down", "ffn.down_proj"}}};
    if (m.architecture == "bloom" || m.architecture == "falcon")
        return {"transformer.",
                "h.",
                {{"token_embd", "word_embeddings"},
                 {"token_embd_norm", "word_embeddings_layernorm"},
                 {"output_norm", "ln_f"},
                 {"attn_norm", m.secondNorm ? "ln_mlp" : "input_layernorm"},
                 {"attn_norm_2", "ln_attn"},
                 {"ffn_norm", "post_attention_layernorm"},
                 {"attn_output", "self_attention.dense"},
                 {"ffn_up", "mlp.dense_h_to_4h"},
                 {"ffn_down", "mlp.dense_4h_to_h"}}};
    return llamaNames(m);
}

TinyTensor transposed(const TinyTensor &tensor)
{
    TinyTensor out{tensor.columns, tensor.rows, std::vector<float>(tensor.values.size())};
    for (std::uint32_t row = 0; row < tensor.rows; ++row) {
        for (std::uint32_t column = 0; column < tensor.columns; ++column)
            out.values[column * tensor.rows + row] = tensor.values[row * tensor.columns + column];
    }
    return out;
}

/// `rows` of a matrix, or so many values of a vector, from `first`.
std::span<const float> part(const TinyTensor &tensor, std::size_t first, std::size_t rows)
{
    const std::size_t width = tensor.rows > 1 ? tensor.columns : 1;
    return std::span(tensor.values).subspan(first * width, rows * width);
}

/// Neighbouring pairs as two halves: where GGUF's llama has them the other way.
TinyTensor inHalves(const Model &m, const TinyTensor &tensor, std::uint32_t heads)
{
    TinyTensor out{tensor.rows, tensor.columns, {}};
    const auto take = [&](std::size_t row) {
        const auto values = part(tensor, row, 1);
        out.values.insert(out.values.end(), values.begin(), values.end());
    };
    for (std::size_t head = 0; head < heads; ++head) {
        for (std::size_t i = 0; i < m.headSize; ++i) {
            const std::size_t half = m.rotated / 2;
            const std::size_t from = i >= m.rotated ? i : i < half ? 2 * i : 2 * (i - half) + 1;
            take(head * m.headSize + from);
        }
    }
    return out;
}

class FolderTensors
{
public:
    FolderTensors(const Model &model, const TinyTensors &tensors)
        : m_model(model)
        , m_rest(tensors)
        , m_names(namesOf(model))
    {}

    TinyTensors make();

private:
    bool has(std::string_view architecture) const { return m_model.architecture == architecture; }
    std::string full(const std::string &layer, const std::string &stem, const std::string &end) const;
    void fuse(std::uint32_t layer, const std::string &end);
    void put(const std::string &name, TinyTensor tensor) { m_out[name] = std::move(tensor); }

    const Model &m_model;
    TinyTensors m_rest;
    Names m_names;
    TinyTensors m_out;
};

std::string FolderTensors::full(const std::string &layer, const std::string &stem,
                                const std::string &end) const
{
    if (stem == "output")
        return "lm_head" + end;
    const std::string at = layer.empty() ? std::string() : m_names.layer + layer + ".";
    return m_names.prefix + at + m_names.stems.at(stem) + end;
}

void FolderTensors::fuse(std::uint32_t layer, const std::string &end)
{
    const Model &m = m_model;
    const std::string at = "blk." + std::to_string(layer) + ".";
    const std::string out = m_names.prefix + m_names.layer + std::to_string(layer) + ".";
    const auto join = [&](const std::vector<std::string> &names, std::size_t groups,
                          const std::string &name) {
        TinyTensor all{0, 0, {}};
        for (std::size_t group = 0; group < groups; ++group) {
            for (const std::string &stem : names) {
                const auto found = m_rest.find(at + stem + end);
                if (found == m_rest.end())
                    return;
                const TinyTensor &tensor = found->second;
                const std::size_t rows = (tensor.rows > 1 ? tensor.rows : tensor.columns) / groups;
                const auto values = part(tensor, group * rows, rows);
                all.values.insert(all.values.end(), values.begin(), values.end());
                all.rows += tensor.rows > 1 ? static_cast<std::uint32_t>(rows) : 0;
                all.columns = tensor.columns;
            }
        }
        for (const std::string &stem : names)
            m_rest.erase(at + stem + end);
        if (all.rows == 0) {
            all.rows = 1;
            all.columns = static_cast<std::uint32_t>(all.values.size());
        }
        put(out + name + end, has("gpt2") && all.rows > 1 ? transposed(all) : all);
    };
    const std::vector<std::string> parts = {"attn_q", "attn_k", "attn_v"};
    if (has("gpt2"))
        join(parts, 1, "attn.c_attn");
    else if (has("mpt"))
        join(parts, 1, "attn.Wqkv");
    else if (has("bloom") || has("falcon"))
        join(parts, m.kvHeads, "self_attention.query_key_value");
    else if (m.fusedQkv)
        join(parts, 1, "self_attn.qkv_proj");
    if (m.fusedGateUp)
        join({"ffn_gate", "ffn_up"}, 1, "mlp.gate_up_proj");
}

TinyTensors FolderTensors::make()
{
    for (std::uint32_t layer = 0; layer < m_model.layers; ++layer) {
        fuse(layer, ".weight");
        fuse(layer, ".bias");
    }
    for (const auto &[name, tensor] : m_rest) {
        std::string stem = name.substr(0, name.rfind('.'));
        const std::string end = name.substr(name.rfind('.'));
        std::string layer;
        if (stem.starts_with("blk.")) {
            layer = stem.substr(4, stem.find('.', 4) - 4);
            stem = stem.substr(5 + layer.size());
        }
        TinyTensor out = tensor;
        const bool turns =
            m_model.places == Model::Places::Neighbours && (stem == "attn_q" || stem == "attn_k");
        if (turns)
            out = inHalves(m_model, out, stem == "attn_q" ? m_model.heads : m_model.kvHeads);
        if (has("gpt2") && !layer.empty() && out.rows > 1)
            out = transposed(out);
        if (m_model.architecture.starts_with("gemma") && stem.ends_with("norm")) {
            for (float &value : out.values)
                value -= 1.0F;
        }
        put(full(layer, stem, end), std::move(out));
    }
    return std::move(m_out);
}

void writeShards(const std::filesystem::path &folder, const TinyTensors &tensors,
                 const TinyFolderOptions &options)
{
    std::vector<SafetensorsWriter> shards(options.shards);
    std::size_t next = 0;
    for (const auto &[name, tensor] : tensors) {
        std::vector<std::uint64_t> shape = {tensor.columns};
        if (tensor.rows > 1)
            shape.insert(shape.begin(), tensor.rows);
        shards[next++ % shards.size()].tensor(name, shape, tensor.values, options.type);
    }
    if (shards.size() == 1) {
        writeBytes(folder / "model.safetensors", shards[0].bytes());
        return;
    }
    nlohmann::ordered_json index{{"metadata", {{"total_size", 0}}}};
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const std::string name = "model-" + std::to_string(i + 1) + ".safetensors";
        writeBytes(folder / name, shards[i].bytes());
        for (const std::string &tensor : shards[i].names())
            index["weight_map"][tensor] = name;
    }
    const std::string text = index.dump();
    writeBytes(folder / "model.safetensors.index.json", std::as_bytes(std::span(text)));
}

} // namespace

std::filesystem::path writeTinyFolder(const std::filesystem::path &folder, const TinyArchitecture &model,
                                      const TinyTensors &tensors, const TinyFolderOptions &options)
{
    std::filesystem::create_directories(folder);
    const std::string config = tinyFolderConfig(model, options.spelling).dump(2);
    writeBytes(folder / "config.json", std::as_bytes(std::span(config)));
    writeShards(folder, FolderTensors(model, tensors).make(), options);
    return folder;
}

} // namespace tokenloupe::test
