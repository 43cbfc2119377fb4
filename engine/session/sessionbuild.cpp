// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/stepreads.h"
#include "engine/session/devicefit.h"
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

/// Bytes on this device that go when the present cache does.
std::uint64_t Session::State::cacheBytesOn(const Backend &device) const
{
    return backend && !backend->isLost() && backend->deviceName() == device.deviceName()
               ? plan.bytesOf(MemoryPart::KvCache, MemoryPlace::Device)
               : 0;
}

/// Leaves a block of the cache, so that there is room for another one.
Status Session::State::shrinkCache()
{
    KvCacheSettings least = engine.cache->settings();
    least.contextTokens = least.batchTokens = least.shape.blockTokens;
    least.sequences = 1;
    auto cache = KvCache::create(least, engine.transformer->kvAllocators());
    if (!cache)
        return tl::unexpected(cache.error());
    endRuns();
    engine.cache = std::make_unique<KvCache>(std::move(*cache));
    return {};
}

/// The cache that was there before it was shrunk, empty. Where somebody else has taken its memory meanwhile,
/// a context of one block is left.
void Session::State::restoreCache(const KvCacheSettings &before)
{
    auto cache = KvCache::create(before, engine.transformer->kvAllocators());
    if (cache)
        engine.cache = std::make_unique<KvCache>(std::move(*cache));
    else
        engine.settings.contextTokens = engine.cache->contextTokens();
}

Status Session::State::buildOn(std::shared_ptr<Backend> newBackend, SessionSettings own, Progress *progress,
                               const std::stop_token &stop)
{
    Build build;
    build.parts = partsOf(own);
    if (build.parts.isSplit()) {
        auto cpu = maker(BackendKind::Cpu, own.threads);
        if (!cpu)
            return tl::unexpected(cpu.error());
        build.host = std::move(*cpu);
    }
    const ModelPart devicePart = build.parts.device.value_or(ModelPart());
    const PackingPlan packed = packing(*model->model, own);
    build.needs =
        newBackend->needs(*model->model, own.precision, own.batchTokens, own.contextTokens, devicePart);
    build.memory = memorySettings(*model, own, packed, build.needs);
    auto newPlan = planFor(*model->model, own, packed, build.memory);
    if (!newPlan)
        return tl::unexpected(newPlan.error());
    build.plan = std::move(*newPlan);
    if (Status fits = fitsMachine(build.plan, own, build.memory); !fits)
        return fits;
    bool isTight = false; // there is room for one cache, not for two
    if (auto use = newBackend->deviceMemory(); use && build.needs) {
        isTight = deviceBytesWanted(build.plan, *build.needs) > use->freeBytes;
        use->freeBytes += cacheBytesOn(*newBackend);
        if (Status fits = fitsDevice(build.plan, *model, own, *newBackend, *build.needs, *use); !fits)
            return fits;
    }
    build.settings = std::move(own);
    build.backend = std::move(newBackend);
    if (!isTight)
        return finish(std::move(build), progress, stop);
    const KvCacheSettings before = engine.cache->settings();
    if (Status shrunk = shrinkCache(); !shrunk)
        return shrunk;
    Status finished = finish(std::move(build), progress, stop);
    if (!finished)
        restoreCache(before);
    return finished;
}

Status Session::State::finish(Build build, Progress *progress, const std::stop_token &stop)
{
    const ModelConfig &config = model->config();
    SessionSettings &own = build.settings;
    if (build.parts.cpu) // elsewhere they are those that the CPU would have
        own.threads = (build.host ? build.host : build.backend)->threads();
    if (Status ready = build.backend->prepare(model->model, own.precision,
                                              build.parts.device.value_or(ModelPart()), progress, stop);
        !ready)
        return ready;
    std::vector<TransformerPart> backends = {{build.backend, config.layers}};
    if (build.host) {
        if (Status ready = build.host->prepare(model->model, own.precision, *build.parts.cpu, progress, stop);
            !ready)
            return ready;
        backends = {{build.backend, *own.deviceLayers}, {build.host, config.layers}};
    }
    auto transformer =
        Transformer::create(model->model, std::move(backends), own.batchTokens, progress, stop);
    if (!transformer)
        return tl::unexpected(transformer.error());
    KvCacheSettings room;
    room.shape = kvShape(config, build.memory);
    room.contextTokens = own.contextTokens;
    room.sequences = own.sequences;
    room.batchTokens = own.batchTokens;
    room.keyPhase = build.memory.keyPhase;
    auto cache = KvCache::create(room, (*transformer)->kvAllocators());
    if (!cache)
        return tl::unexpected(withWhatFits(cache.error(), *build.backend, build.plan, own));

    // All of it is there: what was before ends now.
    endRuns();
    if (!engine.logits || own.logitBudgetBytes != engine.settings.logitBudgetBytes)
        engine.logits = std::make_shared<LogitStore>(own.logitBudgetBytes);
    engine.settings = std::move(own);
    engine.cache = std::make_unique<KvCache>(std::move(*cache));
    engine.transformer = std::move(*transformer);
    backend = std::move(build.backend);
    host = std::move(build.host);
    measure(measuring);
    plan = std::move(build.plan);
    deviceNeeds = std::move(build.needs);
    tokenWeightBytes = weightBytesRead(*model->model);
    return {};
}

} // namespace tokenloupe
