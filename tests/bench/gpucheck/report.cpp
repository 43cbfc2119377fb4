// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/gpucheck/report.h"

#include "app/cli/table.h"
#include "tests/bench/gpucheck/randommodel.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <vector>

namespace tokenloupe::test {

namespace {

using Json = nlohmann::json;
using cli::Align;
using cli::fixed;
using cli::Table;

constexpr double giga = 1e9;
constexpr double tera = 1e12;

Json readObject(const std::filesystem::path &path)
{
    std::ifstream file(path);
    Json value = Json::parse(file, nullptr, false);
    if (!value.is_object())
        throw std::runtime_error(path.string() + " holds no JSON object");
    return value;
}

std::optional<double> median(const Json &values)
{
    auto numbers = values.get<std::vector<double>>();
    if (numbers.empty())
        return std::nullopt;
    std::sort(numbers.begin(), numbers.end());
    return numbers[numbers.size() / 2];
}

/// Of what the copy of memory reaches; 0: none is set for this shape.
double decodeGoal(std::string_view shape, std::string_view type)
{
    if (shape != "8b")
        return 0.0;
    return type == "q4_0" ? 0.75 : 0.85;
}

/// Of what a large product of halves reaches.
double prefillGoal(std::string_view shape)
{
    return shape == "8b" ? 0.60 : 0.0;
}

void addShare(Json &model, const std::string &key, double reached, const Json &limit, double goal)
{
    if (!limit.is_number() || limit.get<double>() <= 0.0)
        return;
    const double share = reached / limit.get<double>();
    model[key + "_share"] = share;
    if (goal > 0.0) {
        model[key + "_goal"] = goal;
        model[key + "_meets_goal"] = share >= goal;
    }
}

Json modelEntry(const std::string &shapeName, const std::string &typeName, const Json &bench,
                const Json &device)
{
    Json model = {{"shape", shapeName},
                  {"type", typeName},
                  {"backend", bench.at("backend")},
                  {"weights_bytes", bench.at("weights_bytes")},
                  {"bytes_per_token", bench.at("bytes_per_token")},
                  {"prompt_tokens", bench.at("prompt_tokens")},
                  {"depth", bench.at("depth")}};
    if (const auto load = median(bench.at("load_ms")))
        model["load_ms"] = *load;
    if (const auto decode = median(bench.at("decode_tps"))) {
        model["decode_tps"] = *decode;
        const double rate = *decode * bench.at("bytes_per_token").get<double>();
        model["decode_bytes_per_s"] = rate;
        addShare(model, "decode", rate, device.value("copy_bytes_per_s", Json()),
                 decodeGoal(shapeName, typeName));
    }
    const RandomModelShape *shape = randomModelShape(shapeName);
    const auto prefill = median(bench.at("prefill_tps"));
    if (prefill && shape) {
        const auto tokens = bench.at("prompt_tokens").get<std::uint64_t>();
        const double rate = *prefill * shape->prefillOperations(tokens) / double(tokens);
        model["prefill_tps"] = *prefill;
        model["prefill_operations_per_s"] = rate;
        addShare(model, "prefill", rate, device.value("half_operations_per_s", Json()),
                 prefillGoal(shapeName));
    }
    return model;
}

std::string percent(const Json &model, const std::string &key)
{
    if (!model.contains(key + "_share"))
        return "–";
    std::string text = fixed(100.0 * model[key + "_share"].get<double>(), 1) + " %";
    if (model.contains(key + "_goal"))
        text += (model[key + "_meets_goal"].get<bool>() ? " (goal " : " (short of ") +
                fixed(100.0 * model[key + "_goal"].get<double>(), 0) + ")";
    return text;
}

std::string scaled(const Json &object, const char *key, double unit, int decimals)
{
    const Json value = object.value(key, Json());
    return value.is_number() ? fixed(value.get<double>() / unit, decimals) : "–";
}

std::string deviceLines(const Json &device)
{
    std::string text = device.at("device").get<std::string>() + ", compute capability " +
                       device.at("capability").get<std::string>() + ", driver for CUDA " +
                       device.at("driver").get<std::string>() + "\n";
    text += "copy " + scaled(device, "copy_bytes_per_s", giga, 0) +
            " GB/s (read and written), products of halves " +
            scaled(device, "half_operations_per_s", tera, 1) + " TFLOP/s\n";
    if (device.contains("cublas"))
        text += "no cuBLAS: " + device["cublas"].get<std::string>() + "\n";
    return text;
}

std::string modelTable(const Json &models)
{
    Table table({{"shape", Align::Left},
                 {"weights", Align::Left},
                 {"MB/token", Align::Right},
                 {"decode tok/s", Align::Right},
                 {"in order", Align::Right},
                 {"GB/s", Align::Right},
                 {"of copy", Align::Left},
                 {"prefill tok/s", Align::Right},
                 {"TFLOP/s", Align::Right},
                 {"of products", Align::Left}});
    for (const Json &model : models)
        table.row({model["shape"].get<std::string>(), model["type"].get<std::string>(),
                   scaled(model, "bytes_per_token", 1e6, 0), scaled(model, "decode_tps", 1.0, 1),
                   scaled(model, "decode_in_order_tps", 1.0, 1), scaled(model, "decode_bytes_per_s", giga, 0),
                   percent(model, "decode"), scaled(model, "prefill_tps", 1.0, 0),
                   scaled(model, "prefill_operations_per_s", tera, 1), percent(model, "prefill")});
    return table.text();
}

std::string kernelTable(const Json &kernels)
{
    Table table(
        {{"kernel", Align::Left}, {"µs", Align::Right}, {"GB/s", Align::Right}, {"TFLOP/s", Align::Right}});
    for (const Json &kernel : kernels)
        table.row({kernel.at("kernel").get<std::string>(), scaled(kernel, "microseconds", 1.0, 2),
                   scaled(kernel, "bytes_per_s", giga, 0), scaled(kernel, "operations_per_s", tera, 1)});
    return table.text();
}

} // namespace

Json gpuReport(const std::filesystem::path &folder)
{
    Json report = Json::object();
    for (const char *part : {"device", "tests", "sanitizer"}) {
        const std::filesystem::path path = folder / (std::string(part) + ".json");
        if (std::filesystem::exists(path))
            report[part] = readObject(path);
    }
    const Json device = report.value("device", Json::object());
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    report["models"] = Json::array();
    report["problems"] = Json::array();
    constexpr std::string_view ending = ".bench.json";
    for (const std::filesystem::path &path : files) {
        const std::string name = path.filename().string();
        const std::size_t dash = name.find('-');
        if (name.ends_with(ending) && dash != std::string::npos) {
            const std::string type = name.substr(dash + 1, name.size() - ending.size() - dash - 1);
            const Json bench = readObject(path);
            report["models"].push_back(modelEntry(name.substr(0, dash), type, bench, device));
            const std::filesystem::path inOrder =
                folder / (name.substr(0, name.size() - ending.size()) + ".inorder.json");
            if (std::filesystem::exists(inOrder)) {
                if (const auto decode = median(readObject(inOrder).at("decode_tps")))
                    report["models"].back()["decode_in_order_tps"] = *decode;
            }
            if (const Json reason = bench.value("fallback_reason", Json()); reason.is_string())
                report["problems"].push_back(name.substr(0, name.size() - ending.size()) + ": " +
                                             reason.get<std::string>());
        }
        if (path.extension() == ".problem") {
            std::ifstream file(path);
            std::string line;
            std::getline(file, line);
            report["problems"].push_back(path.stem().string() + ": " + line);
        }
    }
    return report;
}

std::string gpuReportText(const Json &report)
{
    std::string text;
    if (report.contains("device"))
        text += deviceLines(report["device"]);
    if (report.contains("tests")) {
        const Json &tests = report["tests"];
        text += "tests on the device: " + tests.at("passed").dump() + " passed, " +
                tests.at("failed").dump() + " failed, " + tests.at("skipped").dump() + " skipped\n";
    }
    if (report.contains("sanitizer")) {
        for (const auto &[tool, outcome] : report["sanitizer"].items())
            text += "compute-sanitizer " + tool + ": " + outcome.get<std::string>() + "\n";
    }
    for (const Json &problem : report.at("problems"))
        text += "problem: " + problem.get<std::string>() + "\n";
    if (!report.at("models").empty())
        text += "\n" + modelTable(report["models"]);
    if (report.contains("device") && report["device"].contains("kernels"))
        text += "\n" + kernelTable(report["device"]["kernels"]);
    return text;
}

} // namespace tokenloupe::test
