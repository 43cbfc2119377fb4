// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/precisioncomparison.h"

#include "engine/compute/packedweights.h"

#include <algorithm>

namespace tokenloupe {

namespace {

constexpr std::uint32_t batchTokens = 64; // progress and Cancel come so often

} // namespace

PrecisionComparison::PrecisionComparison(std::shared_ptr<const LoadedModel> model,
                                         const RunArithmetic &arithmetic, Precision loaded, int threads)
    : m_model(std::move(model))
    , m_arithmetic(arithmetic)
    , m_loaded(loaded)
    , m_threads(threads)
{}

SessionSettings PrecisionComparison::settings(std::size_t tokens, Precision precision) const
{
    SessionSettings settings;
    settings.precision = precision;
    settings.keyType = m_arithmetic.keyType;
    settings.valueType = m_arithmetic.valueType;
    settings.threads = m_threads;
    settings.batchTokens = batchTokens;
    settings.logitBudgetBytes = 0;
    settings.contextTokens = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(tokens));
    if (m_arithmetic.keyPhase == KeyPhase::Unrotated) {
        // Keys are stored as that policy stores them; no token has to leave.
        settings.overflow = OverflowPolicy::Streaming;
        settings.sinkTokens = 0;
        settings.contextTokens = std::max(settings.contextTokens, 2 * settings.blockTokens);
    }
    return settings;
}

void PrecisionComparison::giveBack() const
{
    // In fast precision the file's pages are not read: what the exact pass brought in would stay for nothing.
    if (m_loaded == Precision::Fast)
        releaseFileForm(*m_model->model);
}

Result<std::vector<float>> PrecisionComparison::lastRow(std::span<const TokenId> tokens, Precision precision,
                                                        Progress *progress, const std::stop_token &stop) const
{
    const auto session = Session::create(m_model, settings(tokens.size(), precision), nullptr, stop);
    if (!session)
        return tl::unexpected(session.error());
    const auto pass = (*session)->beginScore(tokens);
    if (!pass)
        return tl::unexpected(pass.error());
    const auto last = static_cast<std::uint32_t>(tokens.size() - 1);
    if (Status skipped = (*pass)->skipTo(last, progress, stop); !skipped)
        return tl::unexpected(skipped.error());
    const auto row = (*pass)->next(progress, stop);
    if (!row)
        return tl::unexpected(row.error());
    return std::vector<float>(row->begin(), row->end());
}

Result<PositionComparison> PrecisionComparison::last(std::span<const TokenId> tokens,
                                                     std::span<const float> kept, Progress *progress,
                                                     const std::stop_token &stop) const
{
    if (tokens.empty())
        return makeError(ErrorCode::InvalidArgument, "compare precisions", "there is no token");
    const bool isTaken = !kept.empty() && m_arithmetic.device.empty();
    if (progress)
        progress->start(tokens.size() * (isTaken ? 1 : 2));
    const auto rowOf = [&](Precision precision) -> Result<std::vector<float>> {
        if (isTaken && precision == m_arithmetic.precision)
            return std::vector<float>(kept.begin(), kept.end());
        return lastRow(tokens, precision, progress, stop);
    };
    auto fast = rowOf(Precision::Fast);
    auto exact = fast ? rowOf(Precision::Exact) : std::move(fast);
    giveBack();
    if (!exact)
        return tl::unexpected(exact.error());
    return comparePosition(*exact, *fast);
}

Status PrecisionComparison::all(std::span<const TokenId> tokens,
                                const std::function<void(std::uint32_t, PositionComparison)> &take,
                                Progress *progress, const std::stop_token &stop) const
{
    if (tokens.empty())
        return makeError(ErrorCode::InvalidArgument, "compare precisions", "there is no token");
    if (progress)
        progress->start(tokens.size() * 2);
    const auto walk = [&]() -> Status {
        std::unique_ptr<Session> sessions[2];
        std::unique_ptr<ScorePass> passes[2]; // after the sessions: they go first
        for (const Precision precision : {Precision::Exact, Precision::Fast}) {
            const auto i = static_cast<std::size_t>(precision);
            auto session = Session::create(m_model, settings(tokens.size(), precision), nullptr, stop);
            if (!session)
                return tl::unexpected(session.error());
            sessions[i] = std::move(*session);
            auto pass = sessions[i]->beginScore(tokens);
            if (!pass)
                return tl::unexpected(pass.error());
            passes[i] = std::move(*pass);
        }
        for (std::uint32_t position = 0; position < tokens.size(); ++position) {
            const auto exact = passes[0]->next(progress, stop);
            if (!exact)
                return tl::unexpected(exact.error());
            const auto fast = passes[1]->next(progress, stop);
            if (!fast)
                return tl::unexpected(fast.error());
            auto compared = comparePosition(*exact, *fast);
            if (!compared)
                return tl::unexpected(compared.error());
            take(position, std::move(*compared));
        }
        return {};
    };
    const Status walked = walk();
    giveBack();
    return walked;
}

Result<ComparisonMemory> PrecisionComparison::memoryOfLast(std::size_t tokens, Precision computed) const
{
    const auto plan = sessionPlan(*m_model, settings(tokens, computed));
    if (!plan)
        return tl::unexpected(plan.error());
    ComparisonMemory memory;
    memory.runBytes = plan->bytesOf(MemoryPart::KvCache) + plan->bytesOf(MemoryPart::Activations) +
                      plan->bytesOf(MemoryPart::Logits);
    if (computed != m_loaded) {
        const PackingPlan packing = packingPlan(*m_model->model);
        memory.weightBytes = computed == Precision::Fast ? packing.packedBytes : packing.fileBytes;
    }
    return memory;
}

Result<ComparisonMemory> PrecisionComparison::memoryOfAll(std::size_t tokens) const
{
    const auto own = memoryOfLast(tokens, m_loaded);
    if (!own)
        return own;
    auto memory = memoryOfLast(tokens, otherPrecision(m_loaded));
    if (memory)
        memory->runBytes += own->runBytes;
    return memory;
}

} // namespace tokenloupe
