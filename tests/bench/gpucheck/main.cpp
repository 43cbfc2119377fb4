// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of tests/bench/gpu_check that are no matter of a script.
#include "tests/bench/gpucheck/devicetimes.h"
#include "tests/bench/gpucheck/randommodel.h"
#include "tests/bench/gpucheck/report.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

void writeModel(const std::string &shapeName, std::string typeName, const std::string &path,
                std::uint64_t seed)
{
    const RandomModelShape *shape = randomModelShape(shapeName);
    if (!shape)
        throw std::runtime_error("there is no shape \"" + shapeName + "\"");
    std::transform(typeName.begin(), typeName.end(), typeName.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const auto type = tensorTypeNamed(typeName);
    if (!type)
        throw std::runtime_error("there is no weight type \"" + typeName + "\"");
    const std::uint64_t bytes = writeRandomModel(path, *shape, *type, seed);
    std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes));
}

void writeReport(const std::string &folder, const std::string &path)
{
    const nlohmann::json report = gpuReport(folder);
    std::ofstream file(path, std::ios::trunc);
    file << report.dump(2) << '\n';
    file.close();
    if (!file)
        throw std::runtime_error("cannot write " + path);
    std::fputs(gpuReportText(report).c_str(), stdout);
}

} // namespace

int main(int argc, char *argv[])
{
    CLI::App app("What tests/bench/gpu_check is made of");
    app.require_subcommand(1);

    std::string shape, type, path, folder;
    std::uint64_t seed = 1;
    CLI::App *model = app.add_subcommand("model", "Write a model with random weights");
    model->add_option("shape", shape, "1b, 8b or tiny")->required();
    model->add_option("type", type, "q4_0, q8_0 or f16")->required();
    model->add_option("file", path, "GGUF file to write")->required();
    model->add_option("--seed", seed, "Of the weights")->capture_default_str();

    CLI::App *device = app.add_subcommand("device", "Time copies, products and kernels; JSON");

    CLI::App *report = app.add_subcommand("report", "One JSON file and a table of what a folder holds");
    report->add_option("folder", folder, "Where the parts lie")->required();
    report->add_option("file", path, "JSON file to write")->required();

    CLI11_PARSE(app, argc, argv);
    try {
        if (model->parsed())
            writeModel(shape, type, path, seed);
        else if (device->parsed())
            std::printf("%s\n", measureDevice({}).dump(2).c_str());
        else
            writeReport(folder, path);
    } catch (const NoDeviceError &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 77;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
