// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/benchparts.h"
#include "app/cli/table.h"
#include "engine/compute/cuda/makecuda.h"
#include "engine/compute/packedweights.h"
#include "engine/estimate/machineprobe.h"
#include "engine/memory/stepreads.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>

namespace tokenloupe::cli {

namespace {

/// What packing adds to that of a part (fast precision), or takes away.
std::int64_t packingGrowth(const Model &model, const ModelPart &part)
{
    const PackingPlan plan = packingPlan(model, part);
    std::int64_t experts = 0;
    for (const LayerWeights &layer : layersOf(model.weights(), part)) {
        for (const ExpertWeights &expert : layer.experts) {
            for (const Weight *weight : {&expert.gate, &expert.up, &expert.down}) {
                if (weight->isPresent() && isPackable(weight->type))
                    experts += packedBytes(weight->type, weight->rows, weight->columns) -
                               static_cast<std::int64_t>(weight->data.size());
            }
        }
    }
    const std::int64_t all =
        static_cast<std::int64_t>(plan.packedBytes) - static_cast<std::int64_t>(plan.fileBytes);
    return all - experts + experts * model.config().expertsUsed / std::max(1U, model.config().experts);
}

/// Forgets the process's peak so far, so that what is read later is the runs' own.
void resetPeakMemory()
{
    if (std::FILE *file = std::fopen("/proc/self/clear_refs", "w")) {
        std::fputs("5", file);
        std::fclose(file);
    }
}

struct Repetition
{
    double loadMs = 0.0;
    std::optional<double> ttftMs, prefillTps, decodeTps;
    std::uint64_t residentBytes = 0;
    int threads = 0;
    std::uint64_t bytesPerToken = 0;
    std::uint64_t weightsBytes = 0;
    std::string backend, isa, device, fallbackReason;
    std::optional<std::uint32_t> deviceLayers; ///< of a device that computes a part
    double deviceBytesPerSecond = 0.0; ///< of the memory that the weights are read from; 0: the machine's
};

Result<Repetition> measure(CommandSet &set, const BenchOptions &options, SessionSettings settings)
{
    Repetition out;
    auto model = loadModel(options.model, nullptr, set.interrupt.token(), options.session.loadOptions());
    if (!model)
        return tl::unexpected(model.error());
    out.loadMs = (*model)->loadMs;
    out.bytesPerToken = weightBytesRead(*(*model)->model);
    out.weightsBytes = (*model)->model->weightsBytes();
    const std::uint32_t vocabulary = (*model)->config().vocabulary;
    if (settings.contextTokens == 0)
        settings.contextTokens = std::max(options.prompt, options.depth + options.predict + 2) + 1;
    auto session = Session::create(*model, settings, nullptr, set.interrupt.token(), makeBackend);
    if (!session)
        return tl::unexpected(session.error());
    out.deviceLayers = (*session)->deviceLayers();
    const bool isOnCpu = (*session)->settings().backend == BackendKind::Cpu || out.deviceLayers;
    if (isOnCpu && settings.precision == Precision::Fast)
        out.bytesPerToken += static_cast<std::uint64_t>(
            packingGrowth(*(*model)->model, ModelPart::from(out.deviceLayers.value_or(0))));
    out.fallbackReason = (*session)->fallbackReason();
    out.device = (*session)->backend().deviceName();
    out.deviceBytesPerSecond = (*session)->backend().bytesPerSecond();
    out.threads = out.deviceLayers ? (*session)->settings().threads : (*session)->backend().threads();
    out.backend = (*session)->backend().name();
    out.isa = (*session)->backend().isa();
    StepRequest request;
    request.settings = greedySettings();
    request.stop = set.interrupt.token();

    if (options.prompt > 0) {
        const auto prefilled =
            (*session)->prefill(benchTokens(options.prompt, vocabulary), 0, nullptr, set.interrupt.token());
        if (!prefilled)
            return tl::unexpected(prefilled.error());
        const auto first = (*session)->step(request);
        if (!first)
            return tl::unexpected(first.error());
        out.prefillTps = prefilled->prefilledTokens * 1000.0 / prefilled->prefillMs;
        out.ttftMs = prefilled->prefillMs + first->sampleMs + first->otherMs;
    }
    if (options.predict > 0) {
        const auto tps = decodeSpeed(**session, request, options, set.interrupt.token());
        if (!tps)
            return tl::unexpected(tps.error());
        out.decodeTps = *tps;
    }
    out.residentBytes = processMemory().residentBytes;
    return out;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

struct Lists
{
    std::vector<double> load, ttft, prefill, decode;
};

Lists listsOf(const std::vector<Repetition> &repetitions)
{
    Lists lists;
    for (const Repetition &r : repetitions) {
        lists.load.push_back(r.loadMs);
        if (r.ttftMs)
            lists.ttft.push_back(*r.ttftMs);
        if (r.prefillTps)
            lists.prefill.push_back(*r.prefillTps);
        if (r.decodeTps)
            lists.decode.push_back(*r.decodeTps);
    }
    return lists;
}

/// Bytes per second that plain reading reaches.
struct ReadSpeeds
{
    double before = 0.0, after = 0.0; ///< from memory, around the runs
    double ofWeights = 0.0;           ///< from a buffer as large as what a token reads; 0: not decoded
};

Json benchJson(const BenchOptions &options, const std::vector<Repetition> &repetitions,
               const ReadSpeeds &speeds, std::uint64_t peak)
{
    const Lists lists = listsOf(repetitions);
    const Repetition &last = repetitions.back();
    // Weights that a large cache holds in part may be read faster than memory.
    const double fastest = std::max({1.0, (speeds.before + speeds.after) / 2.0, speeds.ofWeights});
    // Of two memories that are read one after the other none says how fast it could be.
    const bool hasShare = !lists.decode.empty() && !last.deviceLayers;
    const double share = static_cast<double>(last.bytesPerToken) * median(lists.decode) / fastest;
    const auto whole = [](double value) { return static_cast<std::uint64_t>(value); };
    Json facts{{"model", options.model},
               {"threads", last.threads},
               {"precision", options.session.precision},
               {"quantize", loadQuantizationName(options.session.loadOptions().quantization)},
               {"weights_bytes", last.weightsBytes},
               {"load_ms", lists.load},
               {"ttft_ms", lists.ttft},
               {"prefill_tps", lists.prefill},
               {"decode_tps", lists.decode},
               {"bytes_per_token", last.bytesPerToken},
               {"bandwidth_bytes_per_s", {whole(speeds.before), whole(speeds.after)}},
               {"weights_bandwidth_bytes_per_s", whole(speeds.ofWeights)},
               {"last_level_cache_bytes", lastLevelCacheBytes()},
               {"bandwidth_share", hasShare ? number(share) : Json()},
               {"resident_peak_bytes", peak},
               {"backend", last.backend},
               {"isa", last.isa},
               {"device", last.device.empty() ? Json() : Json(last.device)},
               {"fallback_reason", last.fallbackReason.empty() ? Json() : Json(last.fallbackReason)},
               {"prompt_tokens", options.prompt},
               {"decoded_tokens", options.predict},
               {"depth", options.depth}};
    if (last.deviceLayers)
        facts["device_layers"] = *last.deviceLayers;
    return facts;
}

std::string benchText(const Json &facts)
{
    Table numbers({{"", Align::Left}, {"median", Align::Right}, {"each repetition", Align::Left}});
    for (const char *key : {"load_ms", "ttft_ms", "prefill_tps", "decode_tps"}) {
        const auto values = facts[key].get<std::vector<double>>();
        std::string list;
        for (double value : values)
            list += (list.empty() ? "" : "  ") + fixed(value, 1);
        numbers.row({key, values.empty() ? "–" : fixed(median(values), 1), list});
    }
    const auto bandwidth = facts["bandwidth_bytes_per_s"].get<std::vector<double>>();
    Table rest({{"", Align::Left}, {"", Align::Left}});
    rest.row({"model", facts["model"].get<std::string>()});
    rest.row({"backend", facts["backend"].get<std::string>() + " " + facts["isa"].get<std::string>() + ", " +
                             facts["threads"].dump() + " threads, " + facts["precision"].get<std::string>()});
    if (const auto layers = facts.find("device_layers"); layers != facts.end())
        rest.row({"layers",
                  layers->dump() + " on " + facts["device"].get<std::string>() + ", the rest on the CPU"});
    rest.row({"weights", byteText(facts["weights_bytes"].get<std::uint64_t>()) +
                             (facts["quantize"] == "stored"
                                  ? std::string(" as stored")
                                  : ", quantised to " + facts["quantize"].get<std::string>())});
    rest.row({"weights read per token", byteText(facts["bytes_per_token"].get<std::uint64_t>())});
    rest.row({"memory read speed", fixed(bandwidth[0] / 1e9, 2) + " GB/s before, " +
                                       fixed(bandwidth[1] / 1e9, 2) + " GB/s after"});
    if (const double weights = facts["weights_bandwidth_bytes_per_s"].get<double>(); weights > 0.0)
        rest.row({"read speed of so many bytes", fixed(weights / 1e9, 2) + " GB/s"});
    if (facts["bandwidth_share"].is_number())
        rest.row(
            {"share of the faster used", fixed(100.0 * facts["bandwidth_share"].get<double>(), 1) + " %"});
    rest.row({"peak resident", byteText(facts["resident_peak_bytes"].get<std::uint64_t>())});
    return rest.text() + "\n" + numbers.text();
}

ExitStatus runModelBench(CommandSet &set, const BenchOptions &options, const SessionSettings &settings)
{
    const int threads = settings.threads > 0 ? settings.threads : usableCores();
    const auto before = readBandwidth(threads);
    if (!before)
        return set.terminal.fail(before.error());
    resetPeakMemory();
    std::vector<Repetition> repetitions;
    std::uint64_t resident = 0;
    for (std::uint32_t i = 0; i < options.repetitions; ++i) {
        auto repetition = measure(set, options, settings);
        if (!repetition)
            return set.terminal.fail(repetition.error());
        if (i == 0 && !repetition->fallbackReason.empty())
            set.terminal.message(repetition->fallbackReason + ": running on the CPU");
        resident = std::max(resident, repetition->residentBytes);
        repetitions.push_back(std::move(*repetition));
    }
    // Where the peak cannot be reset it still holds the probe's buffer: then the largest of the readings
    // counts.
    const std::uint64_t peak = processMemory().peakResidentBytes;
    constexpr std::uint64_t probeBytes = std::uint64_t(500) << 20; // of the probe, at least
    const std::uint64_t own = peak > resident + probeBytes || peak < resident ? resident : peak;
    const auto after = readBandwidth(threads);
    if (!after)
        return set.terminal.fail(after.error());
    ReadSpeeds speeds{*before, *after, 0.0};
    const double device = repetitions.back().deviceBytesPerSecond;
    if (device > 0.0 && !repetitions.back().deviceLayers)
        speeds = {device, device, 0.0};
    else if (options.predict > 0 && !repetitions.back().deviceLayers)
        speeds.ofWeights = readBandwidth(threads, repetitions.back().bytesPerToken).value_or(0.0);
    const Json facts = benchJson(options, repetitions, speeds, own);
    if (options.format == Format::JsonLines)
        set.terminal.json(facts);
    else
        set.terminal.text(benchText(facts));
    return set.terminal.end();
}

ExitStatus runBench(CommandSet &set, const BenchOptions &options)
{
    const int parts = int(options.sampler) + int(options.tokenizerFile.has_value()) + int(options.trace);
    if (parts > 1)
        return set.terminal.usage("bench: one of --sampler, --tokenizer, --trace");
    const auto settings = options.session.settings();
    if (!settings)
        return set.terminal.usage("bench: " + settings.error().text());
    if (options.sampler)
        return benchSampler(set, options);
    if (options.model.empty())
        return set.terminal.usage("bench: give a MODEL");
    if (options.tokenizerFile)
        return benchTokenizer(set, options);
    if (options.trace)
        return benchTrace(set, options, *settings);
    return runModelBench(set, options, *settings);
}

} // namespace

void addBench(CommandSet &set)
{
    auto options = std::make_shared<BenchOptions>();
    CLI::App *command = addCommand(set, "bench", "How fast a model runs on this machine", options, runBench);
    command->add_option("model", options->model,
                        "GGUF file or Hugging Face folder (not needed with --sampler)");
    command->add_option("-p,--prompt-tokens", options->prompt, "Tokens to prefill; 0: leave that part out")
        ->capture_default_str();
    command->add_option("-n,--predict", options->predict, "Tokens to decode; 0: leave that part out")
        ->capture_default_str();
    command->add_option("-r,--repetitions", options->repetitions, "Repetitions, each with a fresh load")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    command->add_option("--depth", options->depth, "Decode after this many tokens")->capture_default_str();
    command->add_flag(
        "--sampler", options->sampler,
        "Sampler chains instead: µs a token by vocabulary size, for peaked and flat distributions");
    command->add_option("--tokenizer", options->tokenizerFile,
                        "The tokenizer over this text file instead: MB/s");
    command->add_flag("--trace", options->trace,
                      "What recording for every panel costs instead, and capturing intermediates of a step");
    options->session.addTo(*command);
}

} // namespace tokenloupe::cli
