// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplerchain.h"

#include <benchmark/benchmark.h>
#include <cmath>
#include <random>

using namespace tokenloupe;

namespace {

/// Like a language model's: a broad floor and a few hundred candidates whose logits rise to a peak.
std::vector<float> modelLike(std::size_t n)
{
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0F, 2.0F);
    std::vector<float> logits(n);
    for (float &logit : logits)
        logit = normal(random);
    for (int rank = 1; rank <= 300; ++rank)
        logits[random() % n] = 17.0F - 1.6F * std::log(static_cast<float>(rank));
    return logits;
}

std::vector<float> normalLogits(std::size_t n, float deviation)
{
    std::mt19937 random(2);
    std::normal_distribution<float> normal(0.0F, deviation);
    std::vector<float> logits(n);
    for (float &logit : logits)
        logit = normal(random);
    return logits;
}

void runChain(benchmark::State &state, const std::vector<StageSettings> &stages,
              const std::vector<float> &logits)
{
    SamplerSettings settings;
    settings.stages = stages;
    const SamplerChain chain(std::make_shared<const SamplerSettings>(settings));
    std::vector<TokenId> history;
    for (std::uint32_t i = 0; i < 500; ++i)
        history.push_back(TokenId(i * 37 % 1000));
    std::uint64_t step = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(chain.run(logits, {history, step++}));
}

const std::vector<StageSettings> truncations = {
    {TopKParams{40}}, {TopPParams{0.95F}}, {MinPParams{0.05F}}, {TemperatureParams{0.8F}}};

void defaultChain(benchmark::State &state)
{
    runChain(state, truncations, modelLike(static_cast<std::size_t>(state.range(0))));
}

void withPenalties(benchmark::State &state)
{
    std::vector<StageSettings> stages = truncations;
    stages.insert(stages.begin(), {PenaltiesParams{64, 1.1F, 0.0F, 0.0F}});
    runChain(state, stages, modelLike(static_cast<std::size_t>(state.range(0))));
}

void withBan(benchmark::State &state)
{
    std::vector<StageSettings> stages = truncations;
    stages.insert(stages.begin(), {LogitBiasParams{{{TokenId(2), -INFINITY}}}});
    runChain(state, stages, modelLike(static_cast<std::size_t>(state.range(0))));
}

void topPAlone(benchmark::State &state)
{
    runChain(state, {{TopPParams{0.95F}}, {TemperatureParams{0.8F}}},
             modelLike(static_cast<std::size_t>(state.range(0))));
}

void topPAloneSpread(benchmark::State &state)
{
    runChain(state, {{TopPParams{0.95F}}}, normalLogits(static_cast<std::size_t>(state.range(0)), 3.0F));
}

void topPAloneFlat(benchmark::State &state)
{
    runChain(state, {{TopPParams{0.95F}}}, normalLogits(static_cast<std::size_t>(state.range(0)), 1.0F));
}

void temperatureOnly(benchmark::State &state)
{
    runChain(state, {{TemperatureParams{0.8F}}}, modelLike(static_cast<std::size_t>(state.range(0))));
}

void greedy(benchmark::State &state)
{
    runChain(state, {{TemperatureParams{0.0F}}}, modelLike(static_cast<std::size_t>(state.range(0))));
}

void statistics(benchmark::State &state)
{
    const std::vector<float> logits = modelLike(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        benchmark::DoNotOptimize(logitStatistics(logits));
        benchmark::DoNotOptimize(rankOf(logits, TokenId(77)));
    }
}

} // namespace

#define TOKENLOUPE_BENCH(function)                                                                           \
    BENCHMARK(function)->Arg(49152)->Arg(131072)->Arg(262144)->Unit(benchmark::kMicrosecond)

TOKENLOUPE_BENCH(defaultChain);
TOKENLOUPE_BENCH(withPenalties);
TOKENLOUPE_BENCH(withBan);
TOKENLOUPE_BENCH(topPAlone);
TOKENLOUPE_BENCH(topPAloneSpread);
TOKENLOUPE_BENCH(topPAloneFlat);
TOKENLOUPE_BENCH(temperatureOnly);
TOKENLOUPE_BENCH(greedy);
TOKENLOUPE_BENCH(statistics);

BENCHMARK_MAIN();
