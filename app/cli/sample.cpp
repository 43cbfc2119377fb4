// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commandset.h"
#include "app/cli/inputs.h"
#include "app/cli/samplecase.h"
#include "app/cli/table.h"

namespace tokenloupe::cli {

namespace {

struct SampleOptions
{
    Format format = Format::Text;
    std::string cases;
};

std::string textOf(const Json &value)
{
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string resultsText(const Json &results)
{
    Table table({{"case", Align::Left},
                 {"kept", Align::Right},
                 {"argmax", Align::Right},
                 {"p of it", Align::Right},
                 {"stages (candidates left)", Align::Left}});
    for (const Json &result : results) {
        if (!result["error"].is_null()) {
            table.row({textOf(result["id"]), "", "", "", "error: " + result["error"].get<std::string>()});
            continue;
        }
        std::string stages;
        for (const Json &stage : result["stages"])
            stages += (stages.empty() ? "" : " → ") + stage["name"].get<std::string>() + " (" +
                      stage["candidates"].dump() + ")";
        const std::string argmax = result["argmax"].dump();
        const auto p = result["probs"].find(argmax);
        table.row({textOf(result["id"]), std::to_string(result["kept"].size()), argmax,
                   p == result["probs"].end() ? "" : textOf(*p), stages});
    }
    return table.text();
}

ExitStatus runSample(CommandSet &set, const SampleOptions &options)
{
    const auto file = readJsonFile(options.cases);
    if (!file)
        return set.terminal.fail(file.error());
    const Json *cases = &*file;
    if (file->is_object() && file->contains("cases"))
        cases = &(*file)["cases"];
    if (!cases->is_array())
        return set.terminal.fail(options.cases + ": {\"cases\": […]} or a list of cases is expected");
    Json results = Json::array();
    for (const Json &one : *cases) {
        if (set.interrupt.happened())
            return set.terminal.fail(Error{ErrorCode::Cancelled, "sample", "cancelled"});
        results.push_back(runSampleCase(one));
    }
    if (options.format == Format::JsonLines)
        set.terminal.json({{"results", std::move(results)}});
    else
        set.terminal.text(resultsText(results));
    return set.terminal.end();
}

} // namespace

void addSample(CommandSet &set)
{
    auto options = std::make_shared<SampleOptions>();
    CLI::App *command =
        addCommand(set, "sample", "Sampler stages over given logits: what they keep", options, runSample);
    command->add_option("--cases", options->cases, "JSON file of cases: steps, input, history")->required();
}

} // namespace tokenloupe::cli
