// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplerchain.h"

#include "engine/base/philox.h"
#include "engine/sampling/candidateset.h"
#include "engine/sampling/stages.h"

#include <chrono>

namespace tokenloupe {

namespace {

Status runStages(const SamplerSettings &settings, const SamplingContext &context, CandidateSet &set,
                 ChainRecorder *recorder)
{
    for (const StageSettings &stage : settings.stages) {
        if (!stage.isActive())
            continue;
        if (!recorder) {
            if (const Status status = applyStage(stage, context, set); !status)
                return status;
            continue;
        }
        const auto begin = std::chrono::steady_clock::now();
        const Status status = applyStage(stage, context, set);
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
        if (!status)
            return status;
        recorder->afterStage(stage, set, time.count());
    }
    return {};
}

/// The last in descending order that has any weight.
Candidate lastWithWeight(const CandidateSet &set, const SoftmaxWeights &weights)
{
    Candidate last = set.best();
    set.forEach([&](const Candidate &candidate) {
        if (comesBefore(last, candidate) && weights.weightOf(candidate.logit) > 0.0)
            last = candidate;
    });
    return last;
}

/// Inverse of the cumulative distribution in descending order.
DrawResult drawFrom(const CandidateSet &set, const SoftmaxWeights &weights, double u)
{
    const auto end = set.prefixOf(weights, {u * weights.sumExp, Reach::MoreThan});
    // Where none is found the sum was rounded up and u is close to 1.
    const Candidate drawn =
        end && weights.weightOf(end->last.logit) > 0.0 ? end->last : lastWithWeight(set, weights);
    DrawResult result;
    result.u = u;
    result.survivors = static_cast<std::uint32_t>(set.size());
    result.token = drawn.id;
    result.probability = weights.probabilityOf(drawn.logit);
    return result;
}

} // namespace

SamplerChain::SamplerChain(std::shared_ptr<const SamplerSettings> settings)
    : m_settings(std::move(settings))
{}

Result<DrawResult> SamplerChain::run(std::span<const float> logits, const SamplingContext &context,
                                     ChainRecorder *recorder) const
{
    Result<CandidateSet> set = CandidateSet::of(logits);
    if (!set)
        return tl::unexpected<Error>(set.error());
    if (recorder)
        recorder->begin(logits);
    if (const Status status = runStages(*m_settings, context, *set, recorder); !status)
        return tl::unexpected<Error>(status.error());

    constexpr std::uint32_t drawStage = 0;
    const SoftmaxWeights weights = set->weights();
    if (recorder)
        recorder->beforeDraw(*set, weights);
    const DrawResult result = drawFrom(*set, weights, uniformDraw(m_settings->seed, context.step, drawStage));
    if (recorder)
        recorder->drawn(result);
    return result;
}

Result<Candidates> SamplerChain::filter(std::span<const float> logits, const SamplingContext &context,
                                        ChainRecorder *recorder) const
{
    Result<CandidateSet> set = CandidateSet::of(logits);
    if (!set)
        return tl::unexpected<Error>(set.error());
    if (recorder)
        recorder->begin(logits);
    if (const Status status = runStages(*m_settings, context, *set, recorder); !status)
        return tl::unexpected<Error>(status.error());
    Candidates result;
    set->copyTo(result);
    return result;
}

Status applyStage(const StageSettings &stage, const SamplingContext &context, CandidateSet &set)
{
    struct Apply
    {
        const SamplingContext &context;
        CandidateSet &set;

        Status operator()(const LogitBiasParams &params) const { return applyLogitBias(params, set); }
        Status operator()(const PenaltiesParams &params) const
        {
            applyPenalties(params, context.history, set);
            return {};
        }
        Status operator()(const TopKParams &params) const
        {
            applyTopK(params, KeepAtLeast(), set);
            return {};
        }
        Status operator()(const TopPParams &params) const
        {
            applyTopP(params, KeepAtLeast(), set);
            return {};
        }
        Status operator()(const MinPParams &params) const
        {
            applyMinP(params, KeepAtLeast(), set);
            return {};
        }
        Status operator()(const TemperatureParams &params) const
        {
            applyTemperature(params, set);
            return {};
        }
    };
    return std::visit(Apply{context, set}, stage.params);
}

} // namespace tokenloupe
