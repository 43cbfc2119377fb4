// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/sessionoptions.h"

#include "app/cli/progressmeter.h"
#include "engine/compute/cuda/makecuda.h"

#include <CLI/CLI.hpp>

namespace tokenloupe::cli {

namespace {

std::string kvTypeList()
{
    std::string list;
    for (const KvType type : kvTypes())
        list += (list.empty() ? "" : ", ") + std::string(kvTypeName(type));
    return list;
}

std::string quantizationList()
{
    std::string list;
    for (const LoadQuantization quantization : loadQuantizations())
        list += (list.empty() ? "" : ", ") + std::string(loadQuantizationName(quantization));
    return list;
}

} // namespace

void SessionOptions::addTo(CLI::App &command)
{
    command.add_option("-t,--threads", threads, "Threads; default: one for each core")
        ->check(CLI::Range(1U, 1024U));
    command.add_option("-c,--context", context, "Context in tokens; default: the model's own, at most 8192")
        ->check(CLI::Range(1U, 4294967294U));
    command.add_option("--kv-type-k", keyType, "Element type of cached keys: " + kvTypeList());
    command.add_option("--kv-type-v", valueType, "Element type of cached values: " + kvTypeList());
    command.add_option("--kv-block", blockTokens, "Tokens in a block of the cache")
        ->check(CLI::Range(1U, 1024U));
    command.add_option("--precision", precision,
                       "exact: float32 activations; fast: rounded to 15 bits, quicker");
    command.add_option("--quantize", quantize,
                       "Weights that are larger become this while loading: " + quantizationList());
    command.add_option("--backend", backend, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}));
    command.add_option("--device-layers", deviceLayers,
                       "With cuda: the first N layers there, the rest on the CPU; default: all");
}

Result<SessionSettings> SessionOptions::settings() const
{
    SessionSettings settings;
    settings.threads = static_cast<int>(threads);
    settings.contextTokens = context;
    settings.logitBudgetBytes = 0; // rows are used when they are made, or kept by the command itself
    const auto keys = kvTypeOf(keyType);
    if (!keys)
        return makeError(ErrorCode::InvalidArgument, "--kv-type-k",
                         "one of " + kvTypeList() + ", not \"" + keyType + "\"");
    const auto values = kvTypeOf(valueType);
    if (!values)
        return makeError(ErrorCode::InvalidArgument, "--kv-type-v",
                         "one of " + kvTypeList() + ", not \"" + valueType + "\"");
    settings.keyType = *keys;
    settings.valueType = *values;
    settings.blockTokens = blockTokens;
    settings.backend = backendKindOf(backend).value_or(BackendKind::Cpu);
    settings.deviceLayers = deviceLayers;
    const auto wanted = precisionOf(precision);
    if (!wanted)
        return makeError(ErrorCode::InvalidArgument, "--precision",
                         "exact or fast, not \"" + precision + "\"");
    settings.precision = *wanted;
    if (!loadQuantizationOf(quantize))
        return makeError(ErrorCode::InvalidArgument, "--quantize",
                         "one of " + quantizationList() + ", not \"" + quantize + "\"");
    return settings;
}

ModelLoadOptions SessionOptions::loadOptions() const
{
    return {loadQuantizationOf(quantize).value_or(LoadQuantization::AsStored), static_cast<int>(threads)};
}

std::shared_ptr<const LoadedModel> loadModelShowing(CommandSet &set, const std::string &path,
                                                    const ModelLoadOptions &options, ExitStatus &status)
{
    auto model = [&] {
        ProgressMeter meter("loading");
        return loadModel(path, meter.progress(), set.interrupt.token(), options);
    }();
    if (!model) {
        status = set.terminal.fail(model.error());
        return nullptr;
    }
    set.terminal.warnings((*model)->warnings);
    return *model;
}

void tellBackend(CommandSet &set, const Session &session)
{
    if (!session.fallbackReason().empty())
        set.terminal.message(session.fallbackReason() + ": running on the CPU");
    else if (const auto layers = session.deviceLayers())
        set.terminal.message("running " + std::to_string(*layers) + " of " +
                             std::to_string(session.model().config().layers) + " layers on " +
                             session.backend().deviceName() + ", the rest on the CPU");
    else if (const std::string device = session.backend().deviceName(); !device.empty())
        set.terminal.message("running on " + device);
    if (const std::string remark = session.backend().remark(); !remark.empty())
        set.terminal.message(remark);
}

std::unique_ptr<Session> openSession(CommandSet &set, std::shared_ptr<const LoadedModel> model,
                                     const SessionSettings &settings, ExitStatus &status)
{
    auto session = [&] {
        ProgressMeter meter("preparing");
        return Session::create(std::move(model), settings, meter.progress(), set.interrupt.token(),
                               makeBackend);
    }();
    if (!session) {
        status = set.terminal.fail(session.error());
        return nullptr;
    }
    tellBackend(set, **session);
    return std::move(*session);
}

Status checkIds(const LoadedModel &model, const std::vector<TokenId> &ids)
{
    const std::uint32_t vocabulary = model.config().vocabulary;
    for (TokenId id : ids) {
        if (id.value() >= vocabulary)
            return makeError(ErrorCode::InvalidArgument, "token id " + std::to_string(id.value()),
                             "the vocabulary has ids 0 to " + std::to_string(vocabulary - 1));
    }
    return {};
}

} // namespace tokenloupe::cli
