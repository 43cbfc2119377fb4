// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/shapegguf.h"

#include "engine/base/checkedmath.h"
#include "engine/base/utf8.h"
#include "engine/estimate/ggufkeys.h"
#include "engine/estimate/shapespec.h"
#include "engine/estimate/shapetensors.h"
#include "engine/estimate/shapewindows.h"
#include "engine/estimate/weightplan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace tokenloupe {

namespace {

using Parts = std::span<const std::shared_ptr<const GgufFile>>;

/// "blk.12.attn_q.weight" is layer 12, "attn_q"; names outside layers have none.
struct TensorName
{
    std::optional<std::uint64_t> layer;
    std::string role;
};

TensorName splitName(std::string_view name)
{
    TensorName split;
    if (name.starts_with("blk.")) {
        std::uint64_t layer = 0;
        const char *end = name.data() + name.size();
        const auto number = std::from_chars(name.data() + 4, end, layer);
        if (number.ec == std::errc() && number.ptr != end && *number.ptr == '.') {
            split.layer = layer;
            name.remove_prefix(static_cast<std::size_t>(number.ptr - name.data()) + 1);
        }
    }
    if (name.ends_with(".weight"))
        name.remove_suffix(7);
    // Older files hold every expert apart: "ffn_gate.3".
    for (const std::string_view matrix : {"ffn_gate.", "ffn_up.", "ffn_down."}) {
        const std::string_view rest = name.starts_with(matrix) ? name.substr(matrix.size()) : "";
        if (!rest.empty() &&
            std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; }))
            name = matrix == "ffn_gate." ? "ffn_gate_exps"
                   : matrix == "ffn_up." ? "ffn_up_exps"
                                         : "ffn_down_exps";
    }
    split.role = std::string(name);
    return split;
}

class GgufShapeReader
{
public:
    GgufShapeReader(Parts parts, std::string architecture)
        : m_parts(parts)
        , m_file(*parts.front())
        , m_keys(m_file, architecture)
    {
        m_shape.architecture = std::move(architecture);
    }

    Result<ModelShape> read();

private:
    void readNumbers();
    void readTensors();
    void addTensor(const GgufTensor &tensor);
    void readCache();
    void readState();
    std::vector<std::uint64_t> windows();
    bool keepsTokens(std::uint32_t layer) const;
    std::uint32_t number32(std::string_view key, std::uint64_t lowest, std::uint64_t highest,
                           std::optional<std::uint64_t> fallback = {})
    {
        return static_cast<std::uint32_t>(m_keys.number(key, lowest, highest, fallback));
    }

    Parts m_parts;
    const GgufFile &m_file;
    GgufKeys m_keys;
    ModelShape m_shape;
    ShapeTensorList m_list;
    std::uint64_t m_tensorCount = 0;
    bool m_hasOutput = false;
    std::map<TensorType, std::uint64_t> m_bytesByType;
    std::set<std::pair<TensorType, std::uint64_t>> m_layerTypes; ///< of matrices, with their columns
    std::vector<std::set<std::string>> m_roles; ///< of each layer, those that say what kind it is
};

void GgufShapeReader::readNumbers()
{
    for (const auto &part : m_parts) {
        m_tensorCount += part->tensors().size();
        m_hasOutput = m_hasOutput || part->tensor("output.weight") != nullptr;
    }
    m_shape.layers = number32("block_count", 1, maxShapeLayers);
    // Before anything is made for each layer: a layer has tensors, so there cannot be more than those.
    if (m_shape.layers > m_tensorCount)
        m_keys.fail("block_count", "found " + std::to_string(m_shape.layers) +
                                       " layers, but the file has only " + std::to_string(m_tensorCount) +
                                       " tensors");
    m_shape.embedding = number32("embedding_length", 1, maxShapeWidth);
    m_shape.contextTrain = number32("context_length", 0, maxShapeRows, 0U);
    m_shape.experts = number32("expert_count", 0, maxShapeExperts, 0U);
    m_shape.expertsUsed = number32("expert_used_count", 0, maxShapeExperts, 0U);
    if (m_shape.expertsUsed > m_shape.experts)
        m_keys.fail("expert_used_count", "expected at most the " + std::to_string(m_shape.experts) +
                                             " experts, found " + std::to_string(m_shape.expertsUsed));
    if (!m_keys.ok())
        return;
    const auto sizes = m_keys.perLayer("feed_forward_length", 0, 4 * maxShapeWidth, m_shape.layers, 0);
    m_shape.feedForward = static_cast<std::uint32_t>(*std::max_element(sizes.begin(), sizes.end()));
}

void GgufShapeReader::addTensor(const GgufTensor &tensor)
{
    TensorName name = splitName(tensor.name);
    ShapeTensorList::Item item;
    item.tensorClass = tensorClassOf(name.role);
    item.role = std::move(name.role);
    item.columns = tensor.shape[0];
    item.rows = tensor.shape[1];
    item.count = (CheckedSize(tensor.shape[2]) * tensor.shape[3]).value();
    item.storedBytes = tensor.bytes;
    m_bytesByType[tensor.type] += tensor.bytes;
    if (item.role.find("_exps") != std::string::npos && m_shape.experts > 0) {
        item.activeShare = static_cast<double>(m_shape.expertsUsed) / static_cast<double>(m_shape.experts);
        if (item.role.ends_with(".bias")) // (experts × width): one vector for each expert
            std::swap(item.rows, item.count);
    } else if (item.tensorClass == TensorClass::Embedding && (item.role != "token_embd" || m_hasOutput)) {
        item.activeShare = 1.0 / static_cast<double>(std::max<std::uint64_t>(item.rows, 1));
    }
    if (item.role == "token_embd" && item.rows <= maxShapeRows)
        m_shape.vocabulary = static_cast<std::uint32_t>(item.rows);
    if (!name.layer)
        return m_list.add(std::move(item));
    if (*name.layer >= m_shape.layers) {
        m_keys.fail("block_count", "found " + std::to_string(m_shape.layers) + " layers, but a tensor " +
                                       quotedForMessage(tensor.name));
        return;
    }
    const auto layer = static_cast<std::uint32_t>(*name.layer);
    if (item.role.starts_with("attn_") || item.role.starts_with("ssm_"))
        m_roles[layer].insert(item.role);
    const bool isMatrix = tensor.dimensions > 1 && tensor.name.ends_with(".weight");
    if (isMatrix && item.tensorClass != TensorClass::Norms && !isNeverQuantized(item.role))
        m_layerTypes.emplace(tensor.type, item.columns);
    m_list.add(std::move(item), layer);
}

void GgufShapeReader::readTensors()
{
    m_roles.resize(m_shape.layers);
    // Files may hold layers in any order (10 before 2); groups want them in order.
    std::vector<std::pair<std::uint64_t, const GgufTensor *>> tensors;
    tensors.reserve(m_tensorCount);
    for (const auto &part : m_parts) {
        for (const GgufTensor &tensor : part->tensors())
            tensors.emplace_back(splitName(tensor.name).layer.value_or(0), &tensor);
    }
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    std::set<std::string_view> names;
    for (const auto &[layer, tensor] : tensors) {
        if (!names.insert(tensor->name).second) {
            m_keys.fail("block_count", "the parts hold tensor " + quotedForMessage(tensor->name) + " twice");
            return;
        }
        addTensor(*tensor);
    }
    if (!m_list.isValid())
        m_keys.fail("block_count", "the tensors together are too large to be counted");
    m_shape.tensors = m_list.take();
    const auto most = std::max_element(m_bytesByType.begin(), m_bytesByType.end(),
                                       [](const auto &a, const auto &b) { return a.second < b.second; });
    if (most == m_bytesByType.end())
        return;
    m_shape.storedType = traitsOf(most->first).name;
    const auto isOfIt = [type = most->first](const auto &matrix) {
        return matrix.first == type || matrix.second % traitsOf(type).blockValues != 0;
    };
    if (std::all_of(m_layerTypes.begin(), m_layerTypes.end(), isOfIt))
        m_shape.storedLayerType = m_shape.storedType;
}

/// Whether a layer has keys and values; recurrent ones may carry tensors of similar names.
bool GgufShapeReader::keepsTokens(std::uint32_t layer) const
{
    const auto &roles = m_roles[layer];
    if (roles.empty() || roles.count("attn_k") > 0 || roles.count("attn_kv_a_mqa") > 0)
        return !roles.empty();
    const bool isRecurrent = std::any_of(roles.begin(), roles.end(),
                                         [](const std::string &role) { return role.starts_with("ssm_"); });
    return !isRecurrent && roles.count("attn_qkv") > 0;
}

std::vector<std::uint64_t> GgufShapeReader::windows()
{
    std::vector<std::uint64_t> windows(m_shape.layers, 0);
    const std::string_view key =
        m_keys.has("attention.sliding_window") ? "attention.sliding_window" : "attention.chunk_size";
    // Some writers state the largest number for "none".
    const std::uint64_t window = m_keys.number(key, 0, 0xFFFFFFFFU, 0U);
    if (window == 0 || window > maxShapeRows)
        return windows;
    static constexpr std::string_view patternKey = "attention.sliding_window_pattern";
    const GgufValue *pattern = m_file.find(m_shape.architecture + "." + std::string(patternKey));
    if (pattern && pattern->type == GgufType::Array) {
        windows = m_keys.perLayer(patternKey, 0, 1, m_shape.layers, 0);
        for (std::uint64_t &layer : windows)
            layer *= window;
        return windows;
    }
    const std::uint64_t every =
        m_keys.number(patternKey, 0, maxShapeLayers, windowEveryOf(m_shape.architecture));
    for (std::uint32_t layer = 0; layer < m_shape.layers; ++layer)
        windows[layer] = every == 0 || (layer + 1) % every != 0 ? window : 0;
    return windows;
}

void GgufShapeReader::readCache()
{
    const std::uint32_t layers = m_shape.layers;
    m_shape.kvLayers.assign(layers, {});
    const auto heads = m_keys.perLayer("attention.head_count", 0, maxShapeHeads, layers, 0);
    m_shape.heads = static_cast<std::uint32_t>(*std::max_element(heads.begin(), heads.end()));
    const std::vector<std::uint64_t> window = windows();
    bool anyTokens = false;
    for (std::uint32_t layer = 0; layer < layers; ++layer)
        anyTokens = anyTokens || keepsTokens(layer);
    if (!anyTokens || !m_keys.ok())
        return;
    if (m_shape.heads == 0)
        return m_keys.fail("attention.head_count",
                           "expected the heads of a model with attention, found none");

    const std::uint64_t share = std::max<std::uint64_t>(m_shape.embedding / m_shape.heads, 1);
    const std::uint64_t keySize = m_keys.number("attention.key_length", 1, maxShapeWidth, share);
    const std::uint64_t valueSize = m_keys.number("attention.value_length", 1, maxShapeWidth, share);
    const std::uint64_t windowKeySize = m_keys.number("attention.key_length_swa", 1, maxShapeWidth, keySize);
    const std::uint64_t windowValueSize =
        m_keys.number("attention.value_length_swa", 1, maxShapeWidth, valueSize);
    m_shape.headSize = number32("attention.key_length_mla", 1, maxShapeWidth, keySize);
    m_shape.latentRank = number32("attention.kv_lora_rank", 0, maxShapeWidth, 0U);
    if (m_shape.latentRank > 0)
        m_shape.latentRopeSize = number32("rope.dimension_count", 1, maxShapeHeads, 64U);
    const auto kvHeads = m_keys.perLayer("attention.head_count_kv", 0, maxShapeHeads, layers, m_shape.heads);
    // Of the last layers, some read what earlier ones keep, and some only guess further tokens.
    const std::uint64_t sharing = m_keys.number("attention.shared_kv_layers", 0, layers, 0U);
    const std::uint64_t ahead = m_keys.number("nextn_predict_layers", 0, layers, 0U);
    if (ahead > 0)
        m_shape.notes.push_back(
            "layers that predict further tokens ahead are in the weights, not in the cache: " +
            std::to_string(ahead));
    for (std::uint32_t layer = 0; layer + std::max(sharing, ahead) < layers; ++layer) {
        if (!keepsTokens(layer) || kvHeads[layer] == 0)
            continue;
        KvLayerShape &kv = m_shape.kvLayers[layer];
        kv.window = static_cast<std::uint32_t>(window[layer]);
        if (m_shape.latentRank > 0) {
            kv.heads = 1;
            kv.keySize = m_shape.latentRank + m_shape.latentRopeSize;
            continue;
        }
        kv.heads = static_cast<std::uint32_t>(kvHeads[layer]);
        kv.keySize = static_cast<std::uint32_t>(kv.window > 0 ? windowKeySize : keySize);
        kv.valueSize = static_cast<std::uint32_t>(kv.window > 0 ? windowValueSize : valueSize);
    }
}

void GgufShapeReader::readState()
{
    // State space: a short memory of the convolution and a state vector for each channel. Sizes stay far
    // below 64 bits: (2^24 + 2·2^16·2^16)·2^12 + 2^16·2^24.
    const std::uint64_t inner = m_keys.number("ssm.inner_size", 0, maxShapeWidth, 0U);
    const std::uint64_t state = m_keys.number("ssm.state_size", 0, maxShapeHeads, 0U);
    const std::uint64_t groups = m_keys.number("ssm.group_count", 0, maxShapeHeads, 0U);
    const std::uint64_t kernel = m_keys.number("ssm.conv_kernel", 0, 1U << 12, 0U);
    const std::uint64_t positions = m_keys.number("shortconv.l_cache", 0, 1U << 12, 0U);
    const std::uint64_t headSize = m_keys.number("wkv.head_size", 0, maxShapeHeads, 0U);
    const std::uint64_t shifts = m_keys.number("token_shift_count", 0, 1U << 12, 2U);
    std::uint64_t layers = 0;
    std::uint64_t values = 0;
    if (inner > 0 && kernel > 0) {
        values = (kernel - 1) * (inner + 2 * groups * state) + state * inner;
        layers = static_cast<std::uint64_t>(
            std::count_if(m_roles.begin(), m_roles.end(), [](const std::set<std::string> &roles) {
                return roles.lower_bound("ssm_") != roles.end();
            }));
    } else if (positions > 0) {
        values = m_shape.embedding * (positions - 1);
        layers = static_cast<std::uint64_t>(
            std::count_if(m_shape.kvLayers.begin(), m_shape.kvLayers.end(),
                          [](const KvLayerShape &layer) { return layer.heads == 0; }));
    } else if (headSize > 0) {
        values = m_shape.embedding * (shifts + headSize);
        layers = m_shape.layers;
    }
    const CheckedSize bytes = CheckedSize(values) * layers * 4;
    if (!bytes.isValid())
        m_keys.fail("ssm.inner_size", "the state of the recurrent layers is too large to be counted");
    m_shape.stateBytesPerSequence = bytes.value();
}

Result<ModelShape> GgufShapeReader::read()
{
    m_shape.source = "GGUF header";
    m_shape.name = m_file.name();
    if (const auto name = m_file.stringValue("general.name"))
        m_shape.name = sanitizedUtf8(*name);
    readNumbers();
    if (m_keys.ok())
        readTensors();
    if (m_keys.ok())
        readCache();
    if (m_keys.ok())
        readState();
    if (!m_keys.ok())
        return tl::unexpected(m_keys.status().error());
    return m_shape;
}

} // namespace

Result<ModelShape> shapeOfGgufParts(Parts parts)
{
    const GgufFile &file = *parts.front();
    const auto architecture = file.stringValue("general.architecture");
    if (!architecture)
        return tl::unexpected(architecture.error());
    const bool hasTensors =
        std::any_of(parts.begin(), parts.end(), [](const auto &part) { return !part->tensors().empty(); });
    if (!hasTensors)
        return makeError(ErrorCode::InvalidArgument, "read " + file.name(),
                         "expected a model, found a file without tensors (a vocabulary)");
    const auto isCoder = [](const GgufTensor &tensor) { return tensor.name.starts_with("dec.blk."); };
    for (const auto &part : parts) {
        if (std::any_of(part->tensors().begin(), part->tensors().end(), isCoder))
            return makeError(ErrorCode::Unsupported, "read " + file.name(),
                             "models with an encoder and a decoder are not counted");
    }
    return GgufShapeReader(parts, std::string(*architecture)).read();
}

Result<ModelShape> shapeOfGguf(const GgufFile &file)
{
    const auto count = file.unsignedValue("split.count");
    if (count && *count > 1 && file.partNames().empty())
        return makeError(ErrorCode::InvalidArgument, "read " + file.name(),
                         "this is one of " + std::to_string(*count) + " parts: expected all of them");
    // A view that owns nothing: the caller's object outlives the call.
    const std::shared_ptr<const GgufFile> view(std::shared_ptr<void>(), &file);
    return shapeOfGgufParts({&view, 1});
}

} // namespace tokenloupe
