// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/model/hf/hfconfig.h"

namespace tokenloupe {

/// Reads one config of a known family. Errors stay in the fields. Used once, by readHfConfig().
class HfConfigReader
{
public:
    HfConfigReader(JsonFields &fields, const HfFamily &family);

    HfConfig read(std::uint64_t tensors);

private:
    bool isFamily(std::string_view type) const { return m_family.type == type; }
    std::uint32_t number(FieldNames names, std::uint64_t lowest, std::uint64_t highest,
                         std::optional<std::uint64_t> fallback);
    /// A field that this program can only take with one value.
    void mustBe(std::string_view field, bool value, const char *why);

    void readSizes(std::uint64_t tensors);
    void readHeads();
    std::uint32_t keyValueHeads();
    void readNorms();
    void readActivation();
    void readBiases();
    void readHead();
    void readAttention();
    void readAlibi();
    void readLayerPattern();
    std::vector<bool> localLayers(std::uint32_t window);
    void readExperts();
    void refuseOthers();

    // hfrotation.cpp
    void readRotation();
    void readScaling(JsonFields &rope);
    void readYarn(JsonFields &rope);
    void readLongRope(JsonFields &rope);
    void readLocalBase(JsonFields &rope);

    JsonFields &m_fields;
    const HfFamily &m_family;
    HfConfig m_config;
};

} // namespace tokenloupe
