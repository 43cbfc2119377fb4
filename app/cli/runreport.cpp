// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/runreport.h"

#include "app/cli/inputs.h"
#include "app/cli/table.h"
#include "engine/memory/memoryplan.h"
#include "engine/memory/stepwork.h"

namespace tokenloupe::cli {

namespace {

Json tokensPerSecond(std::uint32_t tokens, double ms)
{
    return tokens > 0 && ms > 0.0 ? number(tokens * 1000.0 / ms) : Json();
}

Json textOrNull(const std::string &text)
{
    return text.empty() ? Json() : Json(text);
}

std::string percent(double p)
{
    return fixed(100.0 * p, 3) + " %";
}

} // namespace

RunReport::RunReport(Terminal &terminal, const Session &session, ReportOptions options)
    : m_terminal(terminal)
    , m_session(session)
    , m_options(options)
{}

void RunReport::prompt(const RunRecord &run)
{
    m_promptTokens = static_cast<std::uint32_t>(run.prompt.size());
    m_reused = run.reusedTokens;
    m_prefillMs = run.prefillMs;
    m_firstMs = run.prefillMs;
    m_seed = run.seed;
    m_droppedTokens = run.droppedTokens;
    m_droppedTurns = run.droppedTurns;
    m_work.done = stepWork(m_session.model().config(), run.reusedTokens, run.prefilledTokens).total();
    m_work.kept = m_work.done;
    if (m_options.format == Format::JsonLines) {
        Json event{{"event", "prompt"},
                   {"ids", jsonOf(run.prompt)},
                   {"reused", run.reusedTokens},
                   {"dropped_tokens", run.droppedTokens},
                   {"dropped_turns", run.droppedTurns},
                   {"prefill_ms", number(run.prefillMs)},
                   {"seed", run.seed},
                   {"precision", precisionName(m_session.settings().precision)},
                   {"backend", m_session.backend().name()},
                   {"device", textOrNull(m_session.backend().deviceName())},
                   {"fallback_reason", textOrNull(m_session.fallbackReason())}};
        if (const auto layers = m_session.deviceLayers())
            event["device_layers"] = *layers;
        m_terminal.json(event);
    }
}

Status RunReport::token(const StepRecord &step)
{
    const Tokenizer &tokenizer = *m_session.model().tokenizer;
    const double ms = step.forwardMs + step.sampleMs + step.otherMs;
    m_droppedTokens += step.droppedTokens;
    m_droppedTurns += step.droppedTurns;
    const ModelConfig &config = m_session.model().config();
    if (m_tokens > 0)
        m_work.kept += stepWork(config, step.kvTokens - 1, 1).total();
    if (step.computedTokens > 0 && step.computedTokens <= step.kvTokens)
        m_work.done += stepWork(config, step.kvTokens - step.computedTokens, step.computedTokens).total();
    m_work.anew += stepWork(config, 0, step.kvTokens).total();
    (m_tokens++ == 0 ? m_firstMs : m_laterMs) += ms;
    // Control tokens are no part of the text; vocabularies may have fewer tokens than the model has rows.
    std::string_view bytes;
    if (step.token.value() < tokenizer.size() && !tokenizer.isControl(step.token))
        bytes = tokenizer.bytes(step.token);
    const std::string text = m_stream.push(bytes);
    m_text += text;

    std::optional<StepExplanation> explanation;
    if (m_options.top > 0 || m_options.stages) {
        ExplainRequest request;
        request.ref = step.ref;
        request.logits = m_session.currentLogits();
        request.history = m_session.history().first(step.position);
        request.settings = step.settings;
        request.step = step.ref.step.value();
        request.chosen = step.token;
        request.record = &step;
        request.top = std::min<std::uint32_t>(m_options.top, m_session.model().config().vocabulary);
        request.rankWholeVocabulary = false;
        auto explained = explainStep(request);
        if (!explained)
            return tl::unexpected(explained.error());
        explanation = std::move(*explained);
    }
    if (m_options.format == Format::JsonLines)
        m_terminal.json(tokenJson(step, text, hexOf(bytes), explanation));
    else if (explanation)
        m_terminal.text(tokenTable(step, explanation));
    else
        m_terminal.text(streamText(text));
    return {};
}

Json RunReport::tokenJson(const StepRecord &step, const std::string &text, const std::string &hex,
                          const std::optional<StepExplanation> &explanation) const
{
    Json out{{"event", "token"},
             {"step", step.ref.step.value()},
             {"id", step.token.value()},
             {"text", text},
             {"hex", hex},
             {"logit", number(step.logit)},
             {"p_raw", number(step.pRaw)},
             {"p", number(step.p)},
             {"rank", step.rank},
             {"entropy_bits", number(step.entropyBits)},
             {"u", number(step.u)},
             {"forward_ms", number(step.forwardMs)},
             {"sample_ms", number(step.sampleMs)},
             {"kv_tokens", step.kvTokens},
             {"kv_bytes", step.kvBytes},
             {"dropped_tokens", step.droppedTokens}};
    if (explanation && m_options.top > 0) {
        const Tokenizer &tokenizer = *m_session.model().tokenizer;
        Json list = Json::array();
        for (const ExplainedCandidate &candidate : explanation->candidates) {
            const std::string name = candidate.id.value() < tokenizer.size()
                                         ? sanitizedUtf8(tokenizer.bytes(candidate.id))
                                         : std::string();
            Json entry{
                {"id", candidate.id.value()},
                {"text", name},
                {"logit", number(candidate.logit)},
                {"p_raw", number(candidate.pRaw)},
                {"p", number(candidate.p)},
                {"removed_by", candidate.removedBy < 0
                                   ? Json()
                                   : Json(explanation->stages[std::size_t(candidate.removedBy)].name)}};
            if (m_options.stages) {
                Json stages = Json::array();
                for (double p : candidate.pStage)
                    stages.push_back(number(p));
                entry["p_stage"] = std::move(stages);
            }
            list.push_back(std::move(entry));
        }
        out["top"] = std::move(list);
    }
    if (explanation && m_options.stages) {
        Json list = Json::array();
        for (const ExplainedStage &stage : explanation->stages)
            list.push_back({{"name", stage.name},
                            {"candidates", stage.candidates},
                            {"mass", number(stage.mass)},
                            {"entropy_bits", number(stage.entropyBits)},
                            {"us", number(stage.microseconds)}});
        out["stages"] = std::move(list);
    }
    return out;
}

std::string RunReport::tokenTable(const StepRecord &step,
                                  const std::optional<StepExplanation> &explanation) const
{
    const Tokenizer &tokenizer = *m_session.model().tokenizer;
    const auto name = [&](TokenId id) {
        return id.value() < tokenizer.size() ? "\"" + std::string(tokenizer.bytes(id)) + "\"" : std::string();
    };
    std::string text = "step " + std::to_string(step.ref.step.value()) + ": " +
                       visibleText(name(step.token)) + "  id " + std::to_string(step.token.value()) + ", p " +
                       percent(step.p) + ", raw " + percent(step.pRaw) + ", rank " +
                       std::to_string(step.rank) + ", entropy " + fixed(step.entropyBits, 2) + " bits, u " +
                       fixed(step.u, 6) + "\n";
    if (m_options.stages) {
        Table stages({{"  stage", Align::Left},
                      {"candidates", Align::Right},
                      {"mass", Align::Right},
                      {"entropy bits", Align::Right},
                      {"µs", Align::Right}});
        for (const ExplainedStage &stage : explanation->stages)
            stages.row({"  " + stage.label, std::to_string(stage.candidates), percent(stage.mass),
                        fixed(stage.entropyBits, 3), fixed(stage.microseconds, 1)});
        text += stages.text();
    }
    if (m_options.top > 0) {
        Table top({{"  rank", Align::Right},
                   {"id", Align::Right},
                   {"text", Align::Left},
                   {"logit", Align::Right},
                   {"p raw", Align::Right},
                   {"p", Align::Right},
                   {"removed by", Align::Left}});
        for (const ExplainedCandidate &candidate : explanation->candidates)
            top.row(
                {std::to_string(candidate.rank), std::to_string(candidate.id.value()), name(candidate.id),
                 fixed(static_cast<double>(candidate.logit), 4), percent(candidate.pRaw),
                 percent(candidate.p),
                 candidate.removedBy < 0 ? "" : explanation->stages[std::size_t(candidate.removedBy)].name});
        text += top.text();
    }
    return text + "\n";
}

void RunReport::end(EndReason reason)
{
    const std::string rest = m_stream.finish();
    m_text += rest;
    if (m_options.format == Format::Text) {
        const bool tables = m_options.top > 0 || m_options.stages;
        m_terminal.text(streamText(tables ? m_text : rest) + "\n");
        if (m_terminal.state() == OutputState::Open)
            m_terminal.message(summary(reason));
        return;
    }
    m_terminal.json({{"event", "end"},
                     {"reason", endReasonName(reason)},
                     {"text", m_text},
                     {"tokens", m_tokens},
                     {"ttft_ms", m_tokens > 0 ? number(m_firstMs) : Json()},
                     {"prefill_tps", tokensPerSecond(m_promptTokens - m_reused, m_prefillMs)},
                     {"decode_tps", m_tokens > 1 ? tokensPerSecond(m_tokens - 1, m_laterMs) : Json()},
                     {"kv_bytes", m_session.kvBytes()},
                     {"dropped_tokens", m_droppedTokens},
                     {"dropped_turns", m_droppedTurns},
                     {"multiply_adds",
                      {{"done", m_work.done}, {"with_cache", m_work.kept}, {"without_cache", m_work.anew}}},
                     {"resident_bytes", processMemory().residentBytes}});
}

std::string RunReport::summary(EndReason reason) const
{
    std::string text = std::string(endReasonName(reason)) + "; prompt " + std::to_string(m_promptTokens) +
                       " tokens in " + fixed(m_prefillMs, 1) + " ms, " + std::to_string(m_tokens) + " drawn";
    if (m_tokens > 1 && m_laterMs > 0.0)
        text += " at " + fixed((m_tokens - 1) * 1000.0 / m_laterMs, 1) + " tokens/s";
    if (m_droppedTokens > 0)
        text += "; " + std::to_string(m_droppedTokens) + " tokens dropped from the context";
    return text + "; KV cache " + byteText(m_session.kvBytes()) + "; seed " + std::to_string(m_seed);
}

} // namespace tokenloupe::cli
