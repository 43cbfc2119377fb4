// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/shapehybrid.h"

#include <algorithm>
#include <functional>
#include <memory>

namespace tokenloupe {

namespace {

using Recurrent = std::shared_ptr<const RecurrentSpec>;
constexpr std::uint64_t maxSmall = 1U << 12; ///< convolution widths, growth factors

/// A field that is a number or the word "auto".
std::uint64_t numberOrAuto(JsonFields &fields, std::string_view name, std::uint64_t automatic)
{
    const nlohmann::json *value = fields.find({name});
    if (value && value->is_string() && *value == "auto")
        return automatic;
    return fields.number({name}, 1, maxShapeWidth, automatic);
}

/// Selective state space: a convolution of a few positions, then for every channel a state vector whose step
/// comes from the input.
Recurrent mamba(JsonFields &fields, const ShapeSpec &spec, HybridKind kind)
{
    const bool isJamba = kind == HybridKind::Jamba;
    const std::uint64_t width = spec.embedding;
    const std::uint64_t state =
        fields.number({"state_size", "mamba_d_state"}, 1, maxShapeHeads, std::uint64_t{16});
    const std::uint64_t kernel =
        fields.number({"conv_kernel", "mamba_d_conv"}, 1, maxSmall, std::uint64_t{4});
    const std::uint64_t expand = fields.number({"expand", "mamba_expand"}, 1, maxSmall, std::uint64_t{2});
    // Jamba's intermediate_size is that of its feed-forward layers.
    const std::uint64_t inner =
        isJamba ? expand * width
                : fields.number({"intermediate_size", "d_inner"}, 1, maxShapeWidth * 2, expand * width);
    const std::uint64_t steps =
        numberOrAuto(fields, isJamba ? "mamba_dt_rank" : "time_step_rank", (width + 15) / 16);
    const bool convolutionBias = fields.flag({"use_conv_bias", "mamba_conv_bias"}, true);
    const bool bias = fields.flag({isJamba ? "mamba_proj_bias" : "use_bias"}, false);

    RecurrentSpec recurrent;
    auto &parts = recurrent.parts;
    parts.push_back({"ssm_in", 2 * inner, width});
    parts.push_back({"ssm_conv1d", inner, kernel});
    if (convolutionBias)
        parts.push_back({"ssm_conv1d.bias", 1, inner});
    parts.push_back({"ssm_x", steps + 2 * state, inner});
    parts.push_back({"ssm_dt", inner, steps});
    parts.push_back({"ssm_dt.bias", 1, inner});
    parts.push_back({"ssm_a", inner, state});
    parts.push_back({"ssm_d", 1, inner});
    parts.push_back({"ssm_out", width, inner});
    if (bias) {
        parts.push_back({"ssm_in.bias", 1, 2 * inner});
        parts.push_back({"ssm_out.bias", 1, width});
    }
    if (isJamba) {
        parts.push_back({"ssm_dt_norm", 1, steps});
        parts.push_back({"ssm_b_norm", 1, state});
        parts.push_back({"ssm_c_norm", 1, state});
    }
    recurrent.stateValues = inner * (kernel - 1) + inner * state;
    return std::make_shared<const RecurrentSpec>(std::move(recurrent));
}

/// The second form: one decay for each head, keys and queries shared by groups of heads.
Recurrent mamba2(JsonFields &fields, const ShapeSpec &spec)
{
    const std::uint64_t width = spec.embedding;
    const std::uint64_t state = fields.number({"state_size"}, 1, maxShapeHeads, std::uint64_t{128});
    const std::uint64_t kernel = fields.number({"conv_kernel"}, 1, maxSmall, std::uint64_t{4});
    const std::uint64_t expand = fields.number({"expand"}, 1, maxSmall, std::uint64_t{2});
    const std::uint64_t groups = fields.number({"n_groups"}, 1, maxShapeHeads, std::uint64_t{8});
    const std::uint64_t heads = fields.number({"num_heads"}, 1, maxShapeHeads, std::uint64_t{128});
    const std::uint64_t inner = expand * width;
    const std::uint64_t mixed = inner + 2 * groups * state; // what the convolution runs over

    RecurrentSpec recurrent;
    auto &parts = recurrent.parts;
    parts.push_back({"ssm_in", inner + mixed + heads, width});
    parts.push_back({"ssm_conv1d", mixed, kernel});
    if (fields.flag({"use_conv_bias"}, true))
        parts.push_back({"ssm_conv1d.bias", 1, mixed});
    parts.push_back({"ssm_dt.bias", 1, heads});
    parts.push_back({"ssm_a", 1, heads});
    parts.push_back({"ssm_d", 1, heads});
    parts.push_back({"ssm_norm", 1, inner});
    parts.push_back({"ssm_out", width, inner});
    if (fields.flag({"use_bias"}, false)) {
        parts.push_back({"ssm_in.bias", 1, inner + mixed + heads});
        parts.push_back({"ssm_out.bias", 1, width});
    }
    recurrent.stateValues = mixed * (kernel - 1) + inner * state;
    return std::make_shared<const RecurrentSpec>(std::move(recurrent));
}

/// Linear attention with a delta rule: for every value head a matrix of key size × value size.
Recurrent gatedDelta(JsonFields &fields, const ShapeSpec &spec)
{
    const std::uint64_t keyHeads =
        fields.number({"linear_num_key_heads"}, 1, maxShapeHeads, std::uint64_t{16});
    const std::uint64_t valueHeads =
        fields.number({"linear_num_value_heads"}, 1, maxShapeHeads, std::uint64_t{32});
    const std::uint64_t keySize =
        fields.number({"linear_key_head_dim"}, 1, maxShapeHeads, std::uint64_t{128});
    const std::uint64_t valueSize =
        fields.number({"linear_value_head_dim"}, 1, maxShapeHeads, std::uint64_t{128});
    const std::uint64_t kernel = fields.number({"linear_conv_kernel_dim"}, 1, maxSmall, std::uint64_t{4});
    const std::uint64_t keys = keyHeads * keySize;
    const std::uint64_t values = valueHeads * valueSize;

    RecurrentSpec recurrent;
    recurrent.parts = {
        {"ssm_in", 2 * keys + 2 * values, spec.embedding},
        {"ssm_ba", 2 * valueHeads, spec.embedding},
        {"ssm_conv1d", 2 * keys + values, kernel},
        {"ssm_dt.bias", 1, valueHeads},
        {"ssm_a", 1, valueHeads},
        {"ssm_norm", 1, valueSize},
        {"ssm_out", spec.embedding, values},
    };
    recurrent.stateValues = (2 * keys + values) * (kernel - 1) + valueHeads * keySize * valueSize;
    return std::make_shared<const RecurrentSpec>(std::move(recurrent));
}

/// A gated convolution over a few positions.
Recurrent shortConvolution(JsonFields &fields, const ShapeSpec &spec)
{
    const std::uint64_t width = spec.embedding;
    const std::uint64_t kernel = fields.number({"conv_L_cache"}, 1, maxSmall, std::uint64_t{3});
    RecurrentSpec recurrent;
    recurrent.parts = {
        {"shortconv.in_proj", 3 * width, width},
        {"shortconv.conv", width, kernel},
        {"shortconv.out_proj", width, width},
    };
    if (fields.flag({"conv_bias"}, false)) {
        recurrent.parts.push_back({"shortconv.in_proj.bias", 1, 3 * width});
        recurrent.parts.push_back({"shortconv.conv.bias", 1, width});
        recurrent.parts.push_back({"shortconv.out_proj.bias", 1, width});
    }
    recurrent.stateValues = width * (kernel - 1);
    return std::make_shared<const RecurrentSpec>(std::move(recurrent));
}

/// The width that LFM2 makes of the one in its config.
void adjustFeedForward(JsonFields &fields, ShapeSpec &spec)
{
    if (!fields.flag({"block_auto_adjust_ff_dim"}, true))
        return;
    const std::uint64_t multiple = fields.number({"block_multiple_of"}, 1, maxShapeWidth, std::uint64_t{256});
    const std::uint64_t size = 2 * spec.feedForward / 3;
    spec.feedForward = (size + multiple - 1) / multiple * multiple;
    for (LayerSpec &layer : spec.layers)
        layer.feedForward.size = spec.feedForward;
}

/// Layers that keep their attention: what "layer_types" says, else by the family's own fields.
std::function<bool(std::uint64_t)> attentionLayers(JsonFields &fields, const ConfigFamily &family,
                                                   const ShapeSpec &spec)
{
    if (const auto types = fields.texts({"layer_types"})) {
        if (types->size() != spec.layers.size())
            fields.fail(ErrorCode::InvalidArgument, "layer_types",
                        "expected one for each of the " + std::to_string(spec.layers.size()) +
                            " layers, found " + std::to_string(types->size()));
        return [types = *types](std::uint64_t layer) {
            return layer < types.size() && types[layer] == "full_attention";
        };
    }
    if (family.hybrid == HybridKind::Jamba) {
        const std::uint64_t period =
            fields.number({"attn_layer_period"}, 1, maxShapeLayers, std::uint64_t{8});
        const std::uint64_t offset =
            fields.number({"attn_layer_offset"}, 0, maxShapeLayers, std::uint64_t{4});
        return [=](std::uint64_t layer) { return layer % period == offset; };
    }
    if (family.hybrid == HybridKind::GatedDelta) {
        const std::uint64_t interval =
            fields.number({"full_attention_interval"}, 1, maxShapeLayers, std::uint64_t{4});
        return [=](std::uint64_t layer) { return (layer + 1) % interval == 0; };
    }
    if (family.hybrid == HybridKind::ShortConvolution) {
        const auto listed = fields.numbers({"full_attn_idxs"}, maxShapeLayers);
        if (!listed)
            fields.fail(ErrorCode::InvalidArgument, "layer_types",
                        "expected the kind of each layer, found nothing");
        return [layers = listed.value_or(std::vector<std::uint64_t>{})](std::uint64_t layer) {
            return std::find(layers.begin(), layers.end(), layer) != layers.end();
        };
    }
    return [](std::uint64_t) { return false; };
}

Recurrent recurrentOf(JsonFields &fields, const ConfigFamily &family, const ShapeSpec &spec)
{
    switch (family.hybrid) {
    case HybridKind::Mamba:
    case HybridKind::Jamba:
        return mamba(fields, spec, family.hybrid);
    case HybridKind::Mamba2:
        return mamba2(fields, spec);
    case HybridKind::GatedDelta:
        return gatedDelta(fields, spec);
    case HybridKind::ShortConvolution:
        return shortConvolution(fields, spec);
    case HybridKind::None:
        break;
    }
    return nullptr;
}

} // namespace

void placeRecurrent(JsonFields &fields, const ConfigFamily &family, ShapeSpec &spec)
{
    if (family.hybrid == HybridKind::ShortConvolution)
        adjustFeedForward(fields, spec);
    const Recurrent recurrent = recurrentOf(fields, family, spec);
    const auto isAttention = attentionLayers(fields, family, spec);
    for (std::uint64_t layer = 0; layer < spec.layers.size(); ++layer) {
        if (isAttention(layer))
            continue;
        spec.layers[layer].attention = {};
        spec.layers[layer].recurrent = recurrent;
    }
}

} // namespace tokenloupe
