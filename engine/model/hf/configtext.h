// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/hf/jsonfields.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tokenloupe {

/// A regular file of at most `mostBytes` as text.
Result<std::string> readTextFile(const std::filesystem::path &path, std::uint64_t mostBytes);

/// The JSON object of a text that anybody may have written: nesting that no config has is refused before it
/// is built, and the numbers that JSON has not (NaN, Infinity, as Python writes them) are null.
Result<nlohmann::json> parseConfigText(std::string_view text, const JsonSource &source);

/// A config with the fields of its text model in front. Models of several parts (text and pictures) keep
/// them one level down.
nlohmann::json withTextPart(const nlohmann::json &object);

} // namespace tokenloupe
