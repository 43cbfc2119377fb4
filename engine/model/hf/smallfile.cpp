// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/smallfile.h"

#include "engine/model/hf/jsontree.h"

namespace tokenloupe {

Result<std::shared_ptr<const MappedFile>> openSmallFile(const std::filesystem::path &path)
{
    constexpr std::size_t largest = std::size_t(256) << 20;
    auto file = MappedFile::open(path);
    if (file && (*file)->bytes().size() > largest)
        return makeError(ErrorCode::BadFile, "read " + path.filename().string(),
                         "is larger than 256 MiB: no file of a vocabulary is");
    return file;
}

std::string_view textOf(const MappedFile &file)
{
    const auto bytes = file.bytes();
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; // NOLINT: bytes as text
}

Result<nlohmann::json> readSmallJson(const std::filesystem::path &path)
{
    const auto file = openSmallFile(path);
    if (!file)
        return tl::unexpected(file.error());
    return parseJsonTree(textOf(**file), path.filename().string());
}

} // namespace tokenloupe
