// SPDX-License-Identifier: GPL-3.0-or-later
// What recording a step costs: keeping its logits, explaining it for the panels.
#include "engine/trace/logitstore.h"
#include "engine/trace/stepexplanation.h"

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

void keep(benchmark::State &state)
{
    const std::vector<float> logits = modelLike(static_cast<std::size_t>(state.range(0)));
    LogitStore store(std::uint64_t(64) << 20);
    std::uint32_t step = 0;
    for ([[maybe_unused]] auto _ : state) {
        store.put({RunId(0), StepIndex(step)}, logits);
        if (++step == 60) {
            store.erase(RunId(0));
            step = 0;
        }
    }
}

enum class Ranking { None, Vocabulary };

void explain(benchmark::State &state, Ranking ranking)
{
    const std::vector<float> logits = modelLike(static_cast<std::size_t>(state.range(0)));
    const std::vector<TokenId> history(300, TokenId(7));
    const auto settings = std::make_shared<const SamplerSettings>(SamplerSettings::defaults());
    const LogitStatistics statistics = *logitStatistics(logits);
    StepRecord record;
    record.ref = {RunId(0), StepIndex(0)};
    record.token = statistics.argmax;
    record.logSumExp = statistics.logSumExp;
    record.entropyBits = statistics.entropyBits;
    ExplainRequest request;
    request.ref = record.ref;
    request.logits = logits;
    request.history = history;
    request.settings = settings;
    request.chosen = record.token;
    request.record = &record;
    request.rankWholeVocabulary = ranking == Ranking::Vocabulary;
    for ([[maybe_unused]] auto _ : state)
        benchmark::DoNotOptimize(explainStep(request));
}

void explainLive(benchmark::State &state)
{
    explain(state, Ranking::None);
}

void explainWithRanks(benchmark::State &state)
{
    explain(state, Ranking::Vocabulary);
}

} // namespace

#define TOKENLOUPE_BENCH(function)                                                                           \
    BENCHMARK(function)->Arg(49152)->Arg(131072)->Arg(262144)->Unit(benchmark::kMicrosecond)

TOKENLOUPE_BENCH(keep);
TOKENLOUPE_BENCH(explainLive);
TOKENLOUPE_BENCH(explainWithRanks);

BENCHMARK_MAIN();
