// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"
#include "engine/estimate/modelshape.h"
#include "engine/model/ggufmagic.h"

#include <fstream>

namespace tokenloupe {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t maxTextBytes = 16U << 20; ///< far above any config

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

Result<ModelShape> readGguf(const fs::path &path)
{
    const auto file = GgufFile::openWhole(path);
    if (!file)
        return tl::unexpected(file.error());
    return shapeOfGguf(**file);
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

/// With the types of the weights, where these are there and can be read; else as the config alone says.
Result<ModelShape> readFolder(const fs::path &folder)
{
    if (const auto container = openModelContainer(folder))
        return shapeOfContainer(**container);
    return readJsonFile(folder / "config.json");
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
        return readFolder(path);
    }
    if (!fs::is_regular_file(status))
        return makeError(ErrorCode::InvalidArgument, operationFor(path), "expected a file or a folder");
    return isGguf(path) ? readGguf(path) : readJsonFile(path);
}

} // namespace tokenloupe
