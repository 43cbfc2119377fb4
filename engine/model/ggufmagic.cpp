// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/ggufmagic.h"

#include <algorithm>

namespace tokenloupe {

namespace {

struct Signature
{
    std::string_view start;
    const char *description;
};

using namespace std::string_view_literals;

// The formats before GGUF wrote their name as a little-endian number, so it lies backwards in the file.
constexpr Signature signatures[] = {
    {"lmgg"sv, "the old GGML format (before GGUF; convert it with llama.cpp's tools)"},
    {"fmgg"sv, "the old GGMF format (before GGUF; convert it with llama.cpp's tools)"},
    {"tjgg"sv, "the old GGJT format (before GGUF; convert it with llama.cpp's tools)"},
    {"algg"sv, "an adapter of the old GGLA format (before GGUF), which is no model"},
    {"ggml"sv, "the old GGML format (before GGUF; convert it with llama.cpp's tools)"},
    {"ggmf"sv, "the old GGMF format (before GGUF; convert it with llama.cpp's tools)"},
    {"ggjt"sv, "the old GGJT format (before GGUF; convert it with llama.cpp's tools)"},
    {"ggla"sv, "an adapter of the old GGLA format (before GGUF), which is no model"},
    {"FUGG"sv, "a GGUF file whose bytes are swapped"},
    {"PK\x03\x04"sv, "a ZIP archive (a PyTorch checkpoint?)"},
    {"version https://git-lfs"sv, "a Git LFS pointer: the model itself was not downloaded"},
    {"<!DOCTYPE"sv, "a web page: the download went wrong"},
    {"<html"sv, "a web page: the download went wrong"},
};

} // namespace

const char *foreignFormat(std::span<const std::byte> bytes)
{
    const std::size_t shown = std::min<std::size_t>(bytes.size(), 64);
    const std::string_view start(reinterpret_cast<const char *>(bytes.data()), shown);
    for (const Signature &signature : signatures) {
        if (start.starts_with(signature.start))
            return signature.description;
    }
    // safetensors: a 64-bit length, then a JSON object.
    if (start.size() > 9 && start[8] == '{' && start.substr(3, 5) == "\0\0\0\0\0"sv)
        return "a safetensors file (open the folder that it lies in)";
    return nullptr;
}

} // namespace tokenloupe
