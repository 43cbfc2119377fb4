// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/mappedfile.h"
#include "engine/base/result.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tokenloupe {

/// A file of a Hugging Face folder, mapped; refused when it is larger than any such file is.
Result<std::shared_ptr<const MappedFile>> openSmallFile(const std::filesystem::path &path);
std::string_view textOf(const MappedFile &file);
Result<nlohmann::json> readSmallJson(const std::filesystem::path &path);

} // namespace tokenloupe
