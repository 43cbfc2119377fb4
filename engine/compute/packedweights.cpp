// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/packedweights.h"

#include "engine/compute/stretchqueue.h"
#include "engine/model/quantizedweights.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <unordered_set>

namespace tokenloupe {

namespace {

// What a thread packs between two looks at the stop token; after that the file's pages are given back.
constexpr std::int64_t pieceBytes = std::int64_t(4) << 20;
constexpr std::int64_t jobBytes = std::int64_t(64) << 10; // what a thread takes at a time

/// Copies that are alive, so that a part is packed once however many backends run it.
struct Registry
{
    using Copies = std::map<ModelPart, std::weak_ptr<const PackedWeights>>;

    std::mutex mutex;
    std::map<std::weak_ptr<const Model>, Copies, std::owner_less<>> models;
};

Registry &registry()
{
    static Registry instance;
    return instance;
}

/// Stripes [begin, end) of a matrix.
struct Job
{
    const Weight *weight = nullptr;
    std::int64_t begin = 0, end = 0;
    std::byte *out = nullptr; // where the whole packed matrix starts

    std::uint64_t bytes() const
    {
        return static_cast<std::uint64_t>((end - begin) * packedStripeBytes(weight->type, weight->columns));
    }
    void run() const
    {
        packStripes({weight->type, weight->rows, weight->columns, weight->data.data()}, begin, end, out);
    }
    /// The same stripes in the file.
    std::span<const std::byte> fileRange() const
    {
        const std::uint64_t rowBytes = weight->data.size() / static_cast<std::uint64_t>(weight->rows);
        const auto first = static_cast<std::uint64_t>(begin * stripeRows) * rowBytes;
        const auto last = static_cast<std::uint64_t>(std::min(end * stripeRows, weight->rows)) * rowBytes;
        return weight->data.subspan(first, last - first);
    }
};

std::vector<Job> jobsOf(const PackingPlan &plan, std::byte *out)
{
    std::vector<Job> jobs;
    for (const Weight *weight : plan.matrices) {
        const std::int64_t stripeBytes = packedStripeBytes(weight->type, weight->columns);
        const std::int64_t stripes = stripesOf(weight->rows);
        const std::int64_t step = std::max<std::int64_t>(1, jobBytes / stripeBytes);
        for (std::int64_t begin = 0; begin < stripes; begin += step)
            jobs.push_back({weight, begin, std::min(begin + step, stripes), out});
        out += stripes * stripeBytes;
    }
    return jobs;
}

/// Packs one piece of the work after the other, each with all threads.
class Packer
{
public:
    Packer(const Model &model, PackedMemory &memory, WorkerPool &pool)
        : m_model(model)
        , m_memory(memory)
        , m_pool(pool)
        , m_queue(pool.threads())
    {}

    Status pack(std::span<const Job> jobs, Progress *progress, const std::stop_token &stop)
    {
        const auto piece = static_cast<std::uint64_t>(pieceBytes * m_pool.threads());
        for (std::size_t first = 0; first < jobs.size();) {
            if (stop.stop_requested())
                return makeError(ErrorCode::Cancelled, "pack the weights");
            std::uint64_t bytes = 0;
            std::size_t end = first;
            while (end < jobs.size() && bytes < piece)
                bytes += jobs[end++].bytes();
            if (Status there = restore(jobs.subspan(first, end - first)); !there)
                return there;
            takeMemory(m_written + bytes);
            run(jobs.subspan(first, end - first));
            m_written += bytes;
            giveBack(jobs.subspan(first, end - first));
            if (progress)
                progress->advance(bytes);
            first = end;
        }
        return {};
    }

private:
    /// Whole units, of one thread each: two that touch the same one would both fetch it.
    void takeMemory(std::uint64_t upTo)
    {
        const std::uint64_t units = (upTo + PackedMemory::unitBytes - 1) / PackedMemory::unitBytes;
        share(static_cast<std::int64_t>(units - m_taken),
              [this](std::int64_t unit) { m_memory.take(m_taken + static_cast<std::uint64_t>(unit)); });
        m_taken = units;
    }

    void run(std::span<const Job> jobs)
    {
        share(static_cast<std::int64_t>(jobs.size()),
              [jobs](std::int64_t job) { jobs[static_cast<std::size_t>(job)].run(); });
    }

    /// What was quantised at load and given back already.
    Status restore(std::span<const Job> jobs)
    {
        Status status;
        forEachRange(jobs, [&](std::span<const std::byte> rows) {
            if (status)
                status = m_model.restorePages(rows, m_pool);
        });
        return status;
    }

    void giveBack(std::span<const Job> jobs) const
    {
        forEachRange(jobs, [this](std::span<const std::byte> rows) { m_model.releasePages(rows); });
    }

    /// visit(rows) for the file's form of the jobs; what lies side by side at once.
    template <class Visit>
    static void forEachRange(std::span<const Job> jobs, const Visit &visit)
    {
        for (std::size_t first = 0; first < jobs.size();) {
            std::size_t end = first + 1;
            while (end < jobs.size() && jobs[end].weight == jobs[first].weight)
                ++end;
            Job all = jobs[first];
            all.end = jobs[end - 1].end;
            visit(all.fileRange());
            first = end;
        }
    }

    template <class Work>
    void share(std::int64_t count, const Work &work)
    {
        m_queue.reset(count, 1);
        m_pool.run([&](int worker) {
            for (Stretch part = m_queue.next(worker); !part.isEmpty(); part = m_queue.next(worker)) {
                for (std::int64_t i = part.begin; i < part.end; ++i)
                    work(i);
            }
        });
    }

    const Model &m_model;
    PackedMemory &m_memory;
    WorkerPool &m_pool;
    StretchQueue m_queue;
    std::uint64_t m_written = 0; // bytes
    std::uint64_t m_taken = 0;   // units
};

/// visit(matrix) for each of a part that products run over, once.
template <class Visit>
void forEachMatrix(const Model &model, const ModelPart &part, const Visit &visit)
{
    std::unordered_set<const std::byte *> seen;
    const auto add = [&](const Weight &weight) {
        if (weight.isPresent() && seen.insert(weight.data.data()).second)
            visit(weight);
    };
    for (const LayerWeights &layer : layersOf(model.weights(), part)) {
        for (const Weight *weight : {&layer.query, &layer.key, &layer.value, &layer.output, &layer.router,
                                     &layer.gate, &layer.up, &layer.down})
            add(*weight);
        for (const ExpertWeights &expert : layer.experts) {
            for (const Weight *weight : {&expert.gate, &expert.up, &expert.down})
                add(*weight);
        }
    }
    if (part.hasEnds)
        add(model.weights().outputHead);
}

} // namespace

PackingPlan packingPlan(const Model &model, const ModelPart &part)
{
    PackingPlan plan;
    forEachMatrix(model, part, [&plan](const Weight &weight) {
        if (!isPackable(weight.type))
            return;
        plan.matrices.push_back(&weight);
        plan.fileBytes += weight.data.size();
        plan.packedBytes += static_cast<std::uint64_t>(packedBytes(weight.type, weight.rows, weight.columns));
    });
    return plan;
}

std::vector<WeightTypeUse> weightTypeUses(const Model &model)
{
    std::vector<WeightTypeUse> uses;
    forEachMatrix(model, {}, [&uses](const Weight &weight) {
        auto use = std::find_if(uses.begin(), uses.end(),
                                [&](const WeightTypeUse &known) { return known.type == weight.type; });
        if (use == uses.end())
            use = uses.insert(uses.end(), {weight.type, 0, isPackable(weight.type)});
        use->bytes += weight.data.size();
    });
    std::sort(uses.begin(), uses.end(),
              [](const WeightTypeUse &a, const WeightTypeUse &b) { return a.bytes > b.bytes; });
    return uses;
}

void releaseFileForm(const Model &model)
{
    for (const Weight *weight : packingPlan(model).matrices)
        model.releasePages(weight->data);
}

std::uint64_t quantizedBytesBeside(const Model &model, const PackingPlan &plan, const ModelPart &part)
{
    const QuantizedWeights *quantized = model.quantized();
    if (!quantized)
        return 0;
    assert(part.hasEnds); // the others compute on a device
    std::uint64_t bytes = quantized->plan().bytes;
    const auto leaveOut = [&](const Weight &weight) {
        bytes -= quantized->contains(weight.data) ? weight.data.size() : 0;
    };
    for (const Weight *weight : plan.matrices)
        leaveOut(*weight);
    for (std::uint32_t layer = 0; layer < model.weights().layers.size(); ++layer) {
        if (!part.hasLayer(layer))
            model.weights().layers[layer].forEach(leaveOut);
    }
    return bytes;
}

Result<std::shared_ptr<const PackedWeights>> PackedWeights::of(const std::shared_ptr<const Model> &model,
                                                               const ModelPart &part, WorkerPool &pool,
                                                               Progress *progress,
                                                               const std::stop_token &stop)
{
    Registry &known = registry();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.models, [](const auto &entry) { return entry.first.expired(); });
    std::weak_ptr<const PackedWeights> &shared = known.models[model][part];
    if (auto copy = shared.lock())
        return copy;
    auto created = create(*model, part, pool, progress, stop);
    if (!created)
        return tl::unexpected(created.error());
    std::shared_ptr<const PackedWeights> copy = std::move(*created);
    shared = copy;
    return copy;
}

Result<std::shared_ptr<PackedWeights>> PackedWeights::create(const Model &model, const ModelPart &part,
                                                             WorkerPool &pool, Progress *progress,
                                                             const std::stop_token &stop)
{
    const PackingPlan plan = packingPlan(model, part);
    if (progress)
        progress->start(plan.packedBytes);
    std::shared_ptr<PackedWeights> packed(new PackedWeights);
    if (plan.packedBytes == 0)
        return packed;
    auto memory = PackedMemory::reserve(plan.packedBytes);
    if (!memory)
        return tl::unexpected(memory.error());
    packed->m_memory = std::move(*memory);
    packed->m_bytes = plan.packedBytes;
    const std::vector<Job> jobs = jobsOf(plan, packed->m_memory->data());
    for (const Job &job : jobs) {
        if (job.begin == 0)
            packed->m_matrices.emplace(
                job.weight->data.data(),
                PackedMatrix{job.weight->type, job.weight->rows, job.weight->columns, job.out});
    }
    if (Status done = Packer(model, *packed->m_memory, pool).pack(jobs, progress, stop); !done)
        return tl::unexpected(done.error());
    packed->m_memory->joinSmallPages();
    return packed;
}

const PackedMatrix *PackedWeights::find(const Weight &weight) const
{
    const auto found = m_matrices.find(weight.data.data());
    if (found == m_matrices.end() || found->second.rows != weight.rows ||
        found->second.columns != weight.columns)
        return nullptr;
    return &found->second;
}

} // namespace tokenloupe
