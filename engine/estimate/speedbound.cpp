// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/speedbound.h"

#include "engine/estimate/cardsplit.h"
#include "engine/estimate/estimatewords.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

std::string gigabytes(double bytes)
{
    return fixedText(bytes / 1e9, bytes < 1e10 ? 3 : 1) + " GB";
}

struct Rates
{
    double slowest = 0.0; ///< of the cards
    double secondsPerUnit = 0.0;
    bool isKnown = true;
};

/// Seconds that the cards need for one unit of work. Layers: one card after the other, each for its layers.
/// Tensors: all at once, each for an equal part, the slowest decides.
Rates ratesOf(const CostModel &model, const Costs &costs, double Gpu::*rate)
{
    Rates rates;
    const std::vector<Gpu> &cards = model.request().devices;
    rates.isKnown = !cards.empty();
    double memory = 0.0;
    for (const Gpu &gpu : cards) {
        rates.isKnown = rates.isKnown && gpu.*rate > 0.0;
        memory += static_cast<double>(gpu.memoryBytes);
        rates.slowest = rates.slowest == 0.0 ? gpu.*rate : std::min(rates.slowest, gpu.*rate);
    }
    if (!rates.isKnown)
        return rates;
    if (model.request().split == SplitKind::Tensors) {
        rates.secondsPerUnit = 1.0 / (rates.slowest * static_cast<double>(cards.size()));
        return rates;
    }
    const auto counts = proportionalLayers(costs.fixed, costs.layers, model.cardMemory());
    for (std::size_t card = 0; card < cards.size(); ++card) {
        const double part =
            costs.layers.empty() || cards.size() == 1
                ? 1.0 / static_cast<double>(cards.size())
                : static_cast<double>(counts[card]) / static_cast<double>(costs.layers.size());
        rates.secondsPerUnit += part / (cards[card].*rate);
    }
    return rates;
}

/// Bytes of weights that one step reads for `tokens` tokens: those that all use once, of the experts the ones
/// that at least one token chose.
struct WeightReads
{
    double bytes = 0.0;
    std::string how;
};
WeightReads weightReads(const ModelShape &shape, const WeightPlan &weights, double tokens)
{
    WeightReads reads{weights.activeBytes, gigabytes(weights.activeBytes) + " of weights"};
    if (shape.experts == 0 || shape.expertsUsed == 0 || tokens <= 1.0)
        return reads;
    double experts = 0.0;
    double values = 0.0;
    double active = 0.0;
    for (const WeightClassBytes &planned : weights.classes) {
        if (planned.tensorClass == TensorClass::Experts)
            experts = static_cast<double>(planned.bytes);
    }
    for (const ShapeTensor &tensor : shape.tensors) {
        if (tensor.tensorClass != TensorClass::Experts)
            continue;
        values += static_cast<double>(tensor.values());
        active += static_cast<double>(tensor.values()) * tensor.activeShare;
    }
    if (values <= 0.0)
        return reads;
    const double used = static_cast<double>(shape.expertsUsed) / shape.experts;
    const double touched = 1.0 - std::pow(1.0 - used, tokens);
    const double one = experts * active / values;
    reads.bytes = weights.activeBytes - one + std::max(one, experts * touched);
    reads.how = gigabytes(reads.bytes) + " of weights (" + fixedText(touched * shape.experts, 1) + " of " +
                countText(shape.experts) + " experts are chosen by at least one of the tokens)";
    return reads;
}

/// Keys and values that one sequence's next token reads.
double kvReads(const CostModel &model, std::uint64_t context)
{
    double bytes = 0.0;
    const KvShape &kv = model.kvShape();
    for (std::uint32_t layer = 0; layer < kv.layers.size(); ++layer) {
        const std::uint64_t seen = kv.layers[layer].window == 0
                                       ? context
                                       : std::min<std::uint64_t>(context, kv.layers[layer].window);
        bytes += static_cast<double>(kv.bytesPerToken(layer)) * static_cast<double>(seen);
    }
    return bytes;
}

SpeedBound unknown(const char *what)
{
    return {0.0, std::string("no card is named, so its ") + what + " is not known"};
}

} // namespace

SpeedBound decodeBound(const CostModel &model, const Costs &costs)
{
    const Rates rates = ratesOf(model, costs, &Gpu::bandwidth);
    if (!rates.isKnown)
        return unknown("bandwidth");
    const double hypotheses = static_cast<double>(costs.batch) * model.request().beams;
    const WeightReads weights = weightReads(model.shape(), model.weights(), hypotheses);
    const double kv = kvReads(model, costs.context) * hypotheses;
    const double state = 2.0 * static_cast<double>(costs.state); // read and written
    const double bytes = weights.bytes + kv + state;
    if (bytes <= 0.0)
        return {0.0, "nothing is read"};
    SpeedBound bound;
    bound.tokensPerSecond = static_cast<double>(costs.batch) / (bytes * rates.secondsPerUnit);
    bound.how = gigabytes(1.0 / rates.secondsPerUnit) + "/s ÷ (" + weights.how + " + " + gigabytes(kv) +
                " of keys and values at " + plural(costs.context, "token");
    if (hypotheses > 1.0)
        bound.how += " × " + fixedText(hypotheses, 0) + " sequences";
    if (state > 0.0)
        bound.how += " + " + gigabytes(state) + " of recurrent state";
    bound.how += ")";
    if (costs.batch > 1)
        bound.how += " × " + plural(costs.batch, "token") + " a step";
    if (model.cards() > 1)
        bound.how += model.request().split == SplitKind::Layers
                         ? "; the cards work one after the other, each reads its layers"
                         : "; every card reads its part of each matrix";
    return bound;
}

SpeedBound prefillBound(const CostModel &model, const Costs &costs)
{
    const Rates rates = ratesOf(model, costs, &Gpu::halfFlops);
    if (!rates.isKnown)
        return unknown("rate of matrix products");
    const ModelShape &shape = model.shape();
    const double parameters = shape.activeParameters();
    double attention = 0.0;
    for (const KvLayerShape &layer : shape.kvLayers) {
        if (layer.heads == 0)
            continue;
        const double context = static_cast<double>(costs.context);
        const double window = layer.window == 0 ? context : std::min<double>(layer.window, context);
        // Position i sees min(i, window): the average over the prompt.
        const double seen = window - window * window / (2.0 * context);
        attention += 2.0 * seen * static_cast<double>(shape.heads) *
                     static_cast<double>(model.buffers().headSize + model.buffers().valueHeadSize);
    }
    const double operations = 2.0 * parameters + attention;
    if (operations <= 0.0)
        return {0.0, "nothing is computed"};
    SpeedBound bound;
    bound.tokensPerSecond = 1.0 / (operations * rates.secondsPerUnit);
    bound.how = fixedText(1e-12 / rates.secondsPerUnit, 1) + " TFLOP/s ÷ (2 × " +
                fixedText(parameters / 1e9, 3) + " G parameters that a token uses + " +
                fixedText(attention / 1e9, 3) + " GFLOP of attention over " + plural(costs.context, "token") +
                " of prompt, on average)";
    return bound;
}

} // namespace tokenloupe
