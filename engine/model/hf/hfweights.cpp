// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/hfweights.h"

#include "engine/base/mappedfile.h"
#include "engine/base/utf8.h"

#include <algorithm>

namespace tokenloupe {

namespace {

/// Beside the rest of the model, or in its text part.
constexpr std::string_view headNames[] = {"lm_head", "language_model.lm_head", "model.lm_head"};

/// Tables that can be computed from the config and causal masks, which older versions stored all the same.
constexpr std::string_view redundantEndings[] = {"rotary_emb.inv_freq", "rotary_emb.cos_cached",
                                                 "rotary_emb.sin_cached", ".attn.masked_bias"};

std::string withExpert(std::string_view text, std::optional<std::uint32_t> expert)
{
    std::string name(text);
    if (const std::size_t place = name.find("{}"); place != std::string::npos)
        name.replace(place, 2, expert ? std::to_string(*expert) : "*");
    return name;
}

std::string_view ending(const WeightId &id)
{
    return id.part == WeightPart::Bias ? ".bias" : ".weight";
}

} // namespace

HfWeights::HfWeights(const HfConfig &config, std::vector<const SafetensorsTensor *> tensors,
                     const std::string &name, std::stop_token stop)
    : m_config(config)
    , m_tensors(std::move(tensors))
    , m_name(name)
    , m_stop(std::move(stop))
    , m_used(m_tensors.size(), 0)
    , m_copied(m_tensors.size())
    , m_copies(std::make_shared<WeightCopies>())
{
    for (std::size_t i = 0; i < m_tensors.size(); ++i)
        m_index.emplace(m_tensors[i]->name, i);
    const HfFamily &family = *m_config.family;
    const auto stems = hfStemsOf(WeightRole::TokenEmbedding, family.ownNames, *family.naming);
    m_prefix = family.naming->prefixes.front();
    for (const std::string_view prefix : family.naming->prefixes) {
        if (indexOf(std::string(prefix) + std::string(stems.front().text) + ".weight")) {
            m_prefix = prefix;
            break;
        }
    }
}

std::optional<std::size_t> HfWeights::indexOf(const std::string &name) const
{
    const auto found = m_index.find(name);
    return found == m_index.end() ? std::nullopt : std::optional(found->second);
}

std::vector<HfWeights::Name> HfWeights::namesOf(const WeightId &id) const
{
    std::vector<Name> names;
    if (id.role == WeightRole::OutputHead) {
        for (const std::string_view name : headNames)
            names.push_back({std::string(name) + std::string(ending(id)), HfStorage::AsIs});
        return names;
    }
    const HfFamily &family = *m_config.family;
    std::string start = m_prefix;
    if (id.layer)
        start += std::string(family.naming->layer) + std::to_string(*id.layer) + ".";
    for (const HfStem &stem : hfStemsOf(id.role, family.ownNames, *family.naming)) {
        // Experts are always apart here: none has a tensor of all of them.
        if (stem.text.find("{}") != std::string_view::npos && !id.expert && id.part == WeightPart::Weight &&
            indexOf(start + withExpert(stem.text, 0) + ".weight"))
            continue;
        const std::string base = start + withExpert(stem.text, id.expert);
        names.push_back({base + std::string(ending(id)), stem.storage});
        // A bias belongs to the weight that is there, not to the one that would have been taken without it.
        if (indexOf(base + ".weight"))
            break;
    }
    return names;
}

Result<std::optional<StoredWeight>> HfWeights::factors(WeightRole role) const
{
    const std::vector<float> &values =
        role == WeightRole::RopeShortFactors ? m_config.shortFactors : m_config.longFactors;
    if (values.empty())
        return std::optional<StoredWeight>();
    StoredWeight weight;
    weight.name = nameOf({role});
    weight.shape[0] = values.size();
    const auto copy = m_copies->copy(std::as_bytes(std::span(values)));
    if (!copy)
        return tl::unexpected(copy.error());
    weight.data = *copy;
    return weight;
}

Result<std::optional<StoredWeight>> HfWeights::find(const WeightId &id)
{
    if (m_stop.stop_requested())
        return makeError(ErrorCode::Cancelled, "load " + m_name, "cancelled");
    if (id.role == WeightRole::RopeShortFactors || id.role == WeightRole::RopeLongFactors)
        return factors(id.role);
    if (id.role == WeightRole::OutputHead && m_config.head == HfHead::Tied)
        return std::optional<StoredWeight>();
    for (const Name &name : namesOf(id)) {
        const auto index = indexOf(name.text);
        if (!index)
            continue;
        auto weight = stored(*index, name.storage);
        if (!weight)
            return tl::unexpected(weight.error());
        return std::optional(std::move(*weight));
    }
    if (id.role == WeightRole::OutputHead && m_config.head == HfHead::Separate)
        return makeError(ErrorCode::BadFile, "load " + m_name,
                         "tensor " + quotedForMessage(nameOf(id)) +
                             " is missing, and config.json says tie_word_embeddings false");
    return std::optional<StoredWeight>();
}

Result<StoredWeight> HfWeights::stored(std::size_t index, HfStorage storage)
{
    const SafetensorsTensor &tensor = *m_tensors[index];
    StoredWeight weight;
    weight.name = tensor.name;
    weight.data = tensor.data;
    if (tensor.shape.empty() || tensor.shape.size() > weight.shape.size())
        return makeError(ErrorCode::BadFile, "load " + m_name,
                         "tensor " + quotedForMessage(tensor.name) + ": expected 1 to 4 dimensions, found " +
                             std::to_string(tensor.shape.size()));
    std::copy(tensor.shape.rbegin(), tensor.shape.rend(), weight.shape.begin());
    m_used[index] = 1;
    if (!tensor.type->type) {
        weight.foreignType = tensor.type->name;
        return weight;
    }
    weight.type = *tensor.type->type;
    if (tensor.data.empty() ||
        (weight.type != TensorType::F32 && weight.type != TensorType::F16 && weight.type != TensorType::BF16))
        return weight; // refused by whoever looks at shape and type
    const std::byte *before = weight.data.data();
    const bool isVector = tensor.shape.size() == 1;
    Status status = reorder(weight, storage);
    if (status && isVector && weight.type != TensorType::F32) {
        // What is added or scaled by is float32.
        status = m_copies->widened(weight.data, weight.type).map([&](std::span<const std::byte> values) {
            weight.data = values;
            weight.type = TensorType::F32;
        });
    }
    if (status)
        status = align(weight);
    if (!status)
        return tl::unexpected(status.error());
    if (weight.data.data() != before)
        m_copied[index] = weight.data;
    return weight;
}

Status HfWeights::reorder(StoredWeight &weight, HfStorage storage)
{
    const ModelConfig &model = m_config.model;
    const std::size_t elementBytes = traitsOf(weight.type).blockBytes;
    const bool isMatrix = weight.shape[1] > 1 && weight.shape[2] == 1 && weight.shape[3] == 1;
    const auto take = [&](const Result<std::span<const std::byte>> &copy) -> Status {
        if (!copy)
            return tl::unexpected(copy.error());
        weight.data = *copy;
        return {};
    };
    if (storage == HfStorage::Transposed && isMatrix) {
        if (Status there = readAhead(weight.data); !there)
            return there;
        std::swap(weight.shape[0], weight.shape[1]);
        return take(m_copies->transposed(weight.data, weight.shape[0], weight.shape[1], elementBytes));
    }
    const std::size_t groups = model.kvHeadsOf(0);
    if (storage == HfStorage::GroupedRows && groups > 1) {
        const std::size_t queries = std::size_t{model.heads / model.kvHeadsOf(0)} * model.headSize;
        const std::size_t keys = model.headSize;
        const bool isVector = weight.shape[1] == 1;
        const std::uint64_t rows = isVector ? weight.shape[0] : weight.shape[1];
        if (rows != groups * (queries + 2 * keys) || weight.shape[2] != 1)
            return {}; // refused for its shape
        if (Status there = readAhead(weight.data); !there)
            return there;
        const std::size_t rowBytes = weight.data.size() / rows;
        return take(m_copies->ungrouped(weight.data, groups, queries, keys, rowBytes));
    }
    return {};
}

/// Files may put a tensor at any byte.
Status HfWeights::align(StoredWeight &weight)
{
    const auto address = reinterpret_cast<std::uintptr_t>(weight.data.data());
    if (address % traitsOf(weight.type).blockBytes == 0)
        return {};
    const auto copy = m_copies->copy(weight.data);
    if (!copy)
        return tl::unexpected(copy.error());
    weight.data = *copy;
    return {};
}

std::string HfWeights::nameOf(const WeightId &id) const
{
    if (id.role == WeightRole::RopeShortFactors)
        return "rope_scaling.short_factor";
    if (id.role == WeightRole::RopeLongFactors)
        return "rope_scaling.long_factor";
    const std::vector<Name> names = namesOf(id);
    return names.empty() ? std::string() : names.front().text;
}

bool HfWeights::isRedundant(std::size_t tensor) const
{
    const std::string_view name = m_tensors[tensor]->name;
    const bool isMask = name.ends_with(".attn.bias") && m_tensors[tensor]->shape.size() > 1;
    const bool isHead = m_config.head == HfHead::Tied && name.ends_with("lm_head.weight");
    return isMask || isHead ||
           std::any_of(std::begin(redundantEndings), std::end(redundantEndings),
                       [name](std::string_view end) { return name.ends_with(end); });
}

bool HfWeights::isInsideLayer(std::size_t tensor) const
{
    return isLayerName(m_tensors[tensor]->name, m_prefix + std::string(m_config.family->naming->layer),
                       m_config.model.layers);
}

} // namespace tokenloupe
