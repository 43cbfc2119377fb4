// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace tokenloupe::test {

/// What a check left in its folder, as one value: "device" (device.json), "tests" (tests.json), "sanitizer"
/// (sanitizer.json), "problems" (each *.problem file's first line) and "models", one for each
/// SHAPE-TYPE.bench.json that the command line's bench wrote, with shares and goals, and with the speed of
/// decoding from SHAPE-TYPE.inorder.json where kernels did not begin early. Files that are missing
/// are left out. Throws std::runtime_error where one cannot be understood.
nlohmann::json gpuReport(const std::filesystem::path &folder);

/// The same for people: tables as wide as a terminal.
std::string gpuReportText(const nlohmann::json &report);

} // namespace tokenloupe::test
