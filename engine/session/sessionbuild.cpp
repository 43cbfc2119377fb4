// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/stepreads.h"
#include "engine/session/devicefit.h"
#include "engine/session/sessionplan.h"
#include "engine/session/sessionstate.h"

namespace tokenloupe {

namespace {

/// The error, and where a device that computes alone has no room for the cache, how long a context it has
/// room for.
Error withWhatFits(Error error, const Backend &backend, const MemoryPlan &plan,
                   const SessionSettings &settings)
{
    const std::optional<DeviceMemoryUse> memory = backend.deviceMemory();
    const std::uint64_t perToken = plan.bytesOf(MemoryPart::KvCache) / settings.contextTokens;
    if (error.code != ErrorCode::OutOfMemory || !memory || settings.deviceLayers || perToken == 0)
        return error;
    error.message += "; a context of at most " + std::to_string(memory->freeBytes / perToken) +
                     " tokens fits, or keys and values of fewer bits";
    return error;
}

} // namespace

Result<std::shared_ptr<Backend>> makeCpuOnly(BackendKind kind, int threads)
{
    if (kind == BackendKind::Cpu)
        return makeCpuBackend(threads);
    return makeError(ErrorCode::Unsupported, "backend \"" + std::string(backendKindName(kind)) + "\"",
                     "this program has none");
}

Status Session::State::build(const SessionSettings &settings, Progress *progress, const std::stop_token &stop)
{
    const auto complete = completed(settings, model->config());
    if (!complete)
        return tl::unexpected(complete.error());
    SessionSettings own = *complete;
    std::string reason;
    if (own.backend != BackendKind::Cpu) {
        auto device = maker(own.backend, own.threads);
        if (device) {
            Status built = buildOn(std::move(*device), own, progress, stop);
            // Anything else is wrong there, not missing.
            if (built || built.error().code != ErrorCode::Unsupported) {
                if (built)
                    fallbackReason.clear();
                return built;
            }
            reason = built.error().text();
        } else {
            reason = device.error().text();
        }
        own.backend = BackendKind::Cpu;
    }
    auto cpu = maker(BackendKind::Cpu, own.threads);
    if (!cpu)
        return tl::unexpected(cpu.error());
    Status built = buildOn(std::move(*cpu), own, progress, stop);
    if (built)
        fallbackReason = reason;
    return built;
}

Status Session::State::buildOn(std::shared_ptr<Backend> newBackend, SessionSettings own, Progress *progress,
                               const std::stop_token &stop)
{
    const ModelConfig &config = model->config();
    const SessionParts parts = partsOf(own);
    std::shared_ptr<Backend> newHost;
    if (parts.isSplit()) {
        auto cpu = maker(BackendKind::Cpu, own.threads);
        if (!cpu)
            return tl::unexpected(cpu.error());
        newHost = std::move(*cpu);
    }
    const PackingPlan packed = packing(*model->model, own);
    auto needs = newBackend->needs(*model->model, own.precision, own.batchTokens, own.contextTokens,
                                   parts.device.value_or(ModelPart()));
    const RunMemorySettings memory = memorySettings(*model, own, packed, needs);
    auto newPlan = planFor(*model->model, own, packed, memory);
    if (!newPlan)
        return tl::unexpected(newPlan.error());
    if (Status fits = fitsMachine(*newPlan, own, memory); !fits)
        return fits;
    if (const auto use = newBackend->deviceMemory(); use && needs) {
        if (Status fits = fitsDevice(*newPlan, *model, own, *newBackend, *needs, *use); !fits)
            return fits;
    }
    if (parts.cpu) // elsewhere they are those that the CPU would have
        own.threads = (newHost ? newHost : newBackend)->threads();
    if (Status ready = newBackend->prepare(model->model, own.precision, parts.device.value_or(ModelPart()),
                                           progress, stop);
        !ready)
        return ready;
    std::vector<TransformerPart> backends = {{newBackend, config.layers}};
    if (newHost) {
        if (Status ready = newHost->prepare(model->model, own.precision, *parts.cpu, progress, stop); !ready)
            return ready;
        backends = {{newBackend, *own.deviceLayers}, {newHost, config.layers}};
    }
    auto transformer =
        Transformer::create(model->model, std::move(backends), own.batchTokens, progress, stop);
    if (!transformer)
        return tl::unexpected(transformer.error());
    KvCacheSettings room;
    room.shape = kvShape(config, memory);
    room.contextTokens = own.contextTokens;
    room.sequences = own.sequences;
    room.batchTokens = own.batchTokens;
    room.keyPhase = memory.keyPhase;
    auto cache = KvCache::create(room, (*transformer)->kvAllocators());
    if (!cache)
        return tl::unexpected(withWhatFits(cache.error(), *newBackend, *newPlan, own));

    // All of it is there: what was before ends now.
    endRuns();
    if (!engine.logits || own.logitBudgetBytes != engine.settings.logitBudgetBytes)
        engine.logits = std::make_shared<LogitStore>(own.logitBudgetBytes);
    engine.settings = own;
    engine.cache = std::make_unique<KvCache>(std::move(*cache));
    engine.transformer = std::move(*transformer);
    backend = std::move(newBackend);
    host = std::move(newHost);
    measure(measuring);
    plan = std::move(*newPlan);
    deviceNeeds = std::move(needs);
    tokenWeightBytes = weightBytesRead(*model->model);
    return {};
}

} // namespace tokenloupe
