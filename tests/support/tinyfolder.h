// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/safetensorswriter.h"
#include "tests/support/tinyarchitecture.h"

#include <filesystem>

namespace tokenloupe::test {

/// How a config is spelled: by version 4 of the library that writes them, or by version 5.
enum class Spelling { Version4, Version5 };

struct TinyFolderOptions
{
    Spelling spelling = Spelling::Version5;
    StoreAs type = StoreAs::F32;
    std::size_t shards = 1; ///< several: with an index
};

/// The model as a Hugging Face folder would have it. Some of what a model may have there cannot be said
/// otherwise: its inner width, say. So this comes before tinyTensors().
TinyArchitecture asFolderHasIt(TinyArchitecture model);
/// False: a folder cannot say what this model has.
bool hasFolderForm(const TinyArchitecture &model);

nlohmann::ordered_json tinyFolderConfig(const TinyArchitecture &model, Spelling spelling);
/// Writes config.json and the weights; the folder comes back.
std::filesystem::path writeTinyFolder(const std::filesystem::path &folder, const TinyArchitecture &model,
                                      const TinyTensors &tensors, const TinyFolderOptions &options = {});

} // namespace tokenloupe::test
