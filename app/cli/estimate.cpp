// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/estimateoptions.h"
#include "app/cli/estimatetext.h"

namespace tokenloupe::cli {

namespace {

ExitStatus show(CommandSet &set, const EstimateOptions &options, const Json &json, const std::string &text)
{
    if (options.format == Format::JsonLines)
        set.terminal.json(json);
    else
        set.terminal.text(text);
    return set.terminal.end();
}

ExitStatus refuse(CommandSet &set, const Error &error)
{
    const std::string option = optionOf(error);
    return option.empty() ? set.terminal.fail(error)
                          : set.terminal.usage("estimate: " + option + ": " + error.message);
}

ExitStatus listGpus(CommandSet &set, const EstimateOptions &options)
{
    const auto catalogue = userCatalogue();
    if (!catalogue)
        return set.terminal.fail(catalogue.error());
    return show(set, options, gpuListJson(catalogue->gpus()), gpuListText(catalogue->gpus()));
}

ExitStatus listShapes(CommandSet &set, const EstimateOptions &options)
{
    const std::vector<std::string> names = builtInShapeNames();
    std::string text;
    for (const std::string &name : names)
        text += name + "\n";
    return show(set, options, Json{{"shapes", names}}, text);
}

ExitStatus showTable(CommandSet &set, const EstimateOptions &options, const EstimateRequest &request)
{
    std::vector<std::string> types{"F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M"};
    if (request.shape->storedBytes() > 0)
        types.insert(types.begin(), "stored");
    const std::uint64_t most = request.shape->contextTrain > 0 ? request.shape->contextTrain : 131072;
    std::vector<std::uint64_t> contexts;
    for (std::uint64_t context = std::min<std::uint64_t>(2048, most); context <= most; context *= 4)
        contexts.push_back(context);
    if (contexts.back() < most)
        contexts.push_back(most);
    const auto table = fitTable(request, types, contexts);
    if (!table)
        return refuse(set, table.error());
    return show(set, options, fitTableJson(*table), fitTableText(*table));
}

ExitStatus runEstimate(CommandSet &set, const EstimateOptions &options)
{
    if (const std::string conflict = options.conflict(); !conflict.empty())
        return set.terminal.usage("estimate: " + conflict);
    if (options.listGpus)
        return listGpus(set, options);
    if (options.listShapes)
        return listShapes(set, options);
    const auto request = estimateRequest(options);
    if (!request)
        return request.error().isUsage ? set.terminal.usage("estimate: " + request.error().error.text())
                                       : refuse(set, request.error().error);
    if (options.table)
        return showTable(set, options, *request);
    const auto result = estimate(*request);
    if (!result)
        return refuse(set, result.error());
    std::optional<MeasuredMemory> measured;
    if (options.measure) {
        auto memory = measureEstimate(set, options, *request);
        if (!memory)
            return refuse(set, memory.error());
        measured = std::move(*memory);
    }
    const ExitStatus status = show(set, options, estimateJson(*request, *result, measured),
                                   estimateText(*request, *result, measured));
    return status == ExitStatus::Done && !result->fits ? ExitStatus::DoesNotFit : status;
}

} // namespace

void addEstimate(CommandSet &set)
{
    auto options = std::make_shared<EstimateOptions>();
    CLI::App *command = addCommand(
        set, "estimate", "What a model needs at a context and batch, where it fits, how fast it can be",
        options, runEstimate);
    options->addTo(*command);
}

} // namespace tokenloupe::cli
