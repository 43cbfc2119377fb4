// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/shapetensors.h"

#include <utility>

namespace tokenloupe {

namespace {

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

} // namespace

TensorClass tensorClassOf(std::string_view role)
{
    const std::string_view base = role.substr(0, role.find('.'));
    if (contains(base, "norm"))
        return TensorClass::Norms;
    if (base == "token_embd" || base == "position_embd" || base == "token_types" ||
        base == "per_layer_token_embd")
        return TensorClass::Embedding;
    if (base == "output" || base == "cls" || base == "cls.output")
        return TensorClass::Output;
    if (base.starts_with("ssm_") || base.starts_with("time_mix_") || base.starts_with("channel_mix_") ||
        base.starts_with("shortconv"))
        return TensorClass::Recurrent;
    if (base.starts_with("attn_") || base.starts_with("cross_attn_") || base.starts_with("indexer"))
        return TensorClass::Attention;
    if (contains(base, "shexp") || contains(base, "_chexps"))
        return TensorClass::FeedForward;
    if (contains(base, "_exps") || base == "ffn_gate_inp" || base == "exp_probs_b" ||
        base == "ffn_exp_probs_b")
        return TensorClass::Experts;
    if (base.starts_with("ffn_"))
        return TensorClass::FeedForward;
    return TensorClass::Other;
}

ShapeTensor &ShapeTensorList::group(Item &&item)
{
    const CheckedSize values = CheckedSize(item.rows) * item.columns * item.count;
    m_values += values;
    m_stored += CheckedSize(item.storedBytes);
    const auto [place, isNew] =
        m_index.try_emplace(Key(item.role, item.rows, item.columns), m_tensors.size());
    if (isNew) {
        ShapeTensor tensor;
        tensor.tensorClass = item.tensorClass;
        tensor.role = std::move(item.role);
        tensor.rows = item.rows;
        tensor.columns = item.columns;
        tensor.activeShare = item.activeShare;
        m_tensors.push_back(std::move(tensor));
    }
    ShapeTensor &tensor = m_tensors[place->second];
    tensor.count += item.count;
    tensor.storedBytes += item.storedBytes;
    return tensor;
}

void ShapeTensorList::add(Item item)
{
    group(std::move(item));
}

void ShapeTensorList::add(Item item, std::uint32_t layer)
{
    ShapeTensor &tensor = group(std::move(item));
    if (tensor.layers.empty() || tensor.layers.back() != layer)
        tensor.layers.push_back(layer);
}

} // namespace tokenloupe
