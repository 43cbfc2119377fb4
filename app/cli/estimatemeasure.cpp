// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/estimatemeasure.h"

#include "app/cli/benchparts.h"
#include "app/cli/progressmeter.h"
#include "engine/memory/mappedpages.h"
#include "engine/model/quantizedweights.h"
#include "engine/session/session.h"

#include <algorithm>
#include <functional>
#include <span>
#include <unistd.h>
#include <unordered_set>

namespace tokenloupe::cli {

namespace {

/// Each pool is a piece of memory of its own, which begins with its first block's keys or values.
std::vector<std::span<std::byte>> poolMemory(const KvCache &cache)
{
    std::vector<std::span<std::byte>> pieces;
    for (const BlockPool &pool : cache.pools()) {
        const LayerIndex layer(pool.group().layers.front());
        std::byte *begin =
            std::min(pool.keys(BlockId(0), layer, 0), pool.values(BlockId(0), layer, 0), std::less<>());
        pieces.emplace_back(begin, static_cast<std::size_t>(pool.bytes()));
    }
    return pieces;
}

/// The contents stay.
void touchPages(std::span<std::byte> memory)
{
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (std::size_t at = 0; at < memory.size(); at += page) {
        volatile std::byte &byte = memory[at];
        byte = byte;
    }
}

/// What was quantised at load, as far as it is resident.
std::uint64_t quantizedPages(const Model &model)
{
    if (!model.quantized())
        return 0;
    const std::span<const std::byte> memory = model.quantized()->memory();
    return residentBytes(memory.data(), memory.size()).value_or(0);
}

/// What the plan calls weights, where the engine reads them: mapped, copied in another order, or quantised.
/// (Of a mapped file the system tells what it keeps, for whomever.)
std::uint64_t weightPages(const Model &model)
{
    std::uint64_t sum = 0;
    std::unordered_set<const std::byte *> seen;
    const auto add = [&](const Weight &weight) {
        if (weight.isPresent() && seen.insert(weight.data.data()).second) // a tied head is the embedding
            sum += residentBytes(weight.data.data(), weight.data.size()).value_or(0);
    };
    const ModelWeights &weights = model.weights();
    for (const Weight *weight :
         {&weights.tokenEmbedding, &weights.positionEmbedding, &weights.embeddingNorm,
          &weights.embeddingNormBias, &weights.outputNorm, &weights.outputNormBias, &weights.outputHead,
          &weights.ropeFrequencyFactors, &weights.ropeShortFactors, &weights.ropeLongFactors})
        add(*weight);
    for (const LayerWeights &layer : weights.layers) {
        for (const Weight *weight : layer.all())
            add(*weight);
        for (const ExpertWeights &expert : layer.experts) {
            for (const Weight *weight : {&expert.gate, &expert.up, &expert.down})
                add(*weight);
        }
    }
    return sum;
}

std::uint64_t difference(std::uint64_t now, std::uint64_t before)
{
    return now > before ? now - before : 0;
}

} // namespace

Result<MeasuredMemory> measureEstimate(CommandSet &set, const EstimateOptions &options,
                                       const EstimateRequest &request)
{
    const MappedMemory before = mappedMemory();
    if (before.anonymous + before.files == 0)
        return makeError(ErrorCode::Unsupported, "--measure", "this system does not tell what is resident");
    auto model = [&] {
        ProgressMeter meter("loading");
        ModelLoadOptions load;
        load.quantization = loadQuantizationOf(options.weights).value_or(LoadQuantization::AsStored);
        load.threads = static_cast<int>(request.threads);
        return loadModel(options.model, meter.progress(), set.interrupt.token(), load);
    }();
    if (!model)
        return tl::unexpected(model.error());
    const MappedMemory loaded = mappedMemory();
    const std::uint64_t quantized = quantizedPages(*(*model)->model);

    SessionSettings settings;
    if (request.contextTokens > UINT32_MAX)
        return makeError(ErrorCode::InvalidArgument, "context",
                         std::to_string(request.contextTokens) + " tokens are too many to run");
    settings.contextTokens = static_cast<std::uint32_t>(request.contextTokens);
    if (request.microBatch > 0)
        settings.batchTokens = static_cast<std::uint32_t>(request.microBatch);
    settings.threads = static_cast<int>(request.threads);
    settings.keyType = request.keyType;
    settings.valueType = request.valueType;
    settings.logitBudgetBytes = request.traceBytes;
    auto session = Session::create(*model, settings, nullptr, set.interrupt.token());
    if (!session)
        return tl::unexpected(session.error());
    const std::vector<std::span<std::byte>> pools = poolMemory((*session)->cache());
    for (const std::span<std::byte> pool : pools)
        touchPages(pool);
    // A whole batch, so that every buffer is used in full; one token is left for the step.
    const std::uint32_t prompt = std::max<std::uint32_t>(
        1, std::min((*session)->settings().batchTokens, (*session)->settings().contextTokens - 1));
    const auto prefilled = (*session)->prefill(benchTokens(prompt, (*model)->config().vocabulary), 0, nullptr,
                                               set.interrupt.token());
    if (!prefilled)
        return tl::unexpected(prefilled.error());
    StepRequest step;
    step.settings = greedySettings();
    step.stop = set.interrupt.token();
    if (const auto done = (*session)->step(step); !done)
        return tl::unexpected(done.error());

    const MappedMemory after = mappedMemory();
    const ModelContainer &container = (*model)->model->container();
    const std::uint64_t copies = (*model)->model->copiedBytes();
    const std::uint64_t weights = weightPages(*(*model)->model);
    std::uint64_t cache = 0;
    for (const std::span<std::byte> pool : pools)
        cache += residentBytes(pool.data(), pool.size()).value_or(0);
    if (weights == 0 && cache == 0)
        return makeError(ErrorCode::Unsupported, "--measure",
                         "this system does not tell which pages are resident");
    const std::uint64_t header = container.headerBytes();
    MeasuredMemory measured;
    measured.total = after.anonymous + after.files;
    const std::uint64_t vocabulary =
        difference(loaded.anonymous, before.anonymous + copies + quantized) + header;
    const std::uint64_t buffers = difference(after.anonymous, loaded.anonymous + cache);
    const std::uint64_t known = weights + cache + vocabulary + buffers;
    measured.parts = {{"weights", weights},
                      {"kv_cache", cache},
                      {"vocabulary", vocabulary},
                      {"buffers", buffers},
                      {"program", difference(measured.total, known)}};
    return measured;
}

} // namespace tokenloupe::cli
