// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tokenloupe::test {

/// Reference data that lives beside the checkout (or at $TOKENLOUPE_SHARED) and is not part of the project:
/// `relative` inside it, or nothing when it is not there.
std::optional<std::filesystem::path> sharedPath(const std::string &relative);

/// The small real model that scripts/test fetches ($TOKENLOUPE_TEST_MODEL, else the user's data directory).
std::optional<std::filesystem::path> smolModelPath();

/// Any of the real models by its file name, in the user's data directory; the small one as above.
std::optional<std::filesystem::path> realModelPath(const std::string &fileName);

/// A file of the project: `relative` to the source folder.
std::filesystem::path sourcePath(const std::string &relative);

nlohmann::json readJson(const std::filesystem::path &path);

/// Where the small model lies for scripts/run and scripts/test.
std::filesystem::path userModelDirectory();

} // namespace tokenloupe::test

/// Skips the test function with a clear line when reference data is not there.
#define TOKENLOUPE_NEED_SHARED(variable, relative)                                                           \
    const auto variable##Found = tokenloupe::test::sharedPath(relative);                                     \
    if (!variable##Found)                                                                                    \
        QSKIP("reference data is not beside this checkout: " relative);                                      \
    const std::filesystem::path variable = *variable##Found

#define TOKENLOUPE_NEED_SMOL(variable)                                                                       \
    const auto variable##Found = tokenloupe::test::smolModelPath();                                          \
    if (!variable##Found)                                                                                    \
        QSKIP("SmolLM2-135M-Instruct.Q4_1.gguf is not here: scripts/test fetches it");                       \
    const std::filesystem::path variable = *variable##Found
