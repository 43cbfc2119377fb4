// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/estimate/modelshape.h"
#include "engine/estimate/shapegguf.h"
#include "engine/model/ggufmagic.h"

#include <cstdio>
#include <fstream>
#include <optional>

namespace tokenloupe {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t maxTextBytes = 16U << 20; ///< far above any config
constexpr std::uint64_t maxParts = 1U << 14;

std::string operationFor(const fs::path &path)
{
    return "read " + sanitizedUtf8(path.string());
}

/// By the first bytes; files that claim to be GGUF by name go the same way, for the reader's better messages.
bool isGguf(const fs::path &path)
{
    char magic[4] = {};
    std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
    return std::string_view(magic, sizeof magic) == ggufMagic || path.extension() == ".gguf";
}

/// "model-00001-of-00003.gguf" is the first of three; part `number` (from 1) has this name.
std::optional<fs::path> partPath(const fs::path &first, std::uint64_t number, std::uint64_t count)
{
    char suffix[48];
    std::snprintf(suffix, sizeof suffix, "-00001-of-%05llu.gguf", static_cast<unsigned long long>(count));
    const std::string name = first.filename().string();
    if (!name.ends_with(suffix))
        return {};
    const std::string stem = name.substr(0, name.size() - std::char_traits<char>::length(suffix));
    std::snprintf(suffix, sizeof suffix, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(number),
                  static_cast<unsigned long long>(count));
    return first.parent_path() / (stem + suffix);
}

Result<ModelShape> readGguf(const fs::path &path)
{
    auto first = GgufFile::open(path);
    if (!first)
        return tl::unexpected(first.error());
    std::vector<std::shared_ptr<const GgufFile>> parts = {*first};
    const std::uint64_t count = (*first)->unsignedValue("split.count").value_or(1);
    if (count <= 1)
        return shapeOfGgufParts(parts);

    const std::uint64_t place = (*first)->unsignedValue("split.no").value_or(0);
    if (place != 0 || count > maxParts)
        return makeError(ErrorCode::InvalidArgument, operationFor(path),
                         "key \"split.no\": expected the first of " + std::to_string(count) +
                             " parts, found part " + std::to_string(place + 1));
    for (std::uint64_t number = 2; number <= count; ++number) {
        const auto next = partPath(path, number, count);
        if (!next)
            return makeError(ErrorCode::InvalidArgument, operationFor(path),
                             "expected a name that ends in -00001-of-" + std::to_string(count) +
                                 ".gguf, as the parts beside it do");
        auto part = GgufFile::open(*next);
        if (!part)
            return tl::unexpected(part.error());
        if ((*part)->unsignedValue("split.no").value_or(0) != number - 1 ||
            (*part)->unsignedValue("split.count").value_or(0) != count)
            return makeError(ErrorCode::BadFile, operationFor(*next),
                             "key \"split.no\": expected part " + std::to_string(number) + " of " +
                                 std::to_string(count) + ", found another");
        parts.push_back(*part);
    }
    return shapeOfGgufParts(parts);
}

Result<ModelShape> readJsonFile(const fs::path &path)
{
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (error)
        return makeError(ErrorCode::IoError, operationFor(path), error.message());
    if (size > maxTextBytes)
        return makeError(ErrorCode::InvalidArgument, operationFor(path),
                         "expected a GGUF file or a config of at most 16 MiB, found " + std::to_string(size) +
                             " bytes of something else");
    std::ifstream stream(path, std::ios::binary);
    std::string text(size, '\0');
    if (!stream.read(text.data(), static_cast<std::streamsize>(size)))
        return makeError(ErrorCode::IoError, operationFor(path), "the file cannot be read");
    // A config says nothing about its name; the folder that it lies in does.
    const bool isConfig = path.filename() == "config.json";
    const fs::path named = isConfig ? fs::absolute(path, error).parent_path().filename() : path.filename();
    return shapeOfJson(text, named.string());
}

} // namespace

Result<ModelShape> readModelShape(const fs::path &path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
        return makeError(ErrorCode::NotFound, operationFor(path), "no such file or folder");
    if (fs::is_directory(status)) {
        const fs::path config = path / "config.json";
        if (!fs::exists(config, error))
            return makeError(ErrorCode::NotFound, operationFor(path), "the folder holds no config.json");
        return readJsonFile(config);
    }
    if (!fs::is_regular_file(status))
        return makeError(ErrorCode::InvalidArgument, operationFor(path), "expected a file or a folder");
    return isGguf(path) ? readGguf(path) : readJsonFile(path);
}

} // namespace tokenloupe
