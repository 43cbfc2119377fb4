// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/packedweights.h"

#include "engine/compute/stretchqueue.h"
#include "engine/model/quantizedweights.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_set>

namespace tokenloupe {

namespace {

// What is packed between two looks at the stop token, and given back to the system at a time.
constexpr std::int64_t pieceBytes = std::int64_t(4) << 20;

/// Copies that are alive, so that a model is packed once however many backends run it.
struct Registry
{
    std::mutex mutex;
    std::map<std::weak_ptr<const Model>, std::weak_ptr<const PackedWeights>, std::owner_less<>> copies;
};

Registry &registry()
{
    static Registry instance;
    return instance;
}

void packMatrix(const Weight &weight, std::int64_t begin, std::int64_t end, std::byte *out, WorkerPool &pool,
                StretchQueue &queue)
{
    const WeightMatrix matrix{weight.type, weight.rows, weight.columns, weight.data.data()};
    queue.reset(end - begin, 4);
    pool.run([&](int worker) {
        for (Stretch piece = queue.next(worker); !piece.isEmpty(); piece = queue.next(worker))
            packStripes(matrix, begin + piece.begin, begin + piece.end, out);
    });
}

/// visit(matrix) for each that products run over, once.
template <class Visit>
void forEachMatrix(const Model &model, const Visit &visit)
{
    std::unordered_set<const std::byte *> seen;
    const auto add = [&](const Weight &weight) {
        if (weight.isPresent() && seen.insert(weight.data.data()).second)
            visit(weight);
    };
    for (const LayerWeights &layer : model.weights().layers) {
        for (const Weight *weight : {&layer.query, &layer.key, &layer.value, &layer.output, &layer.router,
                                     &layer.gate, &layer.up, &layer.down})
            add(*weight);
        for (const ExpertWeights &expert : layer.experts) {
            for (const Weight *weight : {&expert.gate, &expert.up, &expert.down})
                add(*weight);
        }
    }
    add(model.weights().outputHead);
}

} // namespace

PackingPlan packingPlan(const Model &model)
{
    PackingPlan plan;
    forEachMatrix(model, [&plan](const Weight &weight) {
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
    forEachMatrix(model, [&uses](const Weight &weight) {
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

std::uint64_t quantizedBytesBeside(const Model &model, const PackingPlan &plan)
{
    const QuantizedWeights *quantized = model.quantized();
    if (!quantized)
        return 0;
    std::uint64_t bytes = quantized->plan().bytes;
    for (const Weight *weight : plan.matrices)
        bytes -= quantized->contains(weight->data) ? weight->data.size() : 0;
    return bytes;
}

Result<std::shared_ptr<const PackedWeights>> PackedWeights::of(const std::shared_ptr<const Model> &model,
                                                               WorkerPool &pool, Progress *progress,
                                                               const std::stop_token &stop)
{
    Registry &known = registry();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.copies, [](const auto &entry) { return entry.second.expired(); });
    if (const auto found = known.copies.find(model); found != known.copies.end()) {
        if (auto copy = found->second.lock())
            return copy;
    }
    auto created = create(*model, pool, progress, stop);
    if (!created)
        return tl::unexpected(created.error());
    std::shared_ptr<const PackedWeights> copy = std::move(*created);
    known.copies.insert_or_assign(model, copy);
    return copy;
}

Result<std::shared_ptr<PackedWeights>> PackedWeights::create(const Model &model, WorkerPool &pool,
                                                             Progress *progress, const std::stop_token &stop)
{
    const PackingPlan plan = packingPlan(model);
    if (progress)
        progress->start(plan.packedBytes);
    std::shared_ptr<PackedWeights> packed(new PackedWeights);
    auto memory = HostRegion::reserve(plan.packedBytes, "packed weights");
    if (!memory)
        return tl::unexpected(memory.error());
    packed->m_memory = std::move(*memory);
    StretchQueue queue(pool.threads());
    std::byte *out = packed->m_memory.data();
    for (const Weight *weight : plan.matrices) {
        const std::int64_t stripeBytes = packedStripeBytes(weight->type, weight->columns);
        const std::int64_t stripes = stripesOf(weight->rows);
        const std::int64_t piece = std::max<std::int64_t>(1, pieceBytes / stripeBytes);
        const std::uint64_t rowBytes = weight->data.size() / static_cast<std::uint64_t>(weight->rows);
        for (std::int64_t begin = 0; begin < stripes; begin += piece) {
            if (stop.stop_requested())
                return makeError(ErrorCode::Cancelled, "pack the weights");
            const std::int64_t end = std::min(begin + piece, stripes);
            const auto first = static_cast<std::uint64_t>(begin * stripeRows) * rowBytes;
            const auto last = static_cast<std::uint64_t>(std::min(end * stripeRows, weight->rows)) * rowBytes;
            const auto rows = weight->data.subspan(first, last - first);
            if (Status there = model.restorePages(rows, pool); !there)
                return tl::unexpected(there.error());
            packMatrix(*weight, begin, end, out, pool, queue);
            model.releasePages(rows);
            if (progress)
                progress->advance(static_cast<std::uint64_t>((end - begin) * stripeBytes));
        }
        packed->m_matrices.emplace(weight->data.data(),
                                   PackedMatrix{weight->type, weight->rows, weight->columns, out});
        out += stripes * stripeBytes;
    }
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
