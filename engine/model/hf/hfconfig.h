// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/hf/hffamily.h"
#include "engine/model/hf/jsonfields.h"
#include "engine/model/modelconfig.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace tokenloupe {

/// What a config says about the output head.
enum class HfHead : std::uint8_t {
    Tied,     ///< the embedding, whatever else is stored
    Separate, ///< must be there
    AsStored, ///< nothing: separate where it is there
};

/// A Hugging Face config as this program reads it.
struct HfConfig
{
    ModelConfig model;
    const HfFamily *family = nullptr;
    HfHead head = HfHead::AsStored;
    std::vector<float> shortFactors, longFactors; ///< of scaling "longrope" (ropeDimensions / 2)
};

/// `config` is the text model's (see withTextPart()). Absent fields are what the library that writes such
/// files means by their absence; those that call for something that this program does not do are refused by
/// name. A layer has tensors, so more layers than `tensors` are refused, too; 0: not known.
Result<HfConfig> readHfConfig(const nlohmann::json &config, const JsonSource &source, std::uint64_t tensors);

} // namespace tokenloupe
