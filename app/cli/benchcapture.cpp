// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/benchcapture.h"

#include "engine/compute/cuda/makecuda.h"
#include "engine/session/sessionplan.h"
#include "engine/transformer/transformer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>

namespace tokenloupe::cli {

namespace {

using Clock = std::chrono::steady_clock;

/// Keeps one step's intermediates of some points, one behind the other.
class StepCapture final : public ForwardTap
{
public:
    explicit StepCapture(std::vector<TapPoint> points)
        : m_points(std::move(points))
    {}

    bool wants(TapPoint point, LayerIndex) override
    {
        return std::find(m_points.begin(), m_points.end(), point) != m_points.end();
    }
    void take(TapPoint point, LayerIndex layer, std::uint32_t, std::span<const float> values) override
    {
        if (m_used + values.size() > m_memory.size())
            m_memory.resize((m_used + values.size()) * 2); // not in the steps that are measured
        std::copy(values.begin(), values.end(), m_memory.data() + m_used);
        const float norm = point == TapPoint::LayerOutput ? normOf(values) : 0.0F;
        m_taken.push_back({point, layer, m_used, values.size(), norm});
        m_used += values.size();
    }
    void beginStep()
    {
        m_used = 0;
        m_taken.clear();
    }
    std::uint64_t bytes() const { return m_used * sizeof(float); }

private:
    struct Taken
    {
        TapPoint point;
        LayerIndex layer;
        std::size_t first; ///< in m_memory
        std::size_t count;
        float norm; ///< of the residual stream
    };

    static float normOf(std::span<const float> values)
    {
        // Four sums, so that one does not wait for the one before.
        double sums[4] = {};
        const auto square = [](float value) {
            return static_cast<double>(value) * static_cast<double>(value);
        };
        std::size_t i = 0;
        for (; i + 4 <= values.size(); i += 4) {
            for (std::size_t k = 0; k < 4; ++k)
                sums[k] += square(values[i + k]);
        }
        for (; i < values.size(); ++i)
            sums[0] += square(values[i]);
        return static_cast<float>(std::sqrt(sums[0] + sums[1] + sums[2] + sums[3]));
    }

    std::vector<TapPoint> m_points;
    std::vector<float> m_memory;
    std::size_t m_used = 0;
    std::vector<Taken> m_taken;
};

struct Kind
{
    const char *name;
    std::vector<TapPoint> points;
    Measuring operations = Measuring::Off;
};

std::vector<Kind> kinds()
{
    std::vector<TapPoint> all;
    for (int point = 0; point <= int(TapPoint::Logits); ++point)
        all.push_back(static_cast<TapPoint>(point));
    return {{"nothing, asked at every point", {}},
            {"time of each operation", {}, Measuring::On},
            {"residual stream of each layer, with its norm", {TapPoint::LayerOutput}},
            {"seven kinds in each layer",
             {TapPoint::AttentionNorm, TapPoint::Query, TapPoint::Key, TapPoint::Value,
              TapPoint::AttentionOutput, TapPoint::FeedForwardOutput, TapPoint::LayerOutput}},
            {"attention weights of all heads", {TapPoint::AttentionWeights}},
            {"everything", all, Measuring::On}};
}

/// Two sequences that are fed the same tokens.
class Twins
{
public:
    static Result<std::unique_ptr<Twins>> create(const std::shared_ptr<const Model> &model,
                                                 const SessionSettings &settings, const std::stop_token &stop)
    {
        const SessionParts split = partsOf(settings);
        std::vector<TransformerPart> parts;
        const auto add = [&](BackendKind kind, const ModelPart &part) -> Status {
            auto backend = makeBackend(kind, settings.threads);
            if (!backend)
                return tl::unexpected(backend.error());
            parts.push_back({*backend, std::min(part.endLayer, model->config().layers)});
            return (*backend)->prepare(model, settings.precision, part, nullptr, stop);
        };
        if (Status ready = split.device ? add(settings.backend, *split.device) : Status(); !ready)
            return tl::unexpected(ready.error());
        if (Status ready = split.cpu ? add(BackendKind::Cpu, *split.cpu) : Status(); !ready)
            return tl::unexpected(ready.error());
        auto transformer = Transformer::create(model, parts, settings.batchTokens, nullptr, stop);
        if (!transformer)
            return tl::unexpected(transformer.error());
        KvCacheSettings room;
        room.shape = (*transformer)->kvShape(settings.keyType, settings.valueType);
        room.shape.blockTokens = settings.blockTokens;
        room.contextTokens = settings.contextTokens;
        room.sequences = 2;
        room.batchTokens = settings.batchTokens;
        auto cache = KvCache::create(room, (*transformer)->kvAllocators());
        if (!cache)
            return tl::unexpected(cache.error());
        return std::make_unique<Twins>(std::move(parts), std::move(*transformer), std::move(*cache));
    }

    Twins(std::vector<TransformerPart> parts, std::unique_ptr<Transformer> transformer, KvCache cache)
        : m_parts(std::move(parts))
        , m_transformer(std::move(transformer))
        , m_cache(std::move(cache))
        , m_sequences{m_cache.open(), m_cache.open()}
    {}

    /// Both begin anew with these tokens.
    Status restart(std::span<const TokenId> tokens, const std::stop_token &stop)
    {
        for (SequenceId &sequence : m_sequences) {
            m_cache.discard(sequence);
            sequence = m_cache.open();
            for (std::size_t begin = 0; begin < tokens.size();) {
                const std::size_t count =
                    std::min<std::size_t>(m_transformer->maxBatch(), tokens.size() - begin);
                ForwardRequest request;
                request.tokens = tokens.subspan(begin, count);
                request.stop = stop;
                if (const auto logits = m_transformer->forward(request, m_cache, sequence); !logits)
                    return tl::unexpected(logits.error());
                begin += count;
            }
        }
        return {};
    }
    /// One token more for one of them.
    Result<std::span<const float>> step(std::size_t twin, TokenId token, StepCapture *capture,
                                        const std::stop_token &stop)
    {
        ForwardRequest request;
        request.tokens = std::span(&token, 1);
        request.tap = capture;
        request.stop = stop;
        return m_transformer->forward(request, m_cache, m_sequences[twin]);
    }
    void measureOperations(Measuring measuring)
    {
        for (const TransformerPart &part : m_parts)
            part.backend->measureOperations(measuring);
    }
    void takeOperationTimes()
    {
        for (const TransformerPart &part : m_parts)
            (void)part.backend->takeOperationTimes();
    }

private:
    std::vector<TransformerPart> m_parts;
    std::unique_ptr<Transformer> m_transformer;
    KvCache m_cache;
    std::array<SequenceId, 2> m_sequences;
};

struct Times
{
    std::vector<double> plain;
    std::vector<double> differences;
};

/// When the two sequences take turns.
struct Rhythm
{
    std::size_t steps = 1;   ///< of one, before it is the other's turn
    std::size_t leftOut = 0; ///< the first of them, in which changing over costs
};
/// As often as can be, so that the machine is the same for both. A device remembers the pass of the step
/// before, and has to be told anew when something changes.
Rhythm rhythmOn(BackendKind backend)
{
    return backend == BackendKind::Cpu ? Rhythm{1, 0} : Rhythm{8, 1};
}

/// One way of decoding `tokens`: µs of each, and the logits of each.
struct Turn
{
    std::vector<double> us;
    std::vector<float> logits;
};

Status runTurn(Twins &twins, std::size_t twin, std::span<const TokenId> tokens, StepCapture *capture,
               Measuring operations, const std::stop_token &stop, Turn &turn)
{
    twins.measureOperations(operations);
    turn.us.clear();
    turn.logits.clear();
    for (const TokenId token : tokens) {
        const auto start = Clock::now();
        if (capture)
            capture->beginStep();
        const auto logits = twins.step(twin, token, capture, stop);
        if (operations == Measuring::On)
            twins.takeOperationTimes();
        turn.us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
        if (!logits)
            return tl::unexpected(logits.error());
        turn.logits.insert(turn.logits.end(), logits->begin(), logits->end());
    }
    return {};
}

Status measureKind(Twins &twins, const Kind &kind, StepCapture &capture, std::span<const TokenId> tokens,
                   std::size_t depth, Rhythm rhythm, const std::stop_token &stop, Times &times)
{
    if (Status ready = twins.restart(tokens.first(depth), stop); !ready)
        return ready;
    // Who is only timed gets no tap.
    const bool taps = !kind.points.empty() || kind.operations == Measuring::Off;
    std::array<Turn, 2> turns;
    for (std::size_t at = depth; at < tokens.size(); at += rhythm.steps) {
        const auto part = tokens.subspan(at, std::min(rhythm.steps, tokens.size() - at));
        for (std::size_t i = 0; i < 2; ++i) {
            // Which goes first changes too.
            const std::size_t twin = (i + at / rhythm.steps) % 2;
            const Status done = twin == 0
                                    ? runTurn(twins, twin, part, nullptr, Measuring::Off, stop, turns[twin])
                                    : runTurn(twins, twin, part, taps ? &capture : nullptr, kind.operations,
                                              stop, turns[twin]);
            if (!done)
                return done;
        }
        if (std::memcmp(turns[0].logits.data(), turns[1].logits.data(),
                        turns[0].logits.size() * sizeof(float)) != 0)
            return makeError(ErrorCode::InvalidLogits, "bench",
                             "capturing \"" + std::string(kind.name) + "\" changed the logits");
        for (std::size_t i = rhythm.leftOut; i < part.size(); ++i) {
            times.plain.push_back(turns[0].us[i]);
            times.differences.push_back(turns[1].us[i] - turns[0].us[i]);
        }
    }
    return {};
}

} // namespace

Result<std::vector<CaptureCost>> captureCosts(const std::shared_ptr<const Model> &model,
                                              const SessionSettings &settings, const BenchOptions &options,
                                              const std::stop_token &stop)
{
    auto twins = Twins::create(model, settings, stop);
    if (!twins)
        return tl::unexpected(twins.error());
    const std::size_t depth = std::max(1U, options.depth);
    const std::vector<TokenId> tokens = benchTokens(
        static_cast<std::uint32_t>(depth) + std::max(2U, options.predict), model->config().vocabulary);
    const std::vector<Kind> all = kinds();
    std::vector<StepCapture> captures;
    for (const Kind &kind : all)
        captures.emplace_back(kind.points);
    std::vector<Times> times(all.size());
    for (std::uint32_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Status done = measureKind(**twins, all[i], captures[i], tokens, depth,
                                            rhythmOn(settings.backend), stop, times[i]);
            if (!done)
                return tl::unexpected(done.error());
        }
    }
    std::vector<CaptureCost> costs;
    for (std::size_t i = 0; i < all.size(); ++i)
        costs.push_back(
            {all[i].name, medianOf(times[i].plain), medianOf(times[i].differences), captures[i].bytes()});
    return costs;
}

} // namespace tokenloupe::cli
