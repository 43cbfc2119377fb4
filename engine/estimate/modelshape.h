// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/cache/kvshape.h"
#include "engine/model/gguffile.h"
#include "engine/model/modelconfig.h"
#include "engine/model/modelcontainer.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tokenloupe {

/// Tensors that belong together when memory is counted. The order is the order of display.
enum class TensorClass : std::uint8_t {
    Embedding,   ///< token (and position) embeddings
    Attention,   ///< q, k, v, o (or the latent projections), their biases
    FeedForward, ///< dense feed-forward matrices, shared experts
    Experts,     ///< routed experts and their router
    Recurrent,   ///< state-space and convolution layers
    Norms,       ///< all norms
    Output,      ///< the output head where it is stored apart
    Other,
};
std::string_view tensorClassTitle(TensorClass tensorClass); ///< "token embedding"

/// A group of equal tensors: `count` matrices of rows × columns (vectors: rows 1). Enough to say what any
/// weight type would take.
struct ShapeTensor
{
    TensorClass tensorClass = TensorClass::Other;
    std::string role; ///< GGUF's tensor name without "blk.N." and ".weight": "attn_q", "ffn_down_exps"
    std::uint64_t rows = 0;
    std::uint64_t columns = 0; ///< contiguous: what the quantised blocks run along
    std::uint64_t count = 0;
    std::uint64_t storedBytes = 0; ///< of all `count` together, as the file has them; 0 when there is no file
    double activeShare = 1.0;      ///< of the values that one token touches (routed experts: used / all;
                                   ///< embedding rows: one, all of them where they are the output head too)
    std::vector<std::uint32_t> layers; ///< that have these, in order, count / layers.size() each; empty: not
                                       ///< in a layer (embedding, output head)
    std::uint64_t values() const { return rows * columns * count; }
};

/// Everything that memory and speed depend on, for any transformer: what the estimator works with. Made from
/// a header only; weights are never read.
struct ModelShape
{
    std::string name;
    std::string architecture; ///< as the source spells it
    std::string source;       ///< "config.json", "GGUF header", "built in"
    std::uint32_t layers = 0;
    std::uint32_t embedding = 0;
    std::uint32_t heads = 0;
    std::uint32_t headSize = 0;
    std::uint32_t feedForward = 0;
    std::uint32_t vocabulary = 0;
    std::uint32_t contextTrain = 0;          ///< 0: not known
    std::vector<KvLayerShape> kvLayers;      ///< what the cache keeps, latent attention as it is stored
    std::uint64_t stateBytesPerSequence = 0; ///< recurrent layers: float32, no growth with tokens
    std::vector<ShapeTensor> tensors;
    std::string storedType; ///< "Q4_1": the type that holds most bytes; empty when nothing is stored
    /// The type of all matrices of the layers, but for rows that it does not fit; empty: they differ.
    std::string storedLayerType;

    /// Attention variants for "side by side": set when the shape has a latent variant of its own.
    std::uint32_t latentRank = 0;     ///< MLA: kv_lora_rank
    std::uint32_t latentRopeSize = 0; ///< MLA: rotary part of the key
    std::uint32_t experts = 0;
    std::uint32_t expertsUsed = 0;
    std::vector<std::string>
        notes; ///< what the numbers leave out, for people: "the vision part is not counted"

    std::uint64_t parameters() const;  ///< Σ values
    double activeParameters() const;   ///< that one token multiplies by, embedding lookup left out
    std::uint64_t storedBytes() const; ///< Σ storedBytes
};

/// From a GGUF's header, any architecture that states its sizes. A file without tensors (vocabulary) is
/// InvalidArgument.
Result<ModelShape> shapeOfGguf(const GgufFile &file);
/// From what an open container says: a GGUF's header, a folder's config with the types of its tensors.
Result<ModelShape> shapeOfContainer(const ModelContainer &container);
/// From the text of a Hugging Face `config.json`, or of one shape in the estimator's own spelling (keys
/// layers, hidden, heads, kv_heads, head_dim, ffn, vocab, embedding_rows, tied_embeddings, context, norm,
/// mlp, bias, qkv_bias, qk_norm, sliding_window {size, layers}, moe {…}, mla {…}). Missing or absurd numbers
/// name the field, what was expected and what was found.
Result<ModelShape> shapeOfJson(std::string_view text, std::string_view name);
/// Any of these by path: a GGUF file (of a split one any part), a `config.json`, a folder with one, a shape
/// file.
Result<ModelShape> readModelShape(const std::filesystem::path &path);

/// The families that everybody asks about, by name: "Llama-3.1-8B".
std::vector<std::string> builtInShapeNames();
Result<ModelShape> builtInShape(std::string_view name); ///< NotFound names the nearest ones

} // namespace tokenloupe
