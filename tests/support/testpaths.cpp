// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testpaths.h"

#include <cstdlib>
#include <fstream>

namespace tokenloupe::test {

namespace fs = std::filesystem;

fs::path sourcePath(const std::string &relative)
{
    return fs::path(TOKENLOUPE_SOURCE_DIR) / relative;
}

std::optional<fs::path> sharedPath(const std::string &relative)
{
    const char *set = std::getenv("TOKENLOUPE_SHARED");
    const fs::path root = set ? fs::path(set) : fs::path(TOKENLOUPE_SOURCE_DIR).parent_path() / "shared";
    std::error_code error;
    if (fs::exists(root / relative, error))
        return root / relative;
    return std::nullopt;
}

fs::path userModelDirectory()
{
    if (const char *data = std::getenv("XDG_DATA_HOME"); data && *data)
        return fs::path(data) / "tokenloupe" / "models";
    const char *home = std::getenv("HOME");
    return fs::path(home ? home : "/root") / ".local" / "share" / "tokenloupe" / "models";
}

constexpr const char *smolModelName = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::optional<fs::path> smolModelPath()
{
    const char *set = std::getenv("TOKENLOUPE_TEST_MODEL");
    const fs::path path = set ? fs::path(set) : userModelDirectory() / smolModelName;
    std::error_code error;
    if (fs::is_regular_file(path, error))
        return path;
    return std::nullopt;
}

std::optional<fs::path> realModelPath(const std::string &fileName)
{
    if (fileName == smolModelName)
        return smolModelPath();
    const fs::path path = userModelDirectory() / fileName;
    std::error_code error;
    if (fs::is_regular_file(path, error))
        return path;
    return std::nullopt;
}

nlohmann::json readJson(const fs::path &path)
{
    std::ifstream file(path);
    return nlohmann::json::parse(file);
}

} // namespace tokenloupe::test
