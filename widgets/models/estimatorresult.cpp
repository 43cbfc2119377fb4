// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/models/estimatorresult.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr int curveSteps = 48;
constexpr std::uint64_t leastTableContext = 2048;
constexpr std::size_t mostTableContexts = 9;

QString textOf(const Error &error)
{
    return QString::fromStdString(error.text());
}

// Far enough to see where it stops fitting, unless that is so far off that all else would be squeezed.
std::uint64_t curveEnd(std::uint64_t current, std::uint64_t usual, std::uint64_t crossing)
{
    const std::uint64_t end = std::max(current * 2, usual);
    const std::uint64_t withCrossing = crossing + crossing / 4 + 1;
    return crossing > 0 && withCrossing <= end * 4 ? std::max(end, withCrossing) : end;
}

EstimateCurve curve(EstimateRequest request, std::uint64_t EstimateRequest::*setting, std::uint64_t usual,
                    std::uint64_t crossing, std::uint64_t total)
{
    EstimateCurve result;
    const std::uint64_t current = request.*setting;
    result.current = static_cast<double>(current);
    result.currentBytes = static_cast<double>(total);
    result.crossing = static_cast<double>(crossing);
    const std::uint64_t end = curveEnd(current, usual, crossing);
    std::vector<std::uint64_t> values{1, current, crossing};
    for (int i = 1; i <= curveSteps; ++i)
        values.push_back(end * std::uint64_t(i) / curveSteps);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const std::uint64_t value : values) {
        if (value == 0 || value > end)
            continue;
        request.*setting = value;
        // what cannot be counted at this end of the range is left out: the curve stops there
        if (const Result<std::uint64_t> bytes = estimateTotal(request))
            result.points.push_back(QPointF(static_cast<double>(value), static_cast<double>(*bytes)));
    }
    return result;
}

std::vector<std::uint64_t> tableContexts(std::uint64_t current, std::uint64_t trained)
{
    // Powers of two that end one beyond what was asked for or trained for, and what was asked for itself.
    std::uint64_t last = leastTableContext;
    while (last < std::max(current, trained))
        last *= 2;
    last *= 2;
    std::vector<std::uint64_t> contexts;
    for (std::uint64_t context = last; context >= leastTableContext && contexts.size() < mostTableContexts;
         context /= 2)
        contexts.push_back(context);
    if (std::find(contexts.begin(), contexts.end(), current) == contexts.end())
        contexts.push_back(current);
    std::sort(contexts.begin(), contexts.end());
    return contexts;
}

std::vector<std::string> tableTypes(const ModelShape &shape)
{
    std::vector<std::string> types = weightTypeNames();
    std::erase(types, "stored");
    if (shape.storedBytes() > 0)
        types.insert(types.begin(), "stored");
    return types;
}

} // namespace

EstimatorResultPtr computeEstimate(EstimateRequest request)
{
    auto result = std::make_shared<EstimatorResult>();
    if (request.target == EstimateTarget::ThisProgram)
        request.devices = {thisMachine()};
    // nothing is stored of a shape that no file came with: counted as its publisher has it
    if (request.shape && request.shape->storedBytes() == 0 && request.weightType == "stored")
        request.weightType = "F16";
    if (request.draft && request.draft->storedBytes() == 0 && request.draftWeightType == "stored")
        request.draftWeightType = "F16";
    result->request = request;
    if (!request.shape)
        return result;
    const ModelShape &shape = *request.shape;
    Result<Estimate> estimated = estimate(request);
    if (!estimated) {
        result->error = textOf(estimated.error());
        return result;
    }
    result->estimate = std::move(*estimated);
    const Estimate &answer = *result->estimate;
    result->byContext = curve(request, &EstimateRequest::contextTokens,
                              std::max<std::uint64_t>(shape.contextTrain, leastTableContext),
                              answer.maxContext, answer.totalBytes);
    result->byBatch = curve(request, &EstimateRequest::batch, 8, answer.maxBatch, answer.totalBytes);
    Result<FitTable> fits =
        fitTable(request, tableTypes(shape), tableContexts(request.contextTokens, shape.contextTrain));
    if (fits)
        result->fits = std::move(*fits);
    else
        result->fitsError = textOf(fits.error());
    result->attention = attentionVariants(shape, request.keyType, request.valueType);
    return result;
}

} // namespace tokenloupe
