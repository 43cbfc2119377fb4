// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/addcommand.h"
#include "app/cli/inputs.h"
#include "app/cli/table.h"
#include "engine/sampling/samplecases.h"

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

/// All keys, in their order; nothing in them where the case could not be run.
Json inOrder(const Json &answer)
{
    Json result{{"id", nullptr},           {"kept", Json::array()},  {"probs", Json::object()},
                {"logits", Json::array()}, {"argmax", nullptr},      {"mu", nullptr},
                {"error", nullptr},        {"stages", Json::array()}};
    result.update(answer);
    return result;
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
    // A bare list of cases will do too.
    const nlohmann::json document = file->is_array() ? Json{{"cases", *file}} : *file;
    const auto answered = runSampleCases(document);
    if (!answered)
        return set.terminal.fail(Error{answered.error().code, options.cases, answered.error().text()});
    Json results = Json::array();
    const Json answers = (*answered)["results"];
    for (const Json &answer : answers)
        results.push_back(inOrder(answer));
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
