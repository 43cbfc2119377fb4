// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/hf/safetensorsfile.h"

namespace tokenloupe {

/// The weights' files of a Hugging Face folder: `model.safetensors`, or what `model.safetensors.index.json`
/// lists. Files that are missing or do not hold what the index says are named.
Result<std::vector<std::shared_ptr<const SafetensorsFile>>>
openSafetensorsFolder(const std::filesystem::path &folder);

} // namespace tokenloupe
