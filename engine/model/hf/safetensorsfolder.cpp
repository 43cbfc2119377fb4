// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/safetensorsfolder.h"

#include "engine/base/utf8.h"
#include "engine/model/hf/configtext.h"

#include <map>

namespace tokenloupe {

namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::shared_ptr<const SafetensorsFile>>;
using Shards = std::map<std::string, std::vector<std::string>>; ///< tensors by file

constexpr std::uint64_t mostIndexBytes = 100'000'000;
constexpr const char *indexName = "model.safetensors.index.json";

/// A name in the folder itself: nothing that leads out of it.
bool isPlainName(std::string_view name)
{
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of("/\\") == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

tl::unexpected<Error> badIndex(const std::string &message)
{
    return makeError(ErrorCode::BadFile, std::string("read ") + indexName, message);
}

Result<Shards> readIndex(const fs::path &path)
{
    const auto text = readTextFile(path, mostIndexBytes);
    if (!text)
        return tl::unexpected(text.error());
    const JsonSource source{indexName, std::string("read ") + indexName, ErrorCode::BadFile};
    const auto object = parseConfigText(*text, source);
    if (!object)
        return tl::unexpected(object.error());
    const auto map = object->find("weight_map");
    if (map == object->end() || !map->is_object() || map->empty())
        return badIndex("field \"weight_map\": expected an object of tensor and file names");
    Shards shards;
    for (const auto &[tensor, file] : map->items()) {
        const std::string label = "field \"weight_map\", tensor " + quotedForMessage(tensor);
        if (!file.is_string())
            return badIndex(label + ": expected the name of a file");
        const auto &name = file.get_ref<const std::string &>();
        if (!isPlainName(name))
            return badIndex(label + ": expected the name of a file in the same folder, found " +
                            quotedForMessage(name));
        shards[name].push_back(tensor);
    }
    return shards;
}

Result<Files> openShards(const fs::path &folder, const Shards &shards)
{
    Files files;
    std::map<std::string, std::string, std::less<>> places; // of all tensors
    for (const auto &[name, tensors] : shards) {
        auto file = SafetensorsFile::open(folder / name);
        if (!file)
            return makeError(file.error().code, file.error().operation,
                             file.error().message + " (field \"weight_map\" of " + indexName + ")");
        for (const SafetensorsTensor &tensor : (*file)->tensors()) {
            const auto [place, isNew] = places.emplace(tensor.name, (*file)->name());
            if (!isNew)
                return makeError(ErrorCode::BadFile, "read " + (*file)->name(),
                                 "tensor " + quotedForMessage(tensor.name) + " is in " + place->second +
                                     " too");
        }
        for (const std::string &tensor : tensors) {
            const auto place = places.find(tensor);
            if (place == places.end() || place->second != (*file)->name())
                return makeError(ErrorCode::BadFile, "read " + (*file)->name(),
                                 "tensor " + quotedForMessage(tensor) + " is missing: " + indexName +
                                     " says that it is in this file");
        }
        files.push_back(std::move(*file));
    }
    return files;
}

} // namespace

Result<Files> openSafetensorsFolder(const fs::path &folder)
{
    std::error_code error;
    if (fs::exists(folder / "model.safetensors", error)) {
        auto file = SafetensorsFile::open(folder / "model.safetensors");
        if (!file)
            return tl::unexpected(file.error());
        return Files{std::move(*file)};
    }
    if (fs::exists(folder / indexName, error)) {
        const auto shards = readIndex(folder / indexName);
        if (!shards)
            return tl::unexpected(shards.error());
        return openShards(folder, *shards);
    }
    return makeError(ErrorCode::NotFound, "open " + quotedForMessage(folder.native(), 400),
                     std::string("the folder holds neither model.safetensors nor ") + indexName +
                         (fs::exists(folder / "pytorch_model.bin", error)
                              ? "; its pytorch_model.bin is a format that can run code and is not read"
                              : ""));
}

} // namespace tokenloupe
