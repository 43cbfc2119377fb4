// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/quantizationplan.h"

#include "engine/model/quantizedweights.h"
#include "engine/model/weightmixtures.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace tokenloupe {

namespace {

WeightContext contextOf(const ModelConfig &config, const ModelWeights &weights)
{
    WeightContext context;
    context.architecture = config.spec.name;
    context.layers = config.layers;
    context.experts = config.experts;
    context.hasOutput = weights.outputKind != OutputHead::Tied;
    const auto grouped =
        std::find_if(config.kvHeads.begin(), config.kvHeads.end(), [](auto heads) { return heads > 0; });
    if (grouped != config.kvHeads.end())
        context.queriesPerKey = std::max<std::uint64_t>(1, config.heads / *grouped);
    context.isLarge = config.layers == 80 && context.queriesPerKey > 1;
    return context;
}

std::uint64_t bytesAs(TensorType type, const Weight &weight)
{
    const TensorTypeTraits &traits = traitsOf(type);
    return static_cast<std::uint64_t>(weight.rows) * static_cast<std::uint64_t>(weight.columns) /
           traits.blockValues * traits.blockBytes;
}

/// What matrices had to become, by what they should have been: for one line each.
class Fallbacks
{
public:
    void add(const Weight &weight, std::string_view wanted, std::string_view got)
    {
        ++m_counts[{std::string(wanted), std::string(got), weight.columns}];
    }
    std::vector<std::string> lines() const
    {
        std::vector<std::string> lines;
        for (const auto &[what, count] : m_counts) {
            const auto &[wanted, got, columns] = what;
            lines.push_back(std::to_string(count) + (count == 1 ? " matrix" : " matrices") + " of " +
                            std::to_string(columns) + " columns, no whole blocks of " + wanted + ": " +
                            (got.empty() ? std::string("kept as stored") : got + " instead"));
        }
        return lines;
    }

private:
    std::map<std::tuple<std::string, std::string, std::int64_t>, std::size_t> m_counts;
};

} // namespace

QuantizationPlan planQuantization(const ModelConfig &config, const ModelWeights &weights,
                                  LoadQuantization quantization)
{
    QuantizationPlan plan;
    if (quantization == LoadQuantization::AsStored)
        return plan;
    const std::string_view mixture = mixtureOf(quantization);
    const WeightContext context = contextOf(config, weights);
    // Long enough rows show what the rules would like best.
    constexpr std::uint64_t anyBlocks = 1024;
    Fallbacks fallbacks;
    std::unordered_set<const std::byte *> seen;
    forEachMatrix(weights, [&](const Weight &weight, std::string_view role, std::uint32_t layer) {
        if (!weight.isPresent() || !seen.insert(weight.data.data()).second)
            return;
        const WeightPlace place{role, layer, std::max(config.layers, 1U), layer};
        const auto name = mixtureType(mixture, context, place, static_cast<std::uint64_t>(weight.columns));
        const std::string_view wanted = mixtureType(mixture, context, place, anyBlocks);
        const TensorType type = tensorTypeNamed(name).value_or(weight.type);
        const bool isSmaller = bytesAs(type, weight) < weight.data.size();
        const TensorType ideal = tensorTypeNamed(wanted).value_or(type);
        if (type != ideal && bytesAs(ideal, weight) < weight.data.size())
            fallbacks.add(weight, wanted, isSmaller ? name : std::string_view());
        if (!isSmaller)
            return;
        plan.matrices.push_back({weight, type, bytesAs(type, weight)});
        plan.storedBytes += weight.data.size();
        plan.bytes += plan.matrices.back().bytes;
    });
    plan.warnings = fallbacks.lines();
    if (plan.matrices.empty())
        plan.warnings.push_back("nothing was quantised to " +
                                std::string(loadQuantizationTitle(quantization)) +
                                ": no matrix is stored in a larger type that fits");
    return plan;
}

QuantizationPlan planQuantization(const Model &model, LoadQuantization quantization)
{
    const QuantizedWeights *quantized = model.quantized();
    if (!quantized)
        return planQuantization(model.config(), model.weights(), quantization);
    ModelWeights stored = model.weights();
    forEachMatrix(stored, [&](Weight &weight, std::string_view, std::uint32_t) {
        if (const Weight *form = quantized->storedOf(weight))
            weight = *form;
    });
    return planQuantization(model.config(), stored, quantization);
}

std::uint64_t weightsBytesAs(const Model &model, LoadQuantization quantization)
{
    std::uint64_t stored = model.weightsBytes();
    if (const QuantizedWeights *quantized = model.quantized())
        stored += quantized->plan().storedBytes - quantized->plan().bytes;
    const QuantizationPlan plan = planQuantization(model, quantization);
    return stored - plan.storedBytes + plan.bytes;
}

} // namespace tokenloupe
