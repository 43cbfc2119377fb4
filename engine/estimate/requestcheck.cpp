// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/requestcheck.h"

#include "engine/base/checkedmath.h"
#include "engine/estimate/costmodel.h"
#include "engine/estimate/estimatewords.h"

#include <algorithm>
#include <cmath>

namespace tokenloupe {

namespace {

constexpr std::uint64_t largestMicroBatch = std::uint64_t(1) << 24;
constexpr std::uint64_t largestBeams = 1 << 16;
constexpr std::uint64_t largestBlock = 1 << 20;
constexpr std::size_t mostCards = 1024;

tl::unexpected<Error> wrong(const char *setting, std::string message)
{
    return makeError(ErrorCode::InvalidArgument, setting, std::move(message));
}

Status checkRange(const char *setting, std::uint64_t value, std::uint64_t least, std::uint64_t most)
{
    if (value >= least && value <= most)
        return {};
    return wrong(setting,
                 countText(least) + " to " + countText(most) + " is expected, not " + countText(value));
}

Status checkShape(const ModelShape *shape, const char *setting)
{
    if (!shape)
        return wrong(setting, "there is none");
    const auto lacks = [&](const char *what) {
        return wrong(setting, "\"" + shape->name + "\" has no " + what);
    };
    if (shape->layers == 0)
        return lacks("layers");
    if (shape->embedding == 0)
        return lacks("width (embedding)");
    const bool hasAttention = std::any_of(shape->kvLayers.begin(), shape->kvLayers.end(),
                                          [](const KvLayerShape &layer) { return layer.heads > 0; });
    if (hasAttention && (shape->heads == 0 || shape->headSize == 0))
        return lacks("attention heads");
    if (shape->vocabulary == 0)
        return lacks("vocabulary");
    if (shape->kvLayers.size() != shape->layers)
        return wrong(setting, "\"" + shape->name + "\" says for " + countText(shape->kvLayers.size()) +
                                  " of " + plural(shape->layers, "layer") + " what is kept of a token");
    return {};
}

Status checkTypes(const ModelShape &shape, const EstimateRequest &request, const char *whose)
{
    for (const KvLayerShape &layer : shape.kvLayers) {
        if (layer.heads == 0)
            continue;
        const Status keys = checkKvType(request.keyType, layer.keySize, "key");
        if (!keys)
            return wrong("key type", whose + keys.error().message);
        const Status values = checkKvType(request.valueType, layer.valueSize, "value");
        if (!values)
            return wrong("value type", whose + values.error().message);
    }
    return {};
}

Status checkDevices(const EstimateRequest &request)
{
    if (request.devices.empty() && request.capacityBytes == 0 && request.target == EstimateTarget::Gpu)
        return wrong("capacity", "name a card or say how many bytes there are");
    if (request.devices.size() > mostCards)
        return wrong("cards",
                     "at most " + countText(mostCards) + ", not " + countText(request.devices.size()));
    for (const Gpu &gpu : request.devices) {
        if (gpu.memoryBytes == 0 || gpu.memoryBytes > (std::uint64_t(1) << 50))
            return wrong("cards",
                         "\"" + gpu.name + "\" has " + countText(gpu.memoryBytes) + " bytes of memory");
        if (!std::isfinite(gpu.bandwidth) || gpu.bandwidth < 0.0 || !std::isfinite(gpu.halfFlops) ||
            gpu.halfFlops < 0.0)
            return wrong("cards", "\"" + gpu.name + "\" has a rate that is no number");
    }
    return {};
}

} // namespace

Status checkEstimateRequest(const EstimateRequest &request)
{
    Status result = checkShape(request.shape.get(), "shape");
    const auto also = [&](auto &&check) {
        if (result)
            result = check();
    };
    also([&] { return checkRange("context", request.contextTokens, 1, searchLimit); });
    also([&] { return checkRange("batch", request.batch, 1, searchLimit); });
    also([&] { return checkRange("micro-batch", request.microBatch, 0, largestMicroBatch); });
    also([&] { return checkRange("block tokens", request.blockTokens, 1, largestBlock); });
    also([&] { return checkRange("beams", request.beams, 1, largestBeams); });
    also([&] { return checkRange("prompt", request.promptTokens, 0, request.contextTokens); });
    also([&] { return checkRange("threads", request.threads, 1, 4096); });
    also([&] { return checkRange("capacity", request.capacityBytes, 0, CheckedSize::limit); });
    also([&] { return checkTypes(*request.shape, request, ""); });
    also([&] { return checkDevices(request); });
    if (request.draft) {
        also([&] { return checkShape(request.draft.get(), "draft"); });
        also([&] { return checkTypes(*request.draft, request, "draft: "); });
    }
    return result;
}

std::vector<std::string> requestWarnings(const EstimateRequest &request)
{
    std::vector<std::string> warnings;
    const ModelShape &shape = *request.shape;
    if (shape.contextTrain > 0 && request.contextTokens > shape.contextTrain)
        warnings.push_back(countText(request.contextTokens) + " is beyond the " +
                           countText(shape.contextTrain) + " tokens that the model was trained for");
    if (request.draft && request.draft->vocabulary != shape.vocabulary)
        warnings.push_back("the draft model has " + plural(request.draft->vocabulary, "token") +
                           ", the model " + countText(shape.vocabulary) +
                           ": a draft must share the vocabulary");
    if (request.beams > 1 && request.layout == KvLayout::Contiguous)
        warnings.push_back("without pages every hypothesis stores the prompt again");
    warnings.insert(warnings.end(), shape.notes.begin(), shape.notes.end());
    return warnings;
}

} // namespace tokenloupe
