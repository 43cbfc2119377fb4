// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/estimate.h"

#include "engine/estimate/costmodel.h"
#include "engine/estimate/estimatedevices.h"
#include "engine/estimate/estimateparts.h"
#include "engine/estimate/estimatewords.h"
#include "engine/estimate/requestcheck.h"
#include "engine/estimate/speedbound.h"
#include "engine/estimate/textbook.h"

namespace tokenloupe {

namespace {

std::string placeName(const CostModel &model)
{
    const std::vector<Gpu> &cards = model.request().devices;
    if (cards.size() == 1)
        return cards.front().name;
    if (cards.size() > 1)
        return plural(cards.size(), "card");
    return model.request().target == EstimateTarget::ThisProgram ? "this machine" : "the memory given";
}

std::string verdictOf(const CostModel &model, const Estimate &result, const Offload &offload)
{
    const std::string where = placeName(model);
    const std::string both = sizeText(result.totalBytes) + " of " + sizeText(result.capacityBytes);
    if (result.fits) {
        const double share =
            100.0 * static_cast<double>(result.totalBytes) / static_cast<double>(result.capacityBytes);
        return "It fits: " + both + " on " + where + " (" + fixedText(share, 0) + " %).";
    }
    std::string words = "It does not fit: " + sizeText(result.totalBytes) + " are needed, " + where +
                        " has " + sizeText(result.capacityBytes);
    if (result.totalBytes <= result.capacityBytes)
        words += "; no placement of whole layers fits every card";
    else
        words += ", " + sizeText(result.totalBytes - result.capacityBytes) + " too little";
    if (offload.fits)
        words += ". " + plural(offload.layers, "layer") + " of " + countText(model.shape().layers) +
                 " would fit, the rest runs from " + sizeText(offload.hostBytes) + " of host memory";
    return words + ".";
}

bool fitsAt(const CostModel &model, std::uint64_t context, std::uint64_t batch)
{
    const Result<Costs> costs = model.at(context, batch);
    return costs && model.fits(*costs);
}

} // namespace

Result<Estimate> estimate(const EstimateRequest &request)
{
    const Result<CostModel> model = CostModel::create(request);
    if (!model)
        return tl::unexpected(model.error());
    const Result<Costs> costs = model->at(request.contextTokens, request.batch);
    if (!costs)
        return tl::unexpected(costs.error());
    Estimate result;
    result.parts = estimateParts(*model, *costs);
    result.totalBytes = costs->total;
    result.capacityBytes = model->capacity();
    result.fits = model->fits(*costs);
    result.maxContext =
        largestThatFits([&](std::uint64_t context) { return fitsAt(*model, context, request.batch); });
    result.maxBatch =
        largestThatFits([&](std::uint64_t batch) { return fitsAt(*model, request.contextTokens, batch); });
    const Offload offload = planOffload(*model, *costs);
    result.offloadLayers = offload.layers;
    result.offloadFits = offload.fits;
    result.devices = deviceShares(*model, *costs);
    result.kvBytesPerToken = model->kvShape().bytesPerToken();
    for (const KvLayerPlan &layer : costs->kv.layers)
        result.kvByLayer.push_back(layer.bytes);
    result.decode = decodeBound(*model, *costs);
    result.prefill = prefillBound(*model, *costs);
    result.warnings = requestWarnings(request);
    result.textbook = textbookFormulas(*model, *costs);
    result.verdict = verdictOf(*model, result, offload);
    return result;
}

Result<std::uint64_t> estimateTotal(const EstimateRequest &request)
{
    return CostModel::create(request)
        .and_then([&](const CostModel &model) { return model.at(request.contextTokens, request.batch); })
        .map([](const Costs &costs) { return costs.total; });
}

Result<FitTable> fitTable(const EstimateRequest &request, const std::vector<std::string> &weightTypes,
                          const std::vector<std::uint64_t> &contexts)
{
    FitTable table;
    table.weightTypes = weightTypes;
    table.contexts = contexts;
    for (const std::string &type : weightTypes) {
        EstimateRequest row = request;
        row.weightType = type;
        const Result<CostModel> model = CostModel::create(row);
        if (!model)
            return tl::unexpected(model.error());
        std::vector<FitCell> cells;
        for (const std::uint64_t context : contexts) {
            if (context == 0 || context > searchLimit)
                return makeError(ErrorCode::InvalidArgument, "context",
                                 "1 to " + countText(searchLimit) + " is expected, not " +
                                     countText(context));
            const Result<Costs> costs = model->at(context, request.batch);
            if (!costs)
                return tl::unexpected(costs.error());
            cells.push_back({costs->total, model->fits(*costs)});
        }
        table.cells.push_back(std::move(cells));
    }
    return table;
}

} // namespace tokenloupe
